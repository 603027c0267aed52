"""Comm HALO_PACKING: the surfaces of three boxes are copied into buffers, and other buffers into their halos."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ironsweep.golden.data import Case, Datum, blocks, ramped
from ironsweep.golden.oracle import Oracle, Output, Piece, relative
from ironsweep.golden.sizes import cube_edge

_VARIABLES = 3
_ALIGNMENT = 8
"""Elements, 64 bytes: where a neighbour's part of a buffer may begin."""

_PACK_BUFFER, _UNPACK_BUFFER = ramped(52), ramped(53)


def _variable(number: int) -> Datum:
    return Datum(54 + number, lambda start, stop: np.arange(start + number, stop + number, dtype=np.float64))


def _directions() -> list[tuple[int, ...]]:
    """The 26 neighbours (x, y, z): faces, edges, corners. Of the faces, those along x come first, then y, then z."""

    def rank(direction: tuple[int, ...]) -> tuple[int, list[bool]]:
        return sum(map(abs, direction)), [along == 0 for along in direction]

    # Sorting is stable, so within a rank the smaller coordinates stay first.
    return sorted(itertools.product((-1, 0, 1), repeat=3), key=rank)[1:]


@dataclass(frozen=True)
class _Neighbour:
    """What is exchanged with a neighbour, as boxes of an array with the axes z, y, x.

    Attributes:
        packed: the box that is copied into the pack buffer.
        unpacked: the box that the unpack buffer is copied to.
        shape: of both boxes.
        start: where the neighbour's part of either buffer begins.
    """

    packed: tuple[slice, ...]
    unpacked: tuple[slice, ...]
    shape: tuple[int, ...]
    start: int

    @property
    def length(self) -> int:
        """Elements of a box."""
        return math.prod(self.shape)

    def part(self, variable: int) -> slice:
        """The part of a buffer for a variable."""
        start = self.start + variable * self.length
        return slice(start, start + self.length)


def _neighbours(edge: int) -> list[_Neighbour]:
    found: list[_Neighbour] = []
    start = 0
    packed = {-1: slice(1, 2), 0: slice(1, edge + 1), 1: slice(edge, edge + 1)}
    unpacked = {-1: slice(0, 1), 0: slice(1, edge + 1), 1: slice(edge + 1, edge + 2)}
    for x, y, z in _directions():
        axes = (z, y, x)
        shape = tuple(1 if along else edge for along in axes)
        found.append(_Neighbour(tuple(packed[a] for a in axes), tuple(unpacked[a] for a in axes), shape, start))
        start += _VARIABLES * found[-1].length
        start += -start % _ALIGNMENT
    return found


def _buffer_length(neighbours: Sequence[_Neighbour]) -> int:
    return neighbours[-1].start + _VARIABLES * neighbours[-1].length


def _halo_packing(case: Case, bounded: bool) -> Iterator[Piece]:
    """The three variables, then the pack buffer: each neighbour's part, and the gap behind it."""
    edge = cube_edge(case.size)
    neighbours = _neighbours(edge)
    pack_buffer = _PACK_BUFFER.whole(case, _buffer_length(neighbours))
    unpack_buffer = _UNPACK_BUFFER.whole(case, _buffer_length(neighbours))
    for variable in range(_VARIABLES):
        elements = _variable(variable).whole(case, (edge + 2) ** 3)
        box = elements.reshape([edge + 2] * 3)
        for neighbour in neighbours:
            pack_buffer[neighbour.part(variable)] = box[neighbour.packed].reshape(-1)
        for neighbour in neighbours:
            box[neighbour.unpacked] = unpack_buffer[neighbour.part(variable)].reshape(neighbour.shape)
        for start, stop in blocks(elements.size):
            yield Piece(variable, elements[start:stop].copy())  # a copy does not keep all elements alive
        del elements, box
    start = 0
    for output, (length, _) in enumerate(_buffer_outputs(neighbours), start=_VARIABLES):
        yield Piece(output, pack_buffer[start : start + length])
        start += length


def _buffer_outputs(neighbours: Sequence[_Neighbour]) -> list[Output]:
    """The parts of the pack buffer, of which each is an array of its own to the checksum, and the gaps between them."""
    outputs = []
    for neighbour, following in itertools.zip_longest(neighbours, neighbours[1:]):
        length = _VARIABLES * neighbour.length
        outputs.append(Output(length))
        if following:
            outputs.append(Output(following.start - neighbour.start - length, checked=False))
    return outputs


def _halo_outputs(size: int) -> Sequence[Output]:
    edge = cube_edge(size)
    return [Output((edge + 2) ** 3)] * _VARIABLES + _buffer_outputs(_neighbours(edge))


def halo_packing(tolerance: float) -> Oracle:
    """The oracle."""
    return Oracle(
        _halo_packing, relative(tolerance), outputs=_halo_outputs, actual_size=lambda size: cube_edge(size) ** 3
    )
