"""What may be compared with what, how alike the two are, and what the comparison says beside the noise floor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import numpy as np

from ironsweep.statistics import Ratio
from ironsweep.variants import COMPILERS

CONTRACT = (
    "region",
    "device",
    "arch",
    "device_name",
    "host",
    "data",
    "size",
    "reps",
    "contraction",
    "block",
    "precision",
)
"""Columns in which two cells must agree before one time may be divided by the other."""

PARITY: Mapping[str, str] = {
    "safety": "bounds checks",
    "compiler": "compiler",
    "toolchain_sha256": "toolchain",
    "runtime": "runtime",
    "driver": "driver",
    "clock": "clock",
    "threads": "host threads",
    "actual_size": "actual size",
    "device_uid": "card",
}
"""Columns that may differ, and what a reader calls them: where they do, the comparison says so."""

FLOOR_QUANTILE = 0.95
FEWEST_PAIRS = 5
"""With fewer A/A pairs nothing is known about the noise."""


class Verdict(StrEnum):
    """What a ratio of medians says."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"


class IncomparableError(ValueError):
    """Two cells were measured under different contracts; the message names the difference."""


def require_comparable(cell: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Let two cells pass only if they were measured under the same contract.

    Raises:
        IncomparableError: otherwise; the message names every difference.
    """
    differences = [
        f"{field} is {cell.get(field)} in one and {other.get(field)} in the other"
        for field in CONTRACT
        if cell.get(field) != other.get(field)
    ]
    if differences:
        raise IncomparableError(
            f"{cell['kernel']} {cell['variant']} cannot be compared with {other['variant']}: " + "; ".join(differences)
        )


def parity(cell: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """What is not alike in two comparable cells: ``clock: a / b; driver: c / d``; empty if nothing is."""
    return "; ".join(
        f"{label}: {_said(cell.get(field))} / {_said(other.get(field))}"
        for field, label in PARITY.items()
        if cell.get(field) != other.get(field)
    )


def _said(value: Any) -> str:
    return "unknown" if value is None else str(value)


def noise_floor(ratios: Iterable[float]) -> float:
    """The relative difference that chance alone exceeds in one of 20 A/A pairs; NaN if there are too few of them.

    Args:
        ratios: medians over medians of the same program measured twice.
    """
    sizes = [abs(math.log(ratio)) for ratio in ratios]
    if len(sizes) < FEWEST_PAIRS:
        return math.nan
    # The next larger of the two nearest: a floor that is too low calls noise a result.
    return math.expm1(float(np.quantile(sizes, FLOOR_QUANTILE, method="higher")))


def verdict(speed: Ratio, floor: float) -> Verdict:
    """What a speed (above 1: faster) says, given the noise floor.

    ``same`` if the whole interval lies within the floor around 1, ``faster`` or ``slower`` if all of it lies beyond,
    else ``inconclusive``; so are a speed without an interval, and all where the floor is not known (NaN).
    """
    low, high = speed.ci_low, speed.ci_high
    if math.isnan(floor) or math.isnan(low) or math.isnan(high):
        return Verdict.INCONCLUSIVE
    above, below = 1.0 + floor, 1.0 / (1.0 + floor)
    if low > above:
        return Verdict.FASTER
    if high < below:
        return Verdict.SLOWER
    return Verdict.SAME if below <= low and high <= above else Verdict.INCONCLUSIVE


def compiler_of(variant: str, toolchain: Mapping[str, Any]) -> str:
    """Who makes a variant's programs, for a reader: ``rustc 1.97.1, llc 22.1.8``."""
    tools = toolchain.get("tools", {})
    found = [(name, tools.get(name, {}).get("version")) for name in COMPILERS.get(variant, ())]
    return ", ".join(f"{name} {version or '(version unknown)'}" for name, version in found)
