"""Tables: one row a planned cell, one row a comparison with the baseline, one row a device image.

Rows are in an order that depends on nothing but what they are about, numbers keep full precision, and units are part of
the column names.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ironsweep.codegen import NUMBERS
from ironsweep.golden import Case, Golden
from ironsweep.judge import PLANNED, Reference, ReferenceKey, Status, judge, planted_ok
from ironsweep.planned import Row
from ironsweep.records import Problem
from ironsweep.runner import Programs
from ironsweep.statistics import IncomparableError, ratio_of_medians, require_comparable, summarise
from ironsweep.variants import EMULATED

PLAN_COLUMNS = [
    "system",
    "id",
    "kernel",
    "group",
    "kind",
    "variant",
    "device",
    "arch",
    "safety",
    "contraction",
    "tuning",
    "block",
    "size",
    "reps",
    "passes",
    "warmup",
    "region",
    "data",
    "seed",
]
STATISTICS_COLUMNS = [
    "n",
    "median_s",
    "ci_low_s",
    "ci_high_s",
    "min_s",
    "cv",
    "bandwidth_gib_per_s",
    "bandwidth_of_copy",
    "gflop_per_s",
]
RECORD_COLUMNS = [
    "actual_size",
    "clock",
    "clock_resolution_s",
    "threads",
    "multiprocessors",
    "device_name",
    "device_uid",
    "device_arch",
    "driver",
    "runtime",
    "binary_sha256",
    "image_sha256",
    "toolchain_sha256",
    "host",
    "started",
]
CELL_COLUMNS = [*PLAN_COLUMNS, "status", "reason", *STATISTICS_COLUMNS, "precision", *RECORD_COLUMNS, "verified"]

RATIO_COLUMNS = [
    "system",
    "kernel",
    "device",
    "arch",
    "region",
    "data",
    "size",
    "reps",
    "safety",
    "contraction",
    "tuning",
    "block",
    "variant",
    "baseline_variant",
    "status",
    "reason",
    "speed",
    "ci_low",
    "ci_high",
    "n",
    "baseline_n",
    "bandwidth_of_copy",
    "id",
    "baseline_id",
    "verified",
]
NOISE_COLUMNS = [
    "system",
    "id",
    "kernel",
    "device",
    "arch",
    "variant",
    "tuning",
    "region",
    "data",
    "size",
    "reps",
    "status",
    "reason",
    "ratio",
    "ci_low",
    "ci_high",
    "n",
    "twin_id",
]
PROBLEM_COLUMNS = ["file", "line", "reason"]
CODEGEN_COLUMNS = ["kernel", "arch", "safety", "contraction", "entry", "status", "reason", *NUMBERS]

COPY = "Stream_COPY"
"""The kernel whose bandwidth is what others' is compared with."""

GIB = 2.0**30
_ORDER = ["kind", "kernel", "device", "arch", "variant", "tuning", "region", "data", "size", "reps", "id"]


@dataclass
class System:
    """What is known of one run: the plan, the records, and where the dumps of the records are.

    Attributes:
        name: the system's name, or the name of the import.
        cells: planned cells.
        records: by the id of their cell.
        dumps: the folder that the records' `dump` is relative to.
    """

    name: str
    cells: list[Row]
    records: dict[str, Row]
    dumps: Path = field(default_factory=Path)


def take_over_notes(cells: Iterable[Row], programs: Programs) -> None:
    """Cells that no device runs, and whose program could not be built either, say that instead; changed in place."""
    for cell in cells:
        if cell["status_planned"] not in (None, PLANNED, Status.EXCLUDED) and (note := programs.note(cell)):
            cell["status_planned"], cell["reason_planned"] = note


def planned_systems(cells: Iterable[Row], records: Iterable[Row]) -> list[System]:
    """The systems of a plan with their records."""
    systems: dict[str, System] = {}
    for cell in cells:
        systems.setdefault(cell["system"], System(cell["system"], [], {})).cells.append(cell)
    for record in records:
        if record["system"] in systems:
            systems[record["system"]].records[record["id"]] = record
    return list(systems.values())


def imported_system(name: str, records: Iterable[Row], dumps: Path = Path()) -> System:
    """A system of which only the records are known: each of them is a cell."""
    found = {record["id"]: record for record in records}
    return System(name, [{**record, "status_planned": PLANNED} for record in found.values()], found, dumps)


def judged_cells(
    system: System,
    golden: Mapping[str, Mapping[Case, Golden]],
    references: Mapping[ReferenceKey, Reference],
) -> list[Row]:
    """The final row of every planned cell of a system, ordered by what the cells are (the plan's order is random).

    Args:
        system: plan and records.
        golden: golden results by kernel and case.
        references: RAJAPerf's checksums.
    """
    rows = []
    for cell in system.cells:
        record = system.records.get(cell["id"])
        verdict = judge(cell, record, golden.get(cell["kernel"], {}), references, system.dumps)
        row = {column: cell.get(column) for column in PLAN_COLUMNS} | {"system": system.name}
        row |= {column: (record or {}).get(column) for column in RECORD_COLUMNS}
        row |= {"status": str(verdict.status), "reason": verdict.reason, "precision": "f64"}
        rows.append(row)
    _take_over_failed_checks(rows)
    for row in rows:
        if row["status"] == Status.OK and row["device"] != EMULATED:
            row |= statistics_of(system.records[str(row["id"])])
    _compare_with_copy(rows)
    verified = planted_ok(rows)
    rows.sort(key=lambda row: tuple(row[key] for key in _ORDER))
    return [row | {"verified": verified} for row in rows]


