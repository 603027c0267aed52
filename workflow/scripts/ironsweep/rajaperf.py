"""The files that the RAJA Performance Suite writes: one reader for its and ours, and our tables in its layouts.

A run of RAJAPerf has one size a kernel, one build and one kind of timing. So an export has a folder for each
architecture and timed region, and in it one for each size, with the names that RAJAPerf gives them.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ironsweep.comparison import IncomparableError, require_comparable
from ironsweep.errors import UserError
from ironsweep.golden import actual_size
from ironsweep.judge import Status
from ironsweep.records import bytes_moved, bytes_touched

Row = Mapping[str, Any]
Key = tuple[str, str, str]
"""Kernel, variant and tuning, in RAJAPerf's names."""

BACKENDS: Mapping[str, str] = {"host": "Host", "nvidia": "CUDA", "amd": "HIP"}
VARIANTS: Mapping[str, str] = {
    "cpp_seq": "Base_Seq",
    "cpp_openmp": "Base_OpenMP",
    "cuda": "Base_CUDA",
    "hip": "Base_HIP",
    "rust_offload": "RustOffload",
    "rust_liboffload": "RustLibOffload",
}
"""RAJAPerf's names of our variants, in the order of columns. Those of RAJAPerf's own end in a programming model."""

COMBINERS: Mapping[str, tuple[str, Callable[[Sequence[float]], float]]] = {
    "Average": ("Mean", fmean),
    "Minimum": ("Min", min),
    "Maximum": ("Max", max),
}
"""What RAJAPerf makes of the passes: by the word in the file's name, the word in its title and the function."""

NOT_RUN = "Not run"
PASSED = "PASSED"
FAILED = "FAILED"
UNKNOWN = "Unknown"
PREFIX = "RAJAPerf"
MARK = "ironsweep.txt"
"""A file in each export, by which it is told from what RAJAPerf wrote."""

# RAJAPerf has 6 and 3. A launch of some microseconds would lose its digits, and a small ratio would be shown as zero.
TIME_DECIMALS = 9
SPEED_DECIMALS = 6

DETAILS = (
    "Problem size",
    "Reps",
    "Iterations/rep",
    "Kernels/rep",
    "BytesMoved/rep",
    "FLOPS/rep",
    "BytesTouched/rep",
    "BytesRead/rep",
    "BytesWritten/rep",
    "BytesModifyWritten/rep",
    "BytesAtomicModifyWritten/rep",
    "BytesAllocated/rep",
    "ChecksumConsistency",
    "OperationalComplexity",
    "MaxPerfectLoopDimensions",
    "ProblemDimensionality",
)
RUN_DATA = (
    "Kernel",
    "Variant",
    "Tuning",
    "Problem size",
    "Checksum",
    "Mean time per rep (sec.)",
    "Mean Bandwidth (GiB per sec.)",
    "Mean flops (gigaFLOP per sec.)",
)

_SEPARATOR = " , "
_TITLE = re.compile(
    r"(?:(?P<combiner>Mean|Min|Max) )?"
    r"(?:(?P<timing>Runtime Report \(sec\.\))|Speedup Report \(T_ref/T_var\)(?:: ref var = (?P<reference>\S+))?)"
)


