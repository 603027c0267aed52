"""The plan as batches, each of which is one job: made once, kept in results/plan, and read again from there.

A plan only grows. A batch that ran stays as it is; one that did not stays too, as long as all its cells are wanted and
no other batch has to measure them. Cells that are in no batch, and groups of cells that are to be compared and are not
in one batch together, are packed into further batches. What was measured for a batch that is no more, because it was
given up or because results/plan was lost, is taken over from its journals.

What a batch measures is in a file of its own that never changes and is named by its content, so a job that was
submitted finds its points whatever happens to the configuration meanwhile.

In results/plan:

* index.json: the batches in the order in which they were made, and what the workflow has to know to be parsed.
* batches/{batch}.jsonl: a header and the batch's points, lane after lane.
* cells.csv: every cell, also those that are not run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ironsweep import packing, progress
from ironsweep.config import JOB_DEFAULTS, Settings, System
from ironsweep.costs import NEEDED, Costs, error, learn
from ironsweep.errors import UserError
from ironsweep.packing import Batch, Group, Limits
from ironsweep.plan import Cell, Plan
from ironsweep.runner import START_GRACE_S
from ironsweep.variants import EMULATED

FORMAT = 2
"""Of the index; one of another format is not read, and the plan is made as if there were none."""

PLAN = Path("results/plan")
RECORDS = Path(progress.RECORDS)
JOURNALS = Path(progress.JOURNALS)

LOCAL_S = 900.0
"""Seconds of work in a batch on this machine, where no scheduler limits it: what an interruption shows as undone."""

START_S = 20.0
"""Seconds from a job's start to its first worker: Snakemake starts in it and reads the workflow."""

SAFETY = 1.5
"""Factor by which an allocation's time exceeds what is planned into it."""

LARGE = 1 << 27
"""Bytes of a system's records beyond which nothing is said of estimates: to read them would take a while."""

_SOURCES = ("batches.py", "costs.py", "packing.py", "plan.py")


@dataclass(frozen=True)
class Entry:
    """What the workflow knows of a batch without opening its file.

    Attributes:
        id: hash of the content.
        system: where it runs.
        device: on which of that system's devices.
        programs: what it runs, as `KERNEL/VARIANT-ARCH`, sorted.
        points: how many it has, the second ones of A/A pairs included.
        pairs: how many of these there are.
        lanes: devices that measure side by side.
        seconds: what its longest lane is estimated to take.
        wanted: whether it has a cell of the present configuration that no later batch has.
        earlier: batches that are in the plan no more and measured some of its points, which are taken over.
    """

    id: str
    system: str
    device: str
    programs: tuple[str, ...]
    points: int
    pairs: int
    lanes: int
    seconds: float
    wanted: bool = True
    earlier: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        """Its header and points."""
        return PLAN / "batches" / f"{self.id}.jsonl"

    @property
    def records(self) -> Path:
        """What comes out of it."""
        return RECORDS / self.system / f"{self.id}.jsonl"

    @property
    def journal(self) -> Path:
        """Stem of the files that its lanes write while they measure."""
        return JOURNALS / self.system / self.id

    def changed(self, root: Path) -> int | None:
        """When its records were written; None if there are none."""
        try:
            return (root / self.records).stat().st_mtime_ns
        except FileNotFoundError:
            return None


@dataclass(frozen=True)
class Index:
    """The plan as far as the workflow has to know it.

    Attributes:
        key: of what it was made from.
        binaries: by program (`KERNEL/VARIANT-ARCH`), the files below results/bin that it consists of.
        archs: by kernel, for which architectures device images are needed.
        entries: all batches in the order in which they were made.
        cells: how many cells are to be measured.
        programs: what they need to have been built; `binaries` names those of batches that ran before, too.
        words: how good the batches are, a line for each device of a system.
        looked_at: finished batches whose records were looked through for points that were handed back, and when these
            were written.
    """

    key: str
    binaries: Mapping[str, Sequence[str]]
    archs: Mapping[str, Sequence[str]]
    entries: tuple[Entry, ...]
    cells: int
    programs: tuple[str, ...]
    words: tuple[str, ...] = ()
    looked_at: Mapping[str, int] = field(default_factory=dict)

    @property
    def batches(self) -> list[Entry]:
        """The batches that have a cell of the present configuration."""
        return [entry for entry in self.entries if entry.wanted]

    def entry(self, batch: str, root: Path = Path()) -> Entry:
        """A batch by its id; one that is not in the index any more is known from its file."""
        found = next((entry for entry in self.entries if entry.id == batch), None)
        return found or _entry_of_file(root / PLAN / "batches" / f"{batch}.jsonl")


