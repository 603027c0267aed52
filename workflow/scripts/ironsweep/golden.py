"""Golden results: what every kernel must give, computed in numpy from its definition and from nothing else.

Nothing here is shared with the variants under test. Data, results and checksums are made in chunks of `CHUNK` elements,
so that 1e8 elements take seconds and a few hundred megabytes.

The data of a kernel are numbered in the order of their declaration (`index` below); the number selects the ramp of the
reference data and the stream of the random data.
"""

import functools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ironsweep.checksum import CHUNK, chunk_checksum, compensated_sum
from ironsweep.errors import UserError

Array = NDArray[np.float64]

RAJAPERF_SEED = 4793

# --- Data ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """What a result depends on.

    Attributes:
        size: elements asked for.
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


def ramp(index: int, start: int, stop: int) -> Array:
    """Elements `start..stop` of RAJAPerf's ramp for the `index`-th datum: 0.2 or 0.1 times a ratio that tends to 1."""
    i = np.arange(start, stop, dtype=np.float64)
    return _ramp_factor(index) * (i + 1.1) / (i + 1.12345)


def ramp_scalar(index: int) -> float:
    """RAJAPerf's value for a scalar that is the `index`-th datum."""
    return _ramp_factor(index) * 1.1 / 1.12345


def _ramp_factor(index: int) -> float:
    return 0.1 if index % 2 else 0.2


def uniform(seed: int, index: int, start: int, stop: int) -> Array:
    """Elements `start..stop` of the `index`-th random stream: splitmix64 in counter mode, 53 bits in [0, 1)."""
    position = np.arange(start + 1, stop + 1, dtype=np.uint64)
    stream = (seed + (index + 1) * 0xD1B54A32D192ED03) % 2**64
    z = position * np.uint64(0x9E3779B97F4A7C15) + np.uint64(stream)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def signed_uniform(seed: int, index: int, start: int, stop: int) -> Array:
    """As `uniform`, in [-1, 1)."""
    return 2.0 * uniform(seed, index, start, stop) - 1.0


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


def _ramp_or_signed(case: Case, index: int, start: int, stop: int) -> Array:
    make = functools.partial(signed_uniform, case.seed) if case.data == "random" else ramp
    return make(index, start, stop)


# --- Kernels -------------------------------------------------------------------------------------------------------


def triad(case: Case, start: int, stop: int) -> Array:
    """Stream TRIAD, `a = b + alpha * c`; data: a, b, c, alpha."""
    alpha = float(signed_uniform(case.seed, 3, 0, 1)[0]) if case.data == "random" else ramp_scalar(3)
    return _ramp_or_signed(case, 1, start, stop) + alpha * _ramp_or_signed(case, 2, start, stop)


def daxpy(case: Case, start: int, stop: int) -> Array:
    """Basic DAXPY, `y += a * x`, once a rep; data: y, x, a."""
    random = case.data == "random"
    a = float(signed_uniform(case.seed, 2, 0, 1)[0]) if random else ramp_scalar(2)
    y = signed_uniform(case.seed, 0, start, stop) if random else np.zeros(stop - start)
    step = a * _ramp_or_signed(case, 1, start, stop)
    block = 1 << 14  # stays in the fastest cache over all reps
    for first in range(0, y.size, block):
        part, part_step = y[first : first + block], step[first : first + block]
        for _ in range(case.reps):
            part += part_step
    return y


FIR_COEFFICIENTS = (3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0)


def fir(case: Case, start: int, stop: int) -> Array:
    """Apps FIR, `out[i] = sum_j coeff[j] * in[i + j]`; data: in (15 elements longer than out), out."""
    last = stop + len(FIR_COEFFICIENTS) - 1
    values = signed_uniform(case.seed, 0, start, last) if case.data == "random" else libc_random(start, last)
    out = np.zeros(stop - start)
    for j, coefficient in enumerate(FIR_COEFFICIENTS):
        out += coefficient * values[j : j + out.size]
    return out


