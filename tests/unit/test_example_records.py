"""The records in examples/h200 are whole, and what can be recomputed quickly is right."""

from __future__ import annotations

from pathlib import Path

from ironsweep import bundle, tables
from ironsweep.golden import case_of, compute
from ironsweep.kernels import discover
from ironsweep.records import read_file

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "examples/h200/h200.jsonl.xz"
QUICK = 100_000
# Kernels that the suite did not have yet when these records were made.
LATER = {"Peak_FMA"}


def test_every_line_is_a_record() -> None:
    content = read_file(RECORDS)
    assert not content.problems
    assert len(content.records) == 3334
    assert {record["status"] for record in content.records} == {"ok"}
    assert {record["device_name"] for record in content.records} == {"NVIDIA H200"}
    largest = [r for r in content.records if r["kind"] == "measure" and r["size"] == 100_000_000]
    forms = {(r["kernel"], r["variant"], r["safety"], r["contraction"]) for r in largest if r["region"] == "kernel"}
    kernels = {name for name, kernel in discover(ROOT).items() if not kernel.planted}
    assert kernels > LATER
    variants = (("rust_liboffload", "safe"), ("rust_liboffload", "unchecked"), ("cuda", "none"))
    assert forms == {(k, v, s, c) for k in kernels - LATER for v, s in variants for c in ("strict", "contract")}


def test_small_results_are_right(tmp_path: Path) -> None:
    bundle.take(RECORDS, tmp_path / "h200.jsonl", tmp_path / "dumps")
    records = [record for record in read_file(tmp_path / "h200.jsonl").records if record["size"] <= QUICK]
    golden = {
        kernel: {case: compute(kernel, case) for case in {case_of(kernel, r) for r in records if r["kernel"] == kernel}}
        for kernel in {record["kernel"] for record in records}
    }
    rows = tables.judged_cells(tables.imported_system("h200", records, tmp_path / "dumps"), golden, {})
    expected = {"check": "ok", "measure": "ok", "planted": "wrong_result"}
    wrong = [
        (row["id"], row["kernel"], row["status"], row["reason"])
        for row in rows
        if row["status"] != expected[row["kind"]]
    ]
    assert not wrong
