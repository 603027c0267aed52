"""The bundle: made the same way every time, run elsewhere, and its records taken in."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ironsweep import bundle
from ironsweep.errors import UserError
from ironsweep.records import read_file
from test_records import record
from test_runner import FAKE, NOTE, point

RUNTIME = '#!/bin/sh\nexec "$@"\n'


def make_parts(folder: Path, points: list[dict[str, Any]] | None = None) -> list[bundle.Member]:
    """Contents of a bundle with the fake worker and a note."""
    workers = folder / "bin/Stream_TRIAD"
    workers.mkdir(parents=True)
    (workers / "native").write_text(FAKE.read_text().replace("/usr/bin/env python3", sys.executable))
    (workers / "baselines").mkdir()
    (workers / "baselines/cpp_seq-strict.so").write_bytes(b"a library")
    (workers / "baselines/cuda-strict.so").write_text(NOTE)
    runtime = folder / "runtime"
    (runtime / "lib").mkdir(parents=True)
    (runtime / "run").write_text(RUNTIME)
    (runtime / "run").chmod(0o755)
    (runtime / "lib/libx.so.1").write_bytes(bytes(1000))
    (runtime / "lib/hip").mkdir()
    (runtime / "lib/hip/libamdhip64.so").write_bytes(bytes(1000))
    (runtime / "lib/libx.so").symlink_to("libx.so.1")
    (runtime / "lib/libdriver.so").symlink_to("/nowhere/libdriver.so.1")
    (runtime / "lib/.snakemake_timestamp").touch()
    (folder / "toolchain.json").write_text(json.dumps({"sha256": "c" * 64}))
    (folder / "source.json").write_text(json.dumps({"commit": "d" * 40, "clean": True, "changed": []}))
    points = points or [point(10), point(20, data="random"), point(10, "cuda", device="nvidia", arch="sm_90")]
    (folder / "points.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in points))
    return bundle.contents(
        "h200",
        30.0,
        folder / "points.jsonl",
        sorted(file for file in workers.rglob("*") if file.is_file()),
        folder / "bin",
        runtime,
        folder / "toolchain.json",
        folder / "source.json",
    )


@pytest.fixture(autouse=True)
def small_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real dictionary costs a gigabyte of memory."""
    small = ({"id": lzma.FILTER_LZMA2, "preset": 1},)
    monkeypatch.setattr(bundle, "XZ_FILTERS", small)
    monkeypatch.setattr(bundle, "BLOCK_BYTES", 10_000)


def test_the_same_content_makes_the_same_archive(tmp_path: Path) -> None:
    first = bundle.pack(make_parts(tmp_path / "a"), tmp_path / "one/ironsweep-h200.tar.xz")
    second = bundle.pack(make_parts(tmp_path / "b"), tmp_path / "two/ironsweep-h200.tar.xz")
    assert first == second


def test_too_large_is_refused_with_what_is_large(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"more than 0 MB; the largest files are .*name fewer kernels"):
        bundle.pack(make_parts(tmp_path), tmp_path / "x.tar.xz", limit=100)
    assert list(tmp_path.glob("x*")) == []


