"""The data that kernels start from: RAJAPerf's initialisation, or random numbers.

The data of a kernel are numbered in the order of their declaration. A datum's number, its counter, selects the ramp of
the reference data and the stream of the random data.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RAJAPERF_SEED = 4793

BLOCK = 1 << 15
"""Elements that are worked on at a time: a quarter of a MiB an array, so that a formula's results stay in the cache."""


# glibc gives memory back to the system and fetches it again with nearly every intermediate result, until something
# larger was freed for the first time; up to 32 MiB, it then keeps twice as much for the next ones.
np.empty(31 << 17)


def blocks(length: int) -> Iterator[tuple[int, int]]:
    """Start and stop of the blocks that an array of `length` elements consists of."""
    for start in range(0, length, BLOCK):
        yield start, min(start + BLOCK, length)


@dataclass(frozen=True)
class Case:
    """What a result depends on.

    Attributes:
        size: elements asked for, RAJAPerf's target size: a kernel's `actual_size` may differ.
        reps: how often the kernel ran since the data was initialised.
        data: `reference` (RAJAPerf's initialisation) or `random` (no structure that an error could hide behind).
        seed: of the random data; without effect on the reference data.
    """

    size: int
    reps: int
    data: str
    seed: int

    def __post_init__(self) -> None:
        """Refuse unknown data modes.

        Raises:
            ValueError: if `data` is neither `reference` nor `random`.
        """
        if self.data not in ("reference", "random"):
            raise ValueError(f"data mode '{self.data}' is unknown: use 'reference' or 'random'")


# --- Where numbers come from ---------------------------------------------------------------------------------------


def ramp(counter: int, start: int, stop: int) -> Array:
    """Elements `start..stop` of RAJAPerf's ramp: 0.2 or 0.1 times a ratio that tends to 1."""
    i = np.arange(start, stop, dtype=np.float64)
    rising = i + 1.1
    rising *= _ramp_factor(counter)
    i += 1.12345
    rising /= i
    return rising


def ramp_scalar(counter: int) -> float:
    """RAJAPerf's value of a scalar."""
    return _ramp_factor(counter) * 1.1 / 1.12345


def _ramp_factor(counter: int) -> float:
    return 0.1 if counter % 2 else 0.2


def uniform(seed: int, counter: int, start: int, stop: int, low: float = 0.0, high: float = 1.0) -> Array:
    """Elements `start..stop` of a random stream in [low, high): splitmix64 in counter mode, 53 bits."""
    z = np.arange(start + 1, stop + 1, dtype=np.uint64)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64((seed + (counter + 1) * 0xD1B54A32D192ED03) % 2**64)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    z >>= np.uint64(11)
    numbers = z.astype(np.float64)
    numbers *= 2.0**-53
    if (low, high) != (0.0, 1.0):
        numbers *= high - low
        numbers += low
    return numbers


# The C library's additive feedback generator (TYPE_3): r[i] = r[i-3] + r[i-31] modulo 2**32; r[i] / 2 comes out.
_STATE = 31
_LAG = 3
_DISCARDED = 310
_LANE = 341 * _LAG  # numbers that a lane makes: a multiple of the lag, so that a step makes `_LAG` rows at once


def libc_random(start: int, stop: int) -> Array:
    """Elements `start..stop` of `rand() / RAND_MAX` after `srand(4793)`, as glibc defines them.

    The recurrence is linear, so a power of its matrix jumps to any position. Many lanes of `_LANE` numbers, each with
    its own jump, then advance together.
    """
    count = stop - start
    states = _jumped(_initial_state(), start)[:, np.newaxis]
    lanes = -(-count // _LANE)
    jump = _LANE
    while states.shape[1] < lanes:
        states = np.hstack([states, _jumped(states, jump)])
        jump *= 2
    rows = np.empty((_STATE + _LANE, states.shape[1]), dtype=np.uint32)
    rows[:_STATE] = states
    for row in range(_STATE, _STATE + _LANE, _LAG):
        rows[row : row + _LAG] = rows[row - _LAG : row] + rows[row - _STATE : row - _STATE + _LAG]
    numbers = rows[_STATE:].T.reshape(-1)[:count] >> np.uint32(1)
    return numbers / (2.0**31 - 1.0)


@functools.cache
def _initial_state() -> NDArray[np.uint32]:
    """The last `_STATE` numbers before the first one that `rand()` returns."""
    r = [RAJAPERF_SEED]
    for _ in range(_STATE - 1):
        r.append(16807 * r[-1] % (2**31 - 1))
    state = np.array([*r[_LAG:], *r[:_LAG]], dtype=np.uint32)
    return _jumped(state, _DISCARDED)


def _jumped(states: NDArray[np.uint32], steps: int) -> NDArray[np.uint32]:
    """States (a column each) after `steps` more numbers."""
    for bit in range(steps.bit_length()):
        if steps >> bit & 1:
            states = _step_matrix(bit) @ states
    return states


@functools.cache
def _step_matrix(bit: int) -> NDArray[np.uint32]:
    """The matrix that advances a state by `2**bit` numbers."""
    if bit:
        half = _step_matrix(bit - 1)
        return half @ half
    matrix = np.eye(_STATE, k=1, dtype=np.uint32)
    matrix[-1, 0] = matrix[-1, _STATE - _LAG] = 1
    return matrix


# --- Data of a kernel ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Datum:
    """An array that a kernel starts from.

    Attributes:
        counter: its number among the data of the kernel.
        reference: makes elements `start..stop` of the reference data.
        low: where the range of the random data begins.
        high: where it ends.
        perturbed: whether random numbers are added to the reference data instead of replacing them.
    """

    counter: int
    reference: Callable[[int, int], Array]
    low: float = -1.0
    high: float = 1.0
    perturbed: bool = False

    def block(self, case: Case, start: int, stop: int) -> Array:
        """Elements `start..stop`."""
        if case.data == "reference":
            return self.reference(start, stop)
        numbers = uniform(case.seed, self.counter, start, stop, self.low, self.high)
        return self.reference(start, stop) + numbers if self.perturbed else numbers

    def whole(self, case: Case, length: int) -> Array:
        """All elements of an array that is known to fit into memory."""
        elements = np.empty(length)
        for start, stop in blocks(length):
            elements[start:stop] = self.block(case, start, stop)
        return elements


def ramped(counter: int, low: float = -1.0, high: float = 1.0) -> Datum:
    """An array that RAJAPerf fills with a ramp."""
    return Datum(counter, functools.partial(ramp, counter), low, high)


def constant(counter: int, value: float) -> Datum:
    """An array that RAJAPerf fills with one value, and the random mode with random numbers."""
    return Datum(counter, lambda start, stop: np.full(stop - start, value))


@dataclass(frozen=True)
class Scalar:
    """A number that a kernel is given; attributes as those of `Datum`."""

    counter: int
    low: float = -1.0
    high: float = 1.0

    def block(self, case: Case, start: int, stop: int) -> float:
        """The number, wherever the block lies."""
        if case.data == "reference":
            return ramp_scalar(self.counter)
        return float(uniform(case.seed, self.counter, 0, 1, self.low, self.high)[0])
