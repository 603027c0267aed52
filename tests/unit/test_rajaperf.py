"""RAJAPerf's files and ours are read by the same code; nothing that was not measured becomes a number."""

import json
import lzma
import math
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from ironsweep import rajaperf, rajaperf_import, tables
from ironsweep.columns import frame_of, names_of, read_table, rows_of, write_table
from ironsweep.errors import UserError
from ironsweep.golden import case_of, compute
from ironsweep.judge import read_references
from ironsweep.rajaperf import read_listing, read_report
from ironsweep.rajaperf_import import beside, read_folder
from ironsweep.records import read_file
from synthetic import NVIDIA, planned_cell, sweep

ROOT = Path(__file__).parents[2]
REFERENCES = ROOT / "workflow/resources/rajaperf_reference_checksums.csv"
BASELINE = {"host": "cpp_openmp", "nvidia": "cuda", "amd": "hip"}
Row = dict[str, Any]

# As RAJAPerf v2025.12 lays them out. Sizes, repetitions, bytes and operations are RAJAPerf's defaults.
TIMING = """\
Mean Runtime Report (sec.)  ,  ,  ,\x20
Variant             , Base_Seq , Base_CUDA , RAJA_CUDA
Tuning              , default  , block_256 , block_256
Algorithm_REDUCE_SUM , 0.025000 ,   Not run ,  0.000900
Basic_DAXPY         , 0.150000 ,  0.003000 ,  0.003100
Stream_TRIAD        , 0.400000 ,  0.009876 ,   Not run
"""
DETAILS = """\
Kernels run without MPI
Kernel               , Problem size ,  Reps , Iterations/rep , Kernels/rep , BytesMoved/rep , FLOPS/rep
Algorithm_REDUCE_SUM ,      1000000 ,    50 ,        1000000 ,           1 ,        8000000 ,   1000000
Basic_DAXPY          ,      1000000 ,   500 ,        1000000 ,           1 ,       24000000 ,   2000000
Stream_TRIAD         ,      1000000 ,  1000 ,        1000000 ,           1 ,       24000000 ,   2000000
"""
RUN_DATA = """\
Kernels run without MPI
Kernel               , Variant   , Tuning    , Problem size , Checksum , Mean time per rep (sec.)
Algorithm_REDUCE_SUM , Base_Seq  , default   ,      1000000 , PASSED   ,              0.000500000
Algorithm_REDUCE_SUM , RAJA_CUDA , block_256 ,      1000000 , PASSED   ,              1.80000e-05
Basic_DAXPY          , Base_Seq  , default   ,      1000000 , PASSED   ,              0.000300000
Basic_DAXPY          , Base_CUDA , block_256 ,      1000000 , PASSED   ,              6.00000e-06
Basic_DAXPY          , RAJA_CUDA , block_256 ,      1000000 , FAILED   ,              6.20000e-06
Stream_TRIAD         , Base_Seq  , default   ,      1000000 , PASSED   ,              0.000400000
Stream_TRIAD         , Base_CUDA , block_256 ,      1000000 , PASSED   ,              9.87600e-06
"""
FACTS = """\
passes: 10
host: node1
precision: f64
devices:
  nvidia: {arch: sm_90, device_name: NVIDIA H200, contraction: strict}
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder as RAJAPerf leaves it."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "RAJAPerf-timing-Average.csv").write_text(TIMING)
    (folder / "RAJAPerf-kernel-details.csv").write_text(DETAILS)
    (folder / "RAJAPerf-kernel-run-data.csv").write_text(RUN_DATA)
    return folder


def of(rows: list[Row], kernel: str, variant: str) -> Row:
    (row,) = (row for row in rows if (row["kernel"], row["variant"]) == (kernel, variant))
    return row


# --- Reading -------------------------------------------------------------------------------------------------------


def test_a_report_of_rajaperf_is_read(run: Path) -> None:
    report = read_report(run / "RAJAPerf-timing-Average.csv")
    assert (report.combiner, report.reference, report.decimals) == ("Average", None, 6)
    assert report.columns == [("Base_Seq", "default"), ("Base_CUDA", "block_256"), ("RAJA_CUDA", "block_256")]
    assert report.values["Stream_TRIAD", "Base_CUDA", "block_256"] == 0.009876
    assert report.values["Stream_TRIAD", "RAJA_CUDA", "block_256"] is None
    assert len(report.values) == 9


def test_reports_of_earlier_versions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "RAJAPerf-speedup.csv"
    rows = "Stream_TRIAD , 1.000 , 40.502\n"
    variants = "Kernel       , Base_Seq , RAJA_CUDA\n"
    title = "Speedup Report (T_ref/T_var): ref var = Base_Seq  ,  ,\n"
    path.write_text(title + variants + rows)
    without = read_report(path)
    path.write_text(f"Max {title}{variants}Kernel , default , block_128\n{rows}")
    with_tunings = read_report(path)
    assert (without.combiner, with_tunings.combiner) == ("Average", "Maximum")
    assert without.reference == with_tunings.reference == "Base_Seq"
    assert without.values["Stream_TRIAD", "RAJA_CUDA", "default"] == 40.502
    assert with_tunings.values["Stream_TRIAD", "RAJA_CUDA", "block_128"] == 40.502


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("Mean Runtime Report (sec.)", "kernel,cuda", 1, "no timing or speedup report"),
        ("Variant ", "Nothing ", 2, "variants is missing"),
        (" , RAJA_CUDA", "", 3, "3 tunings for 2 variants"),
        ("0.400000 ,  0.009876 ,   Not run", "0.400000 ,  0.009876", 6, "2 values for 3 columns"),
        ("0.009876", "0.00x876", 6, "'0.00x876' is neither a number nor 'Not run'"),
        ("0.009876", "nan", 6, "no time"),
        ("0.009876", "-0.009876", 6, "no time"),
        ("Basic_DAXPY  ", "Stream_TRIAD ", 6, "Stream_TRIAD Base_Seq default is there twice"),
        ("Not run\n", "Not run", 6, "cut off"),
    ],
)
def test_a_malformed_report_is_refused_in_one_line(run: Path, old: str, new: str, line: int, said: str) -> None:
    path = run / "RAJAPerf-timing-Average.csv"
    assert old in TIMING
    path.write_text(TIMING.replace(old, new, 1) if old != "Not run\n" else TIMING.removesuffix("\n"))
    with pytest.raises(UserError) as error:
        read_folder(run, "other")
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"\n\n\n"])
def test_what_is_no_report_is_refused(run: Path, content: bytes) -> None:
    (run / "RAJAPerf-timing-Average.csv").write_bytes(content)
    with pytest.raises(UserError, match=r"RAJAPerf-timing-Average\.csv:"):
        read_folder(run, "other")


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("kernel-details.csv", "1000000 ,    50", "1000000 ,    0", ":3: Algorithm_REDUCE_SUM: Reps must be a whole"),
        ("kernel-details.csv", "1000000 ,    50", "1e6 ,    50", ":3: Algorithm_REDUCE_SUM: Problem size must be"),
        ("kernel-details.csv", " ,  Reps", " ,  Times", ":3: has no column 'Reps'"),
        ("kernel-details.csv", "Stream_TRIAD ", "Basic_DAXPY ", ":5: Basic_DAXPY is there twice"),
        ("kernel-details.csv", "Stream_TRIAD ", "Stream_ADD ", "Stream_TRIAD is not among"),
        ("kernel-details.csv", "   24000000 ,   2000000\nStream", "24000000\nStream", ":4: has 6 values for 7 columns"),
        ("kernel-run-data.csv", " Checksum ", " Sum ", "no column 'Checksum'"),
    ],
)
def test_malformed_listings_are_refused(run: Path, file: str, old: str, new: str, said: str) -> None:
    path = run / f"RAJAPerf-{file}"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(UserError) as error:
        read_folder(run, "other")
    assert said in str(error.value) and "\n" not in str(error.value)


def test_folders_that_are_no_output_of_rajaperf_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no folder"):
        read_folder(tmp_path / "nothing", "other")
    (run / "RAJAPerf-kernel-details.csv").unlink()
    with pytest.raises(UserError, match="is not there"):
        read_folder(run, "other")
    (run / "RAJAPerf-timing-Average.csv").rename(run / "RAJAPerf-timing-Minimum.csv")
    (run / "RAJAPerf-kernels.csv").write_text(DETAILS)
    with pytest.raises(UserError, match="not what its name says"):
        read_folder(run, "other")
    (run / "RAJAPerf-timing-Minimum.csv").unlink()
    with pytest.raises(UserError, match="no output of RAJAPerf"):
        read_folder(run, "other")


# --- Import --------------------------------------------------------------------------------------------------------


def test_an_import_says_what_is_known_and_nothing_else(run: Path) -> None:
    rows = read_folder(run, "other")
    assert len(rows) == 9
    triad = of(rows, "Stream_TRIAD", "Base_CUDA")
    assert triad["mean_s"] == pytest.approx(9.876e-6)
    assert triad["rounding_s"] == pytest.approx(0.5e-6 / 1000)
    assert (triad["device"], triad["region"], triad["actual_size"], triad["reps"]) == (
        "nvidia",
        "kernel",
        1_000_000,
        1000,
    )
    assert (triad["block"], triad["ranks"], triad["checksum"], triad["status"]) == (256, 1, "PASSED", "ok")
    assert {triad[name] for name in ("arch", "device_name", "host", "passes", "contraction", "precision")} == {None}
    assert not {"min_s", "max_s"} & set(triad)
    sequential = of(rows, "Stream_TRIAD", "Base_Seq")
    assert (sequential["device"], sequential["region"], sequential["block"]) == ("host", "launch_sync", None)
    assert of(rows, "Stream_TRIAD", "RAJA_CUDA")["status"] == "not_run"
    assert "mean_s" not in of(rows, "Stream_TRIAD", "RAJA_CUDA")
    assert of(rows, "Basic_DAXPY", "RAJA_CUDA")["status"] == "wrong_result"


def test_a_time_that_is_shown_as_zero_is_none(run: Path) -> None:
    (run / "RAJAPerf-timing-Average.csv").write_text(TIMING.replace("0.009876", "0.000000"))
    row = of(read_folder(run, "other"), "Stream_TRIAD", "Base_CUDA")
    assert row["status"] == "below_resolution"
    assert "mean_s" not in row


def test_runs_of_several_sizes_lie_in_folders(run: Path) -> None:
    for size in (10_000, 100_000):
        place = run / f"SIZE_{size:09d}"
        place.mkdir()
        (place / "RAJAPerf-timing-Average.csv").write_text(TIMING)
        (place / "RAJAPerf-timing-Minimum.csv").write_text(TIMING.replace("Mean", "Min").replace("0.009876", "0.009"))
        (place / "RAJAPerf-kernels.csv").write_text(DETAILS.replace("1000000 ,  ", f"{size} ,  "))
    rows = [
        row for row in read_folder(run, "other") if row["kernel"] == "Stream_TRIAD" and row["variant"] == "Base_CUDA"
    ]
    assert {row["actual_size"] for row in rows} == {10_000, 100_000, 1_000_000}
    assert [row["min_s"] for row in rows if "min_s" in row] == pytest.approx([9e-6, 9e-6])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("passes: many", "passes: must be a whole number, not 'many'"),
        ("passes: true", "passes: must be a whole number"),
        ("passes: 0", "passes: is at least 1"),
        ("machine: a", "'machine' is not one of passes, host"),
        ("devices: {gpu: {}}", "'gpu' is not one of host, nvidia, amd"),
        ("devices: {nvidia: {contraction: on}}", "contraction: must be text"),
        ("devices: {nvidia: {contraction: fast}}", "is strict or contract, not 'fast'"),
        ("- a", "must be keys with values"),
        ("a: [", "cannot be read as YAML"),
    ],
)
def test_what_a_person_says_is_checked(run: Path, text: str, said: str) -> None:
    (run / "ironsweep.yaml").write_text(text)
    with pytest.raises(UserError) as error:
        read_folder(run, "other")
    assert str(error.value).startswith(f"{run / 'ironsweep.yaml'}: ")
    assert said in str(error.value) and "\n" not in str(error.value)


# --- Beside our cells ----------------------------------------------------------------------------------------------


def cell_of(**changes: Any) -> Row:
    """A judged CUDA cell with RAJAPerf's default size and repetitions."""
    start = planned_cell(
        kernel="Stream_TRIAD",
        variant="cuda",
        device="nvidia",
        arch="sm_90",
        safety="none",
        tuning="strict_block_256",
        region="kernel",
        size=1_000_000,
        reps=1000,
    )
    measured = {"actual_size": 1_000_000, "status": "ok", "reason": "", "precision": "f64", "host": "node1"}
    return start | measured | {"device_name": "NVIDIA H200"} | changes


