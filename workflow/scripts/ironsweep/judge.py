"""From a planned cell and its record to a final status and the reason for it.

No worker decides about its own results: it says what it measured and on which device, and this module compares that
with golden results, with RAJAPerf's own checksums and with what the plan asked for.
"""

import base64
import csv
import functools
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ironsweep.golden import Case, Golden, actual_size, bounds, case_of, oracle_of
from ironsweep.variants import EMULATED

MIN_RESOLUTIONS_PER_PASS = 100
"""A pass must last this many steps of its clock, or the clock shows in the result by 1 % and more."""

LARGEST_KEPT = 1_000_000
"""Elements: golden outputs of larger cases are not kept in memory."""

PLANNED = "planned"
"""The plan's status of a cell that is to be run."""


class Status(StrEnum):
    """How a planned cell ended."""

    OK = "ok"
    WRONG_RESULT = "wrong_result"
    UNSUPPORTED = "unsupported"
    BUILD_FAILED = "build_failed"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    WRONG_DEVICE = "wrong_device"
    BELOW_RESOLUTION = "below_resolution"
    NOT_RUN = "not_run"
    EXCLUDED = "excluded"


@dataclass(frozen=True)
class Verdict:
    """The final status of a cell; the reason is empty if the status is `ok`."""

    status: Status
    reason: str = ""


@dataclass(frozen=True)
class Reference:
    """A checksum that RAJAPerf printed, and the relative tolerance that it declares."""

    checksum: float
    tolerance: float


ReferenceKey = tuple[str, int, int]
"""Kernel, actual size, reps."""


def read_references(path: Path) -> dict[ReferenceKey, Reference]:
    """RAJAPerf's checksums of the default tuning, from the table in `workflow/resources`."""
    with path.open(newline="") as lines:
        return {
            (row["kernel"], int(row["actual_size"]), int(row["reps"])): Reference(
                float(row["checksum"]), float(row["tolerance"])
            )
            for row in csv.DictReader(lines)
            if row["tuning"] == "default"
        }


def judge(
    cell: Mapping[str, Any],
    record: Mapping[str, Any] | None,
    golden: Mapping[Case, Golden],
    references: Mapping[ReferenceKey, Reference] | None = None,
    dumps: Path = Path(),
) -> Verdict:
    """The final status of a planned cell.

    The first of these that applies decides: a rule of the configuration excludes it; there is no record (the plan says
    why not, or nothing does); the worker or the runner reports a failure; the device is not the one asked for; a result
    is wrong; a pass that is measured is too short for its clock. A record has more to say than the plan, unless the
    cell is excluded: a program that could not be built is `unsupported` or `build_failed` also where no device would
    have run it.

    Args:
        cell: a row of the plan.
        record: the cell's record, or None if there is none.
        golden: golden results of the cell's kernel.
        references: RAJAPerf's checksums, for the cells that they cover.
        dumps: the folder that a record's `dump` is relative to.
    """
    planned = cell.get("status_planned") or PLANNED
    if record is None or planned == Status.EXCLUDED:
        if planned != PLANNED:
            return Verdict(Status(planned), str(cell.get("reason_planned") or "ruled out by the plan"))
        return Verdict(Status.NOT_RUN, "no record")
    if record["status"] != Status.OK:
        return _reported_failure(record)
    findings = _findings(cell, record, golden, references or {}, dumps)
    return next((Verdict(status, reason) for status, reason in findings if reason), Verdict(Status.OK))


def _findings(
    cell: Mapping[str, Any],
    record: Mapping[str, Any],
    golden: Mapping[Case, Golden],
    references: Mapping[ReferenceKey, Reference],
    dumps: Path,
) -> Iterator[tuple[Status, str]]:
    """Every check in the order of its weight, with an empty reason where it found nothing."""
    yield Status.WRONG_DEVICE, _wrong_device(cell, record)
    yield Status.WRONG_RESULT, _wrong_shape(cell, record)
    yield Status.WRONG_RESULT, _wrong_checksum(cell, record, golden, references)
    yield Status.WRONG_RESULT, _different_bits(cell, record)
    if cell["data"] == "random":
        elements = _dumped_elements(record, dumps)
        yield Status.NOT_RUN, "" if elements is not None else "no elements were dumped, so none could be compared"
        yield Status.WRONG_RESULT, _wrong_element(cell, elements, golden)
    if cell["kind"] == "measure":
        yield Status.BELOW_RESOLUTION, _too_short(record)


def _reported_failure(record: Mapping[str, Any]) -> Verdict:
    reason = str(record.get("message") or record.get("reason") or "no message")
    try:
        return Verdict(Status(record["status"]), reason)
    except ValueError:
        return Verdict(Status.CRASHED, f"the worker reported the unknown status '{record['status']}': {reason}")


