"""Rows of the tables: a planned cell, a comparison with the baseline, a pair that chance alone tells apart, a mean.

Rows are in an order that depends on nothing but what they are about, and numbers keep full precision.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ironsweep.columns import names_of
from ironsweep.comparison import (
    FEWEST_PAIRS,
    IncomparableError,
    compiler_of,
    noise_floor,
    parity,
    require_comparable,
    verdict,
)
from ironsweep.efficiency import add_roofs, is_measured
from ironsweep.golden import Case, Golden
from ironsweep.judge import PLANNED, Reference, ReferenceKey, Status, judge, planted_ok
from ironsweep.planned import Row
from ironsweep.records import Problem, bytes_moved
from ironsweep.runner import Programs
from ironsweep.statistics import geometric_mean, ratio_of_medians, summarise
from ironsweep.variants import EMULATED

GIB = 2.0**30
USUAL_BLOCK = 256
"""Threads in a workgroup, where one block of several is to stand for a kernel."""

_CASE = ("kernel", "size", "data", "seed", "reps", "contraction")
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
    toolchain: Mapping[str, Any] | None = None,
) -> list[Row]:
    """The final row of every planned cell of a system, ordered by what the cells are (the plan's order is random).

    Args:
        system: plan and records.
        golden: golden results by kernel and case.
        references: RAJAPerf's checksums.
        toolchain: what is in toolchain.json, for the cells whose programs it built.
    """
    columns = names_of("cells")
    rows = []
    # Cells with the same golden result one after the other.
    for cell in sorted(system.cells, key=lambda cell: tuple(cell[name] for name in _CASE)):
        record = system.records.get(cell["id"])
        verdict_on = judge(cell, record, golden.get(cell["kernel"], {}), references, system.dumps)
        values = {**(record or {}), **cell}
        row = {column: values[column] for column in columns if column in values} | {"system": system.name}
        row |= {"status": str(verdict_on.status), "reason": verdict_on.reason, "precision": "f64"}
        if toolchain and record and record["toolchain_sha256"] == toolchain["sha256"]:
            row["compiler"] = compiler_of(cell["variant"], toolchain)
        rows.append(row)
    _take_over_failed_checks(rows)
    for row in rows:
        if row["status"] == Status.OK and row["device"] != EMULATED:
            row |= statistics_of(system.records[str(row["id"])])
    add_roofs(rows)
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
    moved = bytes_moved(record)
    return {
        "n": summary.n,
        "median_s": summary.median,
        "ci_low_s": summary.ci_low,
        "ci_high_s": summary.ci_high,
        "min_s": summary.min,
        "cv": summary.cv,
        "warmup_passes": summary.warmup,
        "outliers": summary.outliers,
        "bandwidth_gib_per_s": moved / summary.median / GIB,
        "gflop_per_s": record["flops"] / summary.median / 1e9,
        "flops_per_byte": record["flops"] / moved if moved else None,
    }


Samples = Mapping[tuple[str, str], Sequence[float]]
"""Seconds per rep of every pass, by system and id of the cell."""


class Floors:
    """How large a difference chance alone makes, by device, region and size."""

    def __init__(self, noise: Iterable[Row]) -> None:
        """From the rows of the table of A/A pairs."""
        pairs: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        for row in noise:
            if row["status"] == Status.OK:
                pairs[self._place(row)].append(row["ratio"])
                pairs[*self._place(row), row["size"]].append(row["ratio"])
        self._enough = {place: noise_floor(own) for place, own in pairs.items() if len(own) >= FEWEST_PAIRS}

    @staticmethod
    def _place(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in ("system", "device", "arch", "region"))

    def of(self, row: Row) -> float:
        """The relative difference, of all sizes if there are too few pairs of this one; NaN if these are too few."""
        anywhere = self._enough.get(self._place(row), math.nan)
        return self._enough.get((*self._place(row), row["size"]), anywhere)


def ratios(cells: Sequence[Row], samples: Samples, baseline: Mapping[str, str], floors: Floors) -> Iterator[Row]:
    """Compare every measured cell with the cell of its device's baseline variant under the same contract.

    `speed` is the baseline's median over the variant's: above 1, the variant is faster. Where there is nothing to
    compare, the row has a status other than `ok` and a reason, and no number.

    Args:
        cells: judged cells of one or more systems.
        samples: of all cells.
        baseline: the baseline variant of each device.
        floors: what is noise.
    """
    measured = [cell for cell in cells if cell["kind"] == "measure"]
    by_problem: dict[tuple[Any, ...], list[Row]] = {}
    for cell in measured:
        if cell["variant"] == baseline.get(cell["device"]):
            by_problem.setdefault(_problem(cell), []).append(cell)
    columns = [column for column in names_of("ratios") if column not in ("ci_low", "ci_high")]
    for cell in measured:
        name = baseline.get(cell["device"], "")
        if cell["variant"] == name:
            continue
        row: Row = {column: cell[column] for column in columns if column in cell}
        row |= {"baseline_variant": name, **_compared(cell, by_problem.get(_problem(cell), []), samples, floors)}
        yield row


def _problem(cell: Row) -> tuple[Any, ...]:
    """What a cell and its baseline have in common."""
    names = ("system", "kernel", "device", "arch", "size", "data", "region", "contraction", "block")
    return tuple(cell[name] for name in names)


def _compared(cell: Row, candidates: list[Row], samples: Samples, floors: Floors) -> Row:
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
    floor = floors.of(cell)
    return {
        "status": str(Status.OK),
        "reason": "",
        "speed": speed.ratio,
        "ci_low": speed.ci_low,
        "ci_high": speed.ci_high,
        "verdict": str(verdict(speed, floor)),
        "noise_floor": floor,
        "parity": parity(cell, base),
        "n": len(of_variant),
        "baseline_n": len(of_baseline),
        "baseline_id": base["id"],
    }


def noise(cells: Sequence[Row], systems: Sequence[System]) -> Iterator[Row]:
    """A/A pairs: two measurements of one program, which nothing but chance can tell apart.

    Either a cell was measured again in its batch (`twin_of`), or two tunings of a kernel came out as the same program.

    Args:
        cells: judged cells.
        systems: their records, among them those of second measurements.
    """
    twins = {
        (system.name, record["twin_of"]): record
        for system in systems
        for record in system.records.values()
        if record.get("twin_of")
    }
    samples = samples_of(systems)
    columns = [column for column in names_of("noise") if column not in ("ci_low", "ci_high", "n")]
    for cell in cells:
        if twin := twins.get((cell["system"], cell["id"])):
            row = {column: cell.get(column) for column in columns} | {"pair": "twin", "twin_id": twin["id"]}
            if row["status"] == Status.OK and twin["status"] != Status.OK:
                row |= {"status": twin["status"], "reason": f"the second measurement: {twin.get('message') or ''}"}
            yield _with_ratio(row, samples)
    for first, second in _same_programs(cells):
        row = {column: first.get(column) for column in columns} | {"pair": "same_program", "twin_id": second["id"]}
        yield _with_ratio(row, samples)


def _with_ratio(row: Row, samples: Samples) -> Row:
    if row["status"] != Status.OK:
        return row
    first, second = samples[row["system"], row["id"]], samples[row["system"], row["twin_id"]]
    pair = ratio_of_medians(second, first)
    return row | {"ratio": pair.ratio, "ci_low": pair.ci_low, "ci_high": pair.ci_high, "n": len(second)}


def _same_programs(cells: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Measured cells that differ in tuning only, and whose worker and image are the same to the bit; each once."""
    names = (
        *("system", "host", "device_uid", "kernel", "variant", "device", "arch", "block"),
        *("region", "data", "size", "reps", "binary_sha256", "image_sha256"),
    )
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for cell in cells:
        if is_measured(cell) and cell["binary_sha256"] and cell["image_sha256"]:
            groups[tuple(cell.get(name) for name in names)].append(cell)
    for group in groups.values():
        yield from zip(group[::2], group[1::2], strict=False)


def geometric_means(ratios: Iterable[Row]) -> Iterator[Row]:
    """Mean speed over all kernels: a row for each size, and one for each kernel at its largest size with a ratio.

    Of each kernel the block that is nearest to 256 counts.

    Args:
        ratios: rows of the table of ratios.
    """
    names = ("system", "device", "arch", "region", "data", "variant", "baseline_variant", "safety", "contraction")
    groups: dict[tuple[Any, ...], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    verified: dict[str, bool] = {}
    for row in ratios:
        groups[tuple(row[name] for name in names)][row["kernel"]].append(row)
        verified[row["system"]] = row["verified"]
    for key, kernels in groups.items():
        chosen = [_one_block(rows) for rows in kernels.values()]
        head = dict(zip(names, key, strict=True))
        for size in [*sorted({row["size"] for rows in chosen for row in rows}), None]:
            planned = [rows for rows in chosen if size is None or any(row["size"] == size for row in rows)]
            found = [
                max(own, key=lambda row: row["size"])["speed"]
                for rows in planned
                if (own := [row for row in rows if row["status"] == Status.OK and size in (None, row["size"])])
            ]
            mean = geometric_mean(found)
            yield {
                **head,
                "size": size,
                "status": str(Status.OK if found else Status.NOT_RUN),
                "reason": "" if found else _first_reason(planned),
                "speed": mean.ratio,
                "ci_low": mean.ci_low,
                "ci_high": mean.ci_high,
                "n": len(found),
                "planned": len(planned),
                "verified": verified[head["system"]],
            }


def _one_block(rows: Sequence[Row]) -> list[Row]:
    best = min({row["block"] for row in rows}, key=lambda block: (abs(block - USUAL_BLOCK), block))
    return [row for row in rows if row["block"] == best]


def _first_reason(kernels: Iterable[Sequence[Row]]) -> str:
    return next((f"{row['status']}: {row['reason']}" for rows in kernels for row in rows if row["reason"]), "")


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
    return sorted(
        rows, key=lambda row: tuple(row[name] for name in ("kernel", "arch", "safety", "contraction", "entry"))
    )


def count_by_status(cells: pd.DataFrame) -> dict[str, int]:
    """Number of cells by status in the order of `Status`, without statuses that do not occur."""
    counts = cells["status"].value_counts()
    return {str(status): int(counts[status]) for status in Status if status in counts.index}