SECONDS = [9e-6, 9.5e-6, 10e-6]


def compared(rows: list[Row], **changes: Any) -> list[Row]:
    cell = cell_of(**changes)
    return list(beside(rows, [cell], {(cell["system"], cell["id"]): SECONDS}))


def test_without_what_only_a_person_knows_nothing_is_compared(run: Path) -> None:
    (row,) = compared([of(read_folder(run, "other"), "Stream_TRIAD", "Base_CUDA")])
    assert row["status"] == "not_comparable"
    assert "do not say arch, device_name, host, contraction, precision, passes" in row["reason"]
    assert "speed" not in row


def triad_beside(run: Path, **changes: Any) -> Row:
    (run / "ironsweep.yaml").write_text(FACTS)
    rows = [of(read_folder(run, "other"), "Stream_TRIAD", "Base_CUDA")]
    (row,) = compared(rows, **changes)
    return row


def test_what_was_measured_alike_is_compared(run: Path) -> None:
    row = triad_beside(run)
    assert (row["status"], row["reason"]) == ("ok", "")
    assert row["speed"] == pytest.approx(9.876e-6 / fmean(SECONDS))
    assert row["speed_low"] < row["speed"] < row["speed_high"]
    assert row["speed_high"] - row["speed_low"] == pytest.approx(1e-9 / fmean(SECONDS))
    assert (row["n"], row["rajaperf_n"]) == (3, 10)
    assert triad_beside(run, size=1_000_001)["status"] == "ok"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reps": 10}, "reps is 1000 in one and 10 in the other"),
        ({"host": "node2"}, "host is node1 in one and node2 in the other"),
        ({"device_name": "NVIDIA A100"}, "device_name is NVIDIA H200 in one"),
        ({"contraction": "contract"}, "contraction is strict in one"),
        ({"block": 64}, "block is 256 in one and 64 in the other"),
        ({"arch": "sm_80"}, "arch is sm_90"),
        ({"precision": "f32"}, "precision is f64"),
        ({"data": "random"}, "data is reference"),
    ],
)
def test_what_was_measured_otherwise_is_not_compared(run: Path, changes: Mapping[str, Any], said: str) -> None:
    row = triad_beside(run, **changes)
    assert row["status"] == "not_comparable"
    assert said in row["reason"]
    assert "speed" not in row


