"""Claims: statements in `config/claims.yaml` that the table of ratios decides, with the cells that decide them."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd

from ironsweep.columns import declared, rows_of
from ironsweep.config import Origin, Text, conform
from ironsweep.configtext import did_you_mean
from ironsweep.efficiency import FMA
from ironsweep.judge import Status
from ironsweep.statistics import geometric_mean

Row = dict[str, Any]

_FROM_CELLS = (
    *("device_name", "device_uid", "host", "driver", "runtime", "compiler", "actual_size", "flops_per_byte", "bound"),
    *("bandwidth_gib_per_s", "bandwidth_of_peak", "gflop_per_s", "gflop_of_peak", "roof_fraction", "group", "cv"),
)
"""Columns of cells that claims can speak of beside those of ratios."""

NAMED = 3
"""So many cells are named in a sentence."""


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Claim:
    """A statement, the rows that it is about, and what they must satisfy.

    Attributes:
        name: short name.
        statement: in words.
        where: conditions by column.
        mean: whether the geometric mean must satisfy it, instead of every row.
        column: the number in question.
        low: its least value, or minus infinity.
        high: its largest value, or infinity.
        ours: verdict and value where the claim was first made.
    """

    name: str
    statement: str
    where: Mapping[str, Any]
    mean: bool
    column: str
    low: float
    high: float
    ours: Mapping[str, Any]


@dataclass(frozen=True)
class Decision:
    """The verdict on a claim.

    Attributes:
        claim: it.
        verdict: what became of it.
        reason: why, in a sentence.
        value: the number that decides: the mean, or that of the row that is nearest to failing; NaN if there is none.
        cells: number of rows that it is about.
        deciding: those that decide, the first ones first.
    """

    claim: Claim
    verdict: Verdict
    reason: str
    value: float
    cells: int
    deciding: Sequence[Row]


def read(path: Path, shown: str) -> list[Claim]:
    """Claims of a file, which messages call ``shown``.

    Raises:
        UserError: with file, line and key for what is no claim.
    """
    text = Text(path, shown)
    origin = Origin((text,), {})
    data = conform(text.values, "claims", origin)
    claims = []
    for name, claim in data.items():
        if len({"every", "mean"} & set(claim)) != 1:
            raise origin.error((name,), "needs either `every` (row) or `mean`, such as `every: {speed: {min: 0.95}}`")
        kind = "mean" if "mean" in claim else "every"
        for part in ("where", kind):
            for column, condition in claim[part].items():
                _check_column(origin, (name, part, column), column, condition, numeric=part != "where")
        ((column, limits),) = claim[kind].items()
        claims.append(
            Claim(
                name,
                claim["statement"],
                claim["where"],
                kind == "mean",
                column,
                limits.get("min", -math.inf),
                limits.get("max", math.inf),
                claim.get("ours", {}),
            )
        )
    return claims


def _types() -> dict[str, str]:
    """Columns that a claim can speak of, with their types."""
    tables = declared()
    cells = {name: tables["cells"].columns[name].type for name in _FROM_CELLS}
    return cells | {name: column.type for name, column in tables["ratios"].columns.items()}


def _check_column(origin: Origin, place: tuple[str, ...], column: str, condition: Any, *, numeric: bool) -> None:
    known = _types()
    if column not in known:
        raise origin.error(place, f"there is no such column{did_you_mean(column, known)}")
    is_number = known[column] in ("number", "integer")
    if not is_number and (numeric or isinstance(condition, dict)):
        raise origin.error(place, "the column holds words; min and max are for numbers")
    words = [value for value in (condition if isinstance(condition, list) else [condition]) if isinstance(value, str)]
    if is_number and words:
        raise origin.error(place, f"the column holds numbers; {words[0]!r} is none")


def table_of(ratios: pd.DataFrame, cells: pd.DataFrame) -> list[Row]:
    """Rows of ratios with the columns of their cells that claims can speak of; None where there is no value."""
    wider = ratios.merge(cells[["system", "id", *_FROM_CELLS]], on=["system", "id"], how="left", validate="1:1")
    # The peak is a yardstick and no kernel of the suite.
    return rows_of(wider[wider["kernel"] != FMA])


def decide(claim: Claim, rows: Sequence[Row]) -> Decision:
    """The verdict on a claim.

    It holds if the whole 95 % interval of every row (of the mean) satisfies it, and fails if that of any row (of the
    mean) lies outside. A number without an interval counts as it is. Where a row has no number, or its system is
    unverified, the claim can fail but not hold; without any row it is inconclusive.

    Args:
        claim: it.
        rows: what `table_of` gives.
    """
    found = [row for row in rows if all(_fits(row.get(name), wanted) for name, wanted in claim.where.items())]
    if not found:
        return Decision(claim, Verdict.INCONCLUSIVE, "no cell is what it speaks of", math.nan, 0, [])
    missing = [row for row in found if row["status"] != Status.OK or row.get(claim.column) is None]
    there = [row for row in found if row not in missing]
    unverified = sorted({row["system"] for row in found if not row["verified"]})
    doubts = []
    if missing:
        doubts.append(f"{len(missing)} of {len(found)} cells have no number ({_named(missing)})")
    if unverified:
        doubts.append(f"unverified: {', '.join(unverified)}")
    verdict, reason, value, deciding = (_mean if claim.mean else _every)(claim, there)
    if doubts and verdict is not Verdict.FAILS:
        verdict, reason = Verdict.INCONCLUSIVE, "; ".join([*doubts, reason])
        deciding = missing or deciding
    return Decision(claim, verdict, reason, value, len(found), deciding)


Found = tuple[Verdict, str, float, Sequence[Row]]


def _every(claim: Claim, rows: Sequence[Row]) -> Found:
    if not rows:
        return Verdict.INCONCLUSIVE, "no cell has a number", math.nan, []
    # The distance to the nearer limit says who decides.
    worst = sorted(rows, key=lambda row: min(row[claim.column] - claim.low, claim.high - row[claim.column]))
    value = float(worst[0][claim.column])
    judged = [(row, _inside(claim, *_interval(claim, row))) for row in worst]
    outside = [row for row, inside in judged if inside is False]
    unclear = [row for row, inside in judged if inside is None]
    if outside:
        return Verdict.FAILS, f"{len(outside)} of {len(rows)} cells: {_named(outside, claim)}", value, outside
    if unclear:
        reason = f"{len(unclear)} of {len(rows)} intervals reach across the limit: {_named(unclear, claim)}"
        return Verdict.INCONCLUSIVE, reason, value, unclear
    reason = f"all of {len(rows)} cells; nearest to the limit: {_named(worst[:1], claim)}"
    return Verdict.HOLDS, reason, value, worst[:1]


def _mean(claim: Claim, rows: Sequence[Row]) -> Found:
    mean = geometric_mean([float(row[claim.column]) for row in rows])
    if math.isnan(mean.ratio):
        return Verdict.INCONCLUSIVE, "no cell has a number", math.nan, []
    text = f"geometric mean of {len(rows)} cells: {mean.ratio:.3f} ({mean.ci_low:.3f} to {mean.ci_high:.3f})"
    inside = None if math.isnan(mean.ci_low) else _inside(claim, mean.ci_low, mean.ci_high)
    verdict = {True: Verdict.HOLDS, False: Verdict.FAILS, None: Verdict.INCONCLUSIVE}[inside]
    return verdict, text, mean.ratio, sorted(rows, key=lambda row: float(row[claim.column]))


def _interval(claim: Claim, row: Row) -> tuple[float, float]:
    value = float(row[claim.column])
    if claim.column != "speed":
        return value, value
    # Too few passes for an interval: it could be anything.
    low, high = row["ci_low"], row["ci_high"]
    return (-math.inf, math.inf) if low is None or high is None else (float(low), float(high))


def _inside(claim: Claim, low: float, high: float) -> bool | None:
    """Whether an interval lies within the claim's limits (True), outside (False), or neither (None)."""
    if claim.low <= low and high <= claim.high:
        return True
    return False if high < claim.low or low > claim.high else None


