"""The chain from a row of a table to the source names each step, and says where a step is broken."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from ironsweep import explain, source, tables
from ironsweep.columns import frame_of, write_table
from ironsweep.errors import UserError
from ironsweep.tables import Floors, System
from synthetic import sweep

UUID = "GPU-1"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    cells, records, golden = sweep(device="nvidia", arch="sm_90", variants=("cuda", "rust_liboffload"), sizes=(1000,))
    folder = tmp_path / "results/bin/Stream_TRIAD"
    folder.mkdir(parents=True)
    (folder / "rust_liboffload").write_bytes(b"worker")
    for record in records.values():
        record |= {"device_uid": UUID, "binary_sha256": hashlib.sha256(b"worker").hexdigest()}
        record |= {"image_sha256": "e" * 64, "part": "images/none.img"}
    gpu = {"uuid": UUID, "clocks.sm": "1980 MHz", "power.draw": "300 W"}
    common = {"type": "environment", "run": "0123456789ab", "cpu": "Xeon", "cpus_usable": 4, "load": 0.5}
    where = {"commit": "d" * 40, "clean": False, "changed": ["kernels/suite/stream_triad.rs"]}
    lines = [
        *(
            {**common, "moment": moment, "slurm_job": "77", "source": where, "nvidia": [gpu], "amd": None}
            for moment in ("start", "end")
        ),
        *records.values(),
    ]
    file = tmp_path / "results/records/laptop/0123456789abcdef.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    system = System("laptop", cells, records)
    rows = tables.judged_cells(system, golden, {})
    write_table(frame_of(rows, "cells"), tmp_path / "results/tables", "cells")
    ratios = tables.ratios(rows, tables.samples_of([system]), {"nvidia": "cuda"}, Floors([]))
    write_table(frame_of(ratios, "ratios"), tmp_path / "results/tables", "ratios")
    return tmp_path


def id_of(root: Path, variant: str) -> str:
    cells = explain.read_table(root / "results/tables/cells.parquet")
    found = cells[(cells["kernel"] == "Stream_TRIAD") & (cells["variant"] == variant)]
    return str(found["id"].iloc[0])


def test_every_step_is_named(root: Path) -> None:
    cell = id_of(root, "rust_liboffload")
    text = explain.chain(cell, root)
    lines = (root / "results/tables/cells.csv").read_text().splitlines()
    number = next(at for at, line in enumerate(lines, 1) if f",{cell}," in line)
    assert f"table      results/tables/cells.csv:{number}: ok: median" in text
    assert "times as fast as cuda" in text and "inconclusive; noise floor unknown" in text
    records = (root / "results/records/laptop/0123456789abcdef.jsonl").read_text().splitlines()
    number = next(at for at, line in enumerate(records, 1) if f'"{cell}"' in line)
    assert f"record     results/records/laptop/0123456789abcdef.jsonl:{number}: ok, 10 passes" in text
    assert "batch      results/plan/batches/0123456789abcdef.jsonl" in text
    assert "host       node1: Xeon, 4 cores, load 0.5, Slurm job 77" in text
    assert f"device     NVIDIA H200, sm_90, {UUID}; driver 1.0" in text
    assert "start of the run: clocks.sm 1980 MHz, power.draw 300 W" in text
    assert "that of results/bin/Stream_TRIAD/rust_liboffload" in text
    assert "images/none.img does not exist here" in text
    assert "toolchain  " + "c" * 64 + ": results/toolchain/toolchain.json does not exist" in text
    assert f"source     commit {'d' * 40}, CHANGED: kernels/suite/stream_triad.rs" in text


def test_the_first_digits_may_do_and_a_changed_program_is_said(root: Path) -> None:
    (root / "results/bin/Stream_TRIAD/rust_liboffload").write_bytes(b"built anew")
    cell = id_of(root, "rust_liboffload")
    assert "is another one now" in explain.chain(cell.upper(), root)
    with pytest.raises(UserError, match=r"cells have ids that begin with '0000': .*give more digits"):
        explain.chain("0000", root)
    with pytest.raises(UserError, match="no cell of"):
        explain.chain("ffff", root)
    with pytest.raises(UserError, match="too short"):
        explain.chain("0", root)
    with pytest.raises(UserError, match="make it first"):
        explain.chain("ffff", root / "elsewhere")


def test_a_baseline_and_a_cell_without_a_record(root: Path) -> None:
    assert "it is the baseline of 1 cells" in explain.chain(id_of(root, "cuda"), root)
    (root / "results/records/laptop/0123456789abcdef.jsonl").unlink()
    assert "none: nothing was run for this cell" in explain.chain(id_of(root, "cuda"), root)


def test_the_source_is_a_commit_and_what_differs_from_it(tmp_path: Path) -> None:
    assert source.state(tmp_path) == {"commit": None, "clean": None, "changed": []}

    def git(*words: str) -> None:
        who = ["-c", "user.name=n", "-c", "user.email=e@example.invalid"]
        subprocess.run(["git", *who, "-C", str(tmp_path), *words], check=True, capture_output=True)

    git("init")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-m", "a")
    state = source.state(tmp_path)
    assert len(state["commit"]) == 40 and state["clean"]
    (tmp_path / "a").write_text("2")
    source.keep(tmp_path, tmp_path / "results/source.json")
    kept = json.loads((tmp_path / "results/source.json").read_text())
    assert (kept["commit"], kept["clean"]) == (state["commit"], False) and "a" in kept["changed"]