@pytest.mark.parametrize(
    "changes",
    [{"region": "launch_sync"}, {"actual_size": 10_000}, {"kind": "check"}, {"status": "wrong_result"}],
)
def test_where_we_have_no_such_cell_a_row_says_so(run: Path, changes: Mapping[str, Any]) -> None:
    row = triad_beside(run, **changes)
    assert row["status"] == "no_cell"
    assert "no cell of Stream_TRIAD with 1000000 elements has right times there (nvidia, kernel)" in row["reason"]


def test_what_rajaperf_did_not_measure_right_is_not_compared(run: Path) -> None:
    (run / "ironsweep.yaml").write_text(FACTS)
    rows = read_folder(run, "other")
    (not_run,) = compared([of(rows, "Stream_TRIAD", "RAJA_CUDA")])
    (wrong,) = compared([of(rows, "Basic_DAXPY", "RAJA_CUDA")], kernel="Basic_DAXPY", reps=500)
    (other,) = compared([of(rows, "Algorithm_REDUCE_SUM", "RAJA_CUDA")], kernel="Algorithm_REDUCE_SUM", reps=50)
    (ranks,) = compared([of(rows, "Stream_TRIAD", "Base_CUDA") | {"ranks": 4}])
    (tuning,) = compared([of(rows, "Stream_TRIAD", "Base_CUDA") | {"block": None, "tuning": "cub"}])
    (unseen,) = compared([of(rows, "Stream_TRIAD", "Base_CUDA") | {"checksum": None}])
    (no_mean,) = compared([of(rows, "Stream_TRIAD", "Base_CUDA") | {"mean_s": None}])
    assert (not_run["status"], wrong["status"]) == ("not_run", "wrong_result")
    assert "fetches the sum in each repetition" in other["reason"]
    assert "4 MPI ranks" in ranks["reason"]
    assert "'cub'" in tuning["reason"]
    assert "kernel-run-data.csv" in unseen["reason"]
    assert "timing-Average.csv" in no_mean["reason"]
    refused = (not_run, wrong, other, ranks, tuning, unseen, no_mean)
    assert not any("speed" in row for row in refused)
    assert {row["status"] for row in (other, ranks, tuning, unseen, no_mean)} == {"not_comparable"}


