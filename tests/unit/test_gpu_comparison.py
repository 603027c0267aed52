"""The comparison of Rust with CUDA on a GPU: ratios, targets and tables of synthetic records."""

from __future__ import annotations

import importlib.util
import json
import lzma
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ironsweep.errors import UserError
from synthetic import planned_cell, record_of

PROGRAM = Path(__file__).parents[2] / "benchmarks/gpu_comparison.py"
SMALL, LARGE = 1_000_000, 100_000_000
PASSES = 6

Row = dict[str, Any]


def loaded() -> ModuleType:
    """The program as a module: it is no part of the package."""
    spec = importlib.util.spec_from_file_location("gpu_comparison", PROGRAM)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


program = loaded()


class Records:
    """Records of an H200, made one by one."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(
        self, kernel: str, size: int, variant: str, seconds: float, safety: str = "safe", flops: int = 2, **changes: Any
    ) -> Row:
        """A measured cell, all passes of which took the same time; 24 bytes and `flops` operations an element."""
        cell = planned_cell(
            id=f"{len(self.rows) + 1:016x}",
            kernel=kernel,
            variant=variant,
            safety="none" if variant == "cuda" else safety,
            device="nvidia",
            arch="sm_90",
            size=size,
            passes=PASSES,
            region=changes.pop("region", "kernel"),
            contraction=changes.pop("contraction", "strict"),
            block=changes.pop("block", 256),
            system="h200",
        )
        record = record_of(cell, 1.0, flops=flops * size, seconds_per_rep=[seconds] * PASSES) | changes
        self.rows.append(record)
        return record

    def compared(self, kernel: str, size: int, safe: float, unchecked: float, **changes: Any) -> None:
        """A kernel that takes CUDA as long as a byte takes at 1 GB/s, and Rust so many times as long."""
        cuda = 24 * size / 1e9
        self.add(kernel, size, "cuda", cuda, **changes)
        self.add(kernel, size, "rust_liboffload", safe * cuda, "safe", **changes)
        self.add(kernel, size, "rust_liboffload", unchecked * cuda, "unchecked", **changes)


def found(records: Records, **limits: float) -> list[Any]:
    """All comparisons, without intervals."""
    result: list[Any] = program.comparisons(program.one_block(records.rows), program.Limits(**limits), intervals=False)
    return result


def test_ratios_are_times_over_cudas_of_the_same_contraction_and_region() -> None:
    records = Records()
    records.compared("Stream_TRIAD", LARGE, safe=1.04, unchecked=1.01)
    records.compared("Stream_TRIAD", LARGE, safe=0.9, unchecked=0.8, contraction="contract")
    records.add("Stream_TRIAD", LARGE, "cuda", 3.0, region="launch_sync")
    records.add("Stream_TRIAD", LARGE, "rust_liboffload", 3.3, region="launch_sync")
    records.add("Stream_TRIAD", LARGE, "rust_offload", 6.0, region="launch_sync")
    strict, contract = found(records)
    assert (strict.contraction, contract.contraction) == ("strict", "contract")
    assert strict.safe.ratio == pytest.approx(1.04) and strict.unchecked.ratio == pytest.approx(1.01)
    assert contract.safe.ratio == pytest.approx(0.9) and contract.unchecked.ratio == pytest.approx(0.8)
    assert strict.liboffload_sync.ratio == pytest.approx(1.1) and strict.offload_sync.ratio == pytest.approx(2.0)
    assert contract.liboffload_sync is None and contract.offload_sync is None


def test_intervals_are_the_bootstraps() -> None:
    records = Records()
    records.compared("Stream_TRIAD", LARGE, safe=1.04, unchecked=1.01)
    (one,) = program.comparisons(records.rows, program.Limits())
    assert one.safe.ci_low == pytest.approx(1.04) and one.safe.ci_high == pytest.approx(1.04)


def test_cells_of_another_machine_are_not_compared() -> None:
    records = Records()
    records.add("Stream_TRIAD", LARGE, "cuda", 1.0)
    records.add("Stream_TRIAD", LARGE, "rust_liboffload", 1.0, host="another")
    (one,) = found(records)
    assert one.safe is None


def test_the_nearest_block_stands_for_a_kernel() -> None:
    records = Records()
    for block in (64, 512):
        records.compared("Stream_TRIAD", LARGE, safe=block, unchecked=1.0, block=block)
    records.compared("Apps_MASS3DEA", LARGE, safe=1.0, unchecked=1.0, block=64)
    assert {(r["kernel"], r["block"]) for r in program.one_block(records.rows)} == {
        ("Stream_TRIAD", 64),
        ("Apps_MASS3DEA", 64),
    }
    assert {r["block"] for r in program.one_block(records.rows, 500)} == {512, 64}


def test_bandwidth_is_a_fraction_of_the_copys_at_the_same_size() -> None:
    records = Records()
    records.compared("Stream_COPY", SMALL, safe=1.0, unchecked=1.0)
    records.compared("Stream_COPY", LARGE, safe=1.25, unchecked=1.0)
    records.compared("Stream_TRIAD", LARGE, safe=1.0, unchecked=1.0)
    records.rows[-2] |= {"bytes_modified": 24 * LARGE, "bytes_read": 0, "bytes_written": 0}
    small, large, triad = found(records)
    assert (small.of_copy, large.of_copy) == (pytest.approx(1.0), pytest.approx(0.8))
    assert triad.of_copy == pytest.approx(2.0), "what is modified is read and written"
    assert triad.cuda_of_copy == pytest.approx(1.0)


def test_only_what_exceeds_the_cache_is_judged() -> None:
    records = Records()
    records.compared("Stream_TRIAD", SMALL, safe=2.0, unchecked=2.0)
    assert [one.judged for one in found(records)] == [False]
    assert not program.misses(found(records), program.Targets())
    assert [one.judged for one in found(records, l2=24 * SMALL - 1)] == [True]
    assert len(program.misses(found(records, l2=1e6), program.Targets())) == 3


def test_many_small_launches_are_not_memory_bound() -> None:
    records = Records()
    records.add("Stream_COPY", LARGE, "cuda", 24 * LARGE / 1e12)
    records.compared("Comm_HALO_PACKING", LARGE, 1.0, 1.0, launches_per_rep=1000)
    records.compared("Lcals_HYDRO_2D", LARGE, 1.0, 1.0, launches_per_rep=3)
    bound = {one.kernel: one.memory_bound for one in found(records)}
    # A copy takes 2.4 ms for all of it: 2.4 µs or 800 µs a launch.
    assert not bound["Comm_HALO_PACKING"]
    assert bound["Lcals_HYDRO_2D"]


def test_memory_bound_is_what_has_few_operations_for_a_byte() -> None:
    records = Records()
    records.compared("Stream_TRIAD", LARGE, safe=1.0, unchecked=1.0, flops=24)
    records.compared("Apps_FIR", LARGE, safe=1.0, unchecked=1.0, flops=25)
    records.compared("Apps_MASS3DEA", LARGE, safe=1.0, unchecked=1.0, flops=1)
    assert {one.kernel: one.memory_bound for one in found(records)} == {
        "Stream_TRIAD": True,
        "Apps_FIR": False,
        "Apps_MASS3DEA": False,
    }


@pytest.mark.parametrize(
    ("safe", "unchecked", "missed"),
    [
        (1.0, 1.0, []),
        (1.0004, 1.02, []),
        (1.02, 1.0, ["geometric mean of 2 kernels"]),
        (1.06, 1.0, ["safe takes 1.060 times as long", "geometric mean of 2 kernels"]),
        (0.9, 1.03, ["unchecked takes 1.030 times as long"]),
    ],
)
def test_missed_targets_are_named(safe: float, unchecked: float, missed: list[str]) -> None:
    records = Records()
    records.compared("Stream_TRIAD", LARGE, safe, unchecked, flops=100)
    records.compared("Basic_DAXPY", LARGE, 1.0, 1.0, flops=100)
    lines = program.misses(found(records), program.Targets())
    assert len(lines) == len(missed) and all(text in line for text, line in zip(missed, lines, strict=True)), lines


def test_slow_memory_and_cells_without_a_time_are_misses() -> None:
    records = Records()
    records.compared("Stream_COPY", LARGE, safe=1.0, unchecked=1.0)
    records.compared("Stream_TRIAD", LARGE, safe=1.0, unchecked=1.0)
    for record in records.rows[3:]:
        record["seconds_per_rep"] = [1.2 * seconds for seconds in record["seconds_per_rep"]]
    records.rows[-1] |= {"status": "crashed", "seconds_per_rep": []}
    lines = program.misses(found(records), program.Targets())
    assert lines == [
        "Stream_TRIAD 100,000,000 strict: 83.3% of the copy's bandwidth, not at least 90%",
        "Stream_TRIAD 100,000,000 strict: rust_liboffload unchecked in kernel: crashed",
    ]


def test_geometric_mean_leaves_out_what_is_missing() -> None:
    ratios = [program.Ratio(ratio, math.nan, math.nan) for ratio in (0.5, 2.0, 8.0)]
    assert program.geometric_mean([*ratios, None]) == (pytest.approx(2.0), 3)
    mean, number = program.geometric_mean([None])
    assert math.isnan(mean) and number == 0


def sweep(safe: float) -> Records:
    """Two kernels at two sizes in both contractions."""
    records = Records()
    for kernel in ("Stream_COPY", "Stream_TRIAD"):
        for size in (SMALL, LARGE):
            for contraction in program.CONTRACTIONS:
                records.compared(kernel, size, safe, unchecked=1.0, contraction=contraction)
    return records


def test_report_has_both_tables_and_marks_misses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.xz"
    plain.write_text("".join(f"{json.dumps(row)}\n" for row in sweep(1.1).rows))
    packed.write_bytes(lzma.compress(plain.read_bytes()))
    for path in (plain, packed):
        program.main(["--records", str(path)])
        text = capsys.readouterr().out
        assert "NVIDIA H200, 24 ok" in text
        assert text.count("Largest size") == 2 and text.count("Every size") == 1
        triad = [line for line in text.splitlines() if line.startswith("Stream_TRIAD") and "100,000,000" in line]
        assert len(triad) == 3, "a row in each table"
        assert "!1.100 (1.100-1.100)" in triad[0]
        small = [line for line in text.splitlines() if line.startswith("Stream_TRIAD") and " 1,000,000 " in line]
        assert len(small) == 1 and "in L2" in small[0] and "!" not in small[0]
        assert "!1.100 of 2" in text and "targets missed" in text


@pytest.mark.parametrize(("safe", "code"), [(1.0, None), (1.1, 1)])
def test_check_is_about_the_exit_code(safe: float, code: int | None, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in sweep(safe).rows))
    program.main(["--records", str(path)])
    if code is None:
        program.main(["--records", str(path), "--check"])
        return
    with pytest.raises(SystemExit) as ended:
        program.main(["--records", str(path), "--check"])
    assert ended.value.code == code


def test_records_without_cuda_are_refused_and_damaged_lines_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    records = Records()
    records.add("Stream_TRIAD", LARGE, "rust_liboffload", 1.0)
    path.write_text(f"{json.dumps(records.rows[0])}\nnonsense\n")
    with pytest.raises(UserError, match="no times of cuda"):
        program.main(["--records", str(path)])
    assert f"left out: {path}:2: is not valid JSON" in capsys.readouterr().err


def test_a_bundle_is_run_and_its_records_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, out = tmp_path / "ironsweep-h200", tmp_path / "out.jsonl"
    bundle.mkdir()
    (bundle / "all.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in sweep(1.0).rows))
    (bundle / "run.sh").write_text('#!/bin/sh\n[ "$1" = --out ] && cp "${0%/*}/all.jsonl" "$2"\n')
    (bundle / "run.sh").chmod(0o755)
    program.main(["--bundle", str(bundle), "--out", str(out)])
    assert "Every size" in capsys.readouterr().out


def test_a_bundle_that_fails_or_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/sh\nexit 69\n")
    (tmp_path / "run.sh").chmod(0o755)
    with pytest.raises(UserError, match="exit code 69"):
        program.main(["--bundle", str(tmp_path)])
    with pytest.raises(UserError, match=r"has no run\.sh"):
        program.main(["--bundle", str(tmp_path / "absent")])
