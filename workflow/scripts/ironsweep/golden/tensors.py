"""Kernels that contract small tensors, many times."""

from collections.abc import Iterator

import numpy as np

from ironsweep.golden import data as data_module
from ironsweep.golden.data import Array, Case, constant, ramped
from ironsweep.golden.oracle import Oracle, Output, Piece, relative, repeated
from ironsweep.golden.rounded import ULP

# --- LTIMES --------------------------------------------------------------------------------------------------------

_DIRECTIONS, _GROUPS, _MOMENTS = 6, 32, 25
_PHI, _ELL, _PSI = constant(0, 0.0), ramped(1), ramped(2)


def _ltimes_rows(size: int) -> int:
    """Zones times groups."""
    in_zone = _DIRECTIONS * _GROUPS
    return _GROUPS * max((size + in_zone // 2) // in_zone, 1)


def _ltimes(case: Case, bounded: bool) -> Iterator[Piece]:
    """Apps LTIMES: `phi[row, m] += sum_d ell[m, d] * psi[row, d]`, once a rep; a row is a zone's group.

    The sum may be added to phi term by term or at once: a product and an addition a term and a rep, or, here, one more
    addition a rep. No intermediate result is larger than phi before or after all reps and the terms of a rep together.
    """
    rows = _ltimes_rows(case.size)
    ell = _ELL.block(case, 0, _MOMENTS * _DIRECTIONS).reshape(_MOMENTS, _DIRECTIONS).T
    height = max(data_module.BLOCK // _MOMENTS, 1)
    for first in range(0, rows, height):
        last = min(first + height, rows)
        psi = _PSI.block(case, first * _DIRECTIONS, last * _DIRECTIONS).reshape(-1, _DIRECTIONS)
        before = _PHI.block(case, first * _MOMENTS, last * _MOMENTS)
        after = repeated(before, (psi @ ell).reshape(-1), case.reps)
        error: Array | float = 0.0
        if bounded:
            terms = (np.abs(psi) @ np.abs(ell)).reshape(-1)
            largest = np.maximum(np.abs(before), np.abs(after)) + terms
            error = ULP * case.reps * (_DIRECTIONS + 2) * largest
        yield Piece(0, after, error)


LTIMES = Oracle(
    _ltimes,
    relative(1e-10),
    outputs=lambda size: (Output(_MOMENTS * _ltimes_rows(size)),),
    actual_size=lambda size: _DIRECTIONS * _ltimes_rows(size),
    depends_on_reps=True,
)

# --- MASS3DEA ------------------------------------------------------------------------------------------------------

_POINTS, _BASES = 5, 4
_B, _D = constant(0, 1.0), constant(1, 1.0)


def _mass3dea_elements(size: int) -> int:
    return max((size + _BASES**6 // 2) // _BASES**6, 1)


def _mass_matrices(pairs: Array, d: Array) -> Array:
    """`sum_k pairs[k1, (j1, i1)] pairs[k2, (j2, i2)] pairs[k3, (j3, i3)] d[e, k3, k2, k1]`, in the order of m."""
    elements, both = d.shape[0], _BASES**2
    # One point at a time: [e, k3, k2, k1] -> [e, k3, k2, p1] -> [e, k3, p2, p1] -> [e, p3, p2, p1].
    sums = (d.reshape(-1, _POINTS) @ pairs).reshape(-1, _POINTS, both)
    sums = (pairs.T @ sums).reshape(elements, _POINTS, both**2)
    sums = pairs.T @ sums
    split = sums.reshape(elements, *[_BASES] * 6)  # e, j3, i3, j2, i2, j1, i1
    return np.ascontiguousarray(split.transpose(0, 1, 3, 5, 2, 4, 6)).reshape(-1)


def _mass3dea(case: Case, bounded: bool) -> Iterator[Piece]:
    """Apps MASS3DEA: `m[i, j, e] = sum_k prod_n b[k_n, i_n] b[k_n, j_n] * d[k, e]`, k over 125 points.

    However the 125 terms of 7 factors are multiplied and added, each is off by at most 6 + 125 roundings.
    """
    points = _POINTS**3
    b = _B.block(case, 0, _POINTS * _BASES).reshape(_BASES, _POINTS).T  # [k, i]
    pairs = (b[:, :, np.newaxis] * b[:, np.newaxis, :]).reshape(_POINTS, _BASES**2)  # [k, (j, i)]
    elements = _mass3dea_elements(case.size)
    height = max(data_module.BLOCK // _BASES**6, 1)
    for first in range(0, elements, height):
        last = min(first + height, elements)
        d = _D.block(case, first * points, last * points).reshape(-1, _POINTS, _POINTS, _POINTS)  # [e, k3, k2, k1]
        error: Array | float = 0.0
        if bounded:
            error = (points + 6) * ULP * _mass_matrices(np.abs(pairs), np.abs(d))
        yield Piece(0, _mass_matrices(pairs, d), error)


MASS3DEA = Oracle(
    _mass3dea,
    relative(1e-10),
    outputs=lambda size: (Output(_BASES**6 * _mass3dea_elements(size)),),
    actual_size=lambda size: _BASES**6 * _mass3dea_elements(size),
)
