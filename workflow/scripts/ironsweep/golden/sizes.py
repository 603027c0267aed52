"""RAJAPerf's problem sizes: what a kernel makes of the number of elements that is asked for, the target."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


def square_edge(target: int) -> int:
    """Edge of the square of about `target` elements.

    Rounding cannot decide about the result: the sum would have to be within 1e-15 of a whole number, but
    `n + 1 - sqrt(2)` squared is never that close to another whole number.
    """
    return math.floor(math.sqrt(target) + math.sqrt(2.0) - 1.0)


def cube_edge(target: int) -> int:
    """Edge of the cube of about `target` elements."""
    return math.floor(math.cbrt(target) + math.cbrt(3.0) - 1.0)


@dataclass(frozen=True)
class Mesh:
    """RAJAPerf's mesh: zones between nodes, with two layers of further nodes before and two after them.

    Node (i, j, k) is element `i + row * j + plane * k` of a node array. A zone has the number of its first node.

    Attributes:
        zones: real zones along an axis, which begin at 2.
        dimensions: 2 or 3.
    """

    zones: int
    dimensions: int

    @property
    def row(self) -> int:
        """From a node to its neighbour along the second axis."""
        return self.zones + 4

    @property
    def plane(self) -> int:
        """From a node to its neighbour along the third axis."""
        return self.row**2

    @property
    def nodes(self) -> int:
        """All nodes."""
        return int(self.row**self.dimensions)

    @property
    def real_zones(self) -> int:
        """RAJAPerf's actual size."""
        return int(self.zones**self.dimensions)

    @property
    def first_zone(self) -> int:
        """The first zone in three dimensions, real or not, all of whose nodes' neighbours there are."""
        return self.plane + self.row + 1

    @property
    def last_zone(self) -> int:
        """The last of these zones."""
        return (self.zones + 2) * (self.plane + self.row + 1)

    @cached_property
    def _real_in_layer(self) -> NDArray[np.bool_]:
        """Which zones of a row (of a plane in three dimensions) are real, if the layer is."""
        along = np.arange(self.row)
        axis: NDArray[np.bool_] = (along >= 2) & (along < 2 + self.zones)
        return axis if self.dimensions == 2 else (axis[:, np.newaxis] & axis).ravel()

    def is_real(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Which of the zones `start..stop` are real ones."""
        size = self._real_in_layer.size
        position = np.arange(start, stop)
        layer = position // size
        real: NDArray[np.bool_] = self._real_in_layer[position - layer * size]
        real &= layer >= 2
        real &= layer < 2 + self.zones
        return real

    def coordinate(self, axis: int, start: int, stop: int) -> NDArray[np.int64]:
        """The i, j or k (axis 0, 1 or 2) of the nodes `start..stop`."""
        along: NDArray[np.int64] = np.arange(start, stop) // self.row**axis
        along -= along // self.row * self.row
        return along


def square_mesh(target: int) -> Mesh:
    """The mesh of about `target` zones in two dimensions."""
    return Mesh(square_edge(target), 2)


def cube_mesh(target: int) -> Mesh:
    """The mesh of about `target` zones in three dimensions."""
    return Mesh(cube_edge(target), 3)
