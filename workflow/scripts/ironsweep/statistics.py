"""Medians with intervals, ratios of medians, geometric means, and samples that do not belong.

Times are neither symmetric nor normal, so nothing here assumes a distribution.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

CONFIDENCE = 0.95

FENCE = 1.5
"""A sample is an outlier beyond so many interquartile ranges from the quartiles (Tukey)."""
FAR_FENCE = 3.0
"""The same, for first passes that are called a warm-up."""
FEWEST_STEADY = 5
"""So many passes must be left to say what the others are like."""

_NEGLIGIBLE = 1e-6
"""Probability of a median of a resample that is left out; together they are less than 0.0001."""


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
        warmup: number of first samples that do not belong to the others. They count in everything above.
        outliers: number of samples beyond Tukey's fences. They count in everything above.
    """

    n: int
    median: float
    ci_low: float
    ci_high: float
    min: float
    cv: float
    warmup: int
    outliers: int


@dataclass(frozen=True)
class Ratio:
    """A ratio with its interval (NaN if there are too few samples for one)."""

    ratio: float
    ci_low: float
    ci_high: float


def summarise(samples: Sequence[float]) -> Summary:
    """Median, interval and spread of at least one sample.

    Raises:
        ValueError: if there are no samples or not all are finite.
    """
    values = _checked(samples)
    ordered = np.sort(values)
    low, high = _median_interval(ordered, CONFIDENCE)
    spread = float(values.std(ddof=1) / values.mean()) if values.size > 1 else math.nan
    return Summary(
        values.size,
        _middle(ordered),
        low,
        high,
        float(ordered[0]),
        spread,
        warmup_of(samples),
        outliers_of(samples),
    )


def median_interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Non-parametric interval of the median: the narrowest symmetric pair of order statistics that covers it.

    The k-th smallest and k-th largest of n samples enclose the median with probability 1 - 2 P(B < k), where B is
    binomial (n, 1/2). With 95 % that needs 6 samples; below, the result is (NaN, NaN).

    Raises:
        ValueError: if there are no samples or not all are finite.
    """
    return _median_interval(np.sort(_checked(samples)), confidence)


def _median_interval(ordered: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    k = _rank(ordered.size, confidence)
    return (math.nan, math.nan) if k < 1 else (float(ordered[k - 1]), float(ordered[-k]))


@functools.cache
def _rank(n: int, confidence: float) -> int:
    return int(stats.binom.ppf((1.0 - confidence) / 2.0, n, 0.5))


def _middle(ordered: NDArray[np.float64]) -> float:
    half = ordered.size // 2
    return float(ordered[half] if ordered.size % 2 else (ordered[half - 1] + ordered[half]) / 2.0)


def warmup_of(samples: Sequence[float]) -> int:
    """Number of first samples that do not belong to the others: on their way to a steady state.

    These are the most, but at most half of all, that lie on one side of each later sample and beyond Tukey's far fence
    of the later ones, at least five of which have to be left.
    """
    most = min(len(samples) // 2, len(samples) - FEWEST_STEADY)
    if most < 1:
        return 0
    # The later half is there in every case; whoever lies within it need not be looked at closely.
    first, steady = samples[0], samples[most:]
    if min(steady) <= first <= max(steady):
        return 0
    values = list(samples) if first > max(steady) else [-value for value in samples]
    for count in range(most, 0, -1):
        later = sorted(values[count:])
        lower, upper = _quartiles(later)
        if min(values[:count]) > max(later[-1], upper + FAR_FENCE * (upper - lower)):
            return count
    return 0


def outliers_of(samples: Sequence[float]) -> int:
    """Number of samples beyond Tukey's fences."""
    lower, upper = _quartiles(sorted(samples))
    reach = FENCE * (upper - lower)
    return sum(not lower - reach <= value <= upper + reach for value in samples)


