"""The checksum is RAJAPerf's, and its sum is as exact as a sum of doubles can be."""

import math

import numpy as np
import pytest

from ironsweep.checksum import checksum, chunk_checksum, chunk_checksum_parts, compensated_sum, sum_parts


def weight(position: float) -> float:
    t = position * (1 / math.pi)
    return t - math.floor(t) + 0.5


def test_of_three_elements_by_hand() -> None:
    # Offset 1.0 for elements >= 0 (also for 0), 0.5 for negative ones.
    expected = weight(0 + 1.0) * 2.0 + weight(1 + 0.5) * 3.0 + weight(2 + 1.0) * 0.0
    assert chunk_checksum(np.array([2.0, -3.0, 0.0])) == pytest.approx(expected, rel=1e-15)


def test_depends_on_position_and_sign() -> None:
    values = np.array([1.0, 2.0, 3.0])
    assert chunk_checksum(values) != chunk_checksum(values[::-1])
    assert chunk_checksum(values) != chunk_checksum(-values)


@pytest.mark.parametrize("cuts", [[5000], [1, 4999], [1024, 2048, 1928]])
def test_does_not_depend_on_how_an_array_is_cut(cuts: list[int]) -> None:
    values = np.random.default_rng(1).standard_normal(5000)
    pieces = np.split(values, np.cumsum(cuts)[:-1])
    assert checksum(pieces) == pytest.approx(chunk_checksum(values), rel=1e-15)


def test_of_nothing_is_zero() -> None:
    assert checksum([]) == 0.0
    assert chunk_checksum(np.array([])) == 0.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_anything_that_is_not_finite_makes_it_nan(bad: float) -> None:
    values = np.ones(3000)
    values[1234] = bad
    assert math.isnan(checksum([np.ones(10), values]))


@pytest.mark.parametrize("size", [1, 1023, 1024, 1025, 2051, 100_003])
def test_sum_is_that_of_fsum(size: int) -> None:
    rng = np.random.default_rng(size)
    values = rng.random(size) * 10.0 ** rng.integers(-8, 8, size)
    assert compensated_sum(values) == pytest.approx(math.fsum(values), rel=3e-16)


def test_sum_survives_cancellation() -> None:
    values = np.tile([1e16, 1.0, -1e16], 10_000)
    assert compensated_sum(values) == 10_000.0


def test_parts_of_many_sums_add_up_to_the_exact_sum() -> None:
    values = np.random.default_rng(3).random(200_000)
    parts = [part for piece in np.split(values, 100) for part in sum_parts(piece)]
    assert math.fsum(parts) == math.fsum(values)


def test_parts_of_a_checksum_are_the_checksum_and_a_tiny_rest() -> None:
    values = np.random.default_rng(4).standard_normal(5000)
    rounded, rest = chunk_checksum_parts(values, 7)
    assert rounded == chunk_checksum(values, 7)
    assert abs(rest) <= 2.0**-53 * rounded
