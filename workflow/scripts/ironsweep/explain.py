"""Where a number comes from: from a row of a table back to the source, for `snakemake explain --config cell=ID`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ironsweep import batches
from ironsweep.columns import read_table, rows_of
from ironsweep.errors import UserError
from ironsweep.records import RecordFile, read_file
from ironsweep.variants import program

Row = dict[str, Any]

TABLES = Path("results/tables")
FEWEST_DIGITS = 4

_CLOCKS = ("clocks.sm", "clocks.mem", "power.limit", "power.draw", "temperature.gpu", "clocks_event_reasons.active")


def chain(cell: str, root: Path = Path()) -> str:
    """Everything that a cell's number rests on, a line a step.

    Args:
        cell: its id, or the first digits of it.
        root: folder with ``results``.

    Raises:
        UserError: if there are no tables, no such cell, or several.
    """
    row, line = _row(root, cell)
    return "\n".join(f"{name:10} {text}" for name, text in _steps(root, row, line))


def _row(root: Path, cell: str) -> tuple[Row, int]:
    """The row of the table of cells, and its line in the CSV file."""
    file = root / TABLES / "cells.parquet"
    if not file.exists():
        raise UserError(f"{file} does not exist; make it first: snakemake --profile profiles/local")
    if len(cell) < FEWEST_DIGITS:
        raise UserError(
            f"--config: cell: {cell!r} is too short; an id has 16 hexadecimal digits, {FEWEST_DIGITS} may do"
        )
    cells = read_table(file)
    found = cells[cells["id"].str.startswith(cell.lower())]
    if found.empty:
        raise UserError(f"--config: cell: no cell of {TABLES}/cells.csv has an id that begins with {cell!r}")
    if len(found) > 1:
        names = ", ".join(found["id"].head(5))
        raise UserError(
            f"--config: cell: {len(found)} cells have ids that begin with {cell!r}: {names}; give more digits"
        )
    return rows_of(found)[0], int(found.index[0]) + 2  # after the heading


def _steps(root: Path, row: Row, line: int) -> Iterator[tuple[str, str]]:
    yield (
        "cell",
        (
            f"{row['id']}: {row['kernel']} as {row['variant']}, {row['tuning']}, on {row['device']} {row['arch']},"
            f" {row['size']:,} elements, {row['reps']} repetitions, {row['region']}, {row['data']} data"
        ),
    )
    yield "table", f"{TABLES}/cells.csv:{line}: {_result(row)}"
    if not row["verified"]:
        yield "", f"UNVERIFIED: the planted wrong kernels of {row['system']} were not all caught"
    yield from _comparisons(root, row)
    place = _record(root, row)
    if place is None:
        yield "record", "none: nothing was run for this cell"
        return
    file, number, record, content = place
    yield "record", f"{file.relative_to(root)}:{number}: {record['status']}, {_passes(record)}"
    yield from _batch(root, row, file)
    yield (
        "run",
        (f"{record['run']}: point {record['order']}, started {record['started']}, took {record['wall_s']:.3f} s"),
    )
    environments = [line for line in content.environments if line.get("run") == record["run"]]
    yield from _machine(record, environments)
    yield from _programs(root, record)
    yield "source", _source(environments)


def _result(row: Row) -> str:
    if row["median_s"] is None:
        return f"{row['status']}: {row['reason'] or 'no number'}"
    interval = "" if row["ci_low_s"] is None else f" (95 %: {row['ci_low_s']:.4g} to {row['ci_high_s']:.4g})"
    return (
        f"{row['status']}: median {row['median_s']:.4g} s{interval} of {row['n']} passes, {row['warmup_passes']} of"
        f" them warm-up, {row['outliers']} outliers"
    )


def _comparisons(root: Path, row: Row) -> Iterator[tuple[str, str]]:
    file = root / TABLES / "ratios.parquet"
    ratios = read_table(file) if file.exists() else pd.DataFrame({"system": [], "id": [], "baseline_id": []})
    own = ratios[(ratios["system"] == row["system"]) & (ratios["id"] == row["id"])]
    for index, ratio in zip(own.index, rows_of(own), strict=True):
        where = f"{TABLES}/ratios.csv:{index + 2}"
        if ratio["speed"] is None:
            yield "compared", f"{where}: {ratio['status']}: {ratio['reason']}"
            continue
        floor = "unknown" if ratio["noise_floor"] is None else f"{ratio['noise_floor']:.1%}"
        interval = "" if ratio["ci_low"] is None else f" (95 %: {ratio['ci_low']:.4f} to {ratio['ci_high']:.4f})"
        yield (
            "compared",
            (
                f"{where}: {ratio['speed']:.4f} times as fast as {ratio['baseline_variant']}{interval}:"
                f" {ratio['verdict']}; noise floor {floor}; baseline's cell {ratio['baseline_id']}"
            ),
        )
        yield "", f"not alike: {ratio['parity'] or 'nothing'}"
    others = ratios[(ratios["system"] == row["system"]) & (ratios["baseline_id"] == row["id"])]
    if len(others):
        yield "compared", f"it is the baseline of {len(others)} cells: {', '.join(others['id'].head(5))}"


def _record(root: Path, row: Row) -> tuple[Path, int, Row, RecordFile] | None:
    """File, line and content of the record of a cell."""
    for file in batches.record_files(root):
        if row["system"] not in (file.parent.name, file.stem) or row["id"].encode() not in file.read_bytes():
            continue
        content = read_file(file)
        record = next((record for record in content.records if record["id"] == row["id"]), None)
        if record is not None:
            return file, _line_of(file, row["id"]), record, content
    return None


def _line_of(file: Path, identity: str) -> int:
    for number, line in enumerate(file.read_bytes().split(b"\n"), 1):
        if identity.encode() in line and json.loads(line).get("id") == identity:
            return number
    return 0


def _passes(record: Mapping[str, Any]) -> str:
    times = record.get("seconds_per_rep") or []
    return f"{len(times)} passes" if times else "no times"


def _batch(root: Path, row: Row, file: Path) -> Iterator[tuple[str, str]]:
    if file.parent.name == "imported":
        yield "batch", "none: the records were imported from another machine"
        return
    log = root / "results/logs/run" / row["system"] / f"{file.stem}.log"
    yield (
        "batch",
        f"results/plan/batches/{file.stem}.jsonl" + (f", log {log.relative_to(root)}" if log.exists() else ""),
    )


def _machine(record: Row, environments: list[Row]) -> Iterator[tuple[str, str]]:
    start = environments[0] if environments else {}
    job = f", Slurm job {start['slurm_job']}" if start.get("slurm_job") else ""
    cpu = f": {start['cpu']}, {start['cpus_usable']} cores, load {start['load']:.1f}" if start else ""
    yield "host", f"{record['host']}{cpu}{job}"
    yield (
        "device",
        (
            f"{record.get('device_name')}, {record.get('device_arch')}, {record.get('device_uid')}; driver"
            f" {record.get('driver')}, runtime {record.get('runtime')}, clock {record.get('clock')}"
        ),
    )
    for environment in environments:
        for gpu in [*(environment.get("nvidia") or ()), *(environment.get("amd") or ())]:
            if str(gpu.get("uuid", record.get("device_uid"))) == str(record.get("device_uid")):
                facts = ", ".join(f"{name} {gpu[name]}" for name in _CLOCKS if name in gpu)
                yield "", f"{environment['moment']} of the run: {facts or 'the tools tell no clocks'}"


def _programs(root: Path, record: Row) -> Iterator[tuple[str, str]]:
    folder = Path("results/bin") / record["kernel"]
    for name, file, wanted in (
        ("worker", folder / program(record["variant"]), record["binary_sha256"]),
        ("image", folder / record["part"], record["image_sha256"]),
    ):
        if wanted:
            yield name, f"{wanted}: {_beside(root, file, wanted)}"
    if record["toolchain_sha256"]:
        file = Path("results/toolchain/toolchain.json")
        there = root / file
        stated = json.loads(there.read_text(encoding="utf-8"))["sha256"] if there.exists() else None
        same = {True: f"that of {file}", False: f"{file} is of another toolchain", None: f"{file} does not exist"}
        yield (
            "toolchain",
            f"{record['toolchain_sha256']}: {same[None if stated is None else stated == record['toolchain_sha256']]}",
        )


def _beside(root: Path, file: Path, wanted: str) -> str:
    there = root / file
    if not there.exists():
        return f"{file} does not exist here"
    with there.open("rb") as data:
        same = hashlib.file_digest(data, "sha256").hexdigest() == wanted
    return f"that of {file}" if same else f"{file} is another one now"


def _source(environments: list[Row]) -> str:
    source = next((line["source"] for line in environments if line.get("source")), None)
    if not source or not source.get("commit"):
        return "unknown: the run did not say from which commit its programs come"
    if source["clean"]:
        return f"commit {source['commit']}, clean"
    return f"commit {source['commit']}, CHANGED: {', '.join(source['changed'])}"
