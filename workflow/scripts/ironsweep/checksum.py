"""RAJAPerf's checksum of an array, and a sum that is exact enough to judge others by.

Every element is weighted by a number between 0.5 and 1.5 that depends on its position, so that neither a permutation
nor a shift goes unnoticed, and the weighted magnitudes are added up.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_SCALAR_SUM = 1024
"""From this length down, `math.fsum` is cheaper than another vectorised step."""

_INVERSE_PI = 1.0 / math.pi


def compensated_sum(values: NDArray[np.float64]) -> float:
    """Sum of a one-dimensional array, with a relative error of about 1e-16 if all terms have one sign.

    A NaN or an infinity in the input gives NaN.
    """
    return sum(sum_parts(values))


def sum_parts(values: NDArray[np.float64]) -> tuple[float, float]:
    """Sum of a one-dimensional array, and what it is too small by, for those who have more to add.

    Halves are added to each other until few numbers are left, and the exact rounding error of each addition (Knuth's
    two-sum) is collected. Only the sum of these errors is rounded, which matters in second order: about
    `log2(n) * 2**-106` of the sum of magnitudes, where RAJAPerf's strictest tolerance is 1e-14. A Kahan loop has the
    same accuracy, but cannot be vectorised; extended precision is not the same thing on every processor.

    A NaN or an infinity in the input gives NaN.
    """
    total = np.asarray(values, dtype=np.float64)
    rounding_errors: list[float] = []
    with np.errstate(invalid="ignore"):  # infinities are looked for at the end
        while total.size > _SCALAR_SUM:
            half = total.size // 2
            left, right, odd = total[:half], total[half : 2 * half], total[2 * half :]
            total = left + right
            from_right = total - left
            error = left - (total - from_right)
            error += right - from_right
            rounding_errors += [float(error.sum()), *odd.tolist()]
    terms = [*total.tolist(), *rounding_errors]
    if not np.isfinite(terms).all():
        return math.nan, math.nan
    rounded = math.fsum(terms)
    return rounded, math.fsum([*terms, -rounded])


def chunk_checksum(values: NDArray[np.float64], start: int = 0) -> float:
    """Checksum of a piece of an array whose first element has the index `start`; NaN if any element is not finite."""
    return sum(chunk_checksum_parts(values, start))


def chunk_checksum_parts(values: NDArray[np.float64], start: int = 0) -> tuple[float, float]:
    """As `chunk_checksum`, and what that is too small by: what the parts of all pieces add up to is exact enough."""
    position = np.arange(start, start + values.size, dtype=np.float64)
    position += np.where(values >= 0.0, 1.0, 0.5)
    position *= _INVERSE_PI
    position -= np.floor(position)
    position += 0.5
    position *= np.abs(values)
    return sum_parts(position)


def checksum(chunks: Iterable[NDArray[np.float64]]) -> float:
    """Checksum of an array that comes in consecutive pieces of any length.

    Args:
        chunks: one-dimensional arrays that make up the whole, in order.
    """
    sums: list[float] = []
    start = 0
    for chunk in chunks:
        sums += chunk_checksum_parts(chunk, start)
        start += chunk.size
    return math.nan if any(map(math.isnan, sums)) else math.fsum(sums)
