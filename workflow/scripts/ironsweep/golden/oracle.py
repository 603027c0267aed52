"""What an oracle is, and the shapes that most of them have.

An oracle makes the expected elements of a kernel's output in pieces. `elementwise` makes one from a formula, for
kernels whose element i depends on the elements i of the data alone. `surroundings` hands out blocks of arrays together
with their neighbours, for stencils.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ironsweep.golden import data as data_module
from ironsweep.golden.data import Array, Case, Datum, Scalar, blocks
from ironsweep.golden.rounded import Rounded, Value

Function = Callable[..., Any]


class Output(NamedTuple):
    """An array that a kernel leaves behind.

    Attributes:
        length: number of elements.
        checked: whether the array enters the checksum. The others are compared element by element only.
    """

    length: int
    checked: bool = True


class Piece(NamedTuple):
    """Consecutive elements of an output.

    Attributes:
        output: number of the output among the kernel's.
        values: the elements, which follow those of the piece before of the same output.
        error: what a correct variant may deviate, at most, in absolute terms.
    """

    output: int
    values: Array
    error: Array | float = 0.0


def piece(output: int, values: Value) -> Piece:
    """A piece from plain or rounded values."""
    if isinstance(values, Rounded):
        return Piece(output, np.asarray(values.value), values.error)
    return Piece(output, values)


def _same(size: int) -> int:
    return size


def _one_output(size: int) -> Sequence[Output]:
    return (Output(size),)


@dataclass(frozen=True)
class Oracle:
    """How to compute and judge the result of a kernel.

    Attributes:
        pieces: makes the outputs of a case; the errors are needed only if its second argument is true. The first output
            of a sum is its terms.
        tolerance: of the checksum, as a function of the size, relative to `Golden.scale`.
        outputs: the outputs for a target size, in the order in which they are dumped.
        actual_size: RAJAPerf's actual size for a target size.
        exact: whether a strict evaluation gives exactly these elements, so that `error` holds for contraction only.
        interleaved: whether pieces of several outputs come in turns instead of output by output.
        depends_on_reps: whether every rep changes the result.
        is_sum: whether the output is one number, the sum of the pieces' elements.
    """

    pieces: Callable[[Case, bool], Iterator[Piece]]
    tolerance: Callable[[int], float]
    outputs: Callable[[int], Sequence[Output]] = _one_output
    actual_size: Callable[[int], int] = _same
    exact: bool = False
    interleaved: bool = False
    depends_on_reps: bool = False
    is_sum: bool = False


def relative(tolerance: float) -> Callable[[int], float]:
    """The same tolerance for all sizes."""
    return lambda size: tolerance


def elementwise(
    formula: Function,
    *data: Datum | Scalar,
    tolerance: float = 1e-10,
    checked: int = 1,
    compared: int = 0,
    exact: bool = False,
    depends_on_reps: bool = False,
) -> Oracle:
    """The oracle of a kernel whose elements have nothing to do with each other.

    Args:
        formula: makes a block of the output from blocks of the data, or a tuple of blocks, an output each. Written with
            operators and the functions of `rounded`. If the result depends on the reps, they are its last argument.
        data: arrays and scalars that the formula is given, in this order.
        tolerance: of the checksum.
        checked: how many outputs enter the checksum, the first ones.
        compared: how many more outputs there are.
        exact: whether a strict evaluation gives exactly the formula's values.
        depends_on_reps: whether every rep changes the result.
    """

    def pieces(case: Case, bounded: bool) -> Iterator[Piece]:
        arguments = [case.reps] if depends_on_reps else []
        for start, stop in blocks(case.size):
            operands: list[Value] = [each.block(case, start, stop) for each in data]
            results = formula(*(map(Rounded, operands) if bounded else operands), *arguments)
            for output, values in enumerate(results if isinstance(results, tuple) else (results,)):
                yield piece(output, values)

    def outputs(size: int) -> Sequence[Output]:
        return [Output(size)] * checked + [Output(size, checked=False)] * compared

    return Oracle(
        pieces,
        relative(tolerance),
        outputs,
        exact=exact,
        interleaved=checked + compared > 1,
        depends_on_reps=depends_on_reps,
    )


def repeated(start: Value, step: Value, reps: int) -> Value:
    """`start`, to which `step` was added `reps` times, one after another."""
    total = start
    if isinstance(total, Rounded):
        for _ in range(reps):
            total = total + step
        return total
    total = total.copy()
    for _ in range(reps):
        total += step
    return total


class Neighbourhood:
    """A block of several arrays, whose elements and their neighbours a stencil's formula reads."""

    def __init__(self, arrays: Sequence[Array], first: int, start: int, stop: int, bounded: bool) -> None:
        """The block `start..stop`; element `first` of the whole arrays is element 0 of the pieces in `arrays`."""
        self.start, self.stop = start, stop
        self._arrays, self._first, self._bounded = arrays, first, bounded

    def __call__(self, array: int, offset: int = 0) -> Value:
        """The elements `offset` behind those of the block, of the array with this number; 1 outside of the array."""
        from_first = self.start + offset - self._first
        values = self._arrays[array][from_first : from_first + self.stop - self.start]
        return Rounded(values) if self._bounded else values


def surroundings(case: Case, data: Sequence[Datum], length: int, reach: int, bounded: bool) -> Iterator[Neighbourhood]:
    """The blocks of arrays of `length` elements, one after another, with `reach` elements on either side at hand.

    Every element is made once. What the next blocks need of the previous ones' data is moved.
    """
    span = max(2 * reach, 1)
    span += -span % data_module.BLOCK
    arrays = [np.ones(span + 2 * reach) for _ in data]
    for base in range(0, length, span):
        # The arrays hold the elements from base - reach on. All but the first time, the first 2 reach are there.
        known = base + reach if base else 0
        until = min(base + span + reach, length)
        for array, datum in zip(arrays, data, strict=True):
            if base:
                array[: 2 * reach] = array[span:].copy()
            for start, stop in blocks(max(until - known, 0)):
                at = known + start - (base - reach)
                array[at : at + stop - start] = datum.block(case, known + start, known + stop)
            array[max(until, known) - (base - reach) :] = 1.0
        for start, stop in blocks(min(span, length - base)):
            yield Neighbourhood(arrays, base - reach, base + start, base + stop, bounded)
