"""The summary names results, counts, verdict and places."""

from pathlib import Path

from ironsweep import tables
from ironsweep.columns import frame_of
from ironsweep.summary import summary
from ironsweep.tables import Floors, System
from synthetic import sweep


def test_summary_of_a_sweep(tmp_path: Path) -> None:
    cells, records, golden = sweep()
    for cell in cells:
        records[cell["id"]]["seconds_per_rep"] = [{"cpp_openmp": 2e-3, "cpp_seq": 8e-3}.get(cell["variant"], 1e-3)] * 10
    del records[cells[0]["id"]]
    system = System("laptop", cells, records)
    rows = tables.judged_cells(system, golden, {})
    ratios = tables.ratios(rows, tables.samples_of([system]), {"host": "cpp_openmp"}, Floors([]))
    (tmp_path / "host_relative_speed.svg").touch()
    text = summary(frame_of(rows, "cells"), frame_of(ratios, "ratios"), Path("results/tables"), [tmp_path])
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "laptop: 59 ok, 1 not_run of 60 measured cells"
    assert lines[1] == "correctness checks: none"
    assert lines[2] == "planted wrong kernels: 2 wrong_result: verified"
    (line,) = (line for line in lines if line.startswith("Stream_TRIAD host 100,000: "))
    assert line.split(": ")[1].split(" | ")[0].split(", ") == [
        "launch_sync cpp_openmp 2.00 ms",
        "cpp_seq 8.00 ms (0.25x cpp_openmp)",
        "rust_offload 1.00 ms (2.00x cpp_openmp)",
    ]
    assert lines[-2:] == ["tables results/tables", f"figure {tmp_path}/host_relative_speed.svg"]


def test_summary_says_that_a_run_is_not_verified() -> None:
    cells, records, golden = sweep()
    kept = [cell for cell in cells if cell["kind"] != "planted"]
    frame = frame_of(tables.judged_cells(System("laptop", kept, records), golden, {}), "cells")
    text = summary(frame, frame_of([], "ratios"), Path("t"), [])
    assert "planted wrong kernels: none: UNVERIFIED" in text