def test_on_the_host_a_block_says_nothing(run: Path) -> None:
    (run / "ironsweep.yaml").write_text(
        FACTS + "  host: {device_name: Some CPU, contraction: strict}\n",
    )
    row = of(read_folder(run, "other"), "Stream_TRIAD", "Base_Seq")
    host = {"variant": "cpp_seq", "device": "host", "arch": "host", "region": "launch_sync", "device_name": "Some CPU"}
    (found,) = compared([row], **host)
    assert (found["status"], found["speed"]) == ("ok", pytest.approx(4e-4 / fmean(SECONDS)))


def test_tables_keep_rows(run: Path, tmp_path: Path) -> None:
    (run / "ironsweep.yaml").write_text(FACTS)
    rows = read_folder(run, "other")
    path = tmp_path / "taken.parquet"
    frame_of(rows, "rajaperf_imported").to_parquet(path)
    assert rows_of(read_table(path)) == [
        {column: row.get(column) for column in names_of("rajaperf_imported")} for row in rows
    ]
    whole = frame_of(compared(rows), "rajaperf_compared")
    assert whole.dtypes.equals(frame_of([], "rajaperf_compared").dtypes)
    assert set(whole["status"]) == {"ok", "not_run", "no_cell"}


# --- Export --------------------------------------------------------------------------------------------------------


