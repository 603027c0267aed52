"""Golden results agree with RAJAPerf's own and with the definitions."""

import csv
import math
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironsweep import golden
from ironsweep.checksum import checksum
from ironsweep.errors import UserError
from ironsweep.golden import (
    FIR_COEFFICIENTS,
    ORACLES,
    Case,
    Golden,
    Oracle,
    actual_size,
    bounds,
    case_of,
    complete,
    compute,
    dump_elements,
    libc_random,
    load,
    outputs,
    results,
    save,
    sum_tolerance,
    uniform,
)
from ironsweep.golden import data as data_module
from ironsweep.golden import kernels as kernels_module
from ironsweep.golden.data import Datum, Scalar, ramped
from ironsweep.golden.oracle import Neighbourhood, elementwise
from ironsweep.golden.rounded import Rounded, square_root, where
from ironsweep.golden.sizes import cube_edge, cube_mesh, square_edge, square_mesh

REFERENCES = Path(__file__).parents[2] / "workflow/resources/rajaperf_reference_checksums.csv"
MASK = 2**64 - 1
SUITE = sorted(kernel for kernel in ORACLES if not kernel.startswith("Planted_"))
OWN = {"Peak_FMA"}  # not one of RAJAPerf's kernels: it has no checksums of them


def whole(kernel: str, case: Case) -> np.ndarray:
    return np.concatenate(list(outputs(kernel, case)))


def whole_bounds(kernel: str, case: Case, contract: bool = False) -> tuple[np.ndarray, np.ndarray]:
    expected, allowed = zip(*bounds(kernel, case, contract), strict=True)
    return np.concatenate(expected), np.concatenate(allowed)


# --- RAJAPerf's checksums ------------------------------------------------------------------------------------------


def rows_of(kernels: Any) -> list[dict[str, str]]:
    with REFERENCES.open(newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["kernel"] in kernels and row["tuning"] == "default"]


def target_size(row: dict[str, str]) -> int:
    if row["target_size"] == "default":
        return 512_000 if row["kernel"] == "Apps_MASS3DEA" else 1_000_000
    return int(row["target_size"])


def test_references_cover_every_kernel_at_three_sizes() -> None:
    covered = {(row["kernel"], row["target_size"]) for row in rows_of(ORACLES)}
    rajaperf = set(SUITE) - OWN
    assert covered == {(kernel, size) for kernel in rajaperf for size in ("10000", "100000", "default")}
    assert len(rajaperf) >= 16


@pytest.mark.parametrize(
    "row", rows_of(ORACLES), ids=lambda row: "-".join((row["kernel"], row["actual_size"], row["reps"]))
)
def test_agrees_with_rajaperf(row: dict[str, str]) -> None:
    kernel, size = row["kernel"], target_size(row)
    assert actual_size(kernel, size) == int(row["actual_size"])
    result = compute(kernel, Case(size, int(row["reps"]), "reference", 0))
    assert result.checksum == pytest.approx(float(row["checksum"]), rel=float(row["tolerance"]), abs=0)


def test_a_new_kernel_is_a_function_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def add(a: Any, b: Any) -> Any:
        return a + b

    monkeypatch.setitem(ORACLES, "Stream_ADD", elementwise(add, ramped(0), ramped(1), tolerance=1e-14))
    rows = rows_of(["Stream_ADD"])
    assert rows
    for row in rows:
        result = compute("Stream_ADD", Case(target_size(row), 1, "reference", 0))
        assert result.checksum == pytest.approx(float(row["checksum"]), rel=float(row["tolerance"]), abs=0)


# --- Data ----------------------------------------------------------------------------------------------------------


def test_libc_random_starts_as_glibc_does() -> None:
    # srand(4793); rand(), three times, on Debian 12.
    assert (libc_random(0, 3) * (2**31 - 1)).round().astype(int).tolist() == [409947506, 1819792417, 1214619971]


def test_libc_random_can_start_anywhere() -> None:
    numbers = libc_random(0, 5000)
    assert (libc_random(1, 1024 + 1) == numbers[1 : 1024 + 1]).all()
    assert (libc_random(4321, 5000) == numbers[4321:]).all()
    assert numbers.min() >= 0 and numbers.max() <= 1


