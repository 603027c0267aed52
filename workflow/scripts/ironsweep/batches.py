"""The plan as batches, each of which is one job: made once, kept in results/plan, and read again from there.

A plan only grows. A batch that ran stays as it is; one that did not stays too, as long as all its cells are wanted.
Cells that are in no batch, and groups of cells that are to be compared and are not in one batch together, are packed
into further batches. What a batch measures is in a file of its own that never changes and is named by its content, so
a job that was submitted finds its points whatever happens to the configuration meanwhile.

In results/plan:

* index.json: the batches in the order in which they were made, and what the workflow has to know to be parsed.
* batches/{batch}.jsonl: a header and the batch's points, lane after lane.
* cells.csv: every cell, also those that are not run.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ironsweep import packing
from ironsweep.config import JOB_DEFAULTS, Settings, System
from ironsweep.costs import learn
from ironsweep.errors import UserError
from ironsweep.packing import Batch, Group, Limits
from ironsweep.plan import Cell, Plan
from ironsweep.variants import EMULATED

FORMAT = 1
"""Of the index; a file of another format is not read but made anew, with the batches that it names."""

PLAN = Path("results/plan")
RECORDS = Path("results/records")
JOURNALS = Path("results/journal")

LOCAL_S = 900.0
"""Seconds of work in a batch on this machine, where no scheduler limits it: what an interruption shows as undone."""

START_S = 20.0
"""Seconds from a job's start to its first worker: Snakemake starts in it and reads the workflow."""

SAFETY = 1.5
"""Factor by which an allocation's time exceeds what is planned into it."""

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
        earlier: batches that had some of its cells, were begun and are no longer wanted: what they measured is used.
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

    def begun(self, root: Path) -> bool:
        """Whether anything was measured for it."""
        journal = root / self.journal
        return (root / self.records).exists() or any(journal.parent.glob(f"{self.id}.*.jsonl"))