def exported(out: Path, cells: list[Row], records: Mapping[str, Row]) -> Path:
    tolerances = {key[0]: reference.tolerance for key, reference in read_references(REFERENCES).items()}
    rajaperf.export(cells, records, BASELINE, tolerances, out)
    return out


def judged() -> tuple[list[Row], dict[str, Row]]:
    """Rows and records of a sweep on a GPU in which some cells failed."""
    cells, records, golden = sweep(device="nvidia", arch="sm_90", variants=NVIDIA, sizes=(1_000,))
    records[the(cells, "Stream_TRIAD", "rust_liboffload")["id"]] |= {"status": "crashed", "seconds_per_rep": []}
    records[the(cells, "Basic_DAXPY", "cuda")["id"]]["checksums"] = [1.0] * 10
    del records[the(cells, "Apps_FIR", "cuda")["id"]]
    return tables.judged_cells(tables.System("laptop", cells, records), golden, {}), records


def the(rows: list[Row], kernel: str, variant: str, region: str = "kernel") -> Row:
    (row,) = (row for row in rows if (row["kernel"], row["variant"], row["region"]) == (kernel, variant, region))
    return row


CUDA = ("Base_CUDA", "safe_strict")
RUST = ("RustLibOffload_CUDA", "safe_strict")


def test_our_export_is_read_by_the_same_reader(tmp_path: Path) -> None:
    cells, records = judged()
    out = exported(tmp_path / "laptop", cells, records)
    folders = {path.relative_to(out).as_posix() for path in out.glob("*/*")}
    assert folders == {f"sm_90-{region}/SIZE_000001000" for region in ("kernel", "launch_sync", "with_transfers")}
    place = out / "sm_90-kernel/SIZE_000001000"
    reports = {name: read_report(place / f"RAJAPerf-timing-{name}.csv") for name in rajaperf.COMBINERS}
    assert reports["Average"].columns == [CUDA, RUST]
    for kernel in ("Algorithm_REDUCE_SUM", "Lcals_PLANCKIAN"):
        record = records[the(cells, kernel, "cuda")["id"]]
        seconds = [record["reps"] * value for value in record["seconds_per_rep"]]
        for name, combine in (("Average", fmean), ("Minimum", min), ("Maximum", max)):
            assert reports[name].combiner == name
            assert reports[name].values[kernel, *CUDA] == pytest.approx(combine(seconds), abs=0.5e-9)


