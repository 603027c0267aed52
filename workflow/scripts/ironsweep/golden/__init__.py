"""Golden results: what every kernel must give, computed in numpy from its definition and from nothing else.

Nothing here is shared with the variants under test. Data, results and checksums are made in blocks that stay in the
cache, so that 1e8 elements take seconds and, but for a few kernels, little memory.

* `data`: what kernels start from;
* `sizes`: what they make of a target size;
* `rounded`: numbers with bounds of what correct results may deviate;
* `oracle`: what an oracle is, and its usual shapes;
* `elements`, `meshes`, `grids`, `tensors`, `halo`, `chains`: the definitions of the kernels;
* `kernels`: the table of them all;
* `results`: checksums, expected elements and files.
"""

from ironsweep.golden.data import Case, libc_random, uniform
from ironsweep.golden.kernels import ORACLES, actual_size, dump_elements, oracle_of, sum_tolerance
from ironsweep.golden.meshes import FIR_COEFFICIENTS
from ironsweep.golden.oracle import Oracle
from ironsweep.golden.results import Golden, bounds, case_of, complete, compute, load, outputs, save

__all__ = [
    "FIR_COEFFICIENTS",
    "ORACLES",
    "Case",
    "Golden",
    "Oracle",
    "actual_size",
    "bounds",
    "case_of",
    "complete",
    "compute",
    "dump_elements",
    "libc_random",
    "load",
    "oracle_of",
    "outputs",
    "save",
    "sum_tolerance",
    "uniform",
]