@dataclass(frozen=True)
class Index:
    """The plan as far as the workflow has to know it.

    Attributes:
        key: of what it was made from.
        binaries: by program (`KERNEL/VARIANT-ARCH`), the files below results/bin that it consists of.
        archs: by kernel, for which architectures device images are needed.
        entries: all batches in the order in which they were made.
        words: how good the batches are, a line for each device of a system.
        looked_at: finished batches whose records were looked through for points that were handed back.
    """

    key: str
    binaries: Mapping[str, Sequence[str]]
    archs: Mapping[str, Sequence[str]]
    entries: tuple[Entry, ...]
    words: tuple[str, ...] = ()
    looked_at: tuple[str, ...] = ()

    @property
    def batches(self) -> list[Entry]:
        """The batches that have a cell of the present configuration."""
        return [entry for entry in self.entries if entry.wanted]

    @property
    def cells(self) -> int:
        """How many cells these batches measure."""
        return sum(entry.points - entry.pairs for entry in self.batches)

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
        names = ("key", "binaries", "archs")
        return Index(
            **{name: data[name] for name in names},
            entries=tuple(entries),
            words=tuple(data["words"]),
            looked_at=tuple(data["looked_at"]),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: is damaged ({error}); remove it: the plan is made anew from the batches") from None


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
    key = key_of(settings)
    there = load(root)
    back: set[str] = set()
    finished = [entry for entry in there.entries if (root / entry.records).exists()] if there else []
    new = [entry for entry in finished if there and entry.id not in there.looked_at]
    for entry in new:
        back |= set(handed_back(root / entry.records))
    if there and there.key == key and not back:
        if new and write:
            there = replace(there, looked_at=tuple(entry.id for entry in finished))
            _write_index(there, root)
        return there
    plan = make()
    index, files = extend(there, plan, settings, root, back)
    index = replace(index, key=key, looked_at=tuple(entry.id for entry in finished))
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


def handed_back(records: Path) -> Iterator[str]:
    """Ids of the points of a batch that were not run because its device failed."""
    with records.open(encoding="utf-8") as lines:
        for line in lines:
            if '"handed_back"' in line and (record := json.loads(line)).get("handed_back"):
                yield record.get("twin_of") or record["id"]


def _lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """Header and points of a batch's file."""
    try:
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as a batch ({error}); remove results/plan to plan anew") from None


def _entry_of_file(path: Path) -> Entry:
    """A batch from its file's header."""
    header = next(_lines_of(path))
    names = ("system", "device", "points", "pairs", "lanes", "seconds")
    return Entry(id=header["batch"], programs=tuple(header["programs"]), **{name: header[name] for name in names})


# --- planning -------------------------------------------------------------------------------------------------------


def extend(
    there: Index | None, plan: Plan, settings: Settings, root: Path, back: set[str]
) -> tuple[Index, list[tuple[Path, str]]]:
    """The index for a plan, with the batches that are there as far as they hold, and the files of all new batches.

    Args:
        there: the index so far.
        plan: all cells.
        settings: what they were made from.
        root: the working directory.
        back: cells whose points were handed back.
    """
    wanted = {cell.id: cell for cell in plan.cells if cell.status_planned == "planned"}
    old = list(there.entries) if there else []
    cells_of = {entry.id: _cells_in(root / entry.file) for entry in old}
    begun = {entry.id for entry in old if entry.begun(root)}
    done = {entry.id for entry in old if (root / entry.records).exists()}
    # What did not run and is not wanted as a whole is given up; of what ran, records are kept in any case.
    held = [entry for entry in old if entry.id in done or cells_of[entry.id] <= wanted.keys()]
    given_up = [entry for entry in old if entry not in held]
    owner = {cell: entry.id for entry in held for cell in cells_of[entry.id] if cell in wanted}
    settled = _settled(wanted.values(), owner, back)
    rest = [cell for cell in wanted.values() if cell.id not in settled]
    costs = {system.name: learn(_records(root / RECORDS / system.name)) for system in settings.systems} if rest else {}
    made: list[Batch] = []
    words = []
    for system in settings.systems:
        for device in sorted({cell.device for cell in rest if cell.system == system.name}):
            own = [cell for cell in rest if (cell.system, cell.device) == (system.name, device)]
            groups = packing.grouped(own, costs, settings.check.seed)
            packed = packing.pack(groups, limits(system, device, groups))
            made += packed.batches
            words.append(f"{system.name}, {device}: {packed.describe()}")
    entries, files = [], []
    for batch in made:
        owner |= dict.fromkeys((point for point in batch.points if point in wanted), batch.id)
        earlier = [
            entry.id for entry in given_up if entry.id in begun and cells_of[entry.id].intersection(batch.points)
        ]
        entry, text = _new(batch, wanted, settings, tuple(earlier))
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
            words=tuple(words) or (there.words if there else ()),
        ),
        files,
    )


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


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    """Records of a system's batches; a damaged line says nothing here and is reported where tables are made."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and record.get("status") == "ok":
                yield record


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


def minutes_of(entry: Entry, system: System, attempt: int = 1) -> int:
    """Minutes that a batch's job asks for: what it is estimated to take with the safety factor, doubled at each retry.

    Never more than the partition allows (`max_runtime`), or than `runtime` where that is not said.
    """
    asked = system.slurm.get("runtime", JOB_DEFAULTS["runtime"])
    most = max(asked, system.slurm.get("max_runtime", asked))
    needed = math.ceil((entry.seconds + START_S) * SAFETY / 60) + 1
    return int(min(most, needed * 2 ** (attempt - 1)))


def journals_before(entry: Entry) -> str:
    """The runner's option that names journals of batches that were given up for this one."""
    stems = [str(JOURNALS / entry.system / batch) for batch in entry.earlier]
    return f"--earlier {' '.join(stems)}" if stems else ""
