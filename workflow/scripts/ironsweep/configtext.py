"""The text of configuration files: what YAML loses of it, where each value stands, and how a mistake is worded.

YAML drops duplicate keys, reads ``010`` as 8, ``1:30`` as 90 and ``NO`` as false. All of this is looked for in the
text, in the files as well as in the values of the command line, before anyone relies on the values.
"""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ironsweep.errors import UserError

Place = tuple[str | int, ...]

_NUMBER = re.compile(r"[+-]?(\d[\d_]*)(\.[\d_]*)?([eE][+-]?\d+)?")
_OCTAL = re.compile(r"[+-]?0[\d_]+")
_SEXAGESIMAL = re.compile(r"[+-]?\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?")
_BASED = re.compile(r"[+-]?0[xb][\da-fA-F_]*")
_BARE_TAG = re.compile(r"[\[,]\s*!\w")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

# Python turns no longer text into a number.
_LONGEST_NUMBER = 40

_COMMAND_LINE = "--config"

AS_WRITTEN = ("cell",)
"""Keys whose value is a word, whatever YAML makes of it: cells have names such as 0123456789012345."""

# How Snakemake hands values on to a job that it starts.
_ENCODED = "base64//"

_TAG = "tag:yaml.org,2002:"
_RESOLVER = yaml.resolver.Resolver()
_TRUTH = ("true", "false")


class ConfigError(UserError):
    """Something in the configuration is wrong; the text names the file, the key and what to do."""


def dotted(place: Iterable[str | int]) -> str:
    """A place in the configuration as a person writes it: ``check.seed``, ``sizes[2]``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{_visible(part)}" for part in place)
    return text.removeprefix(".")


def _visible(word: str) -> str:
    return word if word.isprintable() else json.dumps(word)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` if a known word is near, else the known words."""
    known = sorted(known)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known) or 'none'}"


def as_number(value: Any) -> Any:
    """The integer (or else float) that ``value`` stands for: ``'1e6'``, ``1e6`` and ``'1_000_000'`` are 1000000.

    What is not a number is returned as it is.
    """
    if (
        isinstance(value, str)
        and len(value) <= _LONGEST_NUMBER
        and _NUMBER.fullmatch(value)
        and not _OCTAL.fullmatch(value)
    ):
        plain = value.replace("_", "")
        value = int(plain) if plain.lstrip("+-").isdigit() else float(plain)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


class Text:
    """The text of one YAML file: on which lines its keys and values stand."""

    def __init__(self, path: Path, shown: str) -> None:
        """Read ``path``; messages call it ``shown``. Raises ConfigError for what must not be in such a file."""
        self.shown = shown
        try:
            content = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ConfigError(f"{shown}: there is no such file") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{shown}: cannot be read: {error}") from None
        self._source = content.splitlines()
        self.lines, self.values = _read(content, shown)

    def comment(self, place: Place) -> str:
        """The comment behind the value at ``place``, on its line; empty if there is none."""
        line = self._source[self.lines[place] - 1]
        return line.partition(" #")[2].strip()


# The same files are asked for when the sweep, the bundle and the plan are made.
@functools.lru_cache(maxsize=64)
def _read(content: str, shown: str) -> tuple[Mapping[Place, int], Mapping[str, Any]]:
    """Lines and values of a YAML text, neither to be changed. Raises ConfigError."""
    walk = _Walk(shown)
    root = _compose(content, shown)
    if root is None:
        return walk.lines, {}
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{shown}:1: keys and values are expected here, such as `passes: 10`")
    try:
        walk.visit(root, ())
        return walk.lines, yaml.constructor.SafeConstructor().construct_document(root)
    except RecursionError:
        raise ConfigError(f"{shown}: is nested too deeply") from None