# --- the cache ------------------------------------------------------------------------------------------------------


def load(root: Path) -> Index | None:
    """The index that is there; None if there is none, or one of another format.

    Raises:
        UserError: if the file is damaged.
    """
    path = root / PLAN / "index.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            return None
        tuples = ("programs", "earlier")
        entries = [Entry(**{**each, **{name: tuple(each[name]) for name in tuples}}) for each in data["entries"]]
        names = ("key", "binaries", "archs", "cells", "looked_at")
        return Index(
            **{name: data[name] for name in names},
            entries=tuple(entries),
            programs=tuple(data["programs"]),
            words=tuple(data["words"]),
        )
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise UserError(f"{path}: cannot be read: {problem.strerror}") from None
    except (ValueError, KeyError, TypeError) as problem:
        raise UserError(f"{path}: is damaged ({problem}); remove it: nothing that was measured is lost") from None


def key_of(settings: Settings) -> str:
    """What a plan was made from, as a hash: the settings and the code that plans."""
    code = b"".join((Path(__file__).parent / name).read_bytes() for name in _SOURCES)
    return hashlib.sha256(repr(settings).encode() + code).hexdigest()


def current(settings: Settings, root: Path, make: Callable[[], Plan], *, write: bool) -> Index:
    """The index for the settings: that in results/plan if it is theirs, else a new one, which is written there.

    Args:
        settings: what is to be measured.
        root: the working directory.
        make: makes all of the settings' cells; called only if the plan is not there yet.
        write: whether the new one is kept. Where somebody only looks, no more is written than Snakemake has to find.

    Raises:
        UserError: if a group of cells takes longer than an allocation may, or the index is damaged.
    """
    there = load(root)
    try:
        return _current(there, settings, root, make, write)
    except OSError as problem:
        raise UserError(f"{problem.filename or root / PLAN}: cannot be read or written: {problem.strerror}") from None


def _current(there: Index | None, settings: Settings, root: Path, make: Callable[[], Plan], write: bool) -> Index:
    key = key_of(settings)
    entries = there.entries if there else ()
    finished = {entry.id: changed for entry in entries if (changed := entry.changed(root)) is not None}
    new = [entry for entry in entries if there and finished.get(entry.id) != there.looked_at.get(entry.id)]
    came_back = {entry.id for entry in new if entry.id in finished and _look_at(entry, root)}
    lost = any(not (root / entry.file).exists() for entry in entries)
    if there and there.key == key and not came_back and not lost:
        if new and write:
            there = replace(there, looked_at=finished)
            _write_index(there, root)
        return there
    plan = make()
    index, files = extend(there, plan, settings, root)
    index = replace(index, key=key, looked_at=finished)
    # Files of batches never change: to leave one that is not needed after all does no harm.
    (root / PLAN / "batches").mkdir(parents=True, exist_ok=True)
    for path, text in files:
        write_if_changed(root / path, text)
    if write or not there:
        write_if_changed(root / PLAN / "cells.csv", plan.csv())
        _write_index(index, root)
    return index


