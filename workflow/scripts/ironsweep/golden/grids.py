"""Kernels on square grids."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ironsweep.golden import data as data_module
from ironsweep.golden.data import Array, Case, blocks, ramped
from ironsweep.golden.oracle import Neighbourhood, Oracle, Output, Piece, piece, relative, repeated, surroundings
from ironsweep.golden.rounded import ULP, Value, where
from ironsweep.golden.sizes import square_edge

# --- JACOBI_2D -----------------------------------------------------------------------------------------------------

_SWEEPS_AT_ONCE = 40
"""Sweeps that run through the grid together."""


def _jacobi_edge(size: int) -> int:
    return square_edge(size) + 2


def _relax(target: Array, source: Array, edge: int, first: int, last: int) -> None:
    """Inner elements of the rows `first..last` of `target` become the means of five elements of `source`.

    numpy is faster with whole rows than with parts of them, so their ends are overwritten, too, and restored.
    """
    start, stop = first * edge + 1, last * edge - 1
    rows = target.reshape(edge, edge)[first:last]
    left, right = rows[1:, 0].copy(), rows[:-1, -1].copy()
    mean = target[start:stop]
    np.add(source[start:stop], source[start - 1 : stop - 1], out=mean)
    mean += source[start + 1 : stop + 1]
    mean += source[start + edge : stop + edge]
    mean += source[start - edge : stop - edge]
    mean *= 0.2
    rows[1:, 0], rows[:-1, -1] = left, right


def _jacobi_2d(case: Case, bounded: bool) -> Iterator[Piece]:
    """Polybench JACOBI_2D: b from a, then a from b, once a rep.

    Several sweeps run through the grid together, each one row behind the one before, which has just left the rows that
    it reads in the cache and does not need those that it overwrites any more.

    A sweep adds five numbers and multiplies by 0.2, so it neither amplifies what its operands are off (0.2 is rounded
    upwards by a part in 1e17), nor adds more than five times two roundings of their magnitude.
    """
    edge = _jacobi_edge(case.size)
    grids = [ramped(counter).whole(case, edge**2) for counter in (0, 1)]
    magnitude = max(float(max(grid.max(), -grid.min())) for grid in grids)
    sweeps = 2 * case.reps
    height = max(data_module.BLOCK // edge, 1)
    for done in range(0, sweeps, _SWEEPS_AT_ONCE):
        together = min(_SWEEPS_AT_ONCE, sweeps - done)
        for top in range(1, edge - 1 + together, height):
            for lag in range(together):
                first, last = max(top - lag, 1), min(top - lag + height, edge - 1)
                if first < last:
                    source = (done + lag) % 2
                    _relax(grids[1 - source], grids[source], edge, first, last)
    error = 5.0 * ULP * sweeps * magnitude if bounded else 0.0
    for output, elements in enumerate(grids):
        for start, stop in blocks(elements.size):
            yield Piece(output, elements[start:stop], error)


JACOBI_2D = Oracle(
    _jacobi_2d,
    relative(1e-10),
    outputs=lambda size: [Output(_jacobi_edge(size) ** 2)] * 2,
    actual_size=lambda size: square_edge(size) ** 2,
    depends_on_reps=True,
)

# --- HYDRO_2D ------------------------------------------------------------------------------------------------------

_ZA, _ZB, _ZM, _ZP, _ZQ, _ZR, _ZU, _ZV, _ZZ = range(9)
_HYDRO_DATA = [ramped(counter) if counter != 4 else ramped(counter, 0.5, 1.5) for counter in range(2, 11)]


def _hydro_2d(case: Case, bounded: bool) -> Iterator[Piece]:
    """Lcals HYDRO_2D: zrout, zzout, za, zb, zu, zv."""
    n = square_edge(case.size)
    for near in surroundings(case, _HYDRO_DATA, n * n, n + 2, bounded):
        # The formulas are evaluated everywhere, also where they make no sense.
        with np.errstate(divide="ignore", invalid="ignore"):
            results = _hydro_block(near, n, case.reps)
        for output, values in enumerate(results):
            yield piece(output, values)


def _hydro_block(near: Neighbourhood, n: int, reps: int) -> tuple[Value, ...]:
    """All results in a block; element (k, j) is number `j + n * k`.

    The first loop's results are the same in every rep, so the second adds the same to zu and zv in each.
    """

    def inner(at: int) -> NDArray[np.bool_]:
        """Which elements, `at` behind those of the block, are not on the border."""
        first = near.start + at
        found = np.ones(near.stop - near.start, dtype=np.bool_)
        found[-first % n :: n] = False  # the first of each row
        found[(-first - 1) % n :: n] = False  # the last
        found[: max(n - first, 0)] = False
        found[max(n * (n - 1) - first, 0) :] = False
        return found

    def za(at: int) -> Value:
        """As the first loop leaves it."""
        left = at - 1
        flow = near(_ZP, left + n) + near(_ZQ, left + n) - near(_ZP, left) - near(_ZQ, left)
        value = flow * (near(_ZR, at) + near(_ZR, left)) / (near(_ZM, left) + near(_ZM, left + n))
        return where(inner(at), value, near(_ZA, at))

    def zb(at: int) -> Value:
        left = at - 1
        flow = near(_ZP, left) + near(_ZQ, left) - near(_ZP, at) - near(_ZQ, at)
        value = flow * (near(_ZR, at) + near(_ZR, at - n)) / (near(_ZM, at) + near(_ZM, left))
        return where(inner(at), value, near(_ZB, at))

    za_here, za_left, zb_here, zb_below = za(0), za(-1), zb(0), zb(n)
    in_block = inner(0)

    def accelerated(velocity: int, quantity: int) -> Value:
        """A velocity after all reps; `quantity` is what its change is made from."""
        here = near(quantity)
        change = 0.0041 * (
            za_here * (here - near(quantity, 1))
            - za_left * (here - near(quantity, -1))
            - zb_here * (here - near(quantity, -n))
            + zb_below * (here - near(quantity, n))
        )
        return where(in_block, repeated(near(velocity), change, reps), near(velocity))

    zu, zv = accelerated(_ZU, _ZZ), accelerated(_ZV, _ZR)
    zrout = where(in_block, near(_ZR) + 0.0037 * zu, 0.0)
    zzout = where(in_block, near(_ZZ) + 0.0037 * zv, 0.0)
    return zrout, zzout, za_here, zb_here, zu, zv


def _hydro_outputs(size: int) -> Sequence[Output]:
    length = square_edge(size) ** 2
    return [Output(length)] * 2 + [Output(length, checked=False)] * 4


HYDRO_2D = Oracle(
    _hydro_2d,
    relative(1e-10),
    outputs=_hydro_outputs,
    actual_size=lambda size: square_edge(size) ** 2,
    interleaved=True,
    depends_on_reps=True,
)
