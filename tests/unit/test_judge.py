"""Every way in which a cell can end, and the proof that wrong kernels are caught."""

import base64
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironsweep.checksum import chunk_checksum
from ironsweep.golden import case_of, outputs
from ironsweep.judge import Reference, Status, Verdict, judge, planted_ok, read_references
from synthetic import KERNELS, golden_of, planned_cell, record_of

RESOURCES = Path(__file__).parents[2] / "workflow/resources"


def right_checksum(cell: dict[str, Any]) -> float:
    return golden_of(cell)[case_of(cell["kernel"], cell)].checksum


def judged(cell: dict[str, Any], record: dict[str, Any] | None, **more: Any) -> Verdict:
    return judge(cell, record, golden_of(cell), **more)


CELL = planned_cell()
RIGHT = right_checksum(CELL)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [1, 1000])
def test_right_results_are_ok(kernel: str, size: int) -> None:
    cell = planned_cell(kernel=kernel, size=size)
    assert judged(cell, record_of(cell, right_checksum(cell))) == Verdict(Status.OK)


def test_what_the_plan_ruled_out_keeps_its_reason() -> None:
    cell = planned_cell(status_planned="not_run", reason_planned="no NVIDIA GPU in system laptop")
    assert judged(cell, None) == Verdict(Status.NOT_RUN, "no NVIDIA GPU in system laptop")


def test_a_program_that_could_not_be_built_has_more_to_say_than_the_plan() -> None:
    cell = planned_cell(status_planned="not_run", reason_planned="no NVIDIA GPU in system laptop")
    record = record_of(cell, None, status="unsupported", message="ptxas is missing")
    assert judged(cell, record) == Verdict(Status.UNSUPPORTED, "ptxas is missing")


def test_what_is_excluded_stays_so_whatever_was_measured_before() -> None:
    cell = planned_cell(status_planned="excluded", reason_planned="short nights")
    assert judged(cell, record_of(cell, RIGHT)) == Verdict(Status.EXCLUDED, "short nights")


def test_a_check_is_not_measured_and_may_be_short() -> None:
    cell = planned_cell(kind="check")
    record = record_of(cell, right_checksum(cell), clock_resolution_s=1.0)
    assert judged(cell, record) == Verdict(Status.OK)


def test_without_a_record_a_cell_was_not_run() -> None:
    assert judged(CELL, None) == Verdict(Status.NOT_RUN, "no record")


@pytest.mark.parametrize("status", ["unsupported", "build_failed", "crashed", "timeout", "out_of_memory", "not_run"])
def test_reported_failures_are_taken_over(status: str) -> None:
    record = record_of(CELL, None, status=status, message="why")
    assert judged(CELL, record) == Verdict(Status(status), "why")


def test_a_nan_in_any_pass_is_wrong() -> None:
    record = record_of(CELL, RIGHT)
    record["checksums"][0] = None
    assert judged(CELL, record) == Verdict(Status.WRONG_RESULT, "pass 1: checksum is not a finite number")
    record["checksums"][0] = math.nan
    assert judged(CELL, record).status == Status.WRONG_RESULT


def test_one_wrong_pass_of_many_is_wrong() -> None:
    record = record_of(CELL, RIGHT)
    record["checksums"][6] = RIGHT * (1 + 1e-13)
    verdict = judged(CELL, record)
    assert verdict.status == Status.WRONG_RESULT
    assert verdict.reason.startswith("pass 7: checksum ")
    assert "golden result" in verdict.reason and "tolerance 1e-14" in verdict.reason


@pytest.mark.parametrize(
    ("kernel", "deviation", "status"),
    [
        ("Stream_TRIAD", 0.5e-14, Status.OK),
        ("Stream_TRIAD", 2e-14, Status.WRONG_RESULT),
        ("Basic_DAXPY", 0.9e-10, Status.OK),
        ("Basic_DAXPY", 1.1e-10, Status.WRONG_RESULT),
        ("Algorithm_REDUCE_SUM", 1.1e-10, Status.WRONG_RESULT),
    ],
)
def test_tolerance_is_that_of_the_kernel(kernel: str, deviation: float, status: Status) -> None:
    cell = planned_cell(kernel=kernel)
    assert judged(cell, record_of(cell, right_checksum(cell) * (1 + deviation))).status == status


def test_rajaperfs_own_checksum_is_asked_where_it_covers_the_cell() -> None:
    record = record_of(CELL, RIGHT)
    references = {("Stream_TRIAD", 1000, 20): Reference(RIGHT * 1.01, 1e-14)}
    verdict = judged(CELL, record, references=references)
    assert verdict.status == Status.WRONG_RESULT and "RAJAPerf's reference" in verdict.reason
    other_reps = {("Stream_TRIAD", 1000, 1): Reference(1.0, 1e-14)}
    assert judged(CELL, record, references=other_reps).status == Status.OK