def write_if_changed(path: Path, text: str) -> None:
    """Write a file whole, or leave it as it is if it says the same, so that nothing is made anew after it."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _write_index(index: Index, root: Path) -> None:
    data = {"format": FORMAT, **asdict(index)}
    write_if_changed(root / PLAN / "index.json", f"{json.dumps(data, indent=1, default=str)}\n")


def record_files(root: Path) -> list[Path]:
    """Files of records in ``results``: those of the plan's batches, and those that were taken in.

    Without a plan, all that there are. Files of batches that were given up stay, and are none of the results.
    """
    index = load(root)
    planned = [root / entry.records for entry in index.batches] if index else sorted((root / RECORDS).glob("*/*.jsonl"))
    return [path for path in [*planned, *sorted((root / "results/imported").glob("*.jsonl"))] if path.exists()]


def handed_back(records: Path) -> Iterator[str]:
    """Ids of the points of a batch that were not run because its device failed; a damaged line is none."""
    with records.open("rb") as lines:
        for line in lines:
            if b'"handed_back"' in line and (record := _object(line)).get("handed_back"):
                yield str(record.get("twin_of") or record.get("id"))


def _look_at(entry: Entry, root: Path) -> bool:
    """Whether points of a finished batch came back. Raises UserError if its records are not all there."""
    path = root / entry.records
    with path.open("rb") as lines:
        there = sum(line.endswith(b"}\n") and "id" in progress.values(line) for line in lines)
    if there < entry.points:
        missing = f"{entry.points - there} of its {entry.points} records are missing"
        raise UserError(f"{path}: is damaged, {missing}; remove it: the journal has what was measured")
    return any(True for _ in handed_back(path))


def _object(line: bytes) -> dict[str, Any]:
    """The object on a line; an empty one if it is damaged."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _lines_of(path: Path) -> list[dict[str, Any]]:
    """Header and points of a batch's file."""
    try:
        lines = [_object(line) for line in path.read_bytes().splitlines()]
    except OSError as problem:
        raise UserError(f"{path}: cannot be read: {problem.strerror}") from None
    if not lines or lines[0].get("points") != len(lines) - 1 or not all("id" in line for line in lines[1:]):
        raise UserError(f"{path}: is damaged; remove it: nothing that was measured is lost")
    return lines


def _entry_of_file(path: Path) -> Entry:
    """A batch from its file's header."""
    header = _lines_of(path)[0]
    names = ("system", "device", "points", "pairs", "lanes", "seconds")
    return Entry(id=header["batch"], programs=tuple(header["programs"]), **{name: header[name] for name in names})


# --- planning -------------------------------------------------------------------------------------------------------


def extend(there: Index | None, plan: Plan, settings: Settings, root: Path) -> tuple[Index, list[tuple[Path, str]]]:
    """The index for a plan, with the batches that are there as far as they hold, and the files of all new batches.

    Args:
        there: the index so far.
        plan: all cells.
        settings: what they were made from.
        root: the working directory.
    """
    wanted = {cell.id: cell for cell in plan.cells if cell.status_planned == "planned"}
    cells_of = {
        entry.id: _cells_in(root / entry.file)
        for entry in (there.entries if there else ())
        if (root / entry.file).exists()
    }
    old = [entry for entry in (there.entries if there else ()) if entry.id in cells_of]
    done = {entry.id for entry in old if entry.changed(root) is not None}
    back = {entry.id: set(handed_back(root / entry.records)) for entry in old if entry.id in done}
    owner, settled = _share(wanted, old, cells_of, back)
    # What did not run and is not wanted as a whole is given up, as is what would measure cells that are planned anew;
    # of what ran, records are kept in any case.
    held = [
        entry
        for entry in old
        if entry.id in done or all(cell in settled and owner[cell] == entry.id for cell in cells_of[entry.id])
    ]
    owner, settled = _share(wanted, held, cells_of, back)
    rest = [cell for cell in wanted.values() if cell.id not in settled]
    costs = {system.name: _costs(root / RECORDS / system.name) for system in settings.systems} if rest else {}
    made: list[Batch] = []
    words = []
    for system in settings.systems:
        for device in sorted({cell.device for cell in rest if cell.system == system.name}):
            own = [cell for cell in rest if (cell.system, cell.device) == (system.name, device)]
            groups = packing.grouped(own, costs, settings.check.seed)
            packed = packing.pack(groups, limits(system, device, groups))
            made += [_unlike(batch, done) for batch in packed.batches]
            words.append(f"{system.name}, {device}: {packed.describe()}")
    known = {entry.id for entry in held} | {batch.id for batch in made}
    left = {name: _left_behind(root / JOURNALS / name, known) for name in {batch.system for batch in made}}
    entries, files = [], []
    for batch in made:
        owner |= dict.fromkeys((point for point in batch.points if point in wanted), batch.id)
        earlier = tuple(name for name, points in left[batch.system].items() if not points.isdisjoint(batch.points))
        entry, text = _new(batch, wanted, settings, earlier)
        entries.append(entry)
        files.append((entry.file, text))
    needed = set(owner.values())
    everything = [replace(entry, wanted=entry.id in needed) for entry in [*held, *entries]]
    kernels = sorted({cell.kernel for cell in plan.cells})
    return (
        Index(
            key="",
            # Programs of batches that ran, whose kernels are not wanted at present, are still what these depend on.
            binaries={**(there.binaries if there else {}), **plan.binaries},
            archs={kernel: plan.archs(kernel) for kernel in kernels},
            entries=tuple(everything),
            cells=len(wanted),
            programs=tuple(plan.binaries),
            words=tuple(words) or (there.words if there else ()),
        ),
        files,
    )


