"""Which of the combinations that a sweep spans are wanted: ``where``, ``exclude`` and ``zip``.

A rule of ``where`` or ``exclude`` gives its reason to the cells that it removes: they stay in the plan, as `excluded`.
``zip`` says which combinations there are at all. Planted wrong kernels are never removed.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ironsweep import sizes
from ironsweep.configtext import Origin, Place, did_you_mean
from ironsweep.kernels import Kernel
from ironsweep.sizes import Size
from ironsweep.variants import ARCHS

Facts = Mapping[str, Any]
"""What is known of a cell, by the names of `AXES`. What it does not have (a host's block) is missing."""

AXES = (
    "kernel",
    "group",
    "variant",
    "device",
    "arch",
    "safety",
    "contraction",
    "block",
    "region",
    "system",
    "size",
)
"""What a rule can ask for."""


@dataclass(frozen=True)
class Sizes:
    """Sizes that a rule asks for: these, or all between two (None: no limit)."""

    listed: tuple[Size, ...] | None
    least: Size | None = None
    most: Size | None = None

    def contain(self, size: int, cache: int | None) -> bool:
        """Whether a size is among them on a device with such a cache (bytes; None: it is not known)."""
        if self.listed is not None:
            return size in sizes.all_elements(self.listed, cache)
        low, high = _bound(self.least, cache), _bound(self.most, cache)
        # A limit in units of an unknown cache says nothing about a size.
        if low == () or high == ():
            return False
        return (low is None or size >= low[0]) and (high is None or size <= high[0])

    def is_empty(self) -> bool:
        """Whether no size can be among them, on any device."""
        low, high = _bound(self.least, None), _bound(self.most, None)
        return bool(low and high and low[0] > high[0])


def _bound(limit: Size | None, cache: int | None) -> tuple[int, ...] | None:
    return None if limit is None else sizes.elements(limit, cache)


@dataclass(frozen=True)
class Rule:
    """One rule. ``keeps``: it removes the cells that it does not hold for (`where`), else those that it holds for.

    It is about cells of the ``kinds`` only.
    """

    keeps: bool
    reason: str
    place: str
    kinds: frozenset[str] = frozenset({"measure", "check"})
    asked: Mapping[str, frozenset[Any]] = field(default_factory=dict)
    sizes: Sizes | None = None

    def removes(self, facts: Facts, cache: int | None) -> bool:
        """Whether a cell is removed; what it does not have removes it neither way."""
        if facts["kind"] not in self.kinds:
            return False
        if self.keeps:
            return not all(self._holds(axis, facts, cache) for axis in self._axes() if axis in facts)
        return all(axis in facts and self._holds(axis, facts, cache) for axis in self._axes())

    def _axes(self) -> list[str]:
        return [*self.asked, *(["size"] if self.sizes else [])]

    def _holds(self, axis: str, facts: Facts, cache: int | None) -> bool:
        if axis == "size" and self.sizes:
            return self.sizes.contain(facts["size"], cache)
        return facts[axis] in self.asked[axis]


@dataclass(frozen=True)
class Step:
    """One step along axes that are walked together: what each of them may be."""

    allowed: Mapping[str, frozenset[Any]]
    sizes: Size | None = None

    def has(self, facts: Facts, cache: int | None) -> bool:
        """Whether a cell belongs to this step, as far as it has these axes."""
        if self.sizes is not None and "size" in facts and facts["size"] not in sizes.elements(self.sizes, cache):
            return False
        return all(facts[axis] in words for axis, words in self.allowed.items() if axis in facts)


@dataclass(frozen=True)
class Selection:
    """All rules of a sweep; as it stands it selects everything."""

    rules: tuple[Rule, ...] = ()
    zips: tuple[tuple[Step, ...], ...] = ()

    def has(self, facts: Facts, cache: int | None) -> bool:
        """Whether there is such a cell at all."""
        return all(any(step.has(facts, cache) for step in steps) for steps in self.zips)

    def removed_by(self, facts: Facts, cache: int | None) -> Rule | None:
        """The first rule that removes a cell; None if it stays."""
        return next((rule for rule in self.rules if rule.removes(facts, cache)), None)


def choose_kernels(
    patterns: Sequence[str], registry: Mapping[str, Kernel], origin: Origin, place: Place
) -> tuple[Kernel, ...]:
    """Kernels of the suite that ``patterns`` stand for, in the registry's order.

    A pattern is a name, a group or a shell pattern; with ``!`` before it, its kernels are taken away. Where there are
    only such, they are taken away from all.
    """
    suite = {name: kernel for name, kernel in registry.items() if not kernel.planted}
    chosen: set[str] = set()
    removed: set[str] = set()
    for index, pattern in enumerate(patterns):
        plain = pattern.removeprefix("!")
        found = {name for name, kernel in suite.items() if plain == kernel.group or fnmatch.fnmatchcase(name, plain)}
        if not found:
            known = {*suite, *(kernel.group for kernel in suite.values())}
            raise origin.error((*place, index), f"no kernel is called {plain!r}{did_you_mean(plain, known)}")
        (removed if pattern.startswith("!") else chosen).update(found)
    if all(pattern.startswith("!") for pattern in patterns):
        chosen = set(suite)
    if not chosen - removed:
        raise origin.error(place, "no kernel is left; take an `!` away")
    return tuple(kernel for name, kernel in suite.items() if name in chosen - removed)


def parse_size(value: Any, origin: Origin, place: Place) -> Size:
    """The size that a value of the configuration stands for; a mistake is a ConfigError."""
    try:
        return sizes.parse(value)
    except ValueError as error:
        raise origin.error(place, str(error)) from None


def parse_rules(
    data: Mapping[str, Any], registry: Mapping[str, Kernel], systems: Iterable[str], origin: Origin
) -> tuple[Rule, ...]:
    """The rules under ``where`` and then those under ``exclude``. ``systems`` are the names that there are."""
    known_systems = sorted(systems)
    return tuple(
        _rule(rule, key == "where", registry, known_systems, origin, (key, index))
        for key in ("where", "exclude")
        for index, rule in enumerate(data.get(key, ()))
    )


def _rule(
    data: Mapping[str, Any],
    keeps: bool,
    registry: Mapping[str, Kernel],
    systems: Sequence[str],
    origin: Origin,
    place: Place,
) -> Rule:
    asked: dict[str, frozenset[Any]] = {}
    for axis, value in data.items():
        if axis in ("size", "kind", "reason"):
            continue
        words = value if isinstance(value, list) else [value]
        if axis == "kernel":
            kernels = choose_kernels(words, registry, origin, (*place, axis))
            words = [kernel.name for kernel in kernels]
        elif axis == "group":
            groups = {kernel.group for kernel in registry.values() if not kernel.planted}
            _check_known(words, groups, origin, (*place, axis))
        elif axis == "arch":
            _check_known(words, {arch for archs in ARCHS.values() for arch in archs}, origin, (*place, axis))
        elif axis == "system":
            _check_known(words, systems, origin, (*place, axis))
        asked[axis] = frozenset(words)
    asked_sizes = _sizes(data["size"], origin, (*place, "size")) if "size" in data else None
    if not asked and asked_sizes is None:
        raise origin.error(place, f"asks for nothing; add one of {', '.join(AXES)}")
    reason = " ".join(data["reason"].split())
    if not reason:
        raise origin.error((*place, "reason"), "is empty; say why, it becomes the reason of the cells")
    # The sizes of checks are small and few, and not what is meant.
    kinds = data.get("kind", ["measure"] if asked_sizes else ["measure", "check"])
    kinds = frozenset(kinds if isinstance(kinds, list) else [kinds])
    return Rule(keeps, reason, origin.of(place), kinds, asked, asked_sizes)


def _check_known(words: Iterable[str], known: Iterable[str], origin: Origin, place: Place) -> None:
    for word in words:
        if word not in known:
            raise origin.error(place, f"{word!r} is not known{did_you_mean(word, known)}")


def _sizes(value: Any, origin: Origin, place: Place) -> Sizes:
    if isinstance(value, Mapping) and ("min" in value or "max" in value):
        ends = {end: parse_size(value[end], origin, (*place, end)) for end in ("min", "max") if end in value}
        limits = Sizes(None, ends.get("min"), ends.get("max"))
        if limits.is_empty():
            raise origin.error(place, "min is larger than max, so no size is meant; exchange them")
        return limits
    words = value if isinstance(value, list) else [value]
    return Sizes(tuple(parse_size(word, origin, place) for word in words))


def parse_zips(
    groups: Sequence[Sequence[str]],
    lists: Mapping[str, tuple[Place, Any]],
    registry: Mapping[str, Kernel],
    origin: Origin,
) -> tuple[tuple[Step, ...], ...]:
    """The steps of each group of axes under ``zip``. ``lists`` has place and value of each axis."""
    used: set[str] = set()
    result = []
    for index, group in enumerate(groups):
        place = ("zip", index)
        for axis in group:
            if axis in used:
                raise origin.error(place, f"{axis} is in another group already; an axis can be in one")
            if not isinstance(lists[axis][1], list):
                raise origin.error(lists[axis][0], "is not a list, which zip needs; write the values one by one")
        used.update(group)
        lengths = {axis: len(lists[axis][1]) for axis in group}
        if len(set(lengths.values())) != 1:
            shown = ", ".join(f"{axis} {length}" for axis, length in lengths.items())
            raise origin.error(place, f"walks equally long lists together, but these have {shown} values")
        steps = range(lengths[group[0]])
        result.append(tuple(_step(group, lists, step, registry, origin) for step in steps))
    return tuple(result)


def _step(
    group: Sequence[str],
    lists: Mapping[str, tuple[Place, Any]],
    step: int,
    registry: Mapping[str, Kernel],
    origin: Origin,
) -> Step:
    allowed: dict[str, frozenset[Any]] = {}
    size: Size | None = None
    for axis in group:
        place, values = lists[axis]
        value = values[step]
        if axis == "sizes":
            size = parse_size(value, origin, (*place, step))
        elif axis == "kernels":
            if value.startswith("!"):
                raise origin.error((*place, step), "takes kernels away, which cannot be paired; name kernels")
            kernels = choose_kernels([value], registry, origin, place)
            allowed["kernel"] = frozenset(kernel.name for kernel in kernels)
        else:
            allowed[axis.removesuffix("s") if axis == "variants" else axis] = frozenset([value])
    return Step(allowed, size)