def planckian(case: Case, start: int, stop: int) -> Array:
    """Lcals PLANCKIAN, `y = u / v; w = x / (exp(y) - 1)`, of which w is checked; data: x, y, u, v, w.

    Random data are in [0.5, 1.5), so that `exp(y) - 1` loses few bits.
    """

    def datum(index: int) -> Array:
        return 0.5 + uniform(case.seed, index, start, stop) if case.data == "random" else ramp(index, start, stop)

    x, u, v = datum(0), datum(2), datum(3)
    return x / (np.exp(u / v) - 1.0)


def reduce_sum(case: Case, start: int, stop: int) -> Array:
    """The terms of Algorithm REDUCE_SUM, `sum = sum_i x[i]`; data: x."""
    return _ramp_or_signed(case, 0, start, stop)


_ULP = 2.0**-52


def _exact(expected: Array) -> Array:
    return np.zeros_like(expected)


def _fir_deviation(expected: Array) -> Array:
    # 16 products and sums in whatever order, each rounded by at most half an ulp of the sum of magnitudes.
    return np.full_like(expected, 16 * 0.5 * _ULP * sum(map(abs, FIR_COEFFICIENTS)))


def _planckian_deviation(expected: Array) -> Array:
    # exp may be 2 ulp off here and there, which `exp(y) - 1` amplifies up to 3.5 times (y >= 1/3); then two roundings.
    return 32 * _ULP * np.abs(expected)


def sum_tolerance(size: int) -> float:
    """Relative tolerance of a sum of `size` terms that may be added in any order.

    RAJAPerf's 1e-10 up to about a million terms. Beyond, a plain loop cannot keep it: with terms of about equal size
    the partial sums average half of the total, and each addition may err by `2**-53` of its result, always to the
    same side (1e8 terms of RAJAPerf's data, added in sequence, are 1.6e-9 off). One missing term still exceeds this
    up to 1.3e8 terms.
    """
    return max(1e-10, size * 2.0**-54)


@dataclass(frozen=True)
class Oracle:
    """How to compute and judge the result of a kernel.

    Attributes:
        chunk: makes elements `start..stop` of the checked output (of the terms of the sum, if `is_sum`).
        tolerance: of the checksum, as a function of the size, relative to `Golden.scale`.
        deviation: what each element of the output may deviate with random data, in absolute terms, given the expected
            elements. Unused if `is_sum`: there `tolerance` and `Golden.scale` decide.
        depends_on_reps: whether every rep changes the result.
        is_sum: whether the output is one number, the sum of the chunks' elements.
    """

    chunk: Callable[[Case, int, int], Array]
    tolerance: Callable[[int], float]
    deviation: Callable[[Array], Array] = _exact
    depends_on_reps: bool = False
    is_sum: bool = False


_TRIAD = Oracle(triad, tolerance=lambda size: 1e-14)

ORACLES: dict[str, Oracle] = {
    "Stream_TRIAD": _TRIAD,
    "Basic_DAXPY": Oracle(daxpy, tolerance=lambda size: 1e-10, depends_on_reps=True),
    "Apps_FIR": Oracle(fir, tolerance=lambda size: 1e-10, deviation=_fir_deviation),
    "Lcals_PLANCKIAN": Oracle(planckian, tolerance=lambda size: 1e-10, deviation=_planckian_deviation),
    "Algorithm_REDUCE_SUM": Oracle(reduce_sum, tolerance=sum_tolerance, is_sum=True),
    # TRIAD gone wrong on purpose: judged by what TRIAD should give.
    "Planted_OFF_BY_ONE": _TRIAD,
    "Planted_NOTHING": _TRIAD,
}
"""The oracle of every kernel, by its full name. A new kernel is a function above and a line here."""