def test_nothing_becomes_a_zero(tmp_path: Path) -> None:
    place = exported(tmp_path / "laptop", *judged()) / "sm_90-kernel/SIZE_000001000"
    missing = {("Stream_TRIAD", *RUST), ("Basic_DAXPY", *CUDA), ("Apps_FIR", *CUDA)}
    for name in rajaperf.COMBINERS:
        values = read_report(place / f"RAJAPerf-timing-{name}.csv").values
        assert {key for key, value in values.items() if value is None} == missing
        assert all(value for value in values.values() if value is not None)
        speeds = read_report(place / f"RAJAPerf-speedup-{name}.csv").values
        without = missing | {("Basic_DAXPY", *RUST), ("Apps_FIR", *RUST)}
        assert {key for key, value in speeds.items() if value is None} == without
    data = {
        (row["Kernel"], row["Variant"], row["Tuning"]): row
        for _, row in read_listing(place / "RAJAPerf-kernel-run-data.csv").rows
    }
    times = {key: row["Mean time per rep (sec.)"] for key, row in data.items()}
    assert {key for key, time in times.items() if time == "Not run"} == missing
    assert data["Basic_DAXPY", *CUDA]["Checksum"] == "FAILED"
    assert data["Basic_DAXPY", *RUST]["Checksum"] == "PASSED"
    assert data["Stream_TRIAD", *RUST]["Checksum"] == data["Apps_FIR", *CUDA]["Checksum"] == "Not run"


def test_speedups_are_relative_to_the_baseline_of_the_same_contract(tmp_path: Path) -> None:
    cells, records = judged()
    out = exported(tmp_path / "laptop", cells, records)
    report = read_report(out / "sm_90-kernel/SIZE_000001000/RAJAPerf-speedup-Average.csv")
    assert report.reference == "Base_CUDA"
    base, rust = (records[the(cells, "Lcals_PLANCKIAN", name)["id"]] for name in ("cuda", "rust_liboffload"))
    speed = fmean(base["seconds_per_rep"]) / fmean(rust["seconds_per_rep"])
    assert report.values["Lcals_PLANCKIAN", *RUST] == pytest.approx(speed, abs=0.5e-6)
    assert report.values["Lcals_PLANCKIAN", *CUDA] == 1.0
    assert not list(out.glob("sm_90-with_transfers/*/RAJAPerf-speedup-*"))
    strangers = [cell | {"host": "node2"} if cell["variant"] == "cuda" else cell for cell in cells]
    other = exported(tmp_path / "other", strangers, records)
    values = read_report(other / "sm_90-kernel/SIZE_000001000/RAJAPerf-speedup-Average.csv").values
    assert values["Lcals_PLANCKIAN", *RUST] is None


def test_details_are_counted_as_rajaperf_does(tmp_path: Path) -> None:
    cells, records = judged()
    for record in records.values():
        if record["kernel"] == "Algorithm_REDUCE_SUM":
            record |= {"bytes_modified": 5, "bytes_atomic": 7, "launches_per_rep": 3}
    place = exported(tmp_path / "laptop", cells, records) / "sm_90-kernel/SIZE_000001000"
    listing = read_listing(place / "RAJAPerf-kernel-details.csv")
    assert listing.ranks == 1
    row = next(row for _, row in listing.rows if row["Kernel"] == "Algorithm_REDUCE_SUM")
    assert list(row) == ["Kernel", *rajaperf.DETAILS]
    assert (row["Problem size"], row["Reps"], row["Kernels/rep"]) == ("1000", "20", "3")
    assert (row["BytesMoved/rep"], row["BytesTouched/rep"]) == ("24024", "24012")
    assert (row["BytesRead/rep"], row["BytesWritten/rep"]) == ("16005", "8005")
    assert row["Iterations/rep"] == row["OperationalComplexity"] == "Unknown"
    assert "0" not in row.values()