def _take_over_failed_checks(rows: Sequence[Row]) -> None:
    """A program whose check came out wrong or ended in a fault has no right results: its times are of nothing."""
    failed = (Status.WRONG_RESULT, Status.CRASHED)
    wrong = {_program(row): row for row in rows if row["kind"] == "check" and row["status"] in failed}
    for row in rows:
        check = wrong.get(_program(row))
        if check and row["kind"] == "measure" and row["status"] == Status.OK:
            reason = f"its check on {check['data']} data failed: {check['reason']}"
            row |= {"status": str(Status.WRONG_RESULT), "reason": reason}


def _compare_with_copy(rows: Sequence[Row]) -> None:
    """Set `bandwidth_of_copy`: bandwidth over that of the fastest copy at the same size on the same device."""

    def place(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in ("host", "device_name", "device", "arch", "region", "size"))

    measured = [row for row in rows if row["kind"] == "measure" and row["status"] == Status.OK]
    fastest: dict[tuple[Any, ...], float] = {}
    for row in measured:
        if row["kernel"] == COPY:
            fastest[place(row)] = max(fastest.get(place(row), 0.0), row["bandwidth_gib_per_s"])
    for row in measured:
        if copy := fastest.get(place(row)):
            row["bandwidth_of_copy"] = row["bandwidth_gib_per_s"] / copy


def unproven(rows: Iterable[Row], source: str) -> list[Problem]:
    """A problem for each program with measured times, but without a check on each kind of data that came out right."""
    rows = list(rows)
    proven = {(_program(row), row["data"]) for row in rows if row["kind"] == "check" and row["status"] == Status.OK}
    measured = {_program(row) for row in rows if row["kind"] == "measure" and row["status"] == Status.OK}
    return [
        Problem(source, 0, f"{' '.join(program)}: it has times, but no check on {data} data came out right")
        for program in sorted(measured)
        for data in ("reference", "random")
        if (program, data) not in proven
    ]


def _program(row: Row) -> tuple[str, ...]:
    """What a check stands for: everything but sizes and the like."""
    return tuple(str(row[name]) for name in ("system", "kernel", "variant", "device", "arch", "tuning"))


def statistics_of(record: Mapping[str, Any]) -> Row:
    """The statistics columns of a record: times in seconds per rep, rates from the median."""
    summary = summarise(record["seconds_per_rep"])
    # RAJAPerf's definition: what is modified is both read and written.
    modified = record["bytes_modified"] + record["bytes_atomic"]
    moved = record["bytes_read"] + record["bytes_written"] + 2 * modified
    return {
        "n": summary.n,
        "median_s": summary.median,
        "ci_low_s": summary.ci_low,
        "ci_high_s": summary.ci_high,
        "min_s": summary.min,
        "cv": summary.cv,
        "bandwidth_gib_per_s": moved / summary.median / GIB,
        "gflop_per_s": record["flops"] / summary.median / 1e9,
    }


def ratios(
    cells: Sequence[Row], samples: Mapping[tuple[str, str], Sequence[float]], baseline: Mapping[str, str]
) -> Iterator[Row]:
    """Compare every measured cell with the cell of its device's baseline variant under the same contract.

    `speed` is the baseline's median over the variant's: above 1, the variant is faster. Where there is nothing to
    compare, the row has a status other than `ok` and a reason, and no number.

    Args:
        cells: judged cells of one or more systems.
        samples: seconds per rep of every pass, by system and id.
        baseline: the baseline variant of each device.
    """
    measured = [cell for cell in cells if cell["kind"] == "measure"]
    by_problem: dict[tuple[Any, ...], list[Row]] = {}
    for cell in measured:
        if cell["variant"] == baseline.get(cell["device"]):
            by_problem.setdefault(_problem(cell), []).append(cell)
    for cell in measured:
        name = baseline.get(cell["device"], "")
        if cell["variant"] == name:
            continue
        candidates = by_problem.get(_problem(cell), [])
        row: Row = {column: cell[column] for column in RATIO_COLUMNS if column in cell}
        row |= {"baseline_variant": name, **_compared(cell, candidates, samples)}
        yield row


def _problem(cell: Row) -> tuple[Any, ...]:
    """What a cell and its baseline have in common."""
    names = ("system", "kernel", "device", "arch", "size", "data", "region", "contraction", "block")
    return tuple(cell[name] for name in names)