def oracle_of(kernel: str) -> Oracle:
    """The oracle of a kernel.

    Raises:
        UserError: if there is none.
    """
    try:
        return ORACLES[kernel]
    except KeyError:
        raise UserError(
            f"workflow/scripts/ironsweep/golden.py: ORACLES has no entry '{kernel}', so its results cannot be judged; "
            "add the definition of the kernel there"
        ) from None


# --- Results -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Golden:
    """The golden result of a case.

    Attributes:
        checksum: RAJAPerf's checksum of the output.
        scale: what a deviation of the checksum is divided by: the checksum, or the sum of the magnitudes of the terms
            where terms of both signs may cancel.
        value: the output itself where it is one number, else None.
    """

    checksum: float
    scale: float
    value: float | None = None


def outputs(kernel: str, case: Case) -> Iterator[Array]:
    """The expected elements of the checked output, in chunks. A sum is one chunk of one element."""
    oracle = oracle_of(kernel)
    if oracle.is_sum:
        yield np.array([_summed(oracle, case).value])
    else:
        yield from _chunks(oracle, case)


def compute(kernel: str, case: Case) -> Golden:
    """The golden result of a case: about 0.1 s per million elements, and a pass over the data for each rep if the
    result depends on the reps.
    """
    oracle = oracle_of(kernel)
    if oracle.is_sum:
        return _summed(oracle, case)
    starts = range(0, case.size, CHUNK)
    total = math.fsum(chunk_checksum(chunk, start) for start, chunk in zip(starts, _chunks(oracle, case), strict=True))
    return Golden(checksum=total, scale=abs(total))


def _summed(oracle: Oracle, case: Case) -> Golden:
    sums, magnitudes = [], []
    for terms in _chunks(oracle, case):
        sums.append(compensated_sum(terms))
        magnitudes.append(compensated_sum(np.abs(terms)))
    value = math.fsum(sums)
    return Golden(checksum=abs(value), scale=math.fsum(magnitudes), value=value)


def _chunks(oracle: Oracle, case: Case) -> Iterator[Array]:
    for start in range(0, case.size, CHUNK):
        yield oracle.chunk(case, start, min(start + CHUNK, case.size))


# --- Files of golden results ---------------------------------------------------------------------------------------


def case_of(kernel: str, point: Mapping[str, Any]) -> Case:
    """The case of a point, planned cell or record, without what its result does not depend on."""
    return Case(
        size=int(point["size"]),
        reps=int(point["reps"]) if oracle_of(kernel).depends_on_reps else 1,
        data=str(point["data"]),
        seed=int(point["seed"]) if point["data"] == "random" else 0,
    )


def load(path: Path, version: str | None = None) -> dict[Case, Golden]:
    """Golden results from a file that `save` wrote.

    Args:
        path: the file.
        version: if given, results of another version are as good as none, and so is a damaged file.

    Raises UserError for a damaged file if no version is given.
    """
    try:
        content = json.loads(path.read_text())
        if version is not None and content["version"] != version:
            return {}
        return {Case(**entry["case"]): Golden(**entry["golden"]) for entry in content["results"]}
    except (ValueError, KeyError, TypeError):
        if version is not None:
            return {}
        raise UserError(f"{path} is damaged: remove it and run again") from None


def save(path: Path, kernel: str, results: Mapping[Case, Golden], version: str) -> None:
    """Write golden results of a kernel in full precision and a fixed order; `version` is that of the code."""
    ordered = sorted(results, key=lambda case: (case.data, case.seed, case.size, case.reps))
    content = {
        "kernel": kernel,
        "version": version,
        "results": [{"case": asdict(case), "golden": asdict(results[case])} for case in ordered],
    }
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(json.dumps(content, indent=1) + "\n")
    temporary.replace(path)


def complete(kernel: str, cases: Iterable[Case], known: Mapping[Case, Golden]) -> dict[Case, Golden]:
    """Golden results of `cases`, computing only those that are not in `known`."""
    return {case: known.get(case) or compute(kernel, case) for case in dict.fromkeys(cases)}