def test_the_report_of_checksums_shows_what_was_wrong(tmp_path: Path) -> None:
    cells, records = judged()
    records[the(cells, "Lcals_PLANCKIAN", "rust_liboffload")["id"]]["checksums"][0] = None
    text = (
        exported(tmp_path / "laptop", cells, records) / "sm_90-kernel/SIZE_000001000/RAJAPerf-checksum.txt"
    ).read_text()
    blocks = {block.split()[-1]: lines for block, lines in _blocks(text)}
    daxpy = blocks["Basic_DAXPY"]
    assert daxpy["Base_CUDA-safe_strict"][:3] == ["FAILED", "1.0000000000000000364e-10", "1.0000000000000000000"]
    assert daxpy["RustLibOffload_CUDA-safe_strict"][0] == "PASSED"
    right = records[the(cells, "Basic_DAXPY", "rust_liboffload")["id"]]["checksums"][0]
    assert float(daxpy["RustLibOffload_CUDA-safe_strict"][2]) == right
    assert float(daxpy["RustLibOffload_CUDA-safe_strict"][3]) == pytest.approx(abs(right - 1.0))
    assert blocks["Apps_FIR"]["Base_CUDA-safe_strict"] == ["Not", "Run"] * 4
    assert math.isnan(float(blocks["Lcals_PLANCKIAN"]["RustLibOffload_CUDA-safe_strict"][2]))


def _blocks(text: str) -> list[tuple[str, dict[str, list[str]]]]:
    """Name and lines of each kernel of a report of checksums."""
    found = []
    for block in text.partition("-" * 88 + "\n")[2].split("-" * 55 + "\n"):
        if block.strip():
            name, _, lines = block.partition("." * 56)
            found.append((name, {line.split()[0]: line.split()[1:] for line in lines.splitlines() if line.strip()}))
    return found


def test_repetitions_that_differ_are_kept_apart(tmp_path: Path) -> None:
    cells, records = judged()
    base = the(cells, "Lcals_PLANCKIAN", "cuda")
    twice = base | {"reps": 40, "id": "f" * 16}
    records["f" * 16] = records[base["id"]] | {"reps": 40, "id": "f" * 16}
    out = exported(tmp_path / "laptop", [*cells, twice], records)
    times = {
        reps: read_report(out / f"sm_90-kernel/SIZE_000001000_REPS_{reps}/RAJAPerf-timing-Average.csv").values
        for reps in (20, 40)
    }
    assert times[40]["Lcals_PLANCKIAN", *CUDA] == pytest.approx(2 * times[20]["Lcals_PLANCKIAN", *CUDA], abs=2e-9)
    assert len(times[40]) == 1


def test_a_cell_without_its_record_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    cells, records = judged()
    identity = the(cells, "Lcals_PLANCKIAN", "cuda")["id"]
    out = exported(tmp_path / "laptop", cells, records)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match=f"cell {identity} has times in cells.parquet, but"):
        exported(out, cells, {key: record for key, record in records.items() if key != identity})
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    exported(out, [cell for cell in cells if cell["region"] == "kernel"], records)
    assert {path.name for path in tmp_path.iterdir()} == {"laptop"}
    assert {path.name for path in out.iterdir()} == {"sm_90-kernel", rajaperf.MARK}


def test_an_export_is_not_taken_for_rajaperfs(tmp_path: Path) -> None:
    out = exported(tmp_path / "laptop", *judged())
    with pytest.raises(UserError, match="ironsweep's own export"):
        read_folder(out, "other")


def test_an_export_comes_back_as_it_was(tmp_path: Path) -> None:
    """All the way round: our times, in RAJAPerf's files, are our times beside themselves."""
    cells, records = judged()
    out = exported(tmp_path / "laptop", cells, records)
    (out / rajaperf.MARK).unlink()
    rows = [row for row in read_folder(out, "back") if row["file"].startswith("sm_90-kernel/")]
    measured = [row for row in rows if row["status"] == "ok"]
    assert len(rows) == 10 and len(measured) == 7
    for row in measured:
        variant = {"Base_CUDA": "cuda", "RustLibOffload_CUDA": "rust_liboffload"}[row["variant"]]
        seconds = records[the(cells, row["kernel"], variant)["id"]]["seconds_per_rep"]
        found = (row["mean_s"], row["min_s"], row["max_s"])
        assert found == pytest.approx((fmean(seconds), min(seconds), max(seconds)), abs=row["rounding_s"] * 1.01)
    assert {row["status"] for row in rows} == {"ok", "not_run"}


# --- Measured on an H200 -------------------------------------------------------------------------------------------


SMALLEST = 10_000


