"""Tables have a row for every planned cell, and numbers only where there is a proven result."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ironsweep import tables
from ironsweep.attempt import Note, write_note
from ironsweep.columns import declared, frame_of, names_of, read_table, write_table
from ironsweep.planned import read_plan
from ironsweep.runner import Programs
from ironsweep.tables import Floors, System
from synthetic import HOST, NVIDIA, golden_of, planned_cell, record_of, sweep

Row = dict[str, Any]
BASELINE = {"host": "cpp_openmp", "nvidia": "cuda"}


def judged(cells: list[Row], records: dict[str, Row], golden: Any) -> list[Row]:
    return tables.judged_cells(System("laptop", cells, records), golden, {})


def compared(cells: list[Row], records: dict[str, Row], golden: Any) -> list[Row]:
    system = System("laptop", cells, records)
    return list(tables.ratios(judged(cells, records, golden), tables.samples_of([system]), BASELINE, Floors([])))


def only(rows: list[Row], **values: Any) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in values.items())]


def test_every_planned_cell_has_a_row() -> None:
    cells, records, golden = sweep()
    gone = cells[5]["id"]
    del records[gone]
    rows = judged(cells, records, golden)
    assert sorted(row["id"] for row in rows) == sorted(cell["id"] for cell in cells)
    (row,) = only(rows, id=gone)
    assert (row["status"], row["reason"]) == ("not_run", "no record")
    assert "median_s" not in row


def test_order_does_not_depend_on_that_of_the_plan() -> None:
    cells, records, golden = sweep()
    assert judged(cells[::-1], records, golden) == judged(cells, records, golden)


def test_planted_kernels_verify_the_whole_system() -> None:
    cells, records, golden = sweep()
    assert all(row["verified"] for row in judged(cells, records, golden))
    caught = only(cells, kernel="Planted_NOTHING")[0]["id"]
    records[caught]["checksums"] = records[only(cells, kernel="Stream_TRIAD")[0]["id"]]["checksums"]
    assert not any(row["verified"] for row in judged(cells, records, golden))


def test_statistics_and_rates_are_rajaperfs() -> None:
    record = record_of(planned_cell(), 1.0) | {
        "seconds_per_rep": [1.0, 2.0, 4.0],
        "bytes_read": 2**30,
        "bytes_written": 2**30,
        "bytes_modified": 2**30,
        "bytes_atomic": 2**29,
        "flops": 6e9,
    }
    row = tables.statistics_of(record)
    assert (row["n"], row["median_s"], row["min_s"]) == (3, 2.0, 1.0)
    assert row["bandwidth_gib_per_s"] == (1 + 1 + 2 * 1.5) / 2
    assert row["gflop_per_s"] == 3.0


def test_a_wrong_result_has_no_time() -> None:
    cells, records, golden = sweep()
    wrong = cells[0]["id"]
    records[wrong]["checksums"][-1] = None
    (row,) = only(judged(cells, records, golden), id=wrong)
    assert row["status"] == "wrong_result" and "median_s" not in row


def test_speed_is_the_baselines_time_over_the_variants() -> None:
    cells, records, golden = sweep()
    for cell in cells:
        time = {"cpp_openmp": 2.0, "cpp_seq": 8.0, "rust_offload": 1.0}[cell["variant"]]
        records[cell["id"]]["seconds_per_rep"] = [time] * 10
    rows = compared(cells, records, golden)
    assert {row["variant"] for row in rows} == {"cpp_seq", "rust_offload"}
    for row in only(rows, region="launch_sync"):
        expected = {"cpp_seq": 0.25, "rust_offload": 2.0}[row["variant"]]
        assert (row["speed"], row["ci_low"], row["ci_high"]) == (expected, expected, expected)
        assert (row["status"], row["n"], row["baseline_n"]) == ("ok", 10, 10)


def test_what_has_no_counterpart_is_said_and_not_divided() -> None:
    cells, records, golden = sweep()
    rows = only(compared(cells, records, golden), region="with_transfers")
    assert len(rows) == 15
    assert {(row["status"], row["reason"]) for row in rows} == {("no_baseline", "no baseline cell has this contract")}
    assert not any("speed" in row for row in rows)


def test_other_repetitions_are_another_contract() -> None:
    cells, records, golden = sweep()
    baseline = only(cells, kernel="Stream_TRIAD", variant="cpp_openmp", size=1000)[0]
    baseline["reps"] = 1000
    rows = only(compared(cells, records, golden), kernel="Stream_TRIAD", size=1000, region="launch_sync")
    assert {row["status"] for row in rows} == {"no_baseline"}
    assert all("reps is 20 in one and 1000 in the other" in row["reason"] for row in rows)


def test_failures_of_either_side_are_named() -> None:
    cells, records, golden = sweep()
    baseline = only(cells, kernel="Stream_TRIAD", variant="cpp_openmp", size=1000)[0]
    variant = only(cells, kernel="Apps_FIR", variant="cpp_seq", size=1000)[0]
    for cell in (baseline, variant):
        records[cell["id"]] |= {"status": "crashed", "message": "signal 11"}
    rows = compared(cells, records, golden)
    (own,) = only(rows, kernel="Apps_FIR", variant="cpp_seq", size=1000)
    assert (own["status"], own["reason"]) == ("crashed", "signal 11")
    (other,) = only(rows, kernel="Stream_TRIAD", variant="cpp_seq", size=1000)
    assert (other["status"], other["reason"]) == ("no_baseline", "the baseline cell is crashed: signal 11")


def test_systems_do_not_mix() -> None:
    host, nvidia = sweep("laptop"), sweep("server", variants=HOST[:2])
    systems = [System("laptop", *host[:2]), System("server", *nvidia[:2])]
    cells = [row for system in systems for row in tables.judged_cells(system, host[2], {})]
    rows = list(tables.ratios(cells, tables.samples_of(systems), BASELINE, Floors([])))
    assert {row["status"] for row in only(rows, system="server")} == {"no_baseline"}


def test_what_no_device_runs_says_whether_it_was_built(tmp_path: Path) -> None:
    folder = tmp_path / "Stream_TRIAD"
    for file in ("native", "baselines/cuda-strict.so"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(b"\x7fELF")
    write_note(Note("unsupported", "compile", "no hipcc"), [folder / "baselines/hip-strict.so"])
    hip = {"variant": "hip", "arch": "gfx90a", "part": "baselines/hip-strict.so"}
    cuda = {"variant": "cuda", "arch": "sm_90", "part": "baselines/cuda-strict.so"}
    nobody = {"status_planned": "not_run", "reason_planned": "no such device"}
    cells = [
        planned_cell(**hip, **nobody),
        planned_cell(**cuda, **nobody),
        planned_cell(**hip, status_planned="excluded", reason_planned="not asked for"),
        planned_cell(**hip),
    ]
    tables.take_over_notes(cells, Programs(tmp_path))
    assert [(cell["status_planned"], cell["reason_planned"]) for cell in cells] == [
        ("unsupported", "compile: no hipcc"),
        ("not_run", "no such device"),
        ("excluded", "not asked for"),
        ("planned", None),
    ]


def test_imported_records_are_cells_of_their_own_system() -> None:
    cells, records, golden = sweep("h200", "nvidia", "sm_90", NVIDIA)
    system = tables.imported_system("from_afar", records.values())
    rows = tables.judged_cells(system, golden, {})
    assert len(rows) == len(cells)
    assert {row["system"] for row in rows} == {"from_afar"}
    assert {row["status"] for row in only(rows, kind="measure")} == {"ok"}
    assert all(row["verified"] for row in rows)


def test_plan_is_read_with_its_types(tmp_path: Path) -> None:
    cell = planned_cell(system="a", id="0000000000001e10") | {"reason_planned": ""}
    with (tmp_path / "cells.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(cell))
        table.writeheader()
        table.writerow(cell)
    (row,) = read_plan(tmp_path / "cells.csv")
    assert row == cell | {"reason_planned": None}
    (system,) = tables.planned_systems([row], [{"system": "a", "id": row["id"]}, {"system": "b", "id": "x"}])
    assert (system.name, system.cells, list(system.records)) == ("a", [row], [row["id"]])


def test_tables_come_back_as_they_were(tmp_path: Path) -> None:
    cells, records, golden = sweep()
    del records[cells[0]["id"]]
    frame = frame_of(judged(cells, records, golden), "cells")
    write_table(frame, tmp_path, "cells")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cells.csv", "cells.parquet"]
    from_parquet = read_table(tmp_path / "cells.parquet")
    pd.testing.assert_frame_equal(from_parquet, frame, check_dtype=False)
    from_csv = pd.read_csv(tmp_path / "cells.csv", dtype={"id": str})
    assert from_csv["median_s"].equals(frame["median_s"])  # to the last bit
    assert from_csv["id"].tolist() == frame["id"].tolist()
    assert list(from_csv.columns) == names_of("cells")
    before = (tmp_path / "cells.csv").read_bytes()
    write_table(frame, tmp_path, "cells")
    assert (tmp_path / "cells.csv").read_bytes() == before


@pytest.mark.parametrize("table", sorted(declared()))
def test_empty_tables_have_their_columns_and_types(table: str, tmp_path: Path) -> None:
    write_table(frame_of([], table), tmp_path, "t")
    assert list(read_table(tmp_path / "t.parquet").columns) == names_of(table)


def test_codegen_rows_are_ordered_and_may_lack_what_an_architecture_does_not_have(tmp_path: Path) -> None:
    files = {
        "b/sm_90.json": {
            "kernel": "B",
            "arch": "sm_90",
            "status": "ok",
            "entries": {"b_two": {"registers": 40}, "b": {"registers": 32, "code_bytes": 640, "arguments": None}},
        },
        "a/sm_90.json": {"kernel": "A", "arch": "sm_90", "status": "build_failed", "reason": "no exp", "entries": {}},
        "a/gfx90a.json": {"kernel": "A", "arch": "gfx90a", "status": "ok", "entries": {"a": {"vgprs": 12}}},
    }
    tuning = {"safety": "safe", "contraction": "strict"}
    files = {name: {**content, **tuning} for name, content in files.items()}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    frame = frame_of(tables.codegen_rows(tmp_path / name for name in files), "codegen")
    assert frame[["kernel", "arch", "entry"]].values.tolist() == [
        ["A", "gfx90a", "a"],
        ["A", "sm_90", ""],
        ["B", "sm_90", "b"],
        ["B", "sm_90", "b_two"],
    ]
    assert frame["registers"].isna().tolist() == [True, True, False, False]
    assert frame["registers"].iloc[2] == 32


def test_only_what_is_built_and_launched_alike_is_compared() -> None:
    cells, records, golden = sweep()
    for cell in cells:
        if cell["variant"] == "cpp_openmp" and cell["kernel"] == "Apps_FIR":
            cell["contraction"] = "contract"
    rows = only(compared(cells, records, golden), region="launch_sync", variant="rust_offload")
    assert {row["status"] for row in only(rows, kernel="Apps_FIR")} == {"no_baseline"}
    assert {row["status"] for row in only(rows, kernel="Basic_DAXPY")} == {"ok"}


def test_bandwidth_is_compared_with_that_of_the_fastest_copy() -> None:
    cells, records, golden = sweep()
    copies = [planned_cell(id=f"{number:016x}", kernel="Stream_COPY", size=1000) for number in (0xA00, 0xA01)]
    for copy, seconds in zip(copies, (2e-3, 1e-3), strict=True):
        golden.setdefault("Stream_COPY", {}).update(golden_of(copy))
        (right,) = {result.checksum for result in golden_of(copy).values()}
        records[copy["id"]] = record_of(copy, right, seconds) | {"seconds_per_rep": [seconds] * 10}
    triad = only(cells, kernel="Stream_TRIAD", variant="cpp_seq", size=1000)[0]
    records[triad["id"]]["seconds_per_rep"] = [4e-3] * 10
    rows = judged([*cells, *copies], records, golden)
    assert only(rows, id=triad["id"])[0]["bandwidth_of_copy"] == 0.25
    assert [row["bandwidth_of_copy"] for row in only(rows, kernel="Stream_COPY")] == [0.5, 1.0]
    assert "bandwidth_of_copy" not in only(rows, kernel="Stream_TRIAD", variant="cpp_seq", size=10_000)[0]
    (ratio,) = only(
        list(tables.ratios(rows, tables.samples_of([System("laptop", cells, records)]), BASELINE, Floors([]))),
        id=triad["id"],
    )
    assert ratio["bandwidth_of_copy"] == 0.25


def test_times_without_a_check_are_a_problem() -> None:
    cells, records, golden = sweep()
    rows = judged(cells, records, golden)
    problems = tables.unproven(only(rows, kernel="Stream_TRIAD", variant="cpp_seq"), "system laptop")
    program = "laptop Stream_TRIAD cpp_seq host host safe_strict"
    assert [problem.reason for problem in problems] == [
        f"{program}: it has times, but no check on {data} data came out right" for data in ("reference", "random")
    ]
    checked = [row | {"kind": "check", "data": data} for row in rows for data in ("reference", "random")]
    assert tables.unproven([*rows, *checked], "system laptop") == []


def test_an_emulated_device_is_judged_and_has_no_numbers() -> None:
    cell = planned_cell(device="amd_emulated", arch="gfx90a", kind="check", passes=1, variant="rust_liboffload")
    golden = golden_of(cell)
    (right,) = {result.checksum for result in golden.values()}
    record = record_of(cell, right, seconds_per_rep=[])
    (row,) = tables.judged_cells(System("laptop", [cell], {cell["id"]: record}), {cell["kernel"]: golden}, {})
    assert row["status"] == "ok" and "median_s" not in row


def test_count_by_status() -> None:
    cells = pd.DataFrame({"status": ["not_run", "ok", "ok"]})
    assert tables.count_by_status(cells) == {"ok": 2, "not_run": 1}


@pytest.mark.parametrize("status", ["ok", "crashed"])
def test_a_failed_check_takes_the_measured_cells_of_its_program_along(status: str) -> None:
    cells, records, golden = sweep()
    for cell in cells:
        if cell["kernel"] == "Stream_TRIAD" and cell["variant"] == "cpp_seq" and cell["kind"] == "measure":
            cell["kind"] = "check"
            records[cell["id"]]["checksums"] = [1.0] * len(records[cell["id"]]["checksums"])
            records[cell["id"]]["status"] = status
            break
    rows = tables.judged_cells(System("laptop", cells, records), golden, {})
    own = [row for row in rows if (row["kernel"], row["variant"]) == ("Stream_TRIAD", "cpp_seq")]
    assert {row["status"] for row in own if row["kind"] == "measure"} == {"wrong_result"}
    assert all("its check on reference data failed" in row["reason"] for row in own if row["kind"] == "measure")
    assert {row["status"] for row in rows if row["kernel"] == "Basic_DAXPY"} == {"ok"}


def test_a_second_measurement_and_a_program_of_two_tunings_are_pairs() -> None:
    images = {"binary_sha256": "b" * 64, "image_sha256": "a" * 64}
    cells = [
        planned_cell(id=f"{number:016x}", variant="rust_liboffload", region="kernel", safety=safety, tuning=safety)
        for number, safety in enumerate(("safe", "unchecked"))
    ]
    golden = {"Stream_TRIAD": golden_of(cells[0])}
    (right,) = {result.checksum for result in golden["Stream_TRIAD"].values()}
    records = {cell["id"]: record_of(cell, right, **images) for cell in cells}
    twin = record_of({**cells[0], "id": "f" * 16}, right, seconds=1.1e-3, **images, twin_of=cells[0]["id"])
    system = System("laptop", cells, {**records, twin["id"]: twin})
    rows = list(tables.noise(tables.judged_cells(system, golden, {}), [system]))
    assert [(row["pair"], row["id"], row["twin_id"]) for row in rows] == [
        ("twin", cells[0]["id"], twin["id"]),
        ("same_program", cells[0]["id"], cells[1]["id"]),
    ]
    assert rows[0]["ratio"] == pytest.approx(1.1, rel=0.01) and rows[1]["ratio"] == pytest.approx(1.0, rel=0.01)
    records[cells[1]["id"]]["image_sha256"] = "c" * 64
    other = System("laptop", cells, records)
    assert list(tables.noise(tables.judged_cells(other, golden, {}), [other])) == []


def test_verdicts_need_enough_pairs_and_take_those_of_their_size() -> None:
    place = {"system": "laptop", "device": "host", "arch": "host", "region": "launch_sync", "status": "ok"}
    quiet = [{**place, "size": 100_000, "ratio": 1.01}] * 5
    loud = [{**place, "size": 1_000, "ratio": 1.3}] * 5
    floors = tables.Floors([*quiet, *loud])
    assert floors.of({**place, "size": 100_000}) == pytest.approx(0.01)
    assert floors.of({**place, "size": 1_000}) == pytest.approx(0.3)
    assert floors.of({**place, "size": 10_000}) == pytest.approx(0.3)  # all sizes together
    cells, records, golden = sweep()
    system = System("laptop", cells, records)
    rows = list(tables.ratios(judged(cells, records, golden), tables.samples_of([system]), BASELINE, floors))
    ok = only(rows, status="ok")
    assert {row["verdict"] for row in only(ok, size=100_000, variant="cpp_seq")} == {"slower"}
    assert {
        row["verdict"]
        for row in tables.ratios(cells_of(system, golden), tables.samples_of([system]), BASELINE, tables.Floors([]))
        if row["status"] == "ok"
    } == {"inconclusive"}


def cells_of(system: System, golden: Any) -> list[Row]:
    return tables.judged_cells(system, golden, {})


def test_means_are_over_kernels_and_say_how_many_are_missing() -> None:
    cells, records, golden = sweep()
    rows = compared(cells, records, golden)
    means = list(tables.geometric_means(rows))
    (mean,) = only(means, variant="cpp_seq", size=10_000, region="launch_sync")
    speeds = [row["speed"] for row in only(rows, variant="cpp_seq", size=10_000, region="launch_sync")]
    assert mean["speed"] == pytest.approx(np.exp(np.mean(np.log(speeds)))) and (mean["n"], mean["planned"]) == (5, 5)
    triad = only(cells, kernel="Stream_TRIAD", variant="cpp_seq", size=100_000)[0]
    del records[triad["id"]]
    means = list(tables.geometric_means(compared(cells, records, golden)))
    (mean,) = only(means, variant="cpp_seq", size=100_000, region="launch_sync")
    assert (mean["n"], mean["planned"]) == (4, 5)
    (mean,) = only(means, variant="cpp_seq", size=None, region="launch_sync")
    assert (mean["n"], mean["planned"]) == (5, 5)  # TRIAD at 10 000 elements
