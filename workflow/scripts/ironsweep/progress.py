"""How far a sweep is: what the plan's index promises against what journals and record files hold.

Files are read on from where the last look ended, and of a line no more than three values: a sweep of 100 000 records
costs nothing that would be noticed. A line that is still being written is left for the next look.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, TextIO

JOURNALS = "results/journal"
RECORDS = "results/records"
LOGS = "results/logs/run"

EVERY_S = 10.0
"""Seconds between two lines, at least."""


class Batch(Protocol):
    """What is known of a planned batch: ``points`` with those of A/A pairs, ``seconds`` by estimate."""

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def system(self) -> str: ...  # noqa: D102
    @property
    def device(self) -> str: ...  # noqa: D102
    @property
    def points(self) -> int: ...  # noqa: D102
    @property
    def seconds(self) -> float: ...  # noqa: D102


class Index(Protocol):
    """What is planned: batches in the order in which they were made, and the number of cells that they measure."""

    @property
    def batches(self) -> Sequence[Batch]: ...  # noqa: D102
    @property
    def cells(self) -> int: ...  # noqa: D102


# --- reading --------------------------------------------------------------------------------------------------------


class Tail:
    """A growing file of lines."""

    def __init__(self, path: Path) -> None:
        """Nothing has been read."""
        self._path = path
        self._offset = 0
        self._inode = 0

    def read(self) -> tuple[bool, list[bytes]]:
        """Whether the file was begun anew since the last look, and the lines that it got; OSError if it is gone."""
        with self._path.open("rb") as file:
            status = os.fstat(file.fileno())
            anew = status.st_ino != self._inode or status.st_size < self._offset
            if anew:
                self._inode, self._offset = status.st_ino, 0
            file.seek(self._offset)
            data = file.read()
        whole = data.rfind(b"\n") + 1
        self._offset += whole
        return anew, data[:whole].splitlines()


_KEYS = tuple((name, f'"{name}": "'.encode()) for name in ("id", "status", "twin_of"))


def values(line: bytes) -> dict[str, str]:
    """Identifier, status and `twin_of` of a record, as far as they are there.

    Records are hundreds of numbers long, so these are looked for without parsing the rest. Inside a text each quotation
    mark has a backslash before it: what looks like a key is one. One that is there twice belongs to an inner object.
    """
    found = {}
    for name, key in _KEYS:
        start = line.find(key)
        if start < 0:
            continue
        start += len(key)
        end = line.find(b'"', start)
        value = line[start:end]
        if end < 0 or b"\\" in value or line.find(key, end) >= 0:
            return _parsed(line)
        found[name] = value.decode("utf-8", "replace")
    return found


def _parsed(line: bytes) -> dict[str, str]:
    with contextlib.suppress(ValueError, RecursionError):
        record = json.loads(line.decode("utf-8"))
        if isinstance(record, dict):
            return {name: record[name] for name, _ in _KEYS if isinstance(record.get(name), str)}
    return {}


class Listing(NamedTuple):
    """Size and time of last change of a file."""

    size: int
    changed: int


def _list(folder: Path) -> dict[str, Listing]:
    """The .jsonl files of a folder by their names."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return {
            entry.name: Listing(entry.stat().st_size, entry.stat().st_mtime_ns)
            for entry in entries
            if entry.name.endswith(".jsonl")
        }
    return {}