def _wrong_device(cell: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Why the device that attested itself is not the one asked for, or an empty string."""
    asked = f"{cell['device']} {cell['arch']}"
    vendor, arch = str(record.get("device_vendor") or "").lower(), str(record.get("device_arch") or "").lower()
    if not vendor:
        return f"asked for {asked}, but the worker did not attest a device"
    # AMD appends features (gfx90a:sramecc+:xnack-). The host's arch names the processor and cannot be chosen.
    right_arch = cell["device"] == "host" or arch.split(":")[0] == str(cell["arch"]).lower()
    if vendor != cell["device"] or not right_arch:
        return f"asked for {asked}, but ran on {vendor} {arch} ({record.get('device_name')})"
    return ""


def _wrong_shape(cell: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    size, passes = actual_size(cell["kernel"], int(cell["size"])), int(cell["passes"])
    if record["actual_size"] != size:
        return f"worked on {record['actual_size']} elements instead of {size}"
    samples = 0 if cell["device"] == EMULATED else passes
    if len(record["seconds_per_rep"]) != samples:
        return f"seconds_per_rep has {len(record['seconds_per_rep'])} values instead of {samples}"
    if not min(2, passes) <= len(record["checksums"]) <= passes:
        return f"checksums has {len(record['checksums'])} values for {passes} passes"
    return ""


def _different_bits(cell: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Why two passes over the same data do not agree bit for bit, or an empty string.

    Only the sum of a reduction may differ: its terms are added by atomic operations, in any order.
    """
    first, *others = record["checksums"]
    if oracle_of(cell["kernel"]).is_sum or all(other == first for other in others):
        return ""
    other = next(other for other in others if other != first)
    return f"checksums of two passes over the same data are {first!r} and {other!r}: they must agree in every bit"


def _wrong_checksum(
    cell: Mapping[str, Any],
    record: Mapping[str, Any],
    golden: Mapping[Case, Golden],
    references: Mapping[ReferenceKey, Reference],
) -> str:
    kernel = cell["kernel"]
    case = case_of(kernel, cell)
    expected = golden.get(case)
    if expected is None:
        return f"no golden result for {case}: nothing to judge the checksums by"
    tolerance = oracle_of(kernel).tolerance(case.size)
    wrong = _first_deviation(record["checksums"], expected.checksum, expected.scale, tolerance, "the golden result")
    size = actual_size(kernel, case.size)
    reference = references.get((kernel, size, int(cell["reps"]))) if case.data == "reference" else None
    if wrong or reference is None:
        return wrong
    # RAJAPerf's own sequential sum has an error, too, hence the wider of the two tolerances.
    return _first_deviation(
        record["checksums"],
        reference.checksum,
        abs(reference.checksum),
        max(tolerance, reference.tolerance),
        "RAJAPerf's reference",
    )


def _first_deviation(
    checksums: Sequence[float | None], expected: float, scale: float, tolerance: float, origin: str
) -> str:
    """The first pass whose checksum is off by more than `tolerance * scale`, in words; absolute if the scale is 0."""
    for number, checksum in enumerate(checksums, start=1):
        if checksum is None or not math.isfinite(checksum):
            return f"pass {number}: checksum is not a finite number"
        deviation = abs(checksum - expected) / (scale or 1.0)
        if deviation > tolerance:
            return (
                f"pass {number}: checksum {checksum!r}, {origin} is {expected!r}: "
                f"relative deviation {deviation:.2g}, tolerance {tolerance:.2g}"
            )
    return ""


def _dumped_elements(record: Mapping[str, Any], dumps: Path) -> NDArray[np.float64] | None:
    """The output of the last pass, from inside the record or from the file that it names; None if there is neither."""
    if record.get("dump_data"):
        try:
            return np.frombuffer(zlib.decompress(base64.b64decode(record["dump_data"])), dtype="<f8")
        except (ValueError, zlib.error):
            return None
    if record.get("dump") and (dumps / record["dump"]).is_file():
        return np.fromfile(dumps / record["dump"], dtype="<f8")
    return None


@functools.lru_cache(maxsize=2)
def _kept_bounds(kernel: str, case: Case, contract: bool) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    return list(bounds(kernel, case, contract))


def _wrong_element(cell: Mapping[str, Any], found: NDArray[np.float64] | None, golden: Mapping[Case, Golden]) -> str:
    """Compare every element of the output with the golden one; the first wrong one in words, or an empty string."""
    if found is None:
        return ""
    case = case_of(cell["kernel"], cell)
    start = 0
    # Who judges cells of one case one after the other has what it needs of them at hand.
    of_case = _kept_bounds if case.size <= LARGEST_KEPT else bounds
    for expected, allowed in of_case(cell["kernel"], case, cell["contraction"] == "contract"):
        part = found[start : start + expected.size]
        if part.size < expected.size:
            break
        right = np.abs(part - expected) <= allowed  # False for NaN
        if not right.all():
            at = int(np.argmin(right))
            return (
                f"element {start + at} is {float(part[at])!r}, expected {float(expected[at])!r} "
                f"within {float(allowed[at]):.2g}"
            )
        start += expected.size
    return "" if found.size == start else f"the dump has {found.size} elements, not as many as expected"


def _too_short(record: Mapping[str, Any]) -> str:
    resolution = record.get("clock_resolution_s")
    if resolution is None:
        return "the resolution of the clock is unknown"
    shortest = min(record["seconds_per_rep"]) * record["reps"]
    if shortest < MIN_RESOLUTIONS_PER_PASS * resolution:
        return (
            f"the shortest pass lasted {shortest:.3g} s, less than {MIN_RESOLUTIONS_PER_PASS} steps of a clock of "
            f"{resolution:.3g} s: more repetitions are needed"
        )
    return ""


def planted_ok(cells: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the judged cells of one run prove that wrong results are noticed.

    Args:
        cells: judged cells (`kind`, `status`) of one system; only those of the kind `planted` count.

    Returns:
        True if on every device that ran anything a planted cell ran too, and every one that ran came out
        `wrong_result`.
    """
    ran = [cell for cell in cells if cell["status"] in {Status.OK, Status.WRONG_RESULT, Status.BELOW_RESOLUTION}]
    planted = [cell for cell in ran if cell["kind"] == "planted"]
    devices = {cell["device"] for cell in planted}
    caught = all(cell["status"] == Status.WRONG_RESULT for cell in planted)
    return bool(planted) and caught and {cell["device"] for cell in ran} == devices
