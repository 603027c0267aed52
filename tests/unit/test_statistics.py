"""Medians, intervals and ratios: against hand-computed cases and against scipy."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ironsweep.statistics import geometric_mean, median_interval, outliers_of, ratio_of_medians, summarise, warmup_of


def test_summary_by_hand() -> None:
    result = summarise([4.0, 1.0, 2.0, 3.0])
    assert (result.n, result.median, result.min) == (4, 2.5, 1.0)
    assert result.cv == pytest.approx(math.sqrt(5 / 3) / 2.5)
    assert math.isnan(result.ci_low) and math.isnan(result.ci_high)


def test_summary_of_one_sample_has_no_spread() -> None:
    result = summarise([7.0])
    assert (result.n, result.median, result.min) == (1, 7.0, 7.0)
    assert math.isnan(result.cv)


@pytest.mark.parametrize(
    ("n", "low", "high"),
    [(5, None, None), (6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (20, 6, 15), (100, 40, 61)],
)
def test_interval_is_that_of_the_tables(n: int, low: int | None, high: int | None) -> None:
    # Ranks as printed in tables of the sign test, two-sided 5 %.
    samples = np.random.default_rng(n).permutation(np.arange(1.0, n + 1)).tolist()
    expected = (math.nan, math.nan) if low is None else (low, high)
    assert median_interval(samples) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("n", [6, 7, 11, 17, 30, 53])
def test_interval_is_that_of_scipy(n: int) -> None:
    samples = np.random.default_rng(n).random(n)
    expected: Any = stats.quantile_test(samples, p=0.5).confidence_interval(0.95)
    assert median_interval(samples.tolist()) == (expected.low, expected.high)


def test_interval_covers_the_true_median() -> None:
    rng = np.random.default_rng(0)
    intervals = [median_interval(rng.exponential(size=10).tolist()) for _ in range(2000)]
    covered = np.mean([low <= math.log(2) <= high for low, high in intervals])
    assert 0.96 < covered < 0.99  # exactly 0.9785 for 10 samples


def test_ratio_by_hand_and_its_interval() -> None:
    result = ratio_of_medians([2.0, 4.0, 6.0], [1.0, 2.0, 2.0])
    assert result.ratio == 2.0
    assert (result.ci_low, result.ci_high) == (1.0, 6.0)


@pytest.mark.parametrize("sizes", [(2, 3), (5, 8), (10, 10), (11, 20), (31, 40)])
def test_interval_of_a_ratio_is_what_scipys_bootstrap_comes_to(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sizes)
    above, below = (rng.lognormal(0.0, 0.1, size) for size in sizes)
    expected = stats.bootstrap(
        (above, below),
        lambda a, b, axis: np.median(a, axis=axis) / np.median(b, axis=axis),
        vectorized=True,
        paired=False,
        n_resamples=100_000,
        method="percentile",
        rng=rng,
    ).confidence_interval
    result = ratio_of_medians(above.tolist(), below.tolist())
    assert (result.ci_low, result.ci_high) == pytest.approx((expected.low, expected.high), rel=5e-3)
    assert result.ci_low <= result.ratio <= result.ci_high
    assert result == ratio_of_medians(above.tolist(), below.tolist())


def test_interval_of_a_ratio_covers_the_true_one() -> None:
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(2000):
        result = ratio_of_medians((2.0 * rng.exponential(size=12)).tolist(), rng.exponential(size=15).tolist())
        covered.append(result.ci_low <= 2.0 <= result.ci_high)
    assert 0.93 < np.mean(covered) < 0.99


def test_ratio_of_constants_has_an_interval_of_no_width() -> None:
    result = ratio_of_medians([3.0] * 10, [2.0] * 10)
    assert (result.ratio, result.ci_low, result.ci_high) == (1.5, 1.5, 1.5)


def test_ratio_of_single_samples_has_no_interval() -> None:
    result = ratio_of_medians([3.0], [2.0, 2.0])
    assert result.ratio == 1.5 and math.isnan(result.ci_low) and math.isnan(result.ci_high)


@pytest.mark.parametrize("samples", [[], [1.0, math.nan], [math.inf]])
def test_samples_that_are_none_are_refused(samples: list[float]) -> None:
    with pytest.raises(ValueError, match="samples, of which"):
        summarise(samples)


def test_geometric_mean_by_hand_and_of_scipy() -> None:
    assert geometric_mean([1.0, 4.0, 16.0]).ratio == pytest.approx(4.0)
    ratios = np.random.default_rng(2).lognormal(0.0, 0.3, 16).tolist()
    result = geometric_mean(ratios)
    assert result.ratio == pytest.approx(stats.gmean(ratios))
    assert result.ci_low < result.ratio < result.ci_high
    assert geometric_mean([0.5, 0.5]).ci_low == 0.5
    assert math.isnan(geometric_mean([]).ratio) and math.isnan(geometric_mean([2.0]).ci_low)


def test_interval_of_a_geometric_mean_covers_the_true_one() -> None:
    rng = np.random.default_rng(6)
    results = [geometric_mean(rng.lognormal(0.1, 0.2, 16).tolist()) for _ in range(300)]
    covered = np.mean([result.ci_low <= math.exp(0.1) <= result.ci_high for result in results])
    assert 0.88 < covered <= 0.98  # BCa is somewhat narrow for few values


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([9.0, 1.0, 1.1, 1.0, 1.1, 1.05], 1),
        ([9.0, 5.0, 1.0, 1.1, 1.0, 1.1, 1.05], 2),
        ([0.2, 1.0, 1.1, 1.0, 1.1, 1.05], 1),  # a clock that slows down is no steady state either
        ([1.0, 1.1, 9.0, 1.0, 1.1, 1.05], 0),  # an outlier, but not at the beginning
        ([1.2, 1.0, 1.1, 1.0, 1.1, 1.05], 0),  # slowest, but not by far
        ([9.0, 1.0, 1.1, 1.0, 1.1], 0),  # four are too few to say what the others are like
        ([1.0], 0),
    ],
)
def test_first_passes_that_do_not_belong(samples: list[float], expected: int) -> None:
    assert warmup_of(samples) == expected
    result = summarise(samples)
    assert (result.warmup, result.n, result.median) == (expected, len(samples), float(np.median(samples)))


def test_passes_of_one_distribution_are_seldom_called_a_warmup() -> None:
    rng = np.random.default_rng(7)
    marked = [warmup_of(rng.lognormal(0.0, 0.05, 10).tolist()) > 0 for _ in range(2000)]
    assert np.mean(marked) < 0.04


def test_outliers_are_those_of_a_box_plot() -> None:
    samples = [1.0, 1.1, 1.2, 1.3, 1.4, 3.0, 0.1]
    lower, upper = np.quantile(samples, [0.25, 0.75])
    reach = 1.5 * (upper - lower)
    assert outliers_of(samples) == sum(not lower - reach <= value <= upper + reach for value in samples) == 2
    assert summarise(samples).outliers == 2 and summarise(samples).n == 7