class _File:
    """A file of records, and the status of each of its points; empty for the second of an A/A pair."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self.statuses: dict[str, str] = {}

    def look(self) -> None:
        with contextlib.suppress(OSError):
            anew, lines = self._tail.read()
            if anew:
                self.statuses.clear()
            for line in lines:
                self._take(line)

    def _take(self, line: bytes) -> None:
        record = values(line)
        if "id" in record and "status" in record:
            self.statuses[record["id"]] = "" if "twin_of" in record else record["status"]
        elif b'"type": "forgotten"' in line:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                for name in json.loads(line)["ids"]:
                    self.statuses.pop(name, None)


@dataclass
class _State:
    """What is known of a batch: its file of records once that is there, till then its journals."""

    done: Listing | None = None
    grown: bool = False
    files: dict[str, _File] = field(default_factory=dict)

    @property
    def points(self) -> int:
        return sum(len(file.statuses) for file in self.files.values())


class Sweep:
    """Where all batches of an index are."""

    def __init__(self, index: Index, root: Path = Path()) -> None:
        """What is there now is taken as what was there before; ``root`` is the working directory."""
        self.index = index
        self._root = root
        self._states = {(batch.system, batch.id): _State() for batch in index.batches}
        self._systems = sorted({batch.system for batch in index.batches})
        self._first = self._listings()

    def _listings(self) -> dict[tuple[str, str], dict[str, Listing]]:
        return {
            (top, system): _list(self._root / top / system) for top in (JOURNALS, RECORDS) for system in self._systems
        }

    @property
    def has_changed(self) -> bool:
        """Whether anything was measured since this object was made."""
        return self._listings() != self._first

    def look(self) -> None:
        """Read what has been written since the last look."""
        listings = self._listings()
        lanes: dict[tuple[str, str], list[str]] = {}
        for system in self._systems:
            for name in listings[JOURNALS, system]:
                lanes.setdefault((system, name.split(".")[0]), []).append(name)
        for (system, batch), state in self._states.items():
            name = f"{batch}.jsonl"
            records = listings[RECORDS, system].get(name)
            if records != state.done:  # it appeared, or is gone because the batch is measured again
                state.done = records
                state.files.clear()
                if records:
                    state.files[name] = _File(self._root / RECORDS / system / name)
                    state.files[name].look()
            if not records:
                journals = listings[JOURNALS, system]
                before = self._first[JOURNALS, system]
                for lane in sorted(lanes.get((system, batch), [])):
                    state.grown |= journals[lane] != before.get(lane)
                    state.files.setdefault(lane, _File(self._root / JOURNALS / system / lane)).look()

    @property
    def done(self) -> int:
        """Batches whose file of records is there."""
        return sum(state.done is not None for state in self._states.values())

    @property
    def running(self) -> int:
        """Batches that have written something in this run and are not done."""
        return sum(state.grown and not state.done for state in self._states.values())

    def is_done(self, batch: Batch) -> bool:
        """Whether a batch's file of records is there."""
        return self._states[batch.system, batch.id].done is not None

    @property
    def finished(self) -> list[Batch]:
        """Batches whose file of records appeared, or was written anew, since this object was made."""
        return [
            batch
            for batch in self.index.batches
            if self.is_done(batch)
            and self._states[batch.system, batch.id].done != self._first[RECORDS, batch.system].get(f"{batch.id}.jsonl")
        ]

    def counts(self) -> dict[str, Counter[str]]:
        """Numbers of cells by system and status. Of two records of one cell that of the later batch counts."""
        cells: dict[tuple[str, str], str] = {}
        for batch in self.index.batches:
            for file in self._states[batch.system, batch.id].files.values():
                cells.update({(batch.system, name): status for name, status in file.statuses.items() if status})
        counts: dict[str, Counter[str]] = {system: Counter() for system in self._systems}
        for (system, _), status in cells.items():
            counts[system][status] += 1
        return counts

    def seconds(self) -> tuple[float, float]:
        """Of the estimated seconds of all batches those of what is measured, and all."""
        measured = 0.0
        for batch in self.index.batches:
            state = self._states[batch.system, batch.id]
            part = 1.0 if state.done else min(1.0, state.points / max(1, batch.points))
            measured += part * batch.seconds
        return measured, sum(batch.seconds for batch in self.index.batches)


# --- what Snakemake says --------------------------------------------------------------------------------------------

_SUBMITTED = re.compile(r"has been submitted with SLURM jobid (\w+)")
_STATE = re.compile(r"SLURM status is: '(\w+)'")
_REFUSED = re.compile(r"SLURM sbatch failed\. The error message was '(.*?)'?\.?$", re.MULTILINE)


