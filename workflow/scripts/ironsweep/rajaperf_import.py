"""What RAJAPerf measured, beside our cells.

RAJAPerf's files have a time for each kernel, variant and tuning, but neither passes nor the machine. Such a time is no
record and is not made one: it becomes a row of a table of its own, in which what is not known is empty. A person can
say some of it in a file beside RAJAPerf's, and only then is anything compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from ironsweep.comparison import IncomparableError, require_comparable
from ironsweep.errors import UserError
from ironsweep.judge import Status
from ironsweep.rajaperf import COMBINERS, MARK, NOT_RUN, PASSED, Key, Report, Row, read_listing, read_report

FACTS = "ironsweep.yaml"
"""A file in the folder of RAJAPerf's files, in which a person says what these do not."""

DEVICES: Mapping[str, str] = {"Seq": "host", "OpenMP": "host", "CUDA": "nvidia", "HIP": "amd"}
"""The device of a variant, by the last part of its name. Others (SYCL, OpenMPTarget) say nothing of their device."""

REGIONS: Mapping[str, str] = {"host": "launch_sync", "nvidia": "kernel", "amd": "kernel"}
"""RAJAPerf times all repetitions together and waits once, which is our region `kernel`. On the host each call returns
when its work is done, and our name for that is `launch_sync`."""

OTHER_REGIONS: Mapping[str, str] = {
    "Algorithm_REDUCE_SUM": "RAJAPerf sends the sum's first value to the GPU and fetches the sum in each repetition",
    "Comm_HALO_PACKING": "RAJAPerf waits for the GPU twice in each repetition, after packing and after unpacking",
}
"""Kernels whose repetitions on GPUs are neither our region `kernel` nor another of ours."""

_SAID = ("arch", "device_name", "host", "contraction", "precision")
"""What the contract of two cells needs, RAJAPerf's files lack, and FACTS can say."""

_FILE = re.compile(r"(?P<prefix>.+)-timing-(?P<combiner>\w+)\.csv")


# --- From files to rows --------------------------------------------------------------------------------------------


def read_folder(folder: Path, name: str) -> list[dict[str, Any]]:
    """A row for each kernel, variant, tuning and size of RAJAPerf's files in a folder and below. Raises UserError."""
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder; name the one into which RAJAPerf wrote (its option --outdir)")
    if mark := next(folder.rglob(MARK), None):
        raise UserError(f"{mark}: these files are ironsweep's own export; take in the records that they are made from")
    runs: dict[tuple[Path, str], dict[str, Path]] = {}
    for path in sorted(folder.rglob("*-timing-*.csv")):
        if found := _FILE.fullmatch(path.name):
            runs.setdefault((path.parent, found["prefix"]), {})[found["combiner"]] = path
    if not runs:
        raise UserError(f"{folder}: no file in it is called *-timing-*.csv, so it is no output of RAJAPerf")
    facts = _facts(folder / FACTS)
    return [
        {"import": name, **row}
        for (place, prefix), files in runs.items()
        for row in _rows(place, prefix, files, folder, facts)
    ]


def _facts(path: Path) -> Mapping[str, Any]:
    """What a person says of a run: `passes`, `host`, `precision`, and `arch` and the like by device. Checked."""
    if not path.exists():
        return {}
    try:
        facts = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from None
    _check(facts, {"passes": int, "host": str, "precision": str, "devices": dict}, path, "")
    for device, said in facts.get("devices", {}).items():
        if device not in REGIONS:
            raise UserError(f"{path}: devices: {device!r} is not one of {', '.join(REGIONS)}")
        _check(said, {"arch": str, "device_name": str, "contraction": str}, path, f"devices: {device}: ")
        if said.get("contraction", "strict") not in ("strict", "contract"):
            raise UserError(
                f"{path}: devices: {device}: contraction: is strict or contract, not {said['contraction']!r}"
            )
    if facts.get("passes", 1) < 1:
        raise UserError(f"{path}: passes: is at least 1, not {facts['passes']}")
    return dict(facts)


def _check(facts: Any, types: Mapping[str, type], path: Path, place: str) -> None:
    if not isinstance(facts, dict):
        raise UserError(f"{path}: {place}must be keys with values: {', '.join(types)}")
    for key, value in facts.items():
        if key not in types:
            raise UserError(f"{path}: {place}{key!r} is not one of {', '.join(types)}")
        if type(value) is not types[key]:
            kinds = {int: "a whole number", str: "text", dict: "keys with values"}
            raise UserError(f"{path}: {place}{key}: must be {kinds[types[key]]}, not {value!r}")


