"""Golden results agree with RAJAPerf's own and with the definitions."""

import csv
from pathlib import Path

import numpy as np
import pytest

from ironsweep import golden
from ironsweep.checksum import CHUNK
from ironsweep.errors import UserError
from ironsweep.golden import (
    ORACLES,
    Case,
    Golden,
    case_of,
    complete,
    compute,
    libc_random,
    load,
    outputs,
    save,
    uniform,
)

REFERENCES = Path(__file__).parents[2] / "workflow/resources/rajaperf_reference_checksums.csv"
MASK = 2**64 - 1


def reference_rows() -> list[dict[str, str]]:
    with REFERENCES.open(newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["kernel"] in ORACLES and row["tuning"] == "default"]


OURS = ("Stream_TRIAD", "Basic_DAXPY", "Apps_FIR", "Lcals_PLANCKIAN", "Algorithm_REDUCE_SUM")


def test_references_cover_every_kernel_at_three_sizes_and_two_repetitions() -> None:
    covered = {(row["kernel"], row["actual_size"]) for row in reference_rows()}
    assert covered >= {(kernel, size) for kernel in OURS for size in ("10000", "100000", "1000000")}
    assert len(reference_rows()) == 30


@pytest.mark.parametrize(
    "row", reference_rows(), ids=lambda row: "-".join((row["kernel"], row["actual_size"], row["reps"]))
)
def test_agrees_with_rajaperf(row: dict[str, str]) -> None:
    result = compute(row["kernel"], Case(int(row["actual_size"]), int(row["reps"]), "reference", 0))
    assert result.checksum == pytest.approx(float(row["checksum"]), rel=float(row["tolerance"]), abs=0)


def test_libc_random_starts_as_glibc_does() -> None:
    # srand(4793); rand(), three times, on Debian 12.
    assert (libc_random(0, 3) * (2**31 - 1)).round().astype(int).tolist() == [409947506, 1819792417, 1214619971]


def test_libc_random_can_start_anywhere() -> None:
    whole = libc_random(0, 5000)
    assert (libc_random(1, 1024 + 1) == whole[1 : 1024 + 1]).all()
    assert (libc_random(4321, 5000) == whole[4321:]).all()
    assert whole.min() >= 0 and whole.max() <= 1


def test_uniform_is_splitmix64_in_counter_mode() -> None:
    seed, index, i = 4793, 2, 7
    z = (seed + (index + 1) * 0xD1B54A32D192ED03 + (i + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    z ^= z >> 31
    assert uniform(seed, index, i, i + 1).tolist() == [(z >> 11) * 2.0**-53]
    assert (uniform(seed, index, 0, 10)[7:] == uniform(seed, index, 7, 10)).all()
    assert uniform(2**64 - 1, 0, 0, 1).size == 1


def test_streams_and_seeds_differ() -> None:
    streams = [uniform(1, 0, 0, 9), uniform(1, 1, 0, 9), uniform(2, 0, 0, 9)]
    assert len({tuple(stream) for stream in streams}) == 3


def whole(kernel: str, case: Case) -> np.ndarray:
    return np.concatenate(list(outputs(kernel, case)))


RANDOM = Case(size=50, reps=3, data="random", seed=9)


def draw(index: int, count: int = 50) -> np.ndarray:
    return uniform(9, index, 0, count)


def test_triad_on_random_data() -> None:
    b, c, alpha = 2 * draw(1) - 1, 2 * draw(2) - 1, 2 * draw(3, 1)[0] - 1
    assert (whole("Stream_TRIAD", RANDOM) == b + alpha * c).all()


def test_daxpy_adds_once_a_repetition() -> None:
    y, x, a = 2 * draw(0) - 1, 2 * draw(1) - 1, 2 * draw(2, 1)[0] - 1
    assert (whole("Basic_DAXPY", RANDOM) == y + a * x + a * x + a * x).all()


def test_fir_reads_fifteen_elements_beyond_the_end() -> None:
    values = 2 * draw(0, 65) - 1
    by_definition = [sum(golden.FIR_COEFFICIENTS[j] * values[i + j] for j in range(16)) for i in range(50)]
    assert whole("Apps_FIR", RANDOM) == pytest.approx(by_definition, abs=1e-14)
    assert sum(golden.FIR_COEFFICIENTS) == 0.0  # four of 3 and twelve of -1


def test_planckian_on_random_data_is_well_conditioned() -> None:
    x, u, v = 0.5 + draw(0), 0.5 + draw(2), 0.5 + draw(3)
    assert whole("Lcals_PLANCKIAN", RANDOM) == pytest.approx(x / np.expm1(u / v), rel=1e-14)


def test_sum_has_its_scale_from_the_magnitudes() -> None:
    terms = 2 * draw(0) - 1
    result = compute("Algorithm_REDUCE_SUM", RANDOM)
    assert result.value == pytest.approx(terms.sum(), rel=1e-12)
    assert result.checksum == abs(result.value or 0)
    assert result.scale == pytest.approx(np.abs(terms).sum())
    assert whole("Algorithm_REDUCE_SUM", RANDOM).tolist() == [result.value]


def test_tolerance_of_a_sum_grows_where_a_plain_loop_cannot_keep_up() -> None:
    assert golden.sum_tolerance(1_000_000) == 1e-10
    assert 1.6e-9 < golden.sum_tolerance(100_000_000) < 1e-8


@pytest.mark.parametrize("data", ["reference", "random"])
@pytest.mark.parametrize("kernel", sorted(ORACLES))
def test_chunks_fit_together(kernel: str, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(size=1000, reps=2, data=data, seed=5)
    at_once = compute(kernel, case)
    monkeypatch.setattr(golden, "CHUNK", 300)
    in_pieces = compute(kernel, case)
    assert in_pieces.checksum == pytest.approx(at_once.checksum, rel=1e-15)
    assert case.size < CHUNK


def test_planted_kernels_are_judged_by_triad() -> None:
    case = Case(100, 1, "reference", 0)
    assert compute("Planted_NOTHING", case) == compute("Planted_OFF_BY_ONE", case) == compute("Stream_TRIAD", case)


def test_a_case_leaves_out_what_has_no_effect() -> None:
    point = {"size": 10, "reps": 20, "data": "reference", "seed": 4793}
    assert case_of("Stream_TRIAD", point) == Case(10, 1, "reference", 0)
    assert case_of("Basic_DAXPY", point) == Case(10, 20, "reference", 0)
    assert case_of("Basic_DAXPY", point | {"data": "random"}) == Case(10, 20, "random", 4793)


def test_unknown_kernel_and_data_are_refused() -> None:
    with pytest.raises(UserError, match=r"golden\.py.*'Basic_NEW'"):
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

    monkeypatch.setattr(golden, "compute", lambda kernel, case: Golden(checksum=-1.0, scale=1.0))
    assert complete("Stream_TRIAD", [small, large], known) == known | {large: Golden(-1.0, 1.0)}
