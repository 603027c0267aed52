"""Kernels of chains in which each step needs the one before."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ironsweep.golden.data import Array, Case, Scalar, ramped
from ironsweep.golden.oracle import Oracle, Piece, relative, surroundings
from ironsweep.golden.rounded import ULP

# --- PEAK ----------------------------------------------------------------------------------------------------------

_LANES, _STEPS, _ROUNDS = 16, 64, 5
_FACTOR = Fraction(0.99)  # exactly the number that this is in double precision
_X, _B = ramped(0), Scalar(2, -0.015625, 0.015625)

# What is left of a chain's first element after all steps; for -0.99 the same, because their number is even.
_LEFT = _FACTOR**_STEPS
# How often b is in a chain: the sum of the powers of 0.99, or of -0.99, below the number of steps.
_RISING = (1 - _LEFT) / (1 - _FACTOR)
_ALTERNATING = (1 - _LEFT) / (1 + _FACTOR)
# How much a lane, then of 16, counts at the end: a factor for each halving in which it was in the second half.
_SHARES = [_FACTOR ** lane.bit_count() for lane in range(_LANES)]

_WEIGHTS = [float(share * (1 + _FACTOR) * _LEFT) for share in _SHARES]
_WEIGHT_OF_B = float(sum(_SHARES) * (_RISING + _FACTOR * _ALTERNATING))
_MAGNITUDE_OF_B = float(sum(_SHARES) * (_RISING + _FACTOR * _RISING))


def _peak(case: Case, bounded: bool) -> Iterator[Piece]:
    """Peak FMA: two chains from each of 16 neighbours, 64 times `chain = +-0.99 * chain + b`, joined in 5 rounds.

    The result is linear in the data, so it is written down without any chain: weights, which are computed exactly,
    times data. What a correct variant may deviate: between a datum and the result there are at most 69 fused
    multiply-adds, 64 steps and 5 rounds. Each multiplies what became of the datum by 1 + d, where d is at most 2**-53;
    a variant without fused operations has two such factors, for which there is room here, too. The sum below rounds
    a term's weight, its product and what it is added to: 18 times at most.
    """
    b = _B.block(case, 0, 1)
    for near in surroundings(case, [_X], case.size + _LANES - 1, _LANES - 1, False):
        count = max(min(near.stop, case.size) - near.start, 0)
        terms = [weight * near(0, lane)[:count] for lane, weight in enumerate(_WEIGHTS)]
        values = sum(terms, start=np.full(count, _WEIGHT_OF_B * b))
        error: Array | float = 0.0
        if bounded:
            magnitude = sum(map(np.abs, terms), start=np.full(count, _MAGNITUDE_OF_B * abs(b)))
            error = (_STEPS + _ROUNDS + _LANES + 1) * ULP * magnitude
        yield Piece(0, values, error)


PEAK = Oracle(_peak, relative(1e-10))