def _rows(
    place: Path, prefix: str, files: Mapping[str, Path], folder: Path, facts: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    sizes, ranks = _sizes(place, prefix)
    results = _results(place / f"{prefix}-kernel-run-data.csv")
    reports = {combiner: _times(path, combiner) for combiner, path in files.items()}
    file = (place / prefix).relative_to(folder)
    for key in dict.fromkeys(key for report in reports.values() for key in report.values):
        kernel, variant, tuning = key
        if kernel not in sizes:
            raise UserError(f"{next(iter(files.values()))}: {kernel} is not among the kernels' details beside it")
        size, reps = sizes[kernel]
        device = DEVICES.get(variant.rpartition("_")[2])
        said = facts.get("devices", {}).get(device, {})
        row = {
            "file": str(file),
            "kernel": kernel,
            "variant": variant,
            "tuning": tuning,
            "device": device,
            "arch": said.get("arch", "host" if device == "host" else None),
            "device_name": said.get("device_name"),
            "host": facts.get("host"),
            "region": REGIONS.get(device or ""),
            "data": "reference",
            "actual_size": size,
            "reps": reps,
            "passes": facts.get("passes"),
            "ranks": ranks,
            "contraction": said.get("contraction"),
            "block": int(found[1]) if (found := re.fullmatch(r"block_(\d+)", tuning)) else None,
            "precision": facts.get("precision"),
            "checksum": results.get(key),
        }
        yield row | _outcome(key, reports, results) | _seconds(key, reports, reps)


def _sizes(place: Path, prefix: str) -> tuple[dict[str, tuple[int, int]], int | None]:
    """Actual size and repetitions of each kernel, and the number of processes."""
    paths = [place / f"{prefix}-{name}.csv" for name in ("kernel-details", "kernels")]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        raise UserError(f"{paths[0]}: is not there (nor {paths[1].name}); sizes and repetitions stand in it")
    listing = read_listing(path)
    sizes = {}
    for number, row in listing.rows:
        if row["Kernel"] in sizes:
            raise UserError(f"{path}:{number}: {row['Kernel']} is there twice")
        sizes[row["Kernel"]] = (_whole(row, "Problem size", path, number), _whole(row, "Reps", path, number))
    return sizes, listing.ranks


def _whole(row: Mapping[str, str], column: str, path: Path, number: int) -> int:
    text = row.get(column)
    if text is None:
        raise UserError(f"{path}:{number}: has no column {column!r}")
    if not text.isascii() or not text.isdigit() or not int(text):
        raise UserError(f"{path}:{number}: {row['Kernel']}: {column} must be a whole number above 0, not {text!r}")
    return int(text)


def _times(path: Path, combiner: str) -> Report:
    report = read_report(path)
    if report.reference is not None or report.combiner != combiner:
        raise UserError(f"{path}:1: is not what its name says, a report of times: {combiner}")
    return report


def _results(path: Path) -> dict[Key, str]:
    """Whether the checksum of each kernel, variant and tuning was right; empty before RAJAPerf wrote such a file."""
    if not path.exists():
        return {}
    try:
        return {(row["Kernel"], row["Variant"], row["Tuning"]): row["Checksum"] for _, row in read_listing(path).rows}
    except KeyError as missing:
        raise UserError(f"{path}: has no column {missing}") from None


def _outcome(key: Key, reports: Mapping[str, Report], results: Mapping[Key, str]) -> dict[str, str]:
    values = [report.values.get(key) for report in reports.values()]
    if None in values:
        return {"status": str(Status.NOT_RUN), "reason": f"RAJAPerf says {NOT_RUN!r}"}
    if 0.0 in values:
        return {"status": str(Status.BELOW_RESOLUTION), "reason": "it was shorter than the last digit that is shown"}
    if results.get(key, PASSED) != PASSED:
        return {"status": str(Status.WRONG_RESULT), "reason": f"RAJAPerf says of its checksum: {results[key]}"}
    return {"status": str(Status.OK), "reason": ""}


def _seconds(key: Key, reports: Mapping[str, Report], reps: int) -> dict[str, float]:
    """Seconds of a repetition, and what rounding may have changed in them; RAJAPerf has those of all together."""
    seconds = {}
    for combiner, report in reports.items():
        value = report.values.get(key)
        if value and combiner in COMBINERS:
            seconds[f"{COMBINERS[combiner][0].lower()}_s"] = value / reps
            seconds["rounding_s"] = 0.5 * 10.0**-report.decimals / reps
    return seconds


# --- Beside our cells ----------------------------------------------------------------------------------------------


def beside(
    imported: Iterable[Row], cells: Iterable[Row], samples: Mapping[tuple[str, str], Sequence[float]]
) -> Iterator[dict[str, Any]]:
    """Each imported time beside each of our cells of the same kernel, size, device and region.

    `speed` is RAJAPerf's mean over our mean: above 1, our cell is faster. It has no interval, because RAJAPerf keeps no
    passes; `speed_low` and `speed_high` are no more than what rounding in RAJAPerf's file leaves open. Where nothing is
    compared, the row has another status than `ok` and says why.

    Args:
        imported: rows of `read_folder`.
        cells: judged cells.
        samples: seconds per rep of every pass, by system and id.
    """
    by_problem: dict[tuple[Any, ...], list[Row]] = {}
    for cell in cells:
        if cell["kind"] == "measure" and cell["status"] == Status.OK:
            by_problem.setdefault(_problem(cell), []).append(cell)
    for row in imported:
        start = {column: row[column] for column in ("import", "kernel", "actual_size", "device", "region")}
        start |= {
            "rajaperf_variant": row["variant"],
            "rajaperf_tuning": row["tuning"],
            "rajaperf_mean_s": row.get("mean_s"),
            "rajaperf_n": row["passes"],
        }
        found = by_problem.get(_problem(row), [])
        if not found:
            where = "it is not known on what it ran" if row["device"] is None else f"{row['device']}, {row['region']}"
            reason = f"no cell of {row['kernel']} with {row['actual_size']} elements has right times there ({where})"
            yield start | {"status": "no_cell", "reason": reason}
        for cell in found:
            ours = {column: cell[column] for column in ("system", "id", "variant", "tuning")}
            yield start | ours | _compared(row, cell, samples[cell["system"], cell["id"]])


def _problem(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("kernel", "actual_size", "device", "region"))


def _compared(row: Row, cell: Row, seconds: Sequence[float]) -> dict[str, Any]:
    ours = {"mean_s": fmean(seconds), "n": len(seconds)}
    if row["status"] != Status.OK:
        return ours | {"status": row["status"], "reason": row["reason"]}
    if reason := _refusal(row, cell):
        return ours | {"status": "not_comparable", "reason": reason}
    mean, rounding = row["mean_s"], row["rounding_s"]
    bounds = {"speed_low": (mean - rounding) / ours["mean_s"], "speed_high": (mean + rounding) / ours["mean_s"]}
    return ours | {"status": str(Status.OK), "reason": "", "speed": mean / ours["mean_s"], **bounds}


def _refusal(row: Row, cell: Row) -> str:
    """Why two times are not compared; empty if they are."""
    # On the host a block says nothing, and which size was asked for does not matter where as much was computed.
    block = cell["block"] if row["device"] == "host" else row["block"]
    what = {**row, "block": block, "size": cell["size"]}
    unknown = [name for name in (*_SAID, "passes") if what[name] is None]
    if unknown:
        return f"RAJAPerf's files do not say {', '.join(unknown)}; say it in {FACTS} beside them"
    if block is None:
        return f"how many threads a block had is not known from the tuning {row['tuning']!r}"
    if row["checksum"] is None:
        return "whether its checksum was right is not known: this RAJAPerf wrote no kernel-run-data.csv"
    if row["region"] == "kernel" and row["kernel"] in OTHER_REGIONS:
        return f"what is timed differs: {OTHER_REGIONS[row['kernel']]}, ours does not"
    if row.get("mean_s") is None:
        return "RAJAPerf wrote no timing-Average.csv, and the fastest of few passes is not that of many"
    if row["ranks"] != 1:
        return f"it ran on {row['ranks'] or 'an unknown number of'} MPI ranks, ours in one process"
    try:
        require_comparable(what, cell)
    except IncomparableError as difference:
        return str(difference)
    return ""


# --- Tables --------------------------------------------------------------------------------------------------------