def _quartiles(ordered: Sequence[float]) -> tuple[float, float]:
    """First and third quartile, between neighbours by their distance (numpy's and R's default)."""
    found = []
    for part in (0.25, 0.75):
        place = part * (len(ordered) - 1)
        at = int(place)
        above = ordered[min(at + 1, len(ordered) - 1)]
        found.append(ordered[at] + (place - at) * (above - ordered[at]))
    return found[0], found[1]


def ratio_of_medians(numerator: Sequence[float], denominator: Sequence[float]) -> Ratio:
    """Median of one set of samples over that of another, with a 95 % percentile bootstrap interval.

    It is what infinitely many resamples would give: the median of a resample can only take the values of single
    samples, or of means of two, whose probabilities are known. So nothing depends on a seed.

    Args:
        numerator: samples.
        denominator: samples, independent of the numerator's and not necessarily as many.

    Raises:
        ValueError: if either has no samples or not all are finite.
    """
    above, below = np.sort(_checked(numerator)), np.sort(_checked(denominator))
    ratio = _middle(above) / _middle(below)
    if min(above.size, below.size) < 2:
        return Ratio(ratio, math.nan, math.nan)
    (over, over_weight), (under, under_weight) = _resampled_median(above), _resampled_median(below)
    values = np.divide.outer(over, under).ravel()
    weights = np.multiply.outer(over_weight, under_weight).ravel()
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    reached /= reached[-1]
    low, high = np.searchsorted(reached, [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0])
    return Ratio(ratio, float(values[order[low]]), float(values[order[high]]))


def _resampled_median(ordered: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values that the median of a resample takes, with their probabilities."""
    low, high, weights = _ranks_of_the_median(ordered.size)
    return (ordered[low] + ordered[high]) / 2.0, weights


@functools.cache
def _ranks_of_the_median(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Between which of n ordered samples the median of n draws lies, and how often.

    With A draws among the i smallest and B among the j smallest (i <= j), the two in the middle, the m-th and the next,
    have ranks of at most i and j if A > m, or if A = m and one of the other draws is among the j smallest.
    """
    ranks = np.arange(1, n + 1)
    if n % 2:
        reached = stats.binom.sf((n - 1) // 2, n, ranks / n)
        weights = np.diff(reached, prepend=0.0)
        kept = np.flatnonzero(weights > _NEGLIGIBLE)
        return kept, kept, weights[kept]
    m = n // 2
    i, j = np.meshgrid(ranks, ranks, indexing="ij")
    i = np.minimum(i, j)
    with np.errstate(invalid="ignore"):
        none_below_j = np.where(i < n, ((n - j) / np.maximum(n - i, 1)) ** m, 1.0)
    reached = stats.binom.sf(m, n, i / n) + stats.binom.pmf(m, n, i / n) * (1.0 - none_below_j)
    weights = np.diff(np.diff(reached, axis=0, prepend=0.0), axis=1, prepend=0.0)
    low, high = np.nonzero(weights > _NEGLIGIBLE)
    return low, high, weights[low, high]


def geometric_mean(ratios: Sequence[float]) -> Ratio:
    """Geometric mean of positive ratios, with a 95 % bootstrap interval (BCa) over them; NaN without any.

    Raises:
        ValueError: if not all are finite.
    """
    if not ratios:
        return Ratio(math.nan, math.nan, math.nan)
    logarithms = np.log(_checked(ratios))
    mean = float(np.exp(logarithms.mean()))
    if logarithms.size < 2:
        return Ratio(mean, math.nan, math.nan)
    if np.ptp(logarithms) == 0.0:
        return Ratio(mean, mean, mean)
    interval = stats.bootstrap(
        (logarithms,), np.mean, confidence_level=CONFIDENCE, method="BCa", rng=np.random.default_rng(0)
    ).confidence_interval
    return Ratio(mean, float(np.exp(interval.low)), float(np.exp(interval.high)))


def _checked(samples: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray(samples, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"{values.size} samples, of which {int(np.isfinite(values).sum())} are finite")
    return values