def test_references_are_those_of_the_default_tuning() -> None:
    references = read_references(RESOURCES / "rajaperf_reference_checksums.csv")
    assert references["Algorithm_REDUCE_SUM", 1_000_000, 50] == Reference(199999.93337310943753, 1e-10)


def test_missing_golden_result_is_not_trusted() -> None:
    verdict = judge(CELL, record_of(CELL, RIGHT), {})
    assert verdict.status == Status.WRONG_RESULT and "no golden result" in verdict.reason


@pytest.mark.parametrize(
    ("attested", "status"),
    [
        ({"device_vendor": "nvidia", "device_arch": "sm_90"}, Status.OK),
        ({"device_vendor": "nvidia", "device_arch": "sm_80"}, Status.WRONG_DEVICE),
        ({"device_vendor": "host", "device_arch": "x86_64"}, Status.WRONG_DEVICE),
        ({"device_vendor": None, "device_arch": None}, Status.WRONG_DEVICE),
    ],
)
def test_device_must_be_the_one_asked_for(attested: dict[str, Any], status: Status) -> None:
    cell = planned_cell(device="nvidia", arch="sm_90")
    assert judged(cell, record_of(cell, RIGHT, **attested)).status == status


def test_features_of_an_amd_device_and_the_processor_of_a_host_do_not_matter() -> None:
    amd = planned_cell(device="amd", arch="gfx90a")
    assert judged(amd, record_of(amd, RIGHT, device_arch="gfx90a:sramecc+:xnack-")).status == Status.OK
    assert judged(CELL, record_of(CELL, RIGHT, device_arch="x86_64")).status == Status.OK


def test_fewer_elements_or_passes_than_asked_for_are_wrong() -> None:
    assert "999 elements" in judged(CELL, record_of(CELL, RIGHT, actual_size=999)).reason
    assert "1 values for 10 passes" in judged(CELL, record_of(CELL, RIGHT, checksums=[RIGHT])).reason
    assert "2 values instead of 10" in judged(CELL, record_of(CELL, RIGHT, seconds_per_rep=[1e-3] * 2)).reason


def test_not_every_pass_needs_to_be_checked() -> None:
    assert judged(CELL, record_of(CELL, RIGHT, checksums=[RIGHT, RIGHT])) == Verdict(Status.OK)


def test_a_size_may_stand_for_another_one() -> None:
    cell = planned_cell(kernel="Apps_MATVEC_3D_STENCIL", size=10_000, kind="check")
    right = right_checksum(cell)
    assert judged(cell, record_of(cell, right, actual_size=9261)) == Verdict(Status.OK)
    references = {("Apps_MATVEC_3D_STENCIL", 9261, 20): Reference(right * 1.01, 1e-10)}
    verdict = judged(cell, record_of(cell, right, actual_size=9261), references=references)
    assert "RAJAPerf's reference" in verdict.reason


def test_passes_agree_in_every_bit_but_for_sums_of_atomic_additions() -> None:
    record = record_of(CELL, RIGHT)
    record["checksums"][4] = np.nextafter(RIGHT, 2 * RIGHT)
    verdict = judged(CELL, record)
    assert verdict.status == Status.WRONG_RESULT and "must agree in every bit" in verdict.reason
    cell = planned_cell(kernel="Algorithm_REDUCE_SUM")
    right = right_checksum(cell)
    record = record_of(cell, right)
    record["checksums"][4] = np.nextafter(right, 2 * right)
    assert judged(cell, record) == Verdict(Status.OK)


def test_an_emulated_device_has_no_times() -> None:
    cell = planned_cell(device="amd_emulated", arch="gfx90a", kind="check", passes=1)
    record = record_of(cell, RIGHT, seconds_per_rep=[])
    assert judged(cell, record) == Verdict(Status.OK)
    assert judged(cell, record_of(cell, RIGHT)).status == Status.WRONG_RESULT


def test_a_pass_below_the_resolution_of_its_clock_is_no_measurement() -> None:
    record = record_of(CELL, RIGHT, seconds=1e-3)
    record["seconds_per_rep"][3] = 4e-9  # 20 repetitions: 80 ns
    verdict = judged(CELL, record)
    assert verdict.status == Status.BELOW_RESOLUTION and "8e-08 s" in verdict.reason
    assert judged(CELL, record | {"clock_resolution_s": 8e-10}).status == Status.OK
    assert judged(CELL, record | {"clock_resolution_s": None}).status == Status.BELOW_RESOLUTION


def test_wrong_counts_more_than_too_short() -> None:
    record = record_of(CELL, RIGHT * 2, seconds=1e-12)
    assert judged(CELL, record).status == Status.WRONG_RESULT