def _share(
    wanted: Mapping[str, Cell], entries: Iterable[Entry], cells_of: Mapping[str, set[str]], back: Mapping[str, set[str]]
) -> tuple[dict[str, str], set[str]]:
    """The batch of each wanted cell, of several the last, and the cells that need no further one."""
    owner = {cell: entry.id for entry in entries for cell in cells_of[entry.id] if cell in wanted}
    came_back = {cell for cell, batch in owner.items() if cell in back.get(batch, ())}
    return owner, _settled(wanted.values(), owner, came_back)


def _unlike(batch: Batch, done: set[str]) -> Batch:
    """A batch, under another id if one with the same points ran already: they came back, and have to run once more."""
    while batch.id in done:
        batch = replace(batch, attempt=batch.attempt + 1)
    return batch


def _left_behind(folder: Path, known: set[str]) -> dict[str, set[str]]:
    """What the journals of batches that are in the plan no more hold: ids of points, by batch, the latest first."""
    found: dict[str, set[str]] = {}
    files = [path for path in folder.glob("*.*.jsonl") if path.is_file() and path.name.split(".")[0] not in known]
    for path in sorted(files, key=lambda path: (-path.stat().st_mtime_ns, path.name)):
        points = found.setdefault(path.name.split(".")[0], set())
        points.update(
            record["id"] for line in path.read_bytes().splitlines() if "id" in (record := progress.values(line))
        )
    return found


def _cells_in(path: Path) -> set[str]:
    """Ids of the cells in a batch's file."""
    return {line["id"] for line in _lines_of(path) if "type" not in line and not line.get("twin_of")}


def _settled(cells: Iterable[Cell], owner: Mapping[str, str], back: set[str]) -> set[str]:
    """Ids of the cells that need no further batch: what is compared is in one batch together, nothing came back."""
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(packing.compared(cell), []).append(cell)
    settled: set[str] = set()
    for group in groups.values():
        there = {cell.id for cell in group if cell.id in owner and cell.id not in back}
        if group[0].kind != "measure" or (len(there) == len(group) and len({owner[cell.id] for cell in group}) == 1):
            settled |= there
    return settled


def _costs(folder: Path) -> Costs:
    """Costs from a system's records; those of the model if one of them is so damaged that nothing can be learnt."""
    try:
        return learn(_records(folder))
    except (TypeError, ValueError, ArithmeticError):
        return learn(())


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    """Records of a system's batches; a damaged line says nothing here and is reported where tables are made."""
    for path in sorted(folder.glob("*.jsonl")):
        yield from _read(path)


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        for line in lines:
            if (record := _object(line)).get("status") == "ok" and record.keys() >= NEEDED:
                yield record


def estimates(finished: Iterable[progress.Batch], since: float, root: Path) -> list[str]:
    """How the time that points were estimated to take compares with what they took, a line for each system.

    A plan does not keep the time of each point, so it is estimated once more, from the records that were there before.
    Where that cannot be done, or would take long, nothing is said.

    Args:
        finished: batches that ended in this run.
        since: when it began; what was measured before is not compared.
        root: the working directory.
    """
    files: dict[str, set[Path]] = {}
    for batch in finished:
        files.setdefault(batch.system, set()).add(root / RECORDS / batch.system / f"{batch.id}.jsonl")
    began = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since))
    lines = []
    for system, new in sorted(files.items()):
        with contextlib.suppress(OSError, LookupError, TypeError, ValueError, ArithmeticError):
            if sum(path.stat().st_size for path in (root / RECORDS / system).glob("*.jsonl")) > LARGE:
                continue
            records = list(_records(root / RECORDS / system))
            measured = {record["id"] for path in new for record in _read(path) if record["started"] >= began}
            if measured:
                before = learn(record for record in records if record["id"] not in measured)
                lines.append(f"{system}: {error(before, records, measured).describe()}")
    return lines


