"""What may be compared, how alike it is, and what a ratio says beside the noise."""

import math

import pytest

from ironsweep.comparison import (
    IncomparableError,
    Verdict,
    compiler_of,
    noise_floor,
    parity,
    require_comparable,
    verdict,
)
from ironsweep.statistics import Ratio
from synthetic import planned_cell


def cell(**changes: object) -> dict[str, object]:
    attested = {"device_name": "Some CPU", "host": "node1", "precision": "f64"}
    return {**planned_cell(), **attested, **changes}


def test_cells_of_one_contract_may_be_compared() -> None:
    require_comparable(cell(), cell(variant="cpp_openmp"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("region", "with_transfers"),
        ("device", "nvidia"),
        ("arch", "sm_90"),
        ("device_name", "Another CPU"),
        ("host", "node2"),
        ("data", "random"),
        ("size", 7),
        ("reps", 1),
        ("precision", "f32"),
        ("contraction", "contract"),
        ("block", 128),
    ],
)
def test_cells_of_other_contracts_are_refused_with_the_difference(field: str, value: object) -> None:
    with pytest.raises(IncomparableError) as refusal:
        require_comparable(cell(), cell(variant="cuda", **{field: value}))
    assert f"{field} is {cell()[field]} in one and {value} in the other" in str(refusal.value)
    assert "Stream_TRIAD rust_offload cannot be compared with cuda" in str(refusal.value)


def test_what_differs_beside_the_contract_is_named_and_nothing_else() -> None:
    rust = cell(clock="CLOCK_MONOTONIC", runtime="liboffload", threads=1, device_uid="a")
    cuda = cell(clock="CLOCK_MONOTONIC", runtime="CUDA 13.0", threads=1, device_uid="a", safety="none")
    assert parity(rust, cuda) == "bounds checks: safe / none; runtime: liboffload / CUDA 13.0"
    assert parity(rust, rust) == ""
    assert parity({**rust, "compiler": "rustc 1.97.1"}, rust) == "compiler: rustc 1.97.1 / unknown"


def test_the_noise_floor_is_what_one_pair_in_twenty_exceeds() -> None:
    assert noise_floor([1.01, 1 / 1.02, 1.0, 1.03, 1 / 1.05]) == pytest.approx(0.05)
    many = [1.001] * 95 + [1.2] * 5
    assert noise_floor(many) == pytest.approx(0.2)  # the next larger, not in between
    assert noise_floor([1.001] * 97 + [1.2] * 3) == pytest.approx(0.001)
    assert math.isnan(noise_floor([1.01] * 4))


@pytest.mark.parametrize(
    ("low", "high", "floor", "expected"),
    [
        (1.03, 1.05, 0.02, Verdict.FASTER),
        (0.90, 0.97, 0.02, Verdict.SLOWER),
        (0.99, 1.01, 0.02, Verdict.SAME),
        (1.001, 1.002, 0.02, Verdict.SAME),
        (1.01, 1.05, 0.02, Verdict.INCONCLUSIVE),
        (0.90, 1.10, 0.02, Verdict.INCONCLUSIVE),
        (math.nan, math.nan, 0.02, Verdict.INCONCLUSIVE),
        (1.5, 1.6, math.nan, Verdict.INCONCLUSIVE),
    ],
)
def test_the_whole_interval_decides(low: float, high: float, floor: float, expected: Verdict) -> None:
    assert verdict(Ratio(1.0, low, high), floor) == expected


def test_compilers_come_from_the_toolchain() -> None:
    toolchain = {"tools": {"rustc": {"version": "1.97.1"}, "llc": {"path": "/usr/bin/llc"}}}
    assert compiler_of("rust_liboffload", toolchain) == "rustc 1.97.1, llc (version unknown)"
