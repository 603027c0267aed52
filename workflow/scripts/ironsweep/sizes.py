"""Problem sizes as they are written: elements, bytes, shares of the last-level cache, and geometric ranges.

A size is RAJAPerf's target size: for most kernels the number of elements in one of their arrays, of 8 bytes each. Bytes
and shares of a cache mean that one array, not the kernel's whole memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ironsweep.configtext import as_number

ELEMENT = 8
"""Bytes of an element."""

LARGEST = 10_000_000_000
"""Elements of the largest size."""

MOST = 1000
"""The most sizes that a range may stand for."""

_UNITS: Mapping[str, int] = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_QUANTITY = re.compile(r"(\S+?)\s*([kMGT]B|[KMGT]iB|B|LLC)")


@dataclass(frozen=True)
class OfCache:
    """A share of the device's last-level cache."""

    share: float


@dataclass(frozen=True)
class Range:
    """Sizes from the first to at most the last, each ``factor`` times the one before it."""

    first: int | OfCache
    last: int | OfCache
    factor: float


Size = int | OfCache | Range
"""An integer is a number of elements."""


def parse_bytes(text: str) -> int:
    """Bytes that a text such as ``64 GB`` or ``8 MiB`` stands for. Raises ValueError with a reason."""
    amount, unit = _quantity(text)
    if unit == "LLC":
        raise ValueError(f"{text!r} is no amount of memory; write for example 64 GB or 8 MiB")
    return round(amount * _UNITS[unit])


def shown_bytes(amount: float) -> str:
    """An amount of memory for a person: ``64 GB``."""
    unit = next((unit for unit in ("TB", "GB", "MB", "kB") if amount >= _UNITS[unit]), "B")
    return f"{amount / _UNITS[unit]:.4g} {unit}"


def parse(value: Any) -> Size:
    """The size that a value of the configuration stands for. Raises ValueError with a reason."""
    if isinstance(value, Mapping):
        return _range(value)
    if isinstance(value, int):
        return value
    amount, unit = _quantity(value)
    return OfCache(amount) if unit == "LLC" else _valid(amount * _UNITS[unit] / ELEMENT, value)


def _quantity(text: str) -> tuple[float, str]:
    """Number and unit of a text. Raises ValueError with a reason."""
    found = _QUANTITY.fullmatch(text)
    amount = as_number(found[1]) if found else text
    if found is None or isinstance(amount, str):
        units = ", ".join(_UNITS)
        raise ValueError(f"{text!r} is not understood; write a number and one of {units} or LLC")
    if not 0 < amount < float("inf"):
        raise ValueError(f"{text!r} is out of range; it must be more than 0")
    return float(amount), found[2]


def _valid(elements: float, shown: Any) -> int:
    """A number of elements, rounded down. Raises ValueError if it cannot be a size."""
    if not 1 <= elements <= LARGEST:
        raise ValueError(f"{shown!r} is {elements:.4g} elements of {ELEMENT} bytes; it must be 1 to {LARGEST}")
    return int(elements)


def _range(value: Mapping[str, Any]) -> Range:
    if ("per_decade" in value) == ("factor" in value):
        raise ValueError("needs one of per_decade (sizes between a number and its tenfold) and factor, and only one")
    factor = 10 ** (1 / value["per_decade"]) if "per_decade" in value else float(value["factor"])
    first, last = (parse(value[end]) for end in ("from", "to"))
    assert not isinstance(first, Range) and not isinstance(last, Range)
    made = Range(first, last, factor)
    _steps(made, 2**20)  # any cache will do
    return made


def _steps(range_: Range, cache: int) -> list[int]:
    """The sizes of a range on a device whose cache has so many bytes. Raises ValueError with a reason."""
    first, last = (_elements(end, cache) for end in (range_.first, range_.last))
    same_kind = isinstance(range_.first, OfCache) == isinstance(range_.last, OfCache)
    if last < first and same_kind:
        raise ValueError("ends below where it begins; exchange from and to")
    sizes: list[int] = []
    size = float(first)
    while size <= last * (1 + 1e-9):
        sizes.append(round(size))
        size *= range_.factor
        if len(sizes) > MOST:
            raise ValueError(f"stands for more than {MOST} sizes; use a larger factor")
    return sizes


def _elements(size: int | OfCache, cache: int) -> int:
    return max(1, int(size.share * cache / ELEMENT)) if isinstance(size, OfCache) else size


def needs_cache(size: Size) -> bool:
    """Whether a size depends on the device."""
    if isinstance(size, Range):
        return isinstance(size.first, OfCache) or isinstance(size.last, OfCache)
    return isinstance(size, OfCache)


def elements(size: Size, cache: int | None) -> tuple[int, ...]:
    """The numbers of elements that a size stands for on a device with a last-level cache of so many bytes.

    Without a known cache, a size that depends on it stands for none.
    """
    if needs_cache(size) and cache is None:
        return ()
    if isinstance(size, Range):
        return tuple(_steps(size, cache or 0))
    return (_elements(size, cache or 0),)


def all_elements(sizes: Iterable[Size], cache: int | None) -> tuple[int, ...]:
    """All numbers of elements that the sizes stand for, in ascending order, none twice."""
    return tuple(sorted({number for size in sizes for number in elements(size, cache)}))
