"""Medians, intervals and ratios: against hand-computed cases and against scipy."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ironsweep.statistics import IncomparableError, median_interval, ratio_of_medians, require_comparable, summarise
from synthetic import planned_cell


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


def test_ratio_is_reproducible_and_seeded() -> None:
    rng = np.random.default_rng(1)
    above, below = rng.normal(10, 1, 20).tolist(), rng.normal(5, 1, 20).tolist()
    assert ratio_of_medians(above, below) == ratio_of_medians(above, below)
    assert ratio_of_medians(above, below, seed=1) != ratio_of_medians(above, below, seed=2)
    result = ratio_of_medians(above, below)
    assert result.ci_low < result.ratio < result.ci_high


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


def cell(**changes: object) -> dict[str, object]:
    attested = {"device_name": "Some CPU", "host": "node1", "precision": "f64"}
    return {**planned_cell(), **attested, **changes}


def test_cells_of_one_contract_may_be_compared() -> None:
    require_comparable(cell(), cell(variant="cpp_openmp"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("region", "with_transfers"),
        ("device", "nvidia"),
        ("arch", "sm_90"),
        ("device_name", "Another CPU"),
        ("host", "node2"),
        ("data", "random"),
        ("size", 7),
        ("reps", 1),
        ("precision", "f32"),
        ("contraction", "contract"),
        ("block", 128),
    ],
)
def test_cells_of_other_contracts_are_refused_with_the_difference(field: str, value: object) -> None:
    with pytest.raises(IncomparableError) as refusal:
        require_comparable(cell(), cell(variant="cuda", **{field: value}))
    assert f"{field} is {cell()[field]} in one and {value} in the other" in str(refusal.value)
    assert "Stream_TRIAD rust_offload cannot be compared with cuda" in str(refusal.value)