# --- Reading -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """A timing or speedup report.

    Attributes:
        combiner: Average, Minimum or Maximum of the passes.
        reference: the variant that speedups are relative to; None if these are times, in seconds of all repetitions.
        columns: variants and tunings.
        values: by kernel, variant and tuning; None where it was not run.
        decimals: digits after the point: half of the last one is what a value may be wrong by.
    """

    combiner: str
    reference: str | None
    columns: list[tuple[str, str]]
    values: dict[Key, float | None]
    decimals: int


@dataclass(frozen=True)
class Listing:
    """A table with one line of names of columns: the kernels' details, or the data of a run.

    Attributes:
        rows: with the number of their line.
        ranks: MPI processes, None if the file says nothing of them.
    """

    rows: list[tuple[int, dict[str, str]]]
    ranks: int | None


def read_report(path: Path) -> Report:
    """Read a `*-timing-*.csv` or `*-speedup-*.csv` of three generations of RAJAPerf, or of our export.

    Versions differ in what the first column is called, and the oldest have no line with tunings. Raises UserError.
    """
    lines = list(_lines(path))
    title = _TITLE.fullmatch(lines[0][1][0]) if lines else None
    if not title:
        raise UserError(f"{path}:1: is no timing or speedup report of RAJAPerf: its first line does not say so")
    header = lines[1:3]
    if not header or header[0][1][0] not in ("Variant", "Kernel"):
        raise UserError(f"{path}:2: a line with the variants is missing; the file was cut off or changed")
    variants = header[0][1][1:]
    has_tunings = len(header) > 1 and header[1][1][0] in ("Tuning", "Kernel")
    tunings = header[1][1][1:] if has_tunings else ["default"] * len(variants)
    if len(tunings) != len(variants):
        raise UserError(f"{path}:{header[1][0]}: has {len(tunings)} tunings for {len(variants)} variants")
    columns = list(zip(variants, tunings, strict=True))
    values: dict[Key, float | None] = {}
    decimals = 0
    for number, (kernel, *texts) in lines[3 if has_tunings else 2 :]:
        if len(texts) != len(columns):
            raise UserError(
                f"{path}:{number}: {kernel or 'a kernel'} has {len(texts)} values for {len(columns)} columns"
            )
        for (variant, tuning), text in zip(columns, texts, strict=True):
            if (kernel, variant, tuning) in values:
                raise UserError(f"{path}:{number}: {kernel} {variant} {tuning} is there twice")
            values[kernel, variant, tuning] = _value(text, f"{path}:{number}: {kernel} {variant} {tuning}")
            decimals = max(decimals, len(text.partition(".")[2]) if text != NOT_RUN else 0)
    word = title["combiner"] or "Mean"
    combiner = next(name for name, (shown, _) in COMBINERS.items() if shown == word)
    return Report(combiner, None if title["timing"] else title["reference"] or "", columns, values, decimals)


def _value(text: str, place: str) -> float | None:
    if text.lower() == NOT_RUN.lower():
        return None
    try:
        value = float(text)
    except ValueError:
        raise UserError(f"{place}: {text!r} is neither a number nor {NOT_RUN!r}") from None
    if not math.isfinite(value) or value < 0:
        raise UserError(f"{place}: {text} is no time and no ratio of times")
    return value


def read_listing(path: Path) -> Listing:
    """Read a `*-kernel-details.csv` (before 2025: `*-kernels.csv`) or `*-kernel-run-data.csv`. Raises UserError."""
    names: list[str] = []
    rows = []
    ranks = None
    for number, cells in _lines(path):
        if names:
            if len(cells) != len(names):
                raise UserError(f"{path}:{number}: has {len(cells)} values for {len(names)} columns")
            rows.append((number, dict(zip(names, cells, strict=True))))
        elif cells[0] in ("Kernel", "Kernels"):
            names = ["Kernel", *cells[1:]]
        elif cells[0] == "Kernels run without MPI":
            ranks = 1
        elif found := re.fullmatch(r"Kernels run on (\d+) MPI ranks", cells[0]):
            ranks = int(found[1])
    if not rows:
        raise UserError(f"{path}: no kernel is in it; it should be a file that RAJAPerf wrote, whole")
    return Listing(rows, ranks)


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a file that are not empty: number, and values without the spaces around them."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not text in UTF-8, so RAJAPerf did not write it") from None
    lines = text.split("\n")
    if lines.pop():
        raise UserError(f"{path}:{len(lines) + 1}: the last line has no end, so the file was cut off")
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, [cell.strip() for cell in line.split(",")]


# --- Export --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Folder:
    """One folder of an export: cells of one architecture, region and size.

    Attributes:
        name: relative to the export.
        cells: by kernel, variant and tuning.
        kernels: in order.
        columns: variants and tunings in order.
        records: by id of the cell.
    """

    name: str
    cells: dict[Key, Row]
    kernels: list[str]
    columns: list[tuple[str, str]]
    records: Mapping[str, Row]

    def record(self, key: Key) -> Row | None:
        """What was measured, if it is right."""
        cell = self.cells.get(key)
        if not cell or cell["status"] != Status.OK:
            return None
        if cell["id"] not in self.records:
            raise UserError(f"cell {cell['id']} has times in cells.parquet, but the files of records have none of it")
        return self.records[cell["id"]]

    def seconds(self, key: Key) -> list[float]:
        """Seconds of each pass: of all repetitions, as RAJAPerf has them."""
        record = self.record(key)
        return [record["reps"] * seconds for seconds in record["seconds_per_rep"]] if record else []


def export(
    cells: Iterable[Row],
    records: Mapping[str, Row],
    baseline: Mapping[str, str],
    tolerances: Mapping[str, float],
    out: Path,
) -> None:
    """Write the measured cells of one system in RAJAPerf's layouts; the folder is never there half written.

    Args:
        cells: judged cells of the system.
        records: by the id of their cell.
        baseline: the baseline variant of each device.
        tolerances: of the checksum, by kernel, as RAJAPerf declares them.
        out: the folder.
    """
    part = out.with_name(f"{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    (part / MARK).write_text(_MARK_TEXT, encoding="utf-8")
    for folder in folders(cells, records):
        place = part / folder.name
        place.mkdir(parents=True)
        for name, text in _files(folder, baseline, tolerances):
            (place / f"{PREFIX}-{name}").write_text(text, encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    part.rename(out)


_MARK_TEXT = """\
Times that ironsweep measured, in the layouts of the RAJA Performance Suite. RAJAPerf did not write them: the folders
say for which architecture, and what was timed (kernel: all repetitions enqueued, then waited for, as RAJAPerf does;
launch_sync: each launch waited for; with_transfers: data moved there and back in each repetition).
"""


def folders(cells: Iterable[Row], records: Mapping[str, Row]) -> list[Folder]:
    """The measured cells in groups that RAJAPerf would have in one run."""
    measured = [cell for cell in cells if cell["kind"] == "measure"]
    by_problem: dict[tuple[Any, ...], set[int]] = {}
    for cell in measured:
        by_problem.setdefault((*_place(cell), cell["kernel"]), set()).add(cell["reps"])
    # Only records that were taken in can have a kernel with two numbers of repetitions.
    several = {problem[:-1] for problem, reps in by_problem.items() if len(reps) > 1}
    groups: dict[str, list[Row]] = {}
    for cell in measured:
        arch, region, size = _place(cell)
        apart = f"_REPS_{cell['reps']}" if _place(cell) in several else ""
        groups.setdefault(f"{arch}-{region}/SIZE_{size:09d}{apart}", []).append(cell)
    return [_folder(name, group, records) for name, group in sorted(groups.items())]


def _place(cell: Row) -> tuple[str, str, int]:
    return cell["arch"], cell["region"], cell["size"]


def _folder(name: str, group: list[Row], records: Mapping[str, Row]) -> Folder:
    order = list(VARIANTS)
    group.sort(key=lambda cell: (order.index(cell["variant"]), cell["block"], cell["tuning"]))
    by_key = {(cell["kernel"], variant_name(cell), cell["tuning"]): cell for cell in group}
    columns = list(dict.fromkeys((variant, tuning) for _, variant, tuning in by_key))
    return Folder(name, by_key, sorted({kernel for kernel, _, _ in by_key}), columns, records)


def variant_name(cell: Row) -> str:
    """RAJAPerf's name of a cell's variant: who wrote it, and the programming model."""
    name = VARIANTS[cell["variant"]]
    return name if "_" in name else f"{name}_{BACKENDS[cell['device']]}"


def _files(folder: Folder, baseline: Mapping[str, str], tolerances: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Names without the prefix, and contents."""
    yield "kernel-details.csv", _details(folder)
    yield "kernel-run-data.csv", _run_data(folder)
    yield "checksum.txt", _checksums(folder, tolerances)
    reference = next(
        (variant_name(cell) for cell in folder.cells.values() if cell["variant"] == baseline.get(cell["device"])), None
    )
    for combiner, (word, combine) in COMBINERS.items():
        times = {key: combine(seconds) for key in folder.cells if (seconds := folder.seconds(key))}
        title = f"{word} Runtime Report (sec.) "
        yield f"timing-{combiner}.csv", _report(folder, title, times, TIME_DECIMALS)
        if reference:
            title = f"{word} Speedup Report (T_ref/T_var): ref var = {reference} "
            speeds = _speeds(folder, reference, times)
            yield f"speedup-{combiner}.csv", _report(folder, title, speeds, SPEED_DECIMALS)


