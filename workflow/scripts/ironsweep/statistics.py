"""Medians with intervals, ratios of medians, and the refusal to compare what is not comparable.

Times are neither symmetric nor normal, so nothing here assumes a distribution.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

CONFIDENCE = 0.95

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


@dataclass(frozen=True)
class Summary:
    """Summary of the passes of a cell, in the unit of the samples.

    Attributes:
        n: number of samples.
        median: their median.
        ci_low: lower end of the interval of the median; NaN if there are too few samples for one.
        ci_high: its upper end.
        min: smallest sample.
        cv: coefficient of variation (standard deviation with n - 1, over the mean); NaN for one sample.
    """

    n: int
    median: float
    ci_low: float
    ci_high: float
    min: float
    cv: float


@dataclass(frozen=True)
class Ratio:
    """A ratio of medians with its bootstrap interval (NaN if either side has fewer than two samples)."""

    ratio: float
    ci_low: float
    ci_high: float


class IncomparableError(ValueError):
    """Two cells were measured under different contracts; the message names the difference."""


def summarise(samples: Sequence[float]) -> Summary:
    """Median, interval and spread of at least one sample.

    Raises:
        ValueError: if there are no samples or not all are finite.
    """
    values = _checked(samples)
    low, high = median_interval(samples)
    spread = float(values.std(ddof=1) / values.mean()) if values.size > 1 else math.nan
    return Summary(values.size, float(np.median(values)), low, high, float(values.min()), spread)


def median_interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Non-parametric interval of the median: the narrowest symmetric pair of order statistics that covers it.

    The k-th smallest and k-th largest of n samples enclose the median with probability 1 - 2 P(B < k), where B is
    binomial (n, 1/2). With 95 % that needs 6 samples; below, the result is (NaN, NaN).

    Raises:
        ValueError: if there are no samples or not all are finite.
    """
    values = np.sort(_checked(samples))
    k = int(stats.binom.ppf((1.0 - confidence) / 2.0, values.size, 0.5))
    if k < 1:
        return math.nan, math.nan
    return float(values[k - 1]), float(values[-k])


def ratio_of_medians(
    numerator: Sequence[float], denominator: Sequence[float], seed: int = 0, resamples: int = 9999
) -> Ratio:
    """Median of one set of samples over that of another, with a 95 % percentile bootstrap interval.

    Args:
        numerator: samples.
        denominator: samples, independent of the numerator's and not necessarily as many.
        seed: of the resampling: the same input gives the same interval.
        resamples: number of bootstrap resamples.

    Raises:
        ValueError: if either has no samples or not all are finite.
    """
    above, below = _checked(numerator), _checked(denominator)
    ratio = float(np.median(above) / np.median(below))
    if min(above.size, below.size) < 2:
        return Ratio(ratio, math.nan, math.nan)
    interval = stats.bootstrap(
        (above, below),
        lambda a, b, axis: np.median(a, axis=axis) / np.median(b, axis=axis),
        paired=False,
        vectorized=True,
        n_resamples=resamples,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Ratio(ratio, float(interval.low), float(interval.high))


def require_comparable(cell: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Let two cells pass only if they were measured under the same contract.

    Raises:
        IncomparableError: otherwise; the message names every difference.
    """
    differences = [
        f"{field} is {cell[field]} in one and {other[field]} in the other"
        for field in CONTRACT
        if cell[field] != other[field]
    ]
    if differences:
        raise IncomparableError(
            f"{cell['kernel']} {cell['variant']} cannot be compared with {other['variant']}: " + "; ".join(differences)
        )


def _checked(samples: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray(samples, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"{values.size} samples, of which {int(np.isfinite(values).sum())} are finite")
    return values
