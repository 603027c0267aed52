"""Kernels on RAJAPerf's meshes, and FIR: stencils along a flat index, whose neighbours are at constant distances."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ironsweep.golden.data import Array, Case, Datum, libc_random, ramped
from ironsweep.golden.oracle import Neighbourhood, Oracle, Output, Piece, piece, relative, surroundings
from ironsweep.golden.rounded import Value, where
from ironsweep.golden.sizes import Mesh, cube_mesh, square_mesh

TOLERANCE = relative(1e-10)

# --- FIR -----------------------------------------------------------------------------------------------------------

FIR_COEFFICIENTS = (3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0)

_FIR_INPUT = Datum(0, libc_random)


def _fir(case: Case, bounded: bool) -> Iterator[Piece]:
    """Apps FIR, `out[i] = sum_j coeff[j] * in[i + j]`; the input is 15 elements longer than the output."""
    beyond = len(FIR_COEFFICIENTS) - 1
    for near in surroundings(case, [_FIR_INPUT], case.size + beyond, beyond, bounded):
        total: Value = 0.0
        for j, coefficient in enumerate(FIR_COEFFICIENTS):
            total = total + coefficient * near(0, j)
        yield piece(0, total[: max(case.size - near.start, 0)])


FIR = Oracle(_fir, TOLERANCE)

# --- Meshes --------------------------------------------------------------------------------------------------------

Formula = Callable[[Neighbourhood, Mesh], Value]


def on_mesh(
    make_mesh: Callable[[int], Mesh],
    make_data: Callable[[Mesh], Sequence[Datum]],
    formula: Formula,
    real_zones: bool,
) -> Oracle:
    """The oracle of a kernel that gives every zone a value, made from its nodes and those nearby.

    Args:
        make_mesh: the mesh of a target size.
        make_data: the data that the formula reads, in the order of their numbers there.
        formula: makes a block of the output.
        real_zones: whether only the real zones get a value, in arrays that end with the last zone if in three
            dimensions; otherwise all zones that have neighbours get one, in arrays of all nodes.
    """

    def length_of(mesh: Mesh) -> int:
        return mesh.last_zone + 1 if real_zones and mesh.dimensions == 3 else mesh.nodes

    def pieces(case: Case, bounded: bool) -> Iterator[Piece]:
        mesh = make_mesh(case.size)
        reach = mesh.first_zone if mesh.dimensions == 3 else mesh.row + 1
        for near in surroundings(case, make_data(mesh), length_of(mesh), reach, bounded):
            if real_zones:
                has_value = mesh.is_real(near.start, near.stop)
            else:
                zone = np.arange(near.start, near.stop)
                has_value = (zone >= mesh.first_zone) & (zone <= mesh.last_zone)
            # The formula is evaluated everywhere, also where it makes no sense.
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                values = formula(near, mesh)
            yield piece(0, where(has_value, values, 0.0))

    return Oracle(
        pieces,
        TOLERANCE,
        outputs=lambda size: (Output(length_of(make_mesh(size))),),
        actual_size=lambda size: make_mesh(size).real_zones,
    )


def positions(mesh: Mesh, counter: int, spacing: float, low: float, high: float, perturbed: bool = False) -> Datum:
    """A coordinate of the nodes of a mesh with equal spacing. The first coordinate is datum 0, and so on."""

    def reference(start: int, stop: int) -> Array:
        along: Array = mesh.coordinate(counter, start, stop).astype(np.float64)
        return along * spacing

    return Datum(counter, reference, low, high, perturbed)


def _vol3d(near: Neighbourhood, mesh: Mesh) -> Value:
    """Apps VOL3D: the volume of a hexahedron, whose corners are numbered i first, then j, then k."""
    corners = [i + mesh.row * j + mesh.plane * k for k in (0, 1) for j in (0, 1) for i in (0, 1)]
    x, y, z = ([near(axis, corner) for corner in corners] for axis in range(3))

    def difference(corner: int, other: int) -> tuple[Value, Value, Value]:
        return x[corner] - x[other], y[corner] - y[other], z[corner] - z[other]

    def triple_product(
        p: tuple[Value, Value, Value],
        q: tuple[Value, Value, Value],
        r: tuple[Value, Value, Value],
        s: tuple[Value, Value, Value],
    ) -> Value:
        """(p + q) . (r x s)."""
        return (
            (p[0] + q[0]) * (r[1] * s[2] - r[2] * s[1])
            + (p[1] + q[1]) * (r[2] * s[0] - r[0] * s[2])
            + (p[2] + q[2]) * (r[0] * s[1] - r[1] * s[0])
        )

    d71, d72, d74 = difference(7, 1), difference(7, 2), difference(7, 4)
    d30, d50, d60 = difference(3, 0), difference(5, 0), difference(6, 0)
    volume = triple_product(d71, d60, d72, d30)
    volume = volume + triple_product(d72, d50, d74, d60)
    volume = volume + triple_product(d74, d30, d71, d50)
    return volume * 0.083333333333333333


VOL3D = on_mesh(
    cube_mesh,
    lambda mesh: [positions(mesh, axis, spacing, -1.0, 1.0) for axis, spacing in enumerate((0.3, 0.2, 0.1))],
    _vol3d,
    real_zones=False,
)


def _del_dot_vec_2d(near: Neighbourhood, mesh: Mesh) -> Value:
    """Apps DEL_DOT_VEC_2D: the divergence of a velocity in a quadrilateral; data: x, y, xdot, ydot."""
    corners = (1, 1 + mesh.row, mesh.row, 0)

    def derivatives(array: int) -> tuple[Value, Value]:
        """Along both directions of the zone."""
        first, second, third, fourth = (near(array, corner) for corner in corners)
        return 0.5 * (first + second - third - fourth), 0.5 * (second + third - fourth - first)

    def total(array: int) -> Value:
        first, second, third, fourth = (near(array, corner) for corner in corners)
        return first + second + third + fourth

    (xi, xj), (yi, yj), (fxi, fxj), (fyi, fyj) = map(derivatives, range(4))
    inverse_area = 1.0 / (xi * yj - xj * yi + 1e-20)
    along_x = inverse_area * (fxi * yj - fxj * yi)
    along_y = inverse_area * (fyj * xi - fyi * xj)
    return along_x + along_y + total(3) / total(1)


DEL_DOT_VEC_2D = on_mesh(
    square_mesh,
    lambda mesh: [
        positions(mesh, 0, 0.2, -0.05, 0.05, perturbed=True),
        positions(mesh, 1, 0.1, -0.025, 0.025, perturbed=True),
        ramped(3),
        ramped(4),
    ],
    _del_dot_vec_2d,
    real_zones=True,
)


def _matvec_3d_stencil(near: Neighbourhood, mesh: Mesh) -> Value:
    """Apps MATVEC_3D_STENCIL: a row of a symmetric matrix times a vector; data: x, and 14 of 27 diagonals.

    The diagonals are in the order of their neighbours, so the last stored one is the main diagonal.
    """
    reach = (-1, 0, 1)
    offsets = [i + mesh.row * j + mesh.plane * k for k in reach for j in reach for i in reach]
    total: Value = 0.0
    for number, offset in enumerate(offsets):
        stored = number <= 13
        coefficient = near(1 + number) if stored else near(1 + 26 - number, offset)
        total = total + coefficient * near(0, offset)
    return total


MATVEC_3D_STENCIL = on_mesh(
    cube_mesh, lambda mesh: [ramped(counter) for counter in range(1, 16)], _matvec_3d_stencil, real_zones=True
)
