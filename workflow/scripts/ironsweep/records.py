"""Reads files of records: what fits the schema is kept, everything else is reported with its line and reason."""

from __future__ import annotations

import functools
import json
import lzma
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import jsonschema_rs

from ironsweep.config import SCHEMAS
from ironsweep.variants import EMULATED

Record = dict[str, Any]

FORMAT = 1
"""Of records, in their field `format`: a larger one means something that is not known here."""


@dataclass(frozen=True)
class Problem:
    """A line of a file that is no valid record (line 0: the whole file)."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        """One line for a person."""
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True)
class RecordFile:
    """A file of records: the valid ones, what is known about the machine, and what was wrong."""

    records: list[Record]
    environments: list[Record]
    problems: list[Problem]


def read_records(path: Path) -> tuple[list[Record], list[Problem]]:
    """Valid records of a file, in its order, and the lines that are none."""
    content = read_file(path)
    return content.records, content.problems


def read_file(path: Path) -> RecordFile:
    """Read a file of records, compressed if its name ends in .xz.

    A damaged line costs itself only; of records with one id the first counts.
    """
    content = RecordFile([], [], [])
    try:
        data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    except OSError as error:
        content.problems.append(Problem(str(path), 0, f"cannot be read: {error.strerror}"))
        return content
    except lzma.LZMAError as error:
        content.problems.append(Problem(str(path), 0, f"cannot be decompressed: {error}"))
        return content
    first_lines: dict[str, int] = {}
    for number, line in _lines(data):
        try:
            value = _parse(line)
            if value.get("type") == "environment":
                content.environments.append(value)
                continue
            check(value)
            first = first_lines.setdefault(value["id"], number)
            if first != number:
                raise ValueError(f"is a second record of cell {value['id']}; the one on line {first} counts")
        except ValueError as error:
            content.problems.append(Problem(str(path), number, str(error)))
        else:
            content.records.append(value)
    return content


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield number, line


def _parse(line: bytes) -> Record:
    """The object on a line. Raises ValueError with a reason."""
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite)
    except UnicodeDecodeError:
        raise ValueError("is not text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not valid JSON, or was cut off ({error.msg} at character {error.pos + 1})") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("is not a JSON object")
    # Half a character can be escaped, but not written to a table.
    if b"\\ud" in line.lower() and any("\ud800" <= sign <= "\udfff" for sign in json.dumps(value, ensure_ascii=False)):
        raise ValueError("contains half of a character (a lone surrogate)")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"contains {name}, which is no number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"contains {text}, which is too large for a number")
    return value


def bytes_touched(record: Mapping[str, Any]) -> int:
    """Bytes of the data that a repetition uses."""
    return int(record["bytes_read"] + record["bytes_written"] + record["bytes_modified"] + record["bytes_atomic"])


def bytes_moved(record: Mapping[str, Any]) -> int:
    """Bytes that a repetition moves, as RAJAPerf counts them: what is modified is both read and written."""
    return int(bytes_touched(record) + record["bytes_modified"] + record["bytes_atomic"])


def check(record: Mapping[str, Any]) -> None:
    """Raise ValueError with a reason if a record does not fit its schema or contradicts itself."""
    error = next(iter(_validator().iter_errors(record)), None)
    if error is not None:
        place = ".".join(str(part) for part in error.instance_path)
        raise ValueError(f"{place}: {_short(error.message)}" if place else _short(error.message))
    if record.get("format", FORMAT) > FORMAT:
        raise ValueError(f"format {record['format']} is of a newer ironsweep; this one reads format {FORMAT}")
    if record["status"] == "ok":
        passes = record["passes"]
        # An emulated device has no times, and a driver may check no more than the first and the last pass.
        fewest = {"seconds_per_rep": 0 if record["device"] == EMULATED else passes, "checksums": min(2, passes)}
        for name, least in fewest.items():
            if not least <= len(record[name]) <= passes:
                raise ValueError(f"{name}: has {len(record[name])} values for {passes} passes")


def _short(message: str, limit: int = 160) -> str:
    return message if len(message) <= limit else f"{message[:limit]}…"


@functools.cache
def _validator() -> Any:
    # A hundred times as fast as the package jsonschema, which would take minutes for a large sweep.
    return jsonschema_rs.validator_for(json.loads((SCHEMAS / "record.schema.json").read_text(encoding="utf-8")))