def _new(batch: Batch, wanted: Mapping[str, Cell], settings: Settings, earlier: tuple[str, ...]) -> tuple[Entry, str]:
    """The entry of a batch and the text of its file."""
    twins = {packing.twin(point): point for point in batch.points if point in wanted}
    points = []
    for number, lane in enumerate(batch.lanes):
        for identity in lane:
            cell = wanted[twins.get(identity, identity)]
            point = {**cell.point(), "id": identity, "lane": number}
            if identity in twins:
                point |= {"twin_of": cell.id, "dump": None}
            points.append(point)
    programs = tuple(sorted({wanted[point].program for point in batch.points if point in wanted}))
    seconds = round(max(batch.seconds), 3)
    system = next(system for system in settings.systems if system.name == batch.system)
    header: dict[str, Any] = {
        "type": "batch",
        "batch": batch.id,
        "system": batch.system,
        "device": batch.device,
        "programs": programs,
        "points": len(points),
        "pairs": sum("twin_of" in point for point in points),
        "lanes": len(batch.lanes),
        "seconds": seconds,
        "expected": expected(system, batch.device),
    }
    known = {name: header[name] for name in ("system", "device", "programs", "points", "pairs", "lanes", "seconds")}
    entry = Entry(id=batch.id, earlier=earlier, **known)
    return entry, "".join(f"{json.dumps(line)}\n" for line in [header, *points])


# --- what a system offers -------------------------------------------------------------------------------------------


def expected(system: System, device: str) -> dict[str, Any]:
    """What a device has to turn out to be: nothing where it is the host or an emulated one, or no model is named."""
    if device in ("host", EMULATED):
        return {}
    model = system.hardware[device].model if device in system.hardware else None
    facts = {"vendor": device, "model": model, "arch": list(system.devices.get(device, ()))}
    return {name: value for name, value in facts.items() if value}


def lanes(system: System, device: str) -> int:
    """How many devices measure side by side in one allocation."""
    if device in ("host", EMULATED):
        return 1
    if system.scheduler == "slurm" and (gres := system.slurm.get("gres")):
        number = re.search(r":(\d+)$", gres)
        return int(number[1]) if number else 1
    alone = system.scheduler == "slurm" and not system.slurm.get("exclusive")
    count = system.hardware[device].count if device in system.hardware else None
    return 1 if alone else count or 1


def limits(system: System, device: str, groups: Sequence[Group]) -> Limits:
    """What an allocation offers. On this machine nothing ends one: there a batch is as long as its longest group."""
    number = lanes(system, device)
    if system.scheduler == "slurm":
        minutes = system.slurm.get("runtime", JOB_DEFAULTS["runtime"])
        return Limits(60.0 * minutes, number, SAFETY, START_S, f"config/systems/{system.name}.yaml: slurm: runtime")
    longest = max((group.seconds + math.fsum(group.starts.values()) for group in groups), default=0.0)
    return Limits(max(LOCAL_S, longest + 1.0), number, 1.0, 0.0, system.name)


def minutes_of(entry: Entry, system: System, timeout_s: float, attempt: int = 1) -> int:
    """Minutes that a batch's job asks for: what it is estimated to take with the safety factor, doubled at each retry.

    A point that hangs must end before the job does, or the next try would hang at it again.

    Never more than the partition allows (`max_runtime`), or than `runtime` where that is not said.
    """
    asked = system.slurm.get("runtime", JOB_DEFAULTS["runtime"])
    most = max(asked, system.slurm.get("max_runtime", asked))
    needed = math.ceil(((entry.seconds + START_S) * SAFETY + timeout_s + START_GRACE_S) / 60)
    return int(min(most, needed * 2 ** (attempt - 1)))


def journals_before(entry: Entry) -> str:
    """The runner's option that names journals of batches that were given up for this one."""
    stems = [str(JOURNALS / entry.system / batch) for batch in entry.earlier]
    return f"--earlier {' '.join(stems)}" if stems else ""