def _fits(value: Any, wanted: Any) -> bool:
    if value is None:
        return False
    if isinstance(wanted, list):
        return any(_fits(value, one) for one in wanted)
    if isinstance(wanted, dict):
        return bool(wanted.get("min", -math.inf) <= value <= wanted.get("max", math.inf))
    return fnmatch.fnmatchcase(str(value), wanted) if isinstance(wanted, str) else bool(value == wanted)


def _named(rows: Sequence[Row], claim: Claim | None = None) -> str:
    names = [f"{row['kernel']} {row['size']:,}{_number(row, claim)}" for row in rows[:NAMED]]
    return ", ".join(names) + (", …" if len(rows) > NAMED else "")


def _number(row: Row, claim: Claim | None) -> str:
    if claim is None:
        return f" {row['status']}"
    interval = f" ({row['ci_low']:.3f} to {row['ci_high']:.3f})" if claim.column == "speed" and row["ci_low"] else ""
    return f" {float(row[claim.column]):.3f}{interval}"


def verdict_rows(decisions: Sequence[Decision]) -> Iterator[Row]:
    """Rows of the table of claims."""
    for decision in decisions:
        claim = decision.claim
        yield {
            "claim": claim.name,
            "statement": claim.statement,
            "verdict": str(decision.verdict),
            "reason": decision.reason,
            "value": decision.value,
            "cells": decision.cells,
            "deciding": " ".join(row["id"] for row in decision.deciding),
            "our_verdict": claim.ours.get("verdict"),
            "our_value": claim.ours.get("value"),
        }


def report(decisions: Sequence[Decision]) -> str:
    """The verdicts for a person, each with what decides it and, where known, what came out elsewhere."""
    lines = []
    for decision in decisions:
        claim = decision.claim
        lines += [f"{str(decision.verdict).upper():12} {claim.name}: {claim.statement}", f"{'':13}{decision.reason}"]
        if claim.ours:
            lines.append(f"{'':13}{_beside_ours(decision)}")
    counts = {verdict: sum(decision.verdict == verdict for decision in decisions) for verdict in Verdict}
    lines.append(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return "\n".join(lines) + "\n"


def _beside_ours(decision: Decision) -> str:
    ours = decision.claim.ours
    text = "as ours" if ours["verdict"] == decision.verdict else f"OURS: {ours['verdict']}"
    if "value" in ours and not math.isnan(decision.value):
        text += f"; {decision.value:.3f}, ours {ours['value']:.3f} ({decision.value / ours['value'] - 1:+.1%})"
    return text + (f"; ours is from {ours['source']}" if "source" in ours else "")