def test_uniform_is_splitmix64_in_counter_mode() -> None:
    seed, counter, i = 4793, 2, 7
    z = (seed + (counter + 1) * 0xD1B54A32D192ED03 + (i + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    z ^= z >> 31
    number = (z >> 11) * 2.0**-53
    assert uniform(seed, counter, i, i + 1).tolist() == [number]
    assert uniform(seed, counter, i, i + 1, -0.5, 0.25).tolist() == [-0.5 + number * 0.75]
    assert (uniform(seed, counter, 0, 10)[7:] == uniform(seed, counter, 7, 10)).all()
    assert uniform(2**64 - 1, 0, 0, 1).size == 1


def test_streams_and_seeds_differ() -> None:
    streams = [uniform(1, 0, 0, 9), uniform(1, 1, 0, 9), uniform(2, 0, 0, 9)]
    assert len({tuple(stream) for stream in streams}) == 3


# --- Sizes ---------------------------------------------------------------------------------------------------------


def test_edges_are_the_floors_of_the_exact_sums() -> None:
    root_of_2, root_of_3 = Decimal(2).sqrt(), Decimal(3) ** (Decimal(1) / Decimal(3))
    around = [10**9 - 1, 10**9] + [
        int(step) + change
        for n in (2, 3, 10, 99, 317, 464, 1000, 9999, 31622)
        for step in ((n + 1 - root_of_2) ** 2, (n + 1 - root_of_3) ** 3 if n < 1001 else n**2)
        for change in (-1, 0, 1, 2)
    ]
    for target in [*range(1, 3000), *around]:
        n = square_edge(target)
        assert (n + 1 - root_of_2) ** 2 <= target < (n + 2 - root_of_2) ** 2
        n = cube_edge(target)
        assert (n + 1 - root_of_3) ** 3 <= target < (n + 2 - root_of_3) ** 3


def test_meshes_have_two_layers_of_nodes_around_their_zones() -> None:
    mesh = square_mesh(9)
    assert (mesh.zones, mesh.row, mesh.nodes, mesh.real_zones) == (3, 7, 49, 9)
    assert np.flatnonzero(mesh.is_real(0, 49)).tolist() == [16, 17, 18, 23, 24, 25, 30, 31, 32]
    mesh = cube_mesh(8)
    assert (mesh.zones, mesh.row, mesh.plane, mesh.nodes, mesh.real_zones) == (2, 6, 36, 216, 8)
    assert np.flatnonzero(mesh.is_real(0, 216)).tolist() == [86, 87, 92, 93, 122, 123, 128, 129]
    assert (mesh.first_zone, mesh.last_zone) == (43, 172)
    assert [mesh.coordinate(axis, 86, 87)[0] for axis in range(3)] == [2, 2, 2]


@pytest.mark.parametrize("data", ["reference", "random"])
@pytest.mark.parametrize("size", [1, 2, 3, 30])
@pytest.mark.parametrize("kernel", SUITE)
def test_every_size_works(kernel: str, size: int, data: str) -> None:
    case = Case(size, 2, data, 3)
    expected, allowed = whole_bounds(kernel, case)
    assert expected.size == allowed.size == dump_elements(kernel, size)
    assert np.isfinite(expected).all() and np.isfinite(allowed).all()
    assert (expected == whole(kernel, case)).all()
    assert actual_size(kernel, size) > 0
    assert math.isfinite(compute(kernel, case).checksum)


@pytest.mark.parametrize("data", ["reference", "random"])
@pytest.mark.parametrize("kernel", sorted(ORACLES))
def test_blocks_fit_together(kernel: str, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(size=1000, reps=3, data=data, seed=5)
    at_once, elements = compute(kernel, case), whole(kernel, case)
    monkeypatch.setattr(data_module, "BLOCK", 300)
    monkeypatch.setattr(results, "_HELD", 0)
    assert compute(kernel, case).checksum == pytest.approx(at_once.checksum, rel=1e-15)
    assert whole(kernel, case) == pytest.approx(elements, rel=1e-13, abs=1e-13)


# --- Definitions on random data, written as loops ------------------------------------------------------------------

SEED = 9


def draw(counter: int, count: int = 50, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    return low + uniform(SEED, counter, 0, count) * (high - low)


def one(counter: int, low: float, high: float) -> float:
    return float(draw(counter, 1, low, high)[0])


def random_case(size: int = 50, reps: int = 3) -> Case:
    return Case(size, reps, "random", SEED)


def test_copy_on_random_data() -> None:
    assert (whole("Stream_COPY", random_case()) == draw(0)).all()


def test_triad_on_random_data() -> None:
    b, c, alpha = draw(1), draw(2), one(3, -1, 1)
    assert (whole("Stream_TRIAD", random_case()) == b + alpha * c).all()


def test_daxpy_adds_once_a_repetition() -> None:
    y, x, a = draw(0), draw(1), one(2, -1, 1)
    assert (whole("Basic_DAXPY", random_case()) == y + a * x + a * x + a * x).all()


def test_fir_reads_fifteen_elements_beyond_the_end() -> None:
    values = draw(0, 65)
    by_definition = [sum(FIR_COEFFICIENTS[j] * values[i + j] for j in range(16)) for i in range(50)]
    assert whole("Apps_FIR", random_case()) == pytest.approx(by_definition, abs=1e-14)
    assert sum(FIR_COEFFICIENTS) == 0.0  # four of 3 and twelve of -1


def test_planckian_on_random_data_is_well_conditioned() -> None:
    x, u, v = (draw(counter, 50, 0.5, 1.5) for counter in (0, 2, 3))
    assert whole("Lcals_PLANCKIAN", random_case()) == pytest.approx(np.append(x / np.expm1(u / v), u / v), rel=1e-14)


def test_sum_has_its_scale_from_the_magnitudes() -> None:
    terms = draw(0)
    result = compute("Algorithm_REDUCE_SUM", random_case())
    assert result.value == pytest.approx(terms.sum(), rel=1e-12)
    assert result.checksum == abs(result.value or 0)
    assert result.scale == pytest.approx(np.abs(terms).sum())
    assert whole("Algorithm_REDUCE_SUM", random_case()).tolist() == [result.value]
    assert whole_bounds("Algorithm_REDUCE_SUM", random_case())[1].tolist() == [1e-10 * result.scale]


def test_tolerance_of_a_sum_grows_where_a_plain_loop_cannot_keep_up() -> None:
    assert sum_tolerance(1_000_000) == 1e-10
    assert 1.6e-9 < sum_tolerance(100_000_000) < 1e-8


def test_pressure_on_random_data_takes_every_branch() -> None:
    size = 2000
    compression, e_old, vnewc = draw(0, size), draw(3, size, -4, 4), draw(4, size, 0, 1)
    cls, p_cut, pmin, eosvmax = one(5, 0.5, 1.5), one(6, 0.1, 0.2), one(7, -1, -0.5), one(8, 0.5, 0.9)
    bvc, p_new = np.zeros(size), np.zeros(size)
    taken: Counter[tuple[str, bool]] = Counter()

    def branch(name: str, condition: Any) -> bool:
        taken[name, bool(condition)] += 1
        return bool(condition)

    for i in range(size):
        bvc[i] = cls * (compression[i] + 1.0)
        p_new[i] = bvc[i] * e_old[i]
        if branch("cut", abs(p_new[i]) < p_cut):
            p_new[i] = 0.0
        if branch("eosvmax", vnewc[i] >= eosvmax):
            p_new[i] = 0.0
        if branch("pmin", p_new[i] < pmin):
            p_new[i] = pmin
    assert (whole("Apps_PRESSURE", random_case(size)) == np.append(p_new, bvc)).all()
    assert len(taken) == 6 and min(taken.values()) > size / 50


def test_energy_on_random_data_takes_every_branch() -> None:
    size = 5000
    e_old, delvc, work, pbvc = (draw(counter, size) for counter in (1, 2, 7, 11))
    p_new, p_old, q_old, comp, p_half, bvc, ql, qq, vnewc = (
        draw(counter, size, 0, 1) for counter in (3, 4, 6, 8, 9, 10, 12, 13, 14)
    )
    rho0, e_cut, emin, q_cut = one(15, 0.5, 1.5), one(16, 0.01, 0.02), one(17, -1.5, -1), one(18, 0.05, 0.1)
    e, q = np.zeros(size), np.zeros(size)
    taken: Counter[tuple[str, bool]] = Counter()

    def branch(name: str, condition: Any) -> bool:
        taken[name, bool(condition)] += 1
        return bool(condition)

    def root(name: str, ssc: float) -> float:
        return 0.3333333e-18 if branch(name, ssc <= 0.1111111e-36) else math.sqrt(ssc)

    for i in range(size):
        e[i] = e_old[i] - 0.5 * delvc[i] * (p_old[i] + q_old[i]) + 0.5 * work[i]
    for i in range(size):
        if not branch("2", delvc[i] > 0.0):
            vhalf = 1.0 / (1.0 + comp[i])
            q[i] = root("2 root", (pbvc[i] * e[i] + vhalf * vhalf * bvc[i] * p_half[i]) / rho0) * ql[i] + qq[i]
    for i in range(size):
        e[i] += 0.5 * delvc[i] * (3.0 * (p_old[i] + q_old[i]) - 4.0 * (p_half[i] + q[i]))
    for i in range(size):
        e[i] += 0.5 * work[i]
        if branch("4 e_cut", abs(e[i]) < e_cut):
            e[i] = 0.0
        if branch("4 emin", e[i] < emin):
            e[i] = emin
    for i in range(size):
        q_tilde = 0.0
        if not branch("5", delvc[i] > 0.0):
            ssc = (pbvc[i] * e[i] + vnewc[i] * vnewc[i] * bvc[i] * p_new[i]) / rho0
            q_tilde = root("5 root", ssc) * ql[i] + qq[i]
        change = 7.0 * (p_old[i] + q_old[i]) - 8.0 * (p_half[i] + q[i]) + (p_new[i] + q_tilde)
        e[i] -= change * delvc[i] / 6.0
        if branch("5 e_cut", abs(e[i]) < e_cut):
            e[i] = 0.0
        if branch("5 emin", e[i] < emin):
            e[i] = emin
    for i in range(size):
        if delvc[i] <= 0.0:
            ssc = (pbvc[i] * e[i] + vnewc[i] * vnewc[i] * bvc[i] * p_new[i]) / rho0
            q[i] = root("6 root", ssc) * ql[i] + qq[i]
            if branch("6 q_cut", abs(q[i]) < q_cut):
                q[i] = 0.0
    assert (whole("Apps_ENERGY", random_case(size)) == np.append(e, q)).all()
    assert len(taken) == 20 and min(taken.values()) > 20


def corners_of_zones(mesh: Any) -> Iterator[int]:
    for position in range(mesh.nodes):
        axes = [position // mesh.row**axis % mesh.row for axis in range(mesh.dimensions)]
        if all(2 <= along < 2 + mesh.zones for along in axes):
            yield position


def test_vol3d_is_the_volume_of_hexahedra() -> None:
    """A third of the sum of (p + q) . (r x s) for six tetrahedra each: here via tetrahedra of the same diagonals."""
    mesh = cube_mesh(27)
    nodes = np.array([draw(axis, mesh.nodes) for axis in range(3)]).T
    expected = np.zeros(mesh.nodes)
    for i in range(mesh.first_zone, mesh.last_zone + 1):
        c = [nodes[i + x + mesh.row * y + mesh.plane * z] for z in (0, 1) for y in (0, 1) for x in (0, 1)]
        expected[i] = (
            np.linalg.det([c[7] - c[1] + c[6] - c[0], c[7] - c[2], c[3] - c[0]])
            + np.linalg.det([c[7] - c[2] + c[5] - c[0], c[7] - c[4], c[6] - c[0]])
            + np.linalg.det([c[7] - c[4] + c[3] - c[0], c[7] - c[1], c[5] - c[0]])
        ) / 12.0
    assert whole("Apps_VOL3D", random_case(27)) == pytest.approx(expected, abs=1e-14)


def test_del_dot_vec_2d_on_random_data() -> None:
    mesh = square_mesh(50)
    node = np.arange(mesh.nodes)
    x = node % mesh.row * 0.2 + draw(0, mesh.nodes, -0.05, 0.05)
    y = node // mesh.row * 0.1 + draw(1, mesh.nodes, -0.025, 0.025)
    fx, fy = draw(3, mesh.nodes), draw(4, mesh.nodes)
    expected = np.zeros(mesh.nodes)
    for i in corners_of_zones(mesh):
        v = [i + 1, i + 1 + mesh.row, i + mesh.row, i]

        def both(a: np.ndarray, v: list[int] = v) -> tuple[float, float]:
            return 0.5 * (a[v[0]] + a[v[1]] - a[v[2]] - a[v[3]]), 0.5 * (a[v[1]] + a[v[2]] - a[v[3]] - a[v[0]])

        (xi, xj), (yi, yj), (fxi, fxj), (fyi, fyj) = both(x), both(y), both(fx), both(fy)
        area = xi * yj - xj * yi + 1e-20
        expected[i] = (fxi * yj - fxj * yi + fyj * xi - fyi * xj) / area + fy[v].sum() / y[v].sum()
    assert np.count_nonzero(expected) == actual_size("Apps_DEL_DOT_VEC_2D", 50)
    assert whole("Apps_DEL_DOT_VEC_2D", random_case(50)) == pytest.approx(expected, rel=1e-12)


def test_matvec_3d_stencil_multiplies_a_symmetric_matrix() -> None:
    mesh = cube_mesh(20)
    length = mesh.last_zone + 1
    x = draw(1, length)
    offsets = [i + mesh.row * j + mesh.plane * k for k in (-1, 0, 1) for j in (-1, 0, 1) for i in (-1, 0, 1)]
    matrix = np.zeros((length, length))
    for number, offset in enumerate(offsets[:14]):
        diagonal = draw(2 + number, length)
        for i in range(max(-offset, 0), length):
            matrix[i, i + offset] = matrix[i + offset, i] = diagonal[i]
    product = matrix @ x
    expected = np.zeros(length)
    for i in corners_of_zones(mesh):
        expected[i] = product[i]
    assert whole("Apps_MATVEC_3D_STENCIL", random_case(20)) == pytest.approx(expected, abs=1e-13)


def test_ltimes_on_random_data() -> None:
    zones, reps = 2, 3
    phi, ell = draw(0, zones * 32 * 25), draw(1, 150)
    psi = draw(2, zones * 32 * 6)
    for _ in range(reps):
        for row in range(zones * 32):
            for m in range(25):
                for d in range(6):
                    phi[m + 25 * row] += ell[d + 6 * m] * psi[d + 6 * row]
    assert whole("Apps_LTIMES", random_case(2 * 192, reps)) == pytest.approx(phi, abs=1e-13)


def test_hydro_2d_runs_all_loops_in_every_repetition() -> None:
    n, reps = 7, 3
    za, zb, zm, zp, zq, zr, zu, zv, zz = (
        draw(counter, n * n, 0.5 if counter == 4 else -1.0, 1.5 if counter == 4 else 1.0).reshape(n, n)
        for counter in range(2, 11)
    )
    zrout, zzout = np.zeros((n, n)), np.zeros((n, n))
    inner = [(k, j) for k in range(1, n - 1) for j in range(1, n - 1)]
    for _ in range(reps):
        for k, j in inner:
            flow = zp[k + 1, j - 1] + zq[k + 1, j - 1] - zp[k, j - 1] - zq[k, j - 1]
            za[k, j] = flow * (zr[k, j] + zr[k, j - 1]) / (zm[k, j - 1] + zm[k + 1, j - 1])
            flow = zp[k, j - 1] + zq[k, j - 1] - zp[k, j] - zq[k, j]
            zb[k, j] = flow * (zr[k, j] + zr[k - 1, j]) / (zm[k, j] + zm[k, j - 1])
        for velocity, a in ((zu, zz), (zv, zr)):
            for k, j in inner:
                velocity[k, j] += 0.0041 * (
                    za[k, j] * (a[k, j] - a[k, j + 1])
                    - za[k, j - 1] * (a[k, j] - a[k, j - 1])
                    - zb[k, j] * (a[k, j] - a[k - 1, j])
                    + zb[k + 1, j] * (a[k, j] - a[k + 1, j])
                )
        for k, j in inner:
            zrout[k, j] = zr[k, j] + 0.0037 * zu[k, j]
            zzout[k, j] = zz[k, j] + 0.0037 * zv[k, j]
    expected = np.concatenate([a.ravel() for a in (zrout, zzout, za, zb, zu, zv)])
    assert (whole("Lcals_HYDRO_2D", random_case(n * n, reps)) == expected).all()
    checked = checksum([zrout.ravel()]) + checksum([zzout.ravel()])
    assert compute("Lcals_HYDRO_2D", random_case(n * n, reps)).checksum == pytest.approx(checked, rel=1e-15)


@pytest.mark.parametrize("reps", [1, 2, 45])
def test_jacobi_2d_sweeps_twice_a_repetition(reps: int) -> None:
    m = 9
    a, b = (draw(counter, m * m).reshape(m, m) for counter in (0, 1))
    for _ in range(reps):
        for target, source in ((b, a), (a, b)):
            for i in range(1, m - 1):
                for j in range(1, m - 1):
                    five = source[i, j] + source[i, j - 1] + source[i, j + 1] + source[i + 1, j] + source[i - 1, j]
                    target[i, j] = 0.2 * five
    assert (whole("Polybench_JACOBI_2D", random_case(49, reps)) == np.append(a, b)).all()


def test_mass3dea_on_random_data() -> None:
    elements = 2
    b, d = draw(0, 20).reshape(4, 5), draw(1, 125 * elements).reshape(elements, 5, 5, 5)  # b[i, k], d[e, k3, k2, k1]
    one_axis = np.einsum("ik,jk->ijk", b, b)
    expected = np.einsum("adx,bey,cfz,nzyx->nfedcba", one_axis, one_axis, one_axis, d)
    assert whole("Apps_MASS3DEA", random_case(elements * 4096)) == pytest.approx(expected.ravel(), abs=1e-13)


def test_halo_packing_exchanges_with_26_neighbours() -> None:
    g = 4
    w = g + 2
    neighbours = sorted(
        ((x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)),
        key=lambda at: (at.count(0) * -1, [along == 0 for along in at], at),
    )
    ranges_pack = {-1: [1], 0: range(1, g + 1), 1: [g]}
    ranges_unpack = {-1: [0], 0: range(1, g + 1), 1: [g + 1]}
    variables = [draw(54 + v, w**3) for v in range(3)]
    before = [variable.copy() for variable in variables]
    slices: list[tuple[int, int]] = []
    start = 0
    for at in neighbours:
        length = 3 * g ** at.count(0)
        slices.append((start, length))
        start = -(-(start + length) // 8) * 8
    size = slices[-1][0] + slices[-1][1]
    pack_buffer, unpack_buffer = draw(52, size), draw(53, size)
    for (x, y, z), (start, length) in zip(neighbours, slices, strict=True):
        for v in range(3):
            cells = [i + w * (j + w * k) for k in ranges_pack[z] for j in ranges_pack[y] for i in ranges_pack[x]]
            for number, cell in enumerate(cells):
                pack_buffer[start + v * length // 3 + number] = before[v][cell]
            cells = [i + w * (j + w * k) for k in ranges_unpack[z] for j in ranges_unpack[y] for i in ranges_unpack[x]]
            for number, cell in enumerate(cells):
                variables[v][cell] = unpack_buffer[start + v * length // 3 + number]
    case = random_case(g**3)
    assert (whole("Comm_HALO_PACKING", case) == np.concatenate([*variables, pack_buffer])).all()
    parts = [*variables, *(pack_buffer[start : start + length] for start, length in slices)]
    total = sum(checksum([part]) for part in parts)
    assert compute("Comm_HALO_PACKING", case).checksum == pytest.approx(total, rel=1e-15)
    assert not whole_bounds("Comm_HALO_PACKING", case, contract=True)[1].any()


def peak(x: list[float], b: float, fma: Callable[[float, float, float], float]) -> float:
    """One element of Peak_FMA, chain by chain and step by step."""
    chains = [*x, *x]
    for _ in range(64):
        chains = [fma(chain, 0.99 if number < 16 else -0.99, b) for number, chain in enumerate(chains)]
    for half in (16, 8, 4, 2, 1):
        chains = [fma(chains[half + number], 0.99, chains[number]) for number in range(half)]
    return chains[0]


@pytest.mark.parametrize("data", ["reference", "random"])
def test_peak_is_32_chains_of_fused_multiply_adds(data: str) -> None:
    def fused(a: float, b: float, c: float) -> float:
        return float(Fraction(a) * Fraction(b) + Fraction(c))

    def rounded_twice(a: float, b: float, c: float) -> float:
        return a * b + c

    size = 6
    case = Case(size, 1, data, SEED)
    if data == "random":
        x, b = draw(0, size + 15).tolist(), one(2, -1 / 64, 1 / 64)
    else:
        x, b = [0.2 * ((i + 1.1) / (i + 1.12345)) for i in range(size + 15)], 0.2 * 1.1 / 1.12345
    expected, allowed = whole_bounds("Peak_FMA", case)
    by_definition = np.array([[peak(x[i : i + 16], b, fma) for i in range(size)] for fma in (fused, rounded_twice)])
    deviation = np.abs(by_definition - expected)
    assert (deviation <= allowed).all()
    # Not the same, as rounding goes, and not so different that a step more or less could hide.
    assert (by_definition[0] != by_definition[1]).any()
    assert deviation.any()
    assert (allowed < 1e-12 * np.abs(expected)).all()


def test_planted_kernels_are_judged_by_triad() -> None:
    case = Case(100, 1, "reference", 0)
    assert compute("Planted_NOTHING", case) == compute("Planted_OFF_BY_ONE", case) == compute("Stream_TRIAD", case)


# --- What elements may deviate -------------------------------------------------------------------------------------

LARGE = 20_000
# Kernels whose operations are known to round random data, so that extended precision must show. Others need not: a copy
# has no operation, and a sum of two numbers of the random stream is exact.
ROUNDING = {
    "Stream_TRIAD",
    "Basic_DAXPY",
    "Lcals_HYDRO_2D",
    "Lcals_PLANCKIAN",
    "Apps_DEL_DOT_VEC_2D",
    "Apps_ENERGY",
    "Apps_FIR",
    "Apps_LTIMES",
    "Apps_MASS3DEA",
    "Apps_MATVEC_3D_STENCIL",
    "Apps_PRESSURE",
    "Apps_VOL3D",
    "Peak_FMA",
}


def extended_outputs(kernel: str, case: Case, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """The outputs from the same formulas, evaluated in extended precision: as if no operation rounded."""
    make_datum, make_scalar, read = Datum.block, Scalar.block, Neighbourhood.__call__

    def extended(number: Any) -> Any:
        return np.asarray(number).astype(np.longdouble)

    monkeypatch.setattr(Datum, "block", lambda self, *at: extended(make_datum(self, *at)))
    monkeypatch.setattr(Scalar, "block", lambda self, *at: extended(make_scalar(self, *at)))
    monkeypatch.setattr(Neighbourhood, "__call__", lambda self, *at: extended(read(self, *at)))
    elements = whole(kernel, case)
    monkeypatch.undo()
    return elements


@pytest.mark.parametrize("kernel", sorted(set(SUITE) - {"Algorithm_REDUCE_SUM"}))
def test_bounds_allow_that_operations_do_not_round(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(LARGE, reps=20)
    expected, allowed = whole_bounds(kernel, case, contract=True)
    deviation = np.abs(extended_outputs(kernel, case, monkeypatch) - expected)
    assert (deviation <= allowed).all()
    assert deviation.any() or kernel not in ROUNDING
    # Not so wide that an error could hide.
    assert np.median(allowed) < 1e-12
    assert allowed.max() < 1e-6


def test_contracted_triad_and_daxpy_deviate_and_strict_ones_do_not() -> None:
    b, c, alpha = (each.astype(np.longdouble) for each in (draw(1, LARGE), draw(2, LARGE), draw(3, 1)))
    fused = (b + alpha * c).astype(np.float64)
    expected, strict = whole_bounds("Stream_TRIAD", random_case(LARGE))
    _, contracted = whole_bounds("Stream_TRIAD", random_case(LARGE), contract=True)
    assert not strict.any()
    assert (fused != expected).any() and (np.abs(fused - expected) <= contracted).all()
    assert (contracted < 1e-15).all()

    y, x, a = draw(0, LARGE), draw(1, LARGE).astype(np.longdouble), draw(2, 1).astype(np.longdouble)
    for _ in range(10):
        y = (y + a * x).astype(np.float64)
    expected, strict = whole_bounds("Basic_DAXPY", random_case(LARGE, 10))
    _, contracted = whole_bounds("Basic_DAXPY", random_case(LARGE, 10), contract=True)
    assert not strict.any()
    assert (y != expected).any() and (np.abs(y - expected) <= contracted).all()


def mutated(kernel: str, module: types.ModuleType, old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> Oracle:
    """The oracle of a kernel after an edit of one of the modules."""

    def made(original: types.ModuleType, source: str) -> types.ModuleType:
        mutant = types.ModuleType(original.__name__)
        monkeypatch.setitem(sys.modules, original.__name__, mutant)
        monkeypatch.setattr(golden, original.__name__.rpartition(".")[2], mutant)
        exec(compile(source, str(original.__file__), "exec"), mutant.__dict__)
        return mutant

    source = Path(str(module.__file__)).read_text()
    assert old in source, f"no '{old}' to change"
    made(module, source.replace(old, new, 1))
    table = made(kernels_module, Path(kernels_module.__file__).read_text())
    monkeypatch.undo()
    oracle: Oracle = table.ORACLES[kernel]
    return oracle


MUTATIONS = [
    ("Stream_TRIAD", "elements", "b + alpha * c", "b - alpha * c"),
    ("Stream_TRIAD", "elements", "b + alpha * c", "b + alpha * c * (1.0 + 1e-12)"),
    ("Basic_DAXPY", "elements", "repeated(y, a * x, reps)", "repeated(y, a * x, reps - 1)"),
    ("Lcals_PLANCKIAN", "elements", "exponential(y) - 1.0", "exponential(y) - 1.000000000001"),
    ("Lcals_PLANCKIAN", "elements", "y = u / v", "y = u / v * 1.0000000001"),
    ("Apps_PRESSURE", "elements", "compression + 1.0", "compression + 1.0000000000001"),
    ("Apps_PRESSURE", "elements", "vnewc >= eosvmax", "vnewc >= eosvmax + 0.001"),
    ("Apps_PRESSURE", "elements", "abs(p_new) < p_cut", "p_new < p_cut"),
    ("Apps_PRESSURE", "elements", "p_new < pmin", "p_new < pmin - 0.01"),
    ("Apps_ENERGY", "elements", "e_old - 0.5 * delvc", "e_old + 0.5 * delvc"),
    ("Apps_ENERGY", "elements", "vhalf * vhalf * bvc", "vhalf * bvc"),
    ("Apps_ENERGY", "elements", "0.3333333e-18", "0.3333333e-8"),
    ("Apps_ENERGY", "elements", "+ (p_new + q_tilde)", "+ (p_new - q_tilde)"),
    ("Apps_ENERGY", "elements", "e = cut(e + 0.5 * work)", "e = e + 0.5 * work"),
    ("Apps_ENERGY", "elements", "/ 6.0", "/ 6.0000000001"),
    ("Apps_ENERGY", "elements", "abs(q_new) < q_cut", "q_new < 0.0"),
    ("Apps_ENERGY", "elements", "where(grows, q, q_new)", "where(grows, q, q)"),
    ("Apps_ENERGY", "elements", "grows = delvc > 0.0", "grows = delvc > 0.001"),
    ("Apps_FIR", "meshes", "near(0, j)", "near(0, max(j, 1))"),
    ("Apps_FIR", "meshes", "3.0, -1.0, -1.0, -1.0, -1.0, 3.0", "3.0, -1.0, -1.0, -1.0, -1.0, 3.00000000001"),
    ("Apps_VOL3D", "meshes", "triple_product(d74, d30, d71, d50)", "triple_product(d74, d30, d50, d71)"),
    ("Apps_VOL3D", "meshes", "0.083333333333333333", "0.08333333333"),
    ("Apps_VOL3D", "meshes", "zone <= mesh.last_zone", "zone < mesh.last_zone"),
    ("Apps_DEL_DOT_VEC_2D", "meshes", "fyj * xi - fyi * xj", "fyj * xi + fyi * xj"),
    ("Apps_DEL_DOT_VEC_2D", "meshes", "(1, 1 + mesh.row, mesh.row, 0)", "(1, mesh.row, 1 + mesh.row, 0)"),
    ("Apps_DEL_DOT_VEC_2D", "meshes", "total(3) / total(1)", "total(3) / total(1) * 1.00000001"),
    ("Apps_MATVEC_3D_STENCIL", "meshes", "near(1 + 26 - number, offset)", "near(1 + 26 - number)"),
    ("Apps_MATVEC_3D_STENCIL", "meshes", "near(1 + 26 - number, offset)", "near(1 + number - 13, offset)"),
    ("Apps_LTIMES", "tensors", "case.reps)\n        error", "case.reps + 1)\n        error"),
    ("Apps_LTIMES", "tensors", "ramped(1), ramped(2)", "ramped(1, -1.0, 1.000000001), ramped(2)"),
    ("Apps_MASS3DEA", "tensors", "transpose(0, 1, 3, 5, 2, 4, 6)", "transpose(0, 1, 3, 5, 2, 6, 4)"),
    ("Apps_MASS3DEA", "tensors", "b[:, :, np.newaxis] * b", "b[:, :, np.newaxis] * (1.0 + 1e-11) * b"),
    ("Lcals_HYDRO_2D", "grids", "0.0041", "0.00410000001"),
    ("Lcals_HYDRO_2D", "grids", "+ zb_below", "- zb_below"),
    ("Lcals_HYDRO_2D", "grids", "near(_ZM, at) + near(_ZM, left)", "near(_ZM, at) + near(_ZM, at)"),
    ("Lcals_HYDRO_2D", "grids", "change, reps)", "change, reps - 1)"),
    ("Polybench_JACOBI_2D", "grids", "mean *= 0.2\n", "mean *= 0.2000000001\n"),
    ("Polybench_JACOBI_2D", "grids", "source[start - 1 : stop - 1]", "source[start:stop]"),
    ("Polybench_JACOBI_2D", "grids", "2 * case.reps", "2 * case.reps - 1"),
    ("Peak_FMA", "chains", "16, 64, 5", "16, 62, 5"),
    ("Peak_FMA", "chains", "Fraction(0.99)", "Fraction(0.99000000000001)"),
    ("Peak_FMA", "chains", "near(0, lane)", "near(0, _LANES - 1 - lane)"),
    ("Peak_FMA", "chains", "+ _FACTOR * _ALTERNATING", "- _FACTOR * _ALTERNATING"),
    ("Peak_FMA", "chains", "_WEIGHT_OF_B * b", "_WEIGHT_OF_B * (1.0 + 1e-11) * b"),
    ("Comm_HALO_PACKING", "halo", "_ALIGNMENT = 8", "_ALIGNMENT = 4"),
    ("Comm_HALO_PACKING", "halo", "-1: slice(1, 2)", "-1: slice(0, 1)"),
    ("Comm_HALO_PACKING", "halo", "[along == 0 for along in direction]", "direction"),
]


@pytest.mark.parametrize(("kernel", "module", "old", "new"), MUTATIONS)
def test_small_mistakes_exceed_the_bounds(
    kernel: str, module: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = random_case(LARGE)
    expected, allowed = whole_bounds(kernel, case, contract=True)
    oracle = mutated(kernel, sys.modules[f"ironsweep.golden.{module}"], old, new, monkeypatch)
    found = np.concatenate([piece.values for piece in results._in_order(oracle, case, False)])
    assert found.size != expected.size or not (np.abs(found - expected) <= allowed).all()


def test_every_kernel_with_arithmetic_is_mutated() -> None:
    assert {kernel for kernel, *_ in MUTATIONS} == set(SUITE) - {"Stream_COPY", "Algorithm_REDUCE_SUM"}


def test_doubtful_comparison_allows_both_values() -> None:
    x = Rounded(np.array([1.0, 1.0, 2.0]), np.array([0.0, 1e-9, 1e-9]))
    chosen = where(x <= 1.0, 5.0, 7.0)
    assert chosen.value.tolist() == [5.0, 5.0, 7.0]
    assert chosen.error.tolist() == [0.0, 2.0, 0.0]
    assert where(np.array([True, False]), 1.0, 2.0).tolist() == [1.0, 2.0]
    for condition, holds in (
        (x < 2.0, [True, True, False]),
        (x > 1.0, [False, False, True]),
        (x >= 2.0, [False] * 2 + [True]),
    ):
        assert condition.holds.tolist() == holds


def test_rounded_root_and_quotient_know_where_they_are_ill_conditioned() -> None:
    x = Rounded(np.array([4.0, 0.0, 1e-16, -1e-16]), 1e-16)
    root = square_root(x)
    assert root.value.tolist() == [2.0, 0.0, 1e-8, 0.0]
    assert root.error[0] < 1e-15
    assert (root.error[1:] >= 1e-8).all() and (root.error < 2e-8).all()
    quotient = 1.0 / Rounded(np.array([2.0, 1e-17]), np.array([1e-16, 1e-16]))
    assert quotient.error[0] < 1e-15
    assert quotient.error[1] == math.inf


def test_operators_of_rounded_numbers_are_those_of_arrays() -> None:
    a, b = draw(0), draw(1)
    x, y = Rounded(a), Rounded(b)
    pairs = [
        (x + y, a + b),
        (1.0 - x, 1.0 - a),
        (x * b, a * b),
        (a / y, a / b),
        (-x, -a),
        (abs(x), abs(a)),
        (x[3:], a[3:]),
    ]
    for rounded, plain in pairs:
        assert (rounded.value == plain).all()
        assert (np.asarray(rounded.error) < 1e-12 * (1.0 + abs(plain))).all()


# --- Cases and files -----------------------------------------------------------------------------------------------


def test_a_case_leaves_out_what_has_no_effect() -> None:
    point = {"size": 10, "reps": 20, "data": "reference", "seed": 4793}
    assert case_of("Stream_TRIAD", point) == Case(10, 1, "reference", 0)
    assert case_of("Basic_DAXPY", point) == Case(10, 20, "reference", 0)
    assert case_of("Basic_DAXPY", point | {"data": "random"}) == Case(10, 20, "random", 4793)


def test_unknown_kernel_and_data_are_refused() -> None:
    with pytest.raises(UserError, match=r"golden/kernels\.py.*'Basic_NEW'"):
        compute("Basic_NEW", Case(10, 1, "reference", 0))
    with pytest.raises(ValueError, match="'zeros' is unknown"):
        Case(10, 1, "zeros", 0)


def test_file_is_completed_and_of_another_version_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "Stream_TRIAD.json"
    small, large = Case(10, 1, "reference", 0), Case(20, 1, "reference", 0)
    save(path, "Stream_TRIAD", complete("Stream_TRIAD", [small, small], {}), version="1")
    assert load(path, "2") == {}
    known = load(path, "1")
    assert known == {small: compute("Stream_TRIAD", small)}

    monkeypatch.setattr(results, "compute", lambda kernel, case: Golden(checksum=-1.0, scale=1.0))
    assert complete("Stream_TRIAD", [small, large], known) == known | {large: Golden(-1.0, 1.0)}
