"""Files of records: damage costs the damaged lines only."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from ironsweep.records import read_file, read_records


def record(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A valid record."""
    return {
        "id": f"{number:016x}",
        "kernel": "Stream_TRIAD",
        "group": "Stream",
        "kind": "measure",
        "variant": "cpp_seq",
        "device": "host",
        "arch": "host",
        "safety": "none",
        "contraction": "strict",
        "tuning": "strict",
        "block": 256,
        "part": "baselines/cpp_seq-strict.so",
        "size": 1000,
        "reps": 20,
        "passes": 2,
        "warmup": 1,
        "region": "launch_sync",
        "data": "reference",
        "seed": 4793,
        "system": "local",
        "status": "ok",
        "message": "",
        "actual_size": 1000,
        "seconds_per_rep": [1e-6, 2e-6],
        "checksums": [1.0, None],
        "bytes_read": 16000,
        "bytes_written": 8000,
        "bytes_modified": 0,
        "bytes_atomic": 0,
        "flops": 2000,
        "binary_sha256": "a" * 64,
        "image_sha256": None,
        "toolchain_sha256": None,
        "host": "node",
        "run": "abc",
        "started": "2026-01-01T00:00:00.000+00:00",
        "wall_s": 0.1,
        "order": 0,
        "dump": None,
        **changes,
    }


def without(name: str) -> str:
    """A record that lacks a field."""
    return json.dumps({key: value for key, value in record(5).items() if key != name})


def test_good_records_are_read_in_order(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    environment = {"type": "environment", "run": "abc"}
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (environment, record(2), record(1))) + "\n")
    found, problems = read_records(file)
    assert [line["id"] for line in found] == [f"{2:016x}", f"{1:016x}"]
    assert problems == []
    assert read_file(file).environments == [environment]


def test_an_emulated_device_has_no_times_and_not_every_pass_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    emulated = record(1, device="amd_emulated", seconds_per_rep=[], passes=1, checksums=[1.0])
    large = record(2, passes=4, seconds_per_rep=[1e-3] * 4, checksums=[1.0, 1.0])
    file.write_text(f"{json.dumps(emulated)}\n{json.dumps(large)}\n")
    assert len(read_records(file)[0]) == 2


def test_failures_need_no_numbers(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    failed = {key: value for key, value in record(status="crashed").items() if key != "seconds_per_rep"}
    file.write_text(json.dumps(failed))
    assert len(read_records(file)[0]) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (json.dumps(record(5))[:300], "is not valid JSON, or was cut off"),
        ("null", "is not a JSON object"),
        ("[" * 100_000, ""),
        (b"\xff\xfe", "is not text in UTF-8"),
        (json.dumps(record(5, seconds_per_rep=[1e-6, float("nan")])), "contains NaN, which is no number"),
        (json.dumps(record(5, wall_s=1)).replace('"wall_s": 1', '"wall_s": 1e999'), "contains 1e999"),
        (json.dumps(record(5, seconds_per_rep=[1e-6])), "seconds_per_rep: has 1 values for 2 passes"),
        (
            json.dumps(record(5, seconds_per_rep=[1e-6, -1.0])),
            "seconds_per_rep.1: -1.0 is less than or equal to the minimum of 0",
        ),
        (json.dumps(record(5, checksums=[1.0])), "checksums: has 1 values for 2 passes"),
        (json.dumps(record(5, seconds_per_rep=[])), "seconds_per_rep: has 0 values for 2 passes"),
        (json.dumps(record(5, status="fine")), 'status: "fine" is not one of'),
        (json.dumps(record(5, id="xyz")), 'id: "xyz" does not match'),
        (without("kernel"), '"kernel" is a required property'),
        (without("flops"), '"flops" is a required property'),
        (json.dumps(record(5, format=2)), "format 2 is of a newer ironsweep; this one reads format 1"),
        (json.dumps(record(5, wall_s=1.5)).replace("1.5", "1,5"), "is not valid JSON"),
        (json.dumps(record(5, flops=10**400)), "flops: "),
        (json.dumps(record(5, message="\ud800")), "contains half of a character"),
        (json.dumps(record(1)), "is a second record of cell 0000000000000001; the one on line 1 counts"),
    ],
)
def test_a_bad_line_is_reported_and_the_rest_is_kept(tmp_path: Path, line: str | bytes, reason: str) -> None:
    file = tmp_path / "r.jsonl"
    middle = line if isinstance(line, bytes) else line.encode()
    file.write_bytes(b"\n".join([json.dumps(record(1)).encode(), middle, json.dumps(record(2)).encode()]))
    found, problems = read_records(file)
    assert [item["id"] for item in found] == [f"{1:016x}", f"{2:016x}"]
    assert [(problem.file, problem.line) for problem in problems] == [(str(file), 2)]
    assert problems[0].reason.startswith(reason)
    assert str(problems[0]).startswith(f"{file}:2: ")


def test_a_compressed_file_reads_like_another(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl.xz"
    file.write_bytes(lzma.compress(json.dumps(record(1)).encode()))
    found, problems = read_records(file)
    assert [item["id"] for item in found] == [f"{1:016x}"] and not problems
    file.write_bytes(b"no xz")
    found, problems = read_records(file)
    assert not found and problems[0].reason.startswith("cannot be decompressed")


def test_a_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    found, problems = read_records(tmp_path / "none.jsonl")
    assert found == []
    assert "cannot be read" in problems[0].reason