class Events(logging.Handler):
    """Listens to Snakemake's log: jobs that Slurm took, and what it says of those that failed."""

    def __init__(self) -> None:
        """Nothing has been heard."""
        super().__init__(logging.INFO)
        self.submitted: set[str] = set()
        self.failures: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Remember what matters: a failure by each file that the job was to make."""
        if getattr(record, "event", None) == "job_error":
            said = str(getattr(record, "rule_msg", None) or "")
            reason = ""
            if found := _STATE.search(said):
                reason = f"Slurm says {found[1]}"
            elif found := _REFUSED.search(said):
                reason = f"Slurm refused it: {found[1]}"
            for output in getattr(record, "output", None) or ():
                self.failures[str(output).split(" ")[0]] = reason
        elif found := _SUBMITTED.search(str(record.msg)):
            self.submitted.add(found[1])


def _last_line(path: Path) -> str:
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
        lines = file.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""


def failed(sweep: Sweep, events: Events, since: float, root: Path = Path()) -> Iterator[str]:
    """A line for each batch that failed and has no records; a log counts that was written after ``since``."""
    for batch in sweep.index.batches:
        reason = events.failures.get(f"{RECORDS}/{batch.system}/{batch.id}.jsonl")
        if reason is None or sweep.is_done(batch):
            continue
        log = Path(LOGS) / batch.system / f"{batch.id}.log"
        with contextlib.suppress(OSError):
            if (root / log).stat().st_mtime >= since:
                reason = "; ".join(filter(None, (reason, _last_line(root / log))))
        yield f"batch {batch.id} on {batch.system} failed: {reason or 'no reason was written'} (log: {log})"


# --- showing --------------------------------------------------------------------------------------------------------


def _number(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def duration(seconds: float) -> str:
    """A time for a person: `40 s`, `12 min`, `3 h 5 min`."""
    minutes = round(seconds / 60)
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _by_status(counts: Counter[str]) -> list[tuple[str, int]]:
    """What is ok first."""
    return sorted(counts.items(), key=lambda item: (item[0] != "ok", item[0]))


def table(counts: Mapping[str, Counter[str]]) -> str:
    """Cells by system and status."""
    total = sum(counts.values(), Counter[str]())
    statuses = [status for status, _ in _by_status(total)]
    rows = [["cells", *statuses, "all"]]
    shown = [*counts.items(), ("all", total)] if len(counts) > 1 else list(counts.items())
    for system, own in shown:
        rows.append([system, *(_number(own[status]) for status in statuses), _number(sum(own.values()))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


class Pace:
    """When a sweep will have ended, from how fast the estimated seconds went by since the first new record."""

    def __init__(self) -> None:
        """Nothing was seen."""
        self._start: tuple[float, float] | None = None
        self._moved = False

    def left(self, now: float, measured: float, planned: float) -> float | None:
        """Seconds until the end; None if that cannot be said yet."""
        # Compiling and queueing at the beginning say nothing about the pace of measurements.
        if self._start is None or (not self._moved and measured <= self._start[1]):
            self._start = now, measured
            return None
        self._moved = True
        seconds, gained = now - self._start[0], measured - self._start[1]
        return (planned - measured) * seconds / gained if gained > 0 and seconds > 0 else None


def line(sweep: Sweep, left: float | None, now: float) -> str:
    """One line: cells, by system and status, batches, the estimated end, and where the logs are."""
    counts = sweep.counts()
    done, cells = sum(sum(own.values()) for own in counts.values()), sweep.index.cells
    parts = [f"{_number(done)} of {_number(cells)} cells ({100 * done // max(1, cells)} %)"]
    for system, own in counts.items():
        if own:
            parts.append(f"{system}: " + ", ".join(f"{_number(count)} {status}" for status, count in _by_status(own)))
    parts.append(f"batches: {sweep.done} of {len(sweep.index.batches)} done, {sweep.running} running")
    if left is not None and done < cells:
        end = time.localtime(now + left)
        day = "%H:%M" if left < 43_200 else "%Y-%m-%d %H:%M"
        parts.append(f"about {duration(left)} left, until {time.strftime(day, end)}")
    return " · ".join([*parts, f"logs: {LOGS}/"])


class Display(threading.Thread):
    """Writes a line now and then, when something has changed."""

    def __init__(self, sweep: Sweep, stream: TextIO, every_s: float = EVERY_S) -> None:
        """It is started as any thread, and keeps no process from ending."""
        super().__init__(name="ironsweep-progress", daemon=True)
        self._sweep = sweep
        self._stream = stream
        self._every_s = every_s
        self._end = threading.Event()
        self._pace = Pace()

    def run(self) -> None:
        """Look and write until the end."""
        last: object = None
        while True:
            self._sweep.look()
            left = self._pace.left(time.monotonic(), *self._sweep.seconds())
            state = (self._sweep.counts(), self._sweep.done, self._sweep.running)
            if last is not None and state != last:
                with contextlib.suppress(OSError, ValueError):
                    self._stream.write(f"ironsweep: {line(self._sweep, left, time.time())}\n")
                    self._stream.flush()
            last = state
            if self._end.wait(self._every_s):
                return

    def stop(self) -> None:
        """Write no more."""
        self._end.set()
        self.join(self._every_s)


def summary(sweep: Sweep, seconds: float, allocations: int) -> str:
    """What there is at the end: the time that this run took, the Slurm jobs that it used, and the table."""
    counts = sweep.counts()
    done = sum(sum(own.values()) for own in counts.values())
    words = [f"{_number(done)} of {_number(sweep.index.cells)} cells in {duration(seconds)}"]
    if allocations:
        words.append(f"{_number(allocations)} Slurm job{'' if allocations == 1 else 's'}")
    words.append(f"{sweep.done} of {len(sweep.index.batches)} batches done")
    return f"{', '.join(words)}\n{table(counts)}"