def run_elsewhere(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Unpack a bundle and start its run.sh in another folder."""
    if not (tmp_path / "there").exists():
        bundle.pack(make_parts(tmp_path / "here"), tmp_path / "ironsweep-h200.tar.xz")
        (tmp_path / "there").mkdir()
        subprocess.run(["tar", "xf", "../ironsweep-h200.tar.xz"], cwd=tmp_path / "there", check=True)
    return subprocess.run(
        ["./ironsweep-h200/run.sh", *arguments],
        cwd=tmp_path / "there",
        env={"PATH": "/usr/bin:/bin", "IRONSWEEP_FAKE_POINTS": str(tmp_path / "asked")},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_it_runs_elsewhere_and_its_records_come_back(tmp_path: Path) -> None:
    done = run_elsewhere(tmp_path)
    assert done.returncode == 0, done.stderr
    libraries = tmp_path / "there/ironsweep-h200/runtime/lib"
    assert sorted(file.name for file in libraries.iterdir()) == ["libdriver.so", "libx.so", "libx.so.1"]
    assert str((libraries / "libdriver.so").readlink()) == "/nowhere/libdriver.so.1"
    out = tmp_path / "imported/h200.jsonl"
    count, problems = bundle.take(tmp_path / "there/h200.jsonl", out, tmp_path / "imported/h200.dumps")
    assert (count, problems) == (3, [])
    content = read_file(out)
    assert [item["status"] for item in content.records] == ["ok", "ok", "unsupported"]
    assert content.records[0]["toolchain_sha256"] == "c" * 64
    assert {line["source"]["commit"] for line in content.environments} == {"d" * 40}
    assert content.environments[0]["uname"].startswith("Linux")
    assert Path(content.records[1]["dump"]).stat().st_size == 32
    assert "dump_data" not in content.records[1]


def test_started_again_it_continues_and_repeat_does_not(tmp_path: Path) -> None:
    for arguments, asked in (([], 2), (["--out", "again.jsonl"], 2), (["--repeat"], 4)):
        assert run_elsewhere(tmp_path, *arguments).returncode == 0
        assert len((tmp_path / "asked").read_text().splitlines()) == asked
    assert (tmp_path / "there/again.jsonl").exists()


def test_two_commands_that_are_ended_after_a_while_make_one_file_of_records(tmp_path: Path) -> None:
    """What the second starts with is where the first was stopped."""
    points = [point(size) for size in (10, 20, 30)]
    bundle.pack(make_parts(tmp_path / "here", points), tmp_path / "ironsweep-h200.tar.xz")
    (tmp_path / "there").mkdir()
    subprocess.run(["tar", "xf", "../ironsweep-h200.tar.xz"], cwd=tmp_path / "there", check=True)
    asked = tmp_path / "asked"
    environment = {"PATH": "/usr/bin:/bin", "IRONSWEEP_FAKE_POINTS": str(asked)}
    hanging = {**environment, "IRONSWEEP_FAKE": json.dumps({"20": "hang"})}
    command = ["timeout", "4", "./ironsweep-h200/run.sh"]
    first = subprocess.run(command, cwd=tmp_path / "there", env=hanging, capture_output=True, text=True)
    assert first.returncode == 124 and "what was measured is kept" in first.stderr
    assert not (tmp_path / "there/h200.jsonl").exists()
    assert subprocess.run(command, cwd=tmp_path / "there", env=environment).returncode == 0
    content = read_file(tmp_path / "there/h200.jsonl")
    assert [(item["size"], item["status"]) for item in content.records] == [(10, "ok"), (20, "ok"), (30, "ok")]
    assert len({item["run"] for item in content.records}) == 2
    assert asked.read_text().split() == [points[0]["id"], points[1]["id"], points[1]["id"], points[2]["id"]]
    runs = [(line["run"], line["moment"]) for line in content.environments]
    assert len({run for run, _ in runs}) == 2 and sorted(moment for _, moment in runs) == ["end", "start", "start"]


def test_without_python_it_says_so(tmp_path: Path) -> None:
    bundle.pack(make_parts(tmp_path), tmp_path / "b.tar.xz")
    subprocess.run(["tar", "xf", "b.tar.xz"], cwd=tmp_path, check=True)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("uname", "dirname"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    done = subprocess.run(
        ["/bin/sh", "b/run.sh"], cwd=tmp_path, env={"PATH": str(tools)}, capture_output=True, text=True
    )
    assert done.returncode == 69
    assert "no Python 3.8 or newer on PATH" in done.stderr


def test_damage_is_reported_and_the_rest_taken(tmp_path: Path) -> None:
    lines = [record(1), record(2, dump_data="no base64!"), record(3, dump_data="AAAA")]
    (tmp_path / "r.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"id": "cut o')
    count, problems = bundle.take(tmp_path / "r.jsonl", tmp_path / "out.jsonl", tmp_path / "dumps")
    assert count == 1
    assert len(problems) == 3


def test_a_file_without_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text("hello\n")
    with pytest.raises(UserError, match="holds no valid record"):
        bundle.take(tmp_path / "r.jsonl", tmp_path / "out.jsonl", tmp_path / "dumps")
    assert not (tmp_path / "out.jsonl").exists()