@pytest.fixture(scope="module")
def h200(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables and records of the committed measurements at the smallest size."""
    folder = tmp_path_factory.mktemp("h200")
    with lzma.open(ROOT / "examples/h200/h200.jsonl.xz", "rt", encoding="utf-8") as lines:
        kept = [line for line in lines if '"kind": "measure"' in line and json.loads(line)["size"] == SMALLEST]
    (folder / "h200.jsonl").write_text("".join(kept))
    records = read_file(folder / "h200.jsonl").records
    golden = {
        kernel: {case: compute(kernel, case) for case in {case_of(kernel, r) for r in records if r["kernel"] == kernel}}
        for kernel in {record["kernel"] for record in records}
    }
    rows = tables.judged_cells(tables.imported_system("h200", records), golden, {})
    write_table(frame_of(rows, "cells"), folder, "cells")
    return folder


def script(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "workflow/scripts/rajaperf.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_measurements_of_an_h200_in_rajaperfs_layout(h200: Path) -> None:
    done = script(
        "export", "--system", "h200", "--cells", h200 / "cells.parquet", "--imported", h200 / "h200.jsonl",
        "--references", REFERENCES, "--baseline", json.dumps(BASELINE), "--out", h200 / "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    place = h200 / "out/sm_90-kernel/SIZE_000010000"
    cells = read_table(h200 / "cells.parquet")
    kernels = set(cells["kernel"])
    report = read_report(place / "RAJAPerf-timing-Minimum.csv")
    assert {key[0] for key in report.values} == kernels and len(kernels) == 16
    expected = cells[(cells["region"] == "kernel") & (cells["status"] == "ok")]
    found = {key: value for key, value in report.values.items() if value is not None}
    assert len(found) == len(expected) == 96
    names = {"cuda": "Base_CUDA", "rust_liboffload": "RustLibOffload_CUDA"}
    for row in expected.to_dict("records"):
        value = found[row["kernel"], names[row["variant"]], row["tuning"]]
        assert value == pytest.approx(row["reps"] * row["min_s"], abs=0.5e-9)
    results = {row["Checksum"] for _, row in read_listing(place / "RAJAPerf-kernel-run-data.csv").rows}
    assert results == {"PASSED"}
    details = {row["Kernel"]: row for _, row in read_listing(place / "RAJAPerf-kernel-details.csv").rows}
    assert details["Comm_HALO_PACKING"]["Kernels/rep"] == "156"
    assert details["Comm_HALO_PACKING"]["Problem size"] == "9261"


def test_rajaperfs_times_beside_those_of_an_h200(h200: Path, run: Path) -> None:
    (run / "RAJAPerf-kernel-details.csv").write_text(DETAILS.replace("1000000 ,  1000", "10000 ,  10"))
    (run / "ironsweep.yaml").write_text(FACTS.replace("node1", "vm"))
    taken = script("take", "--folder", run, "--name", "other", "--out", h200 / "rajaperf/other.parquet")
    assert taken.returncode == 0, taken.stderr
    done = script(
        "compare", "--taken", h200 / "rajaperf/other.parquet", "--cells", h200 / "cells.parquet",
        "--imported", h200 / "h200.jsonl", "--out", h200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(read_table(h200 / "rajaperf_imported.parquet")) == 9
    found = read_table(h200 / "rajaperf_compared.parquet")
    triad = found[(found["kernel"] == "Stream_TRIAD") & (found["rajaperf_variant"] == "Base_CUDA")]
    assert dict(triad["status"].value_counts()) == {"ok": 3, "not_comparable": 3}
    right = triad[triad["status"] == "ok"]
    assert set(right["tuning"]) == {"strict_block_256", "safe_strict_block_256", "unchecked_strict_block_256"}
    assert right["speed"].notna().all() and found[found["status"] != "ok"]["speed"].isna().all()
    refused = triad[triad["status"] == "not_comparable"]["reason"]
    assert refused.str.contains("contraction is strict in one and contract in the other").all()


def test_a_mistake_is_one_line_without_a_traceback(run: Path, tmp_path: Path) -> None:
    (run / "RAJAPerf-timing-Average.csv").write_text("nonsense\n")
    done = script("take", "--folder", run, "--name", "other", "--out", tmp_path / "other.parquet")
    assert done.returncode == 1
    assert done.stderr.startswith("ironsweep: ") and done.stderr.count("\n") == 1
    assert not (tmp_path / "other.parquet").exists()


def test_names_are_those_of_the_rules() -> None:
    rule = (ROOT / "workflow/rules/rajaperf.smk").read_text()
    assert f'"{rajaperf_import.FACTS}"' in rule
