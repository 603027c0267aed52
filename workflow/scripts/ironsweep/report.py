"""The report: one file of HTML with everything inside, which opens without a network."""

from __future__ import annotations

import base64
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from ironsweep.columns import declared, rows_of
from ironsweep.judge import Status

Row = dict[str, Any]

TEMPLATE = Path(__file__).resolve().parents[2] / "report"

LARGEST_SVG = 300_000
"""Bytes: a larger drawing is shown as pixels."""
MOST_CELLS = 20_000
MOST_FAILURES = 300

COLUMNS = (
    *("system", "kernel", "variant", "arch", "tuning", "region", "data", "size", "kind", "status", "median_s", "cv"),
    *(
        "bandwidth_gib_per_s",
        "bandwidth_of_copy",
        "gflop_per_s",
        "speed",
        "ci_low",
        "ci_high",
        "verdict",
        "reason",
        "id",
    ),
)
"""Of the table of cells, with those of ratios beside them."""

CHOICES = ("system", "kernel", "variant", "arch", "region", "kind", "status", "verdict")
"""Columns that are filtered by choosing a value."""

QUIET = (Status.OK, Status.NOT_RUN, Status.UNSUPPORTED, Status.EXCLUDED)
"""Statuses that are no failures: what was not to be run did not fail."""


@dataclass(frozen=True)
class Sources:
    """What a report is made from.

    Attributes:
        cells: the table of cells.
        ratios: the table of ratios.
        means: the table of geometric means.
        claims: the table of claims.
        problems: the table of problems.
        figures: drawings (.svg) with the drawing in pixels (.png) beside them.
        records: records of cells that failed, by system and id.
        environments: lines about the machines.
        toolchain: toolchain.json.
    """

    cells: pd.DataFrame
    ratios: pd.DataFrame
    means: pd.DataFrame
    claims: pd.DataFrame
    problems: pd.DataFrame
    figures: Sequence[Path]
    records: Mapping[tuple[str, str], Row]
    environments: Sequence[Row]
    toolchain: Mapping[str, Any]


def render(sources: Sources) -> str:
    """The whole page. What workers said is text in it and never markup."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    failed = failures(sources)
    return environment.get_template("report.html.j2").render(
        sentences=list(summary(sources)),
        systems=sorted(sources.cells["system"].unique()),
        verified=bool(sources.cells["verified"].all()),
        latest=str(sources.cells["started"].dropna().max() or "")[:10],
        claims=rows_of(sources.claims),
        figures=[_figure(path) for path in sources.figures],
        table=_script(table_of(sources.cells, sources.ratios)),
        shown=min(len(sources.cells), MOST_CELLS),
        planned=len(sources.cells),
        failures=failed[:MOST_FAILURES],
        failed=len(failed),
        problems=rows_of(sources.problems.head(MOST_FAILURES)),
        machines=machines(sources.environments, sources.cells),
        commits=commits(sources.environments),
        tools=sorted((name, tool.get("version", "")) for name, tool in sources.toolchain.get("tools", {}).items()),
        toolchain=sources.toolchain.get("sha256", ""),
    )


def _script(data: Any) -> Markup:
    """JSON that can stand in an element `script`: nothing in it ends the element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


# --- five sentences -------------------------------------------------------------------------------------------------


def summary(sources: Sources) -> Iterator[str]:
    """Five sentences with numbers: what was planned, whether to believe it, means, extremes, and what is missing."""
    cells, ratios = sources.cells, sources.ratios
    measured = cells[cells["kind"] == "measure"]
    counts = Counter(measured["status"])
    yield (
        f"{len(measured):,} measurements of {measured['kernel'].nunique()} kernels on {measured['system'].nunique()}"
        f" {_plural('system', measured['system'].nunique())} were planned: {_counted(counts)}."
    )
    checks, planted = (_that_ran(cells[cells["kind"] == kind]) for kind in ("check", "planted"))
    believe = "The results are verified" if cells["verified"].all() else "The results are UNVERIFIED and prove nothing"
    yield (
        f"{believe}: {checks[Status.OK]:,} of {checks.total():,} correctness checks that ran came out right, and"
        f" {planted[Status.WRONG_RESULT]} of {planted.total()} planted wrong kernels that ran were caught."
    )
    means = sources.means[(sources.means["status"] == Status.OK) & sources.means["size"].isna()]
    yield (
        "; ".join(
            _mean(row) for row in rows_of(means) if row["contraction"] == "strict" and row["region"] != "with_transfers"
        )
        or "No variant could be compared with a baseline"
    ) + "."
    known = ratios[ratios["status"] == Status.OK]
    yield f"{_extremes(known)}, and the verdicts are {_counted(Counter(known['verdict']))}."
    failed = [status for status in counts if status not in QUIET]
    lost, left_out = sum(counts[status] for status in failed), len(sources.problems)
    yield (
        f"{lost:,} {_plural('measurement', lost)} failed, {left_out:,} {_plural('line', left_out)} of records"
        f" {'was' if left_out == 1 else 'were'} left out, and {counts[Status.NOT_RUN] + counts[Status.UNSUPPORTED]:,}"
        " measurements were not run."
    )