def _speeds(folder: Folder, reference: str, times: Mapping[Key, float]) -> dict[Key, float]:
    """Time of the reference variant over that of each cell, where both were measured under the same contract."""
    speeds = {}
    references = [key for key in times if key[1] == reference]
    for key, time in times.items():
        for other in references:
            if other[0] == key[0] and _comparable(folder.cells[key], folder.cells[other]):
                speeds[key] = times[other] / time
                break
    return speeds


def _comparable(cell: Row, other: Row) -> bool:
    try:
        require_comparable(cell, other)
    except IncomparableError:
        return False
    return True


def _report(folder: Folder, title: str, values: Mapping[Key, float], decimals: int) -> str:
    lines = [
        ["Variant", *(variant for variant, _ in folder.columns)],
        ["Tuning", *(name for _, name in folder.columns)],
    ]
    for kernel in folder.kernels:
        found = (values.get((kernel, *column)) for column in folder.columns)
        lines.append([kernel, *(NOT_RUN if value is None else f"{value:.{decimals}f}" for value in found)])
    return f"{title}{_SEPARATOR * len(folder.columns)}\n{_aligned(lines, headers=2)}"


def _aligned(lines: Sequence[Sequence[str]], headers: int = 1, left: Sequence[int] = (0,)) -> str:
    """Columns of one width each; names and the columns `left` stand left, numbers right."""
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "".join(
        _SEPARATOR.join(
            text.ljust(width) if number < headers or place in left else text.rjust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        + "\n"
        for number, line in enumerate(lines)
    )


def _details(folder: Folder) -> str:
    lines = [["Kernel", *DETAILS]]
    for kernel in folder.kernels:
        cells = [(key, cell) for key, cell in folder.cells.items() if key[0] == kernel]
        record = next((found for key, _ in cells if (found := folder.record(key))), None)
        known = {"Problem size": actual_size(kernel, cells[0][1]["size"]), "Reps": cells[0][1]["reps"]}
        if record:
            known |= _counts(record)
        lines.append([kernel, *(_count(known.get(name)) for name in DETAILS)])
    return f"Kernels run without MPI\n{_aligned(lines)}"


def _counts(record: Row) -> dict[str, Any]:
    """What RAJAPerf counts in a repetition: bytes that are modified are both read and written."""
    read, written = record["bytes_read"], record["bytes_written"]
    modified, atomic = record["bytes_modified"], record["bytes_atomic"]
    return {
        "Kernels/rep": record.get("launches_per_rep"),
        "BytesMoved/rep": bytes_moved(record),
        "FLOPS/rep": record["flops"],
        "BytesTouched/rep": bytes_touched(record),
        "BytesRead/rep": read + modified,
        "BytesWritten/rep": written + modified,
        "BytesModifyWritten/rep": modified,
        "BytesAtomicModifyWritten/rep": atomic,
    }


def _count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}"