def _compose(content: str, shown: str) -> yaml.Node | None:
    """The nodes of a YAML text. Raises ConfigError if it is none."""
    try:
        node: yaml.Node | None = yaml.compose(content, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark and shown != _COMMAND_LINE else ""
        problem = " ".join(str(error.problem).split())
        hint = "; a word that begins with ! must be in quotes" if _BARE_TAG.search(content) else ""
        raise ConfigError(f"{shown}{line}: not valid YAML: {problem}{hint}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{shown}: not valid YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ConfigError(f"{shown}: is nested too deeply") from None
    return node


class _Walk:
    """A walk through the nodes of a text, which refuses what YAML would change or drop without a word."""

    def __init__(self, shown: str, lines_known: bool = True) -> None:
        self.shown = shown
        self.lines: dict[Place, int] = {}
        self._lines_known = lines_known
        self._seen: set[int] = set()

    def visit(self, node: yaml.Node, place: Place) -> None:
        """Check a node and all below it. Raises ConfigError."""
        self.lines.setdefault(place, node.start_mark.line + 1)
        if id(node) in self._seen:
            raise self._error(node, place, "refers to another value by its anchor (*); write the value out")
        self._seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            self._check_scalar(node, place)
            return
        if node.tag not in (f"{_TAG}map", f"{_TAG}seq"):
            raise self._error(node, place, f"{_shown_tag(node.tag)} is a tag for YAML; put the word in quotes")
        if isinstance(node, yaml.MappingNode):
            self._visit_mapping(node, place)
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                self.visit(value, (*place, index))

    def _visit_mapping(self, node: yaml.MappingNode, place: Place) -> None:
        first: dict[str, int] = {}
        for key, value in node.value:
            name = self._key(key, place)
            line = key.start_mark.line + 1
            here = (*place, name)
            if name in first:
                where = f" on line {first[name]}" if self._lines_known else ""
                raise self._error(key, here, f"is already set{where}; remove one of the two")
            first[name] = line
            self.lines[here] = line
            self.visit(value, here)

    def _key(self, node: yaml.Node, place: Place) -> str:
        """The word that a key is. Snakemake would evaluate a file with ``__use_yte__`` as a template."""
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(node, place, "a key must be a word")
        name = str(node.value)
        if node.tag != f"{_TAG}str" or _CONTROL.search(name):
            raise self._error(node, (*place, name), "cannot be a key; a key is a word, if need be in quotes")
        if name == "__use_yte__":
            raise self._error(node, (*place, name), "templates are not evaluated here; remove the line")
        return name

    def _check_scalar(self, node: yaml.ScalarNode, place: Place) -> None:
        text: str = node.value
        plain = node.style is None
        if _CONTROL.search(text):
            raise self._error(node, place, "contains a character that cannot be seen; remove it")
        expected = _RESOLVER.resolve(yaml.ScalarNode, text, (plain, not plain))  # type: ignore[no-untyped-call]
        if node.tag != expected:
            raise self._error(node, place, f"{_shown_tag(node.tag)} is a tag for YAML; put the word in quotes")
        if plain and (reason := _misread(text, node.tag.removeprefix(_TAG))):
            raise self._error(node, place, reason)

    def _error(self, node: yaml.Node, place: Place, message: str) -> ConfigError:
        line = f":{node.start_mark.line + 1}" if self._lines_known else ""
        return ConfigError(f"{self.shown}{line}: {dotted(place) or 'the file'}: {message}")


def _misread(text: str, kind: str) -> str:
    """What is wrong with an unquoted value that YAML takes for a ``kind``; empty if nothing is."""
    shown = text if len(text) <= _LONGEST_NUMBER else f"{text[:_LONGEST_NUMBER]}…"
    if _OCTAL.fullmatch(text):
        return f"{shown} is an octal number for YAML; write it without leading 0"
    if _SEXAGESIMAL.fullmatch(text):
        return f"{shown} is a number to base 60 for YAML; write a plain number"
    if _BASED.fullmatch(text):
        return f"{shown} is a hexadecimal or binary number for YAML; write a plain number"
    if kind in ("int", "float") and len(text) > _LONGEST_NUMBER:
        return f"{shown} is too long for a number"
    if kind in ("int", "float") and not _NUMBER.fullmatch(text):
        return f"{shown} is not a number that can be used; write digits, such as 0.5 or 1e6"
    if kind == "bool" and text not in _TRUTH:
        return f"{shown} is true or false for YAML; write true or false, or put the word in quotes"
    if kind == "timestamp":
        return f"{shown} is a date for YAML; put it in quotes"
    if kind in ("merge", "value"):
        return f"{shown} has a meaning of its own for YAML; put it in quotes"
    return ""


def _shown_tag(tag: str) -> str:
    return f"!!{tag.removeprefix(_TAG)}" if tag.startswith(_TAG) else tag


def check_arguments(arguments: Sequence[str]) -> None:
    """Look through the ``--config`` values of a command line for what Snakemake drops or changes.

    Raises ConfigError for a key that is given twice, at any level, and for values such as ``010``.
    """
    given: set[str] = set()
    for entry in _entries(arguments):
        key, equals, value = entry.partition("=")
        if not equals or entry.startswith(_ENCODED) or key in AS_WRITTEN:
            continue  # Snakemake has a message for it; or has looked at it before it started this job
        if key in given:
            raise ConfigError(f"--config: {key}: is already set; remove one of the two")
        given.add(key)
        try:
            node = _compose(value, _COMMAND_LINE)
        except ConfigError as error:
            if value.startswith(("[", "{")):  # Snakemake would take it for a word
                raise ConfigError(str(error).replace("--config:", f"--config: {key}:", 1)) from None
            continue
        if node is not None:
            _Walk(_COMMAND_LINE, lines_known=False).visit(node, (key,))


def as_written(arguments: Sequence[str], key: str) -> str | None:
    """The text that the command line gives a key; None if it gives none."""
    return next((entry.partition("=")[2] for entry in _entries(arguments) if entry.startswith(f"{key}=")), None)


def _entries(arguments: Sequence[str]) -> list[str]:
    """The ``key=value`` words of a command line."""
    entries: list[str] = []
    inside = False
    for word in arguments:
        if word.startswith("-"):
            option, _, value = word.partition("=")
            inside = option in ("--config", "-C")
            entries += [value] if inside and value else []
        elif inside:
            entries.append(word)
    return entries


@dataclass(frozen=True)
class Origin:
    """Where values came from, to say so: the files (later ones win) and what the command line set."""

    texts: tuple[Text, ...]
    overrides: Mapping[str, Any]

    def of(self, place: Place) -> str:
        """File and line (or ``--config``) of the value at ``place``, followed by its key."""
        key = dotted(place) or "the file"
        if _lies_in(self.overrides, place):
            return f"--config: {key}"
        for depth in range(len(place), -1, -1):
            for text in reversed(self.texts):
                if place[:depth] in text.lines and (depth or not place):
                    return f"{text.shown}:{text.lines[place[:depth]]}: {key}"
        return f"{self.texts[-1].shown}: {key}" if self.texts else key

    def error(self, place: Place, message: str) -> ConfigError:
        """An error about the value at ``place``."""
        return ConfigError(f"{self.of(place)}: {message}")


def _lies_in(tree: Any, place: Place) -> bool:
    """Whether ``place``, or a whole value that contains it, was set by ``tree``."""
    if not place or not isinstance(tree, Mapping) or place[0] not in tree:
        return False
    below = tree[place[0]]
    return len(place) == 1 or not isinstance(below, Mapping) or _lies_in(below, place[1:])