def _that_ran(cells: pd.DataFrame) -> Counter[str]:
    return Counter(status for status in cells["status"] if status == Status.OK or status not in QUIET)


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1])) or "none"


def _mean(row: Row) -> str:
    interval = "" if row["ci_low"] is None else f" (95 %: {row['ci_low']:.3f} to {row['ci_high']:.3f})"
    safety = "" if row["safety"] == "none" else f" {row['safety']}"
    return (
        f"{row['variant']}{safety} is {row['speed']:.3f} times as fast as {row['baseline_variant']}{interval} in the"
        f" geometric mean of {row['n']} of {row['planned']} kernels on {row['arch']} ({row['region']})"
    )


def _extremes(known: pd.DataFrame) -> str:
    if known.empty:
        return "There is no fastest and no slowest comparison"
    rows = sorted(rows_of(known), key=lambda row: float(row["speed"]))
    worst, best = (
        f"{row['speed']:.2f} times {row['baseline_variant']} ({row['variant']}, {row['kernel']}, {row['size']:,})"
        for row in (rows[0], rows[-1])
    )
    return f"The largest speed is {best}, the smallest {worst}"


# --- parts ----------------------------------------------------------------------------------------------------------


def table_of(cells: pd.DataFrame, ratios: pd.DataFrame) -> dict[str, Any]:
    """The cells for the page's own table: columns with their values, words as numbers of a list of words.

    Measurements come first, in case there are more cells than fit, and of these what has a number.
    """
    own = ["system", "id", "speed", "ci_low", "ci_high", "verdict"]
    wide = cells.merge(ratios[own], on=["system", "id"], how="left", validate="1:1")
    later = 2 * (wide["kind"] != "measure").astype(int) + wide["median_s"].isna().astype(int)
    wide = wide.iloc[later.argsort(kind="stable")].head(MOST_CELLS)
    types = {**declared()["ratios"].columns, **declared()["cells"].columns}
    columns = []
    for name in COLUMNS:
        column = types[name]
        known = {"name": name, "unit": column.unit, "help": column.description, "choose": name in CHOICES}
        if column.type == "string":
            words = sorted(wide[name].dropna().unique())
            place = {word: number for number, word in enumerate(words)}
            columns.append({**known, "words": words, "values": [place.get(value, -1) for value in wide[name]]})
        else:
            columns.append({**known, "values": [_number(value) for value in wide[name]]})
    return {"rows": len(wide), "columns": columns}


def _number(value: Any) -> float | int | None:
    if pd.isna(value) or math.isinf(value):
        return None
    return int(value) if float(value).is_integer() else float(f"{float(value):.5g}")


def failures(sources: Sources) -> list[Row]:
    """Cells that failed, with what their workers said last. Planted kernels that were caught are none."""
    cells = sources.cells
    failed = cells[~cells["status"].isin(QUIET)]
    failed = failed[(failed["kind"] != "planted") | (failed["status"] != Status.WRONG_RESULT)]
    found = []
    for row in rows_of(failed):
        record = sources.records.get((row["system"], row["id"]), {})
        found.append(row | {"log_tail": str(record.get("log_tail") or "").strip()})
    return found


def _figure(path: Path) -> Row:
    """A drawing as text that a page can hold. As an image it cannot run scripts."""
    kind, data = "svg+xml", path.read_bytes()
    pixels = path.with_suffix(".png")
    if len(data) > LARGEST_SVG and pixels.exists():
        kind, data = "png", pixels.read_bytes()
    return {
        "name": path.stem.replace("_", " "),
        "system": path.parent.name,
        "data": f"data:image/{kind};base64,{base64.b64encode(data).decode()}",
    }


def machines(environments: Iterable[Row], cells: pd.DataFrame) -> list[Row]:
    """Each machine and its devices, with what is known about them; one row a host and device."""
    found: dict[tuple[str, str], Row] = {}
    hosts = {line["host"]: line for line in environments}
    devices = cells[cells["device_name"].notna()]
    for row in rows_of(devices.drop_duplicates(["host", "device_name", "device_uid", "driver", "runtime"])):
        line = hosts.get(row["host"], {})
        gpus = {str(gpu.get("uuid")): gpu for gpu in [*(line.get("nvidia") or ()), *(line.get("amd") or ())]}
        gpu = gpus.get(str(row["device_uid"]), {})
        facts = {
            name: gpu[name]
            for name in ("clocks.max.sm", "clocks.max.mem", "power.limit", "ecc.mode.current")
            if name in gpu
        }
        key = (row["host"], f"{row['device_name']} {row['device_uid']} {row['runtime']}")
        found[key] = {
            **{name: row[name] for name in ("host", "device_name", "device_uid", "device_arch", "driver", "runtime")},
            "cpu": line.get("cpu", ""),
            "facts": ", ".join(f"{name} {value}" for name, value in facts.items()),
        }
    return list(found.values())


def commits(environments: Iterable[Row]) -> list[Row]:
    """The commits that programs were built from, and what differed from them."""
    found: dict[str, Row] = {}
    for line in environments:
        source = line.get("source") or {}
        if source.get("commit"):
            found[f"{source['commit']} {source['changed']}"] = source
    return list(found.values())