def _run_data(folder: Folder) -> str:
    lines = [list(RUN_DATA)]
    for kernel in folder.kernels:
        for variant, tuning in folder.columns:
            cell = folder.cells.get((kernel, variant, tuning))
            if cell is None:
                continue
            line = [kernel, variant, tuning, str(actual_size(kernel, cell["size"])), _result(cell)]
            record = folder.record((kernel, variant, tuning))
            if record:
                seconds = fmean(record["seconds_per_rep"])
                rates = _counts(record)["BytesMoved/rep"] / seconds / 2**30, record["flops"] / seconds / 1e9
                line += [f"{number:#.6g}" for number in (seconds, *rates)]
            lines.append([*line, *[NOT_RUN] * (len(RUN_DATA) - len(line))])
    return f"Kernels run without MPI\n{_aligned(lines, left=(0, 1, 2, 4))}"


def _result(cell: Row) -> str:
    return {Status.OK: PASSED, Status.WRONG_RESULT: FAILED}.get(cell["status"], NOT_RUN)


def _checksums(folder: Folder, tolerances: Mapping[str, float]) -> str:
    """The report of checksums. It is text, not CSV, and says "Not Run" with two capitals, as RAJAPerf's does."""
    names = [*folder.kernels, *("-".join(column) for column in folder.columns)]
    widths = [max(map(len, names)) + 1, 8, 28, 28, 28]

    def line(*texts: str) -> str:
        return "".join(text.ljust(width) for text, width in zip(texts, widths, strict=False)).rstrip() + "\n"

    dots = "." * 56 + "\n"
    text = f"{'=' * 99}\nChecksum Report\n{'=' * 99}\n{line('Kernel')}{dots}"
    text += line("Variants", "Result", "Tolerance", "Checksum", "Checksum Rel Diff")
    text += line("", "", "", "", "(vs. first variant listed)") + "-" * 88 + "\n"
    for kernel in folder.kernels:
        text += line(kernel) + dots
        first: float | None = None
        for column in folder.columns:
            cell = folder.cells.get((kernel, *column))
            if cell is None:
                continue
            result, checksum = _result(cell), _checksum(folder.records.get(cell["id"]))
            if result == NOT_RUN or checksum is None:
                text += line("-".join(column), *["Not Run"] * 4)
                continue
            first = checksum if first is None else first
            difference = abs(checksum - first) / (abs(first) or 1.0)
            tolerance = f"{tolerances[kernel]:#.20g}" if kernel in tolerances else UNKNOWN
            text += line("-".join(column), result, tolerance, f"{checksum:#.20g}", f"{difference:#.20g}")
        text += "\n" + "-" * 55 + "\n"
    return text


def _checksum(record: Row | None) -> float | None:
    """That of the first pass; NaN if the worker said so, None if there is none."""
    found = (record or {}).get("checksums")
    return (math.nan if found[0] is None else found[0]) if found else None