class TestElements:
    """Random data is compared element by element."""

    cell = planned_cell(kind="check", data="random", reps=1, passes=2)

    def judged(self, values: np.ndarray, folder: Path, kernel: str = "Stream_TRIAD") -> Verdict:
        cell = self.cell | {"kernel": kernel}
        (folder / "x.f64").write_bytes(values.astype("<f8").tobytes())
        return judged(cell, record_of(cell, right_checksum(cell), dump="x.f64"), dumps=folder)

    def expected(self, kernel: str = "Stream_TRIAD") -> np.ndarray:
        return np.concatenate(list(outputs(kernel, case_of(kernel, self.cell))))

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_right_elements(self, kernel: str, tmp_path: Path) -> None:
        assert self.judged(self.expected(kernel), tmp_path, kernel) == Verdict(Status.OK)

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_one_wrong_element(self, kernel: str, tmp_path: Path) -> None:
        values = self.expected(kernel)
        at = min(17, values.size - 1)
        values[at] += 1e-6
        verdict = self.judged(values, tmp_path, kernel)
        assert verdict.status == Status.WRONG_RESULT and verdict.reason.startswith(f"element {at} is ")

    def test_strict_arithmetic_is_compared_exactly(self, tmp_path: Path) -> None:
        values = self.expected()
        values[3] = np.nextafter(values[3], 9)
        assert self.judged(values, tmp_path).status == Status.WRONG_RESULT

    def test_contracted_arithmetic_has_a_bound(self, tmp_path: Path) -> None:
        values = self.expected()
        values[3] = np.nextafter(values[3], 9)
        (tmp_path / "x.f64").write_bytes(values.astype("<f8").tobytes())
        cell = self.cell | {"contraction": "contract"}
        record = record_of(cell, right_checksum(cell), dump="x.f64")
        assert judged(cell, record, dumps=tmp_path) == Verdict(Status.OK)
        values[3] += 1e-12
        (tmp_path / "x.f64").write_bytes(values.astype("<f8").tobytes())
        assert judged(cell, record, dumps=tmp_path).status == Status.WRONG_RESULT

    def test_exp_may_differ_in_the_last_places(self, tmp_path: Path) -> None:
        values = self.expected("Lcals_PLANCKIAN")
        values[:1000] *= 1 + 1e-15  # the other array, of quotients, must be exact
        assert self.judged(values, tmp_path, "Lcals_PLANCKIAN").status == Status.OK
        values[:1000] *= 1 + 1e-13
        assert self.judged(values, tmp_path, "Lcals_PLANCKIAN").status == Status.WRONG_RESULT

    def test_nan_and_wrong_lengths(self, tmp_path: Path) -> None:
        values = self.expected()
        assert self.judged(values[:-1], tmp_path).status == Status.WRONG_RESULT
        assert self.judged(np.append(values, 0.0), tmp_path).status == Status.WRONG_RESULT
        values[0] = math.nan
        assert self.judged(values, tmp_path).status == Status.WRONG_RESULT

    def test_elements_inside_the_record(self) -> None:
        packed = base64.b64encode(zlib.compress(self.expected().astype("<f8").tobytes())).decode()
        record = record_of(self.cell, right_checksum(self.cell), dump_data=packed)
        assert judged(self.cell, record).status == Status.OK

    def test_without_elements_there_is_no_verdict(self, tmp_path: Path) -> None:
        record = record_of(self.cell, right_checksum(self.cell), dump="gone.f64")
        verdict = judged(self.cell, record, dumps=tmp_path)
        assert verdict == Verdict(Status.NOT_RUN, "no elements were dumped, so none could be compared")


def planted(*statuses: str) -> list[dict[str, str]]:
    return [{"kind": "planted", "status": status, "device": "host"} for status in statuses]


@pytest.mark.parametrize(
    ("cells", "verified"),
    [
        (planted("wrong_result", "wrong_result"), True),
        (planted("wrong_result", "unsupported", "not_run"), True),
        (planted("wrong_result", "ok"), False),
        (planted("wrong_result", "below_resolution"), False),
        (planted("unsupported", "crashed"), False),
        ([{"kind": "measure", "status": "wrong_result", "device": "host"}], False),
        ([*planted("wrong_result"), {"kind": "measure", "status": "ok", "device": "nvidia"}], False),
        ([], False),
    ],
)
def test_a_run_is_verified_if_every_planted_kernel_that_ran_was_caught(cells: list[Any], verified: bool) -> None:
    assert planted_ok(cells) is verified


def test_planted_kernels_as_they_really_behave() -> None:
    off_by_one = planned_cell(kernel="Planted_OFF_BY_ONE", kind="planted", size=10_000, reps=1, passes=1)
    b = 0.1 * (np.arange(10_000) + 1.1) / (np.arange(10_000) + 1.12345)
    c, alpha = 2 * b, 0.1 * 1.1 / 1.12345
    wrong = chunk_checksum(np.append(b[1:], b[-1]) + alpha * c)
    assert judged(off_by_one, record_of(off_by_one, wrong)).status == Status.WRONG_RESULT
    assert judged(off_by_one, record_of(off_by_one, chunk_checksum(b + alpha * c))).status == Status.OK
    nothing = off_by_one | {"kernel": "Planted_NOTHING"}
    assert judged(nothing, record_of(nothing, 0.0)).status == Status.WRONG_RESULT