def _compared(cell: Row, candidates: list[Row], samples: Mapping[tuple[str, str], Sequence[float]]) -> Row:
    if cell["status"] != Status.OK:
        return {"status": cell["status"], "reason": cell["reason"]}
    if not candidates:
        return {"status": "no_baseline", "reason": "no baseline cell has this contract"}
    base = candidates[0]
    if base["status"] != Status.OK:
        return {"status": "no_baseline", "reason": f"the baseline cell is {base['status']}: {base['reason']}"}
    try:
        require_comparable(cell, base)
    except IncomparableError as difference:
        return {"status": "no_baseline", "reason": str(difference)}
    of_baseline, of_variant = samples[base["system"], base["id"]], samples[cell["system"], cell["id"]]
    speed = ratio_of_medians(of_baseline, of_variant)
    return {
        "status": str(Status.OK),
        "reason": "",
        "speed": speed.ratio,
        "ci_low": speed.ci_low,
        "ci_high": speed.ci_high,
        "n": len(of_variant),
        "baseline_n": len(of_baseline),
        "baseline_id": base["id"],
    }


def noise(cells: Iterable[Row], systems: Iterable[System]) -> Iterator[Row]:
    """A/A pairs: a cell beside its second measurement in the same batch, which nothing but chance can tell apart.

    `ratio` is the second measurement's median over the first one's.

    Args:
        cells: judged cells.
        systems: their records, among them those of the second measurements (`twin_of`).
    """
    twins = {
        (system.name, record["twin_of"]): record
        for system in systems
        for record in system.records.values()
        if record.get("twin_of")
    }
    records = {(system.name, identity): record for system in systems for identity, record in system.records.items()}
    for cell in cells:
        key = cell["system"], cell["id"]
        if not (twin := twins.get(key)):
            continue
        row: Row = {column: cell[column] for column in NOISE_COLUMNS if column in cell} | {"twin_id": twin["id"]}
        if cell["status"] == Status.OK and twin["status"] != Status.OK:
            row |= {"status": twin["status"], "reason": f"the second measurement: {twin.get('message') or ''}"}
        if row["status"] == Status.OK:
            first, second = records[key]["seconds_per_rep"], twin["seconds_per_rep"]
            pair = ratio_of_medians(second, first)
            row |= {"ratio": pair.ratio, "ci_low": pair.ci_low, "ci_high": pair.ci_high, "n": len(second)}
        yield row


def samples_of(systems: Iterable[System]) -> dict[tuple[str, str], list[float]]:
    """Seconds per rep of every pass, by system and id of the cell."""
    return {
        (system.name, identity): record.get("seconds_per_rep") or []
        for system in systems
        for identity, record in system.records.items()
    }


def codegen_rows(paths: Iterable[Path]) -> list[Row]:
    """What the compiler made of every kernel, architecture and tuning: a row for each entry point of its image."""
    rows: list[Row] = []
    for path in paths:
        report = json.loads(path.read_text())
        # An image that could not be built has no entry points, but a row that says why.
        rows += [{**report, "entry": entry, **used} for entry, used in (report["entries"] or {"": {}}).items()]
    return sorted(rows, key=lambda row: tuple(row[name] for name in CODEGEN_COLUMNS[:5]))


_INTEGERS = {
    "block",
    "size",
    "reps",
    "passes",
    "warmup",
    "seed",
    "n",
    "baseline_n",
    "threads",
    "multiprocessors",
    "actual_size",
    *NUMBERS,
    "line",
}
_FLOATS = {*STATISTICS_COLUMNS[1:], "clock_resolution_s", "speed", "ratio", "ci_low", "ci_high"}


def frame_of(rows: Iterable[Row], columns: Sequence[str]) -> pd.DataFrame:
    """Rows as a data frame whose column types do not depend on which values are missing."""
    frame = pd.DataFrame(list(rows), columns=list(columns))
    for column in columns:
        if column in _INTEGERS:
            frame[column] = frame[column].astype("Int64")
        elif column in _FLOATS:
            frame[column] = frame[column].astype("float64")
        elif column == "verified":
            frame[column] = frame[column].astype("bool")
        else:
            frame[column] = frame[column].astype("string")
    return frame


def write_table(frame: pd.DataFrame, csv_path: Path, parquet_path: Path) -> None:
    """Write a table in both formats; neither file is ever there half written."""
    for path, write in ((csv_path, _write_csv), (parquet_path, _write_parquet)):
        temporary = path.with_name(path.name + ".tmp")
        write(frame, temporary)
        temporary.replace(path)


def _write_csv(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path, index=False, lineterminator="\n")


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    frame.to_parquet(path, index=False)


def read_table(path: Path) -> pd.DataFrame:
    """A table with its types, from the Parquet file that `write_table` wrote."""
    return pd.read_parquet(path)


def count_by_status(cells: pd.DataFrame) -> dict[str, int]:
    """Number of cells by status in the order of `Status`, without statuses that do not occur."""
    counts = cells["status"].value_counts()
    return {str(status): int(counts[status]) for status in Status if status in counts.index}
