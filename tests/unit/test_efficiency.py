"""Roofs, scaling and portability against cases computed by hand."""

from typing import Any

import pytest

from ironsweep.efficiency import add_roofs, portability, scaling
from synthetic import planned_cell


def cell(**changes: Any) -> dict[str, Any]:
    known = {"status": "ok", "reason": "", "host": "node1", "device_name": "A", "bandwidth_gib_per_s": 1.0}
    return {**planned_cell(), **known, "gflop_per_s": 1.0, "median_s": 1.0, **changes}


def copy(size: int, bandwidth: float, **changes: Any) -> dict[str, Any]:
    return cell(kernel="Stream_COPY", size=size, bandwidth_gib_per_s=bandwidth, gflop_per_s=0.0, **changes)


def fma(rate: float, **changes: Any) -> dict[str, Any]:
    return cell(kernel="Peak_FMA", bandwidth_gib_per_s=0.01, gflop_per_s=rate, **changes)


def test_bandwidth_is_compared_with_the_copy_at_its_size_and_with_that_of_memory() -> None:
    row = cell(size=1000, bandwidth_gib_per_s=60.0)
    # The copy of 1000 elements stays in a cache, so it is no measure of the memory.
    add_roofs([row, copy(1000, 100.0), copy(1000, 120.0, variant="cpp_openmp"), copy(10**6, 40.0)])
    assert row["bandwidth_of_copy"] == pytest.approx(0.5)
    assert row["bandwidth_of_peak"] == pytest.approx(1.5)
    assert "gflop_of_peak" not in row and "bound" not in row  # no roof was measured


def test_the_lower_roof_is_what_binds() -> None:
    streaming = cell(bandwidth_gib_per_s=30.0, gflop_per_s=2.0)
    computing = cell(bandwidth_gib_per_s=1.0, gflop_per_s=80.0)
    elsewhere = cell(device_name="B", bandwidth_gib_per_s=1.0)
    add_roofs([streaming, computing, elsewhere, copy(10**6, 40.0), fma(90.0), fma(100.0)])
    assert (streaming["roof_fraction"], streaming["bound"]) == (pytest.approx(0.75), "memory")
    assert (computing["roof_fraction"], computing["bound"]) == (pytest.approx(0.80), "compute")
    assert "bandwidth_of_peak" not in elsewhere


def test_failed_cells_are_no_roofs() -> None:
    row = cell(bandwidth_gib_per_s=20.0)
    add_roofs([row, copy(10**6, 40.0), copy(10**7, 400.0, status="wrong_result")])
    assert row["bandwidth_of_peak"] == pytest.approx(0.5)


def test_saturation_is_kept_up_to_the_largest_size() -> None:
    times = {1_000: 4e-6, 10_000: 8e-6, 100_000: 52e-6, 1_000_000: 500e-6}
    rows = [
        cell(size=size, actual_size=size, median_s=time, bandwidth_gib_per_s=size / time / 1e9)
        for size, time in times.items()
    ]
    (found,) = scaling(rows)
    assert found["status"] == "ok" and found["sizes"] == 4
    assert found["saturation_size"] == 100_000  # 1.92e9 of 2e9 elements a second
    assert found["peak_elements_per_s"] == pytest.approx(2e9)
    rows[2]["median_s"] = 60e-6  # falls below again
    assert next(scaling(rows))["saturation_size"] == 1_000_000


def test_one_size_does_not_scale() -> None:
    ok = cell(actual_size=1000)
    (found,) = scaling([ok, cell(size=2000, status="crashed", reason="signal 11")])
    assert (found["status"], found["reason"], found["sizes"]) == ("crashed", "signal 11", 1)
    (found,) = scaling([ok])
    assert (found["status"], found["reason"]) == ("not_run", "one size only")


def platforms(rust_on_amd: dict[str, Any]) -> list[dict[str, Any]]:
    nvidia, amd = {"device": "nvidia", "arch": "sm_90"}, {"device": "amd", "arch": "gfx90a"}
    return [
        cell(**nvidia, variant="cuda", safety="none", median_s=2.0),
        cell(**nvidia, variant="rust_liboffload", median_s=2.5),
        cell(**amd, variant="hip", safety="none", median_s=3.0),
        cell(**amd, variant="rust_liboffload", **rust_on_amd),
    ]


def test_portability_is_the_harmonic_mean_of_efficiencies() -> None:
    rows = list(portability(platforms({"median_s": 6.0})))
    rust = {row["platform"]: row for row in rows if row["variant"] == "rust_liboffload"}
    assert rust["laptop sm_90"]["efficiency"] == pytest.approx(0.8)
    assert rust["laptop gfx90a"]["efficiency"] == pytest.approx(0.5)
    assert [row["portability"] for row in rust.values()] == [pytest.approx(2 / (1 / 0.8 + 1 / 0.5))] * 2
    cuda = {row["platform"]: row for row in rows if row["variant"] == "cuda"}
    assert cuda["laptop sm_90"]["efficiency"] == 1.0 and cuda["laptop sm_90"]["portability"] == 0.0
    assert cuda["laptop gfx90a"]["reason"] == "cuda has no cell for this platform"


def test_what_failed_on_one_platform_is_not_portable() -> None:
    rows = list(portability(platforms({"status": "wrong_result", "reason": "off by one"})))
    rust = {row["platform"]: row for row in rows if row["variant"] == "rust_liboffload"}
    assert (rust["laptop gfx90a"]["efficiency"], rust["laptop gfx90a"]["reason"]) == (0.0, "off by one")
    assert {row["portability"] for row in rust.values()} == {0.0} and rust["laptop sm_90"]["efficiency"] == 0.8


def test_a_platform_where_nothing_ran_is_none() -> None:
    absent = cell(device="amd", arch="gfx942", status="not_run", reason="no such device")
    rows = list(portability([*platforms({"median_s": 3.0}), absent]))
    assert {row["platform"] for row in rows} == {"laptop sm_90", "laptop gfx90a"}
    assert {row["platforms"] for row in rows} == {2}
    elsewhere = cell(device="amd", arch="gfx942", size=7, status="not_run", reason="no such device")
    assert list(portability([elsewhere])) == []
    assert all(row["size"] == 1000 for row in portability([*platforms({"median_s": 3.0}), elsewhere]))
