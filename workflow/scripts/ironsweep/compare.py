"""Two result sets side by side: which cells changed beyond noise, for `snakemake compare` and `snakemake history`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ironsweep import batches, tables
from ironsweep.columns import read_table
from ironsweep.comparison import FEWEST_PAIRS, Verdict, noise_floor, parity, verdict
from ironsweep.efficiency import is_measured
from ironsweep.errors import UserError
from ironsweep.judge import Status
from ironsweep.records import Problem, read_file
from ironsweep.statistics import ratio_of_medians

Row = dict[str, Any]
Key = tuple[Any, ...]

TABLE = Path("results/comparison.csv")

SHOWN = 40
"""Changes that are printed; the table has all of them."""

_KEY = ("kernel", "variant", "device", "arch", "tuning", "region", "data", "size", "reps")


@dataclass(frozen=True)
class ResultSet:
    """Measured cells of one set of results.

    Attributes:
        name: what messages call it.
        cells: measured cells by what they are, with ``seconds_per_rep``.
        systems: names of its systems.
        noise: ratios of its A/A pairs, by region and size.
        problems: lines of its records that were left out.
    """

    name: str
    cells: Mapping[Key, Row]
    systems: frozenset[str]
    noise: Mapping[Key, Sequence[float]]
    problems: Sequence[Problem]


def read_set(path: Path, name: str) -> ResultSet:
    """Results from a folder ``results`` (or a checkout with one), or from a file of records.

    Judged statuses come from the folder's tables; of a file of records, and of records that no table knows, only what
    the worker said is known.

    Raises:
        UserError: if there are no records.
    """
    root = path if (path / "results").is_dir() else path.parent
    files = [path] if path.is_file() else batches.record_files(root) if (root / "results").is_dir() else []
    if not files:
        raise UserError(f"--config: {name}: {path} is neither a file of records nor a folder `results` with records")
    records, problems = [], []
    for file in files:
        content = read_file(file)
        own = {"system": file.stem} if file.parent.name == "imported" else {}
        records += [record | own for record in content.records]
        problems += content.problems
    if not records:
        raise UserError(
            f"--config: {name}: {path} has no record that can be read" + (f"; {problems[0]}" if problems else "")
        )
    judged = _judged(root / "results/tables/cells.parquet")
    cells = []
    for record in records:
        if record["kind"] != "measure" or record.get("twin_of"):
            continue
        status, reason = judged.get((record["system"], record["id"]), (record["status"], record.get("message") or ""))
        cell = {**record, "status": status, "reason": reason, "precision": "f64"}
        cells.append(cell | tables.statistics_of(record) if is_measured(cell) else cell)
    systems = [tables.System(system, [], {}) for system in sorted({record["system"] for record in records})]
    for system in systems:
        system.records.update((record["id"], record) for record in records if record["system"] == system.name)
    noise: dict[Key, list[float]] = {}
    for row in tables.noise(cells, systems):
        if row["status"] == Status.OK:
            noise.setdefault((row["region"], row["size"]), []).append(row["ratio"])
    return ResultSet(
        str(path),
        {(cell["system"], *(cell[part] for part in _KEY)): cell for cell in cells},
        frozenset(system.name for system in systems),
        noise,
        problems,
    )


def _judged(file: Path) -> dict[tuple[str, str], tuple[str, str]]:
    if not file.exists():
        return {}
    cells = read_table(file)
    found = zip(cells["system"], cells["id"], cells["status"], cells["reason"].fillna(""), strict=True)
    return {(system, identity): (status, reason) for system, identity, status, reason in found}


def compare(before: ResultSet, after: ResultSet) -> list[Row]:
    """A row for each measured cell that both sets have, the largest changes first.

    Systems are told apart if both sets have the same ones; else each set must have one system only.

    Raises:
        UserError: if it is not clear which cells belong together, or if no cell is in both sets.
    """
    same = before.systems == after.systems
    if not same and max(len(before.systems), len(after.systems)) > 1:
        raise UserError(
            f"{before.name} has the systems {', '.join(sorted(before.systems))}, {after.name} has"
            f" {', '.join(sorted(after.systems))}: name files of records with one system each"
        )
    start = 0 if same else 1
    of_before = {key[start:]: cell for key, cell in before.cells.items()}
    of_after = {key[start:]: cell for key, cell in after.cells.items()}
    rows = [_row(of_before[key], of_after[key], _floor(before, after, key)) for key in of_before if key in of_after]
    if not rows:
        raise UserError(f"{before.name} and {after.name} have no measured cell in common")
    return sorted(rows, key=lambda row: (_RANK[row["change"]], -abs(math.log(row["speed"])) if row["speed"] else 0.0))


_RANK = {"lost": 0, "slower": 1, "gained": 2, "faster": 3, "inconclusive": 4, "same": 5, "failed": 6}


def _floor(before: ResultSet, after: ResultSet, key: Key) -> float:
    """The larger noise of both sets, of this region and size if there are pairs enough."""
    region, size = key[-4], key[-2]
    floors = []
    for one in (before, after):
        own = one.noise.get((region, size), ())
        others = [ratio for place, ratios in one.noise.items() if place[0] == region for ratio in ratios]
        floors.append(noise_floor(own if len(own) >= FEWEST_PAIRS else others))
    known = [floor for floor in floors if not math.isnan(floor)]
    return max(known, default=math.nan)


def _row(before: Row, after: Row, floor: float) -> Row:
    row = {name: after[name] for name in _KEY} | {
        "system": after["system"],
        "id_before": before["id"],
        "id_after": after["id"],
        "speed": None,
        "ci_low": None,
        "ci_high": None,
        "noise_floor": None if math.isnan(floor) else floor,
        "not_alike": parity(after, before),
    }
    ok = before["status"] == Status.OK, after["status"] == Status.OK
    if not all(ok):
        change = {(True, False): "lost", (False, True): "gained"}.get(ok, "failed")
        return row | {"change": change, "reason": _why(before, after)}
    for name in ("host", "device_name"):
        if before.get(name) != after.get(name):
            row["not_alike"] = f"{name}: {after.get(name)} / {before.get(name)}; {row['not_alike']}".rstrip("; ")
    speed = ratio_of_medians(before["seconds_per_rep"], after["seconds_per_rep"])
    return row | {
        "speed": speed.ratio,
        "ci_low": speed.ci_low,
        "ci_high": speed.ci_high,
        "change": str(verdict(speed, floor)),
        "reason": "",
    }


def _why(before: Row, after: Row) -> str:
    return "; ".join(
        f"{when} {cell['status']}: {cell['reason']}"
        for when, cell in (("before", before), ("after", after))
        if cell["reason"]
    )


def answer(config: Mapping[str, Any], over_time: bool) -> int:
    """Answer `snakemake compare` or `snakemake history`: print, write files, and return the exit code.

    Raises:
        UserError: if the sets are not named, or not there.
    """
    if over_time:
        from ironsweep import history  # draws, which takes a second to load

        if "sets" not in config:
            raise UserError("which results? Say: snakemake history --config 'sets=[RESULTS, RESULTS, ...]'")
        for file in history.write([read_set(Path(name), f"sets[{at}]") for at, name in enumerate(config["sets"])]):
            print(file)
        return 0
    if not {"before", "after"} <= set(config):
        raise UserError("which results? Say: snakemake compare --config before=RESULTS after=RESULTS")
    before, after = (read_set(Path(config[name]), name) for name in ("before", "after"))
    rows = compare(before, after)
    TABLE.parent.mkdir(exist_ok=True)
    part = TABLE.with_suffix(".part")
    pd.DataFrame(rows).to_csv(part, index=False)
    part.replace(TABLE)
    print(report(before, after, rows), f"every cell: {TABLE}", sep="")
    return int(is_worse(rows))


def is_worse(rows: Sequence[Row]) -> bool:
    """Whether any cell became slower beyond noise, or failed where it did not."""
    return any(row["change"] in ("lost", Verdict.SLOWER) for row in rows)


def report(before: ResultSet, after: ResultSet, rows: Sequence[Row]) -> str:
    """What changed, for a person."""
    return "\n".join(_lines(before, after, rows)) + "\n"


def _lines(before: ResultSet, after: ResultSet, rows: Sequence[Row]) -> Iterator[str]:
    yield f"before  {before.name}: {len(before.cells)} measured cells"
    yield f"after   {after.name}: {len(after.cells)} measured cells, {len(rows)} of them in both"
    for one in (before, after):
        yield from (f"left out: {problem}" for problem in one.problems[:SHOWN])
    changed = [row for row in rows if row["change"] in ("lost", "slower", "gained", "faster")]
    for row in changed[:SHOWN]:
        cell = f"{row['kernel']} {row['variant']} {row['tuning']} {row['arch']} {row['region']} {row['size']:,}"
        if row["speed"] is None:
            yield f"{row['change']:8}          {cell}: {row['reason']}"
        else:
            interval = f"(95 %: {row['ci_low']:.3f} to {row['ci_high']:.3f}; noise {row['noise_floor']:.1%})"
            yield f"{row['change']:8} {row['speed']:7.3f}x {cell} {interval}"
    if len(changed) > SHOWN:
        yield f"… and {len(changed) - SHOWN} more"
    alike = sorted({row["not_alike"] for row in rows if row["not_alike"]})
    for text in alike[:3]:
        yield f"not alike (after / before): {text}"
    if all(row["noise_floor"] is None for row in rows):
        yield "the noise is not known: neither set has A/A pairs enough, so no change of a time can be told from chance"
    counts = {change: sum(row["change"] == change for row in rows) for change in _RANK}
    yield ", ".join(f"{count} {change}" for change, count in counts.items() if count)
