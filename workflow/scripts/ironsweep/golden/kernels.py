"""The table of all kernels' oracles."""

from ironsweep.errors import UserError
from ironsweep.golden import elements
from ironsweep.golden.chains import PEAK
from ironsweep.golden.data import Scalar, constant, ramped
from ironsweep.golden.grids import HYDRO_2D, JACOBI_2D
from ironsweep.golden.halo import halo_packing
from ironsweep.golden.meshes import DEL_DOT_VEC_2D, FIR, MATVEC_3D_STENCIL, VOL3D
from ironsweep.golden.oracle import Oracle, Output, elementwise
from ironsweep.golden.tensors import LTIMES, MASS3DEA

SUMMATION = 1e-14
"""Tolerance of a checksum whose elements leave no room for differences: that of adding them up."""


def sum_tolerance(size: int) -> float:
    """Relative tolerance of a sum of `size` terms that may be added in any order.

    RAJAPerf's 1e-10 up to about a million terms. Beyond, a plain loop cannot keep it: with terms of about equal size
    the partial sums average half of the total, and each addition may err by `2**-53` of its result, always to the
    same side (1e8 terms of RAJAPerf's data, added in sequence, are 1.6e-9 off). One missing term still exceeds this
    up to 1.3e8 terms.
    """
    return max(1e-10, size * 2.0**-54)


_TRIAD = elementwise(elements.triad, ramped(1), ramped(2), Scalar(3), tolerance=1e-14, exact=True)

ORACLES: dict[str, Oracle] = {
    "Stream_COPY": elementwise(elements.copy, ramped(0), tolerance=SUMMATION),
    "Stream_TRIAD": _TRIAD,
    "Basic_DAXPY": elementwise(
        elements.daxpy, constant(0, 0.0), ramped(1), Scalar(2), exact=True, depends_on_reps=True
    ),
    "Lcals_HYDRO_2D": HYDRO_2D,
    "Lcals_PLANCKIAN": elementwise(
        elements.planckian, *(ramped(counter, 0.5, 1.5) for counter in (0, 2, 3)), compared=1
    ),
    "Polybench_JACOBI_2D": JACOBI_2D,
    "Apps_DEL_DOT_VEC_2D": DEL_DOT_VEC_2D,
    "Apps_ENERGY": elementwise(
        elements.energy,
        ramped(1),
        ramped(2),
        ramped(3, 0.0, 1.0),
        ramped(4, 0.0, 1.0),
        ramped(6, 0.0, 1.0),
        ramped(7),
        ramped(8, 0.0, 1.0),
        ramped(9, 0.0, 1.0),
        ramped(10, 0.0, 1.0),
        ramped(11),
        ramped(12, 0.0, 1.0),
        ramped(13, 0.0, 1.0),
        ramped(14, 0.0, 1.0),
        Scalar(15, 0.5, 1.5),
        Scalar(16, 0.01, 0.02),
        Scalar(17, -1.5, -1.0),
        Scalar(18, 0.05, 0.1),
        checked=2,
    ),
    "Apps_FIR": FIR,
    "Apps_LTIMES": LTIMES,
    "Apps_MASS3DEA": MASS3DEA,
    "Apps_MATVEC_3D_STENCIL": MATVEC_3D_STENCIL,
    "Apps_PRESSURE": elementwise(
        elements.pressure,
        ramped(0),
        ramped(3, -4.0, 4.0),
        ramped(4, 0.0, 1.0),
        Scalar(5, 0.5, 1.5),
        Scalar(6, 0.1, 0.2),
        Scalar(7, -1.0, -0.5),
        Scalar(8, 0.5, 0.9),
        compared=1,
    ),
    "Apps_VOL3D": VOL3D,
    "Algorithm_REDUCE_SUM": Oracle(
        elementwise(elements.copy, ramped(0)).pieces, sum_tolerance, outputs=lambda size: (Output(1),), is_sum=True
    ),
    "Comm_HALO_PACKING": halo_packing(tolerance=SUMMATION),
    "Peak_FMA": PEAK,
    # TRIAD gone wrong on purpose: judged by what TRIAD should give.
    "Planted_OFF_BY_ONE": _TRIAD,
    "Planted_NOTHING": _TRIAD,
}
"""The oracle of every kernel, by its full name.

A new kernel is a function and a line here. Most are `elementwise`; for instance Stream ADD, `c = a + b`, were
`"Stream_ADD": elementwise(elements.add, ramped(0), ramped(1), tolerance=1e-14)` with `def add(a, b): return a + b`.
"""


def oracle_of(kernel: str) -> Oracle:
    """The oracle of a kernel.

    Raises:
        UserError: if there is none.
    """
    try:
        return ORACLES[kernel]
    except KeyError:
        raise UserError(
            f"workflow/scripts/ironsweep/golden/kernels.py: ORACLES has no entry '{kernel}', so its results cannot be "
            "judged; add the definition of the kernel there"
        ) from None


def actual_size(kernel: str, size: int) -> int:
    """RAJAPerf's actual size of a kernel for a target size."""
    return oracle_of(kernel).actual_size(size)


def dump_elements(kernel: str, size: int) -> int:
    """How many elements the dump of a kernel's outputs has for a target size."""
    return sum(output.length for output in oracle_of(kernel).outputs(size))
