"""The runner, with a worker that misbehaves in every way that is known."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ironsweep import attempt, plan, records, runner, variants

SCRIPTS = Path(__file__).parents[2] / "workflow/scripts"
FAKE = Path(__file__).parent / "fake_worker.py"
NOTE = 'ironsweep failure note\n{"status": "unsupported", "step": "compile", "reason": "no nvcc on PATH"}\n'


def point(size: int, variant: str = "cpp_seq", data: str = "reference", **changes: Any) -> dict[str, Any]:
    """A point of the plan."""
    values = {
        "kernel": "Stream_TRIAD",
        "group": "Stream",
        "kind": "measure",
        "variant": variant,
        "device": "host",
        "arch": "host",
        "safety": "safe" if variant in variants.RUST else "none",
        "contraction": "strict",
        "tuning": "safe_strict" if variant in variants.RUST else "strict",
        "block": 256,
        "part": variants.part(variant, changes.get("arch", "host"), "safe", "strict"),
        "size": size,
        "reps": 2,
        "passes": 3,
        "warmup": 1,
        "region": "launch_sync",
        "data": data,
        "seed": 4793,
        "system": "local",
        **changes,
    }
    identity = plan.cell_id(values)
    return {
        **values,
        "id": identity,
        "status_planned": changes.get("status_planned", "planned"),
        "reason_planned": changes.get("reason_planned", ""),
        "dump": f"{identity}.f64" if data == "random" else None,
    }


@dataclass
class Bench:
    """A folder with workers in which the runner can be started."""

    folder: Path

    def worker(self, variant: str = "cpp_seq", text: str | None = None) -> Path:
        """Install the fake worker, or a file with some text, for a variant, and a part that it could load."""
        file = self.folder / "bin/Stream_TRIAD" / variants.program(variant)
        file.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            shutil.copy(FAKE, file)
        else:
            file.write_text(text)
        file.chmod(0o755)
        self.part(point(1, variant)["part"])
        return file

    def part(self, name: str, text: str = "a library") -> Path:
        """Install a part."""
        file = self.folder / "bin/Stream_TRIAD" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def start(
        self, points: list[dict[str, Any]], *arguments: str, fake: dict[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start the runner."""
        (self.folder / "points.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in points))
        environment = {
            **os.environ,
            "PYTHONPATH": str(SCRIPTS),
            "IRONSWEEP_FAKE": json.dumps(fake or {}),
            "IRONSWEEP_FAKE_STARTS": str(self.folder / "starts"),
            "IRONSWEEP_FAKE_POINTS": str(self.folder / "asked"),
        }
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "ironsweep.runner", "--points", "points.jsonl", "--bin", "bin"),
                *("--out", "out/records.jsonl", "--journal", "journal.jsonl", "--dumps", "dumps"),
                *arguments,
            ],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, points: list[dict[str, Any]], *arguments: str, fake: dict[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Run all points; their valid records."""
        process = self.start(points, *arguments, fake=fake)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert errors == ""
        found, problems = records.read_records(self.folder / "out/records.jsonl")
        assert problems == []
        assert [record["id"] for record in found] == [item["id"] for item in points]
        return found

    def lines(self, name: str) -> list[str]:
        """Lines of a file, none if there is no such file."""
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench with one well-behaved worker."""
    bench = Bench(tmp_path)
    bench.worker()
    return bench


def test_every_point_gets_a_complete_record(bench: Bench) -> None:
    found = bench.run([point(10), point(20), point(30)])
    assert [record["status"] for record in found] == ["ok"] * 3
    assert [record["order"] for record in found] == [0, 1, 2]
    assert len(found[0]["binary_sha256"]) == 64
    assert len(found[0]["image_sha256"]) == 64
    assert found[0]["system"] == "local"
    assert found[0]["started"].endswith("+00:00")
    assert bench.lines("starts") == ["native"]  # one start for all points
    environments = records.read_file(bench.folder / "out/records.jsonl").environments
    assert [line["moment"] for line in environments] == ["start", "end"]
    assert environments[0]["run"] == found[0]["run"]


@pytest.mark.parametrize(
    ("behaviour", "status", "message"),
    [
        ("crash", "crashed", "ended by signal 11 (SIGSEGV)"),
        ("exit", "crashed", "exit code 7"),
        ("garbage", "crashed", "no JSON: Segfault? no, just chatter"),
        ("half", "crashed", "ended by signal 9 (SIGKILL)"),
        ("wrong_id", "crashed", "other than the record of this point"),
        ("other_variant", "crashed", "was answered by hip"),
        ("device_fault", "crashed", "an illegal memory access"),
        ("out_of_memory", "out_of_memory", "no room"),
        ("no_memory", "out_of_memory", "memory allocation of 8000000000000 bytes failed"),
    ],
)
def test_a_failing_point_costs_only_itself(bench: Bench, behaviour: str, status: str, message: str) -> None:
    found = bench.run([point(10), point(20), point(30)], fake={"20": behaviour})
    assert [record["status"] for record in found] == ["ok", status, "ok"]
    assert message in found[1]["message"]
    assert len(bench.lines("starts")) == (1 if behaviour in ("out_of_memory", "other_variant") else 2)


def test_a_worker_that_is_ended_from_outside_is_no_result(bench: Bench) -> None:
    with bench.start([point(10), point(20)], fake={"20": "terminated"}) as ended:
        assert ended.wait(30) == runner.EX_IOERR
    assert not (bench.folder / "out/records.jsonl").exists()
    assert [record["status"] for record in bench.run([point(10), point(20)])] == ["ok", "ok"]


def test_a_crash_brings_the_last_words_of_the_worker(bench: Bench) -> None:
    found = bench.run([point(20)], fake={"20": "crash"})
    assert found[0]["log_tail"] == "about to touch a bad pointer"


def test_a_worker_that_hangs_is_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "START_GRACE_S", 0.5)
    monkeypatch.setenv("IRONSWEEP_FAKE", json.dumps({"20": "hang"}))
    monkeypatch.chdir(bench.folder)
    Path("points.jsonl").write_text("".join(f"{json.dumps(point(size))}\n" for size in (10, 20, 30)))
    begin = time.monotonic()
    code = runner.main(["--points", "points.jsonl", "--bin", "bin", "--out", "out.jsonl", "--timeout", "0.5"])
    assert code == 0
    assert time.monotonic() - begin < 15
    found, _ = records.read_records(Path("out.jsonl"))
    assert [record["status"] for record in found] == ["ok", "timeout", "ok"]
    assert found[1]["message"] == "no answer within 0.5 s"


def test_an_answer_that_comes_in_pieces_is_whole(bench: Bench) -> None:
    assert bench.run([point(10)], fake={"10": "bytewise"})[0]["status"] == "ok"


def test_nan_becomes_null(bench: Bench) -> None:
    assert bench.run([point(10)], fake={"10": "nan"})[0]["checksums"] == [None] * 3


def test_a_worker_that_leaves_after_its_answer_is_started_again(bench: Bench) -> None:
    found = bench.run([point(10), point(20)], fake={"10": "leave"})
    assert [record["status"] for record in found] == ["ok", "ok"]


def test_notes_and_cells_that_are_not_run_become_records(bench: Bench) -> None:
    bench.part("baselines/cuda-strict.so", NOTE)
    bench.part("baselines/hip-strict.so")
    bench.worker("rust_liboffload")
    bench.part("images/sm_90-safe-strict.img", NOTE.replace("unsupported", "build_failed"))
    bench.worker("rust_offload", NOTE)
    not_here = {"status_planned": "not_run", "reason_planned": "no GPU in system local"}
    found = bench.run(
        [
            point(10, "cuda", device="nvidia", arch="sm_90", **not_here),
            point(10, "hip", device="amd", arch="gfx90a", **not_here),
            point(10, "rust_liboffload", device="nvidia", arch="sm_90"),
            point(10, "cpp_openmp"),
            point(10, "rust_offload"),
        ]
    )
    assert [(record["status"], record["message"]) for record in found] == [
        ("unsupported", "compile: no nvcc on PATH"),
        ("not_run", "no GPU in system local"),
        ("build_failed", "compile: no nvcc on PATH"),
        ("build_failed", "bin/Stream_TRIAD/baselines/cpp_openmp-strict.so does not exist"),
        ("unsupported", "compile: no nvcc on PATH"),
    ]
    assert bench.lines("starts") == []


def test_nothing_is_built_for_what_is_excluded(bench: Bench) -> None:
    (found,) = bench.run([point(10, "cuda", device="nvidia", status_planned="excluded", reason_planned="short nights")])
    assert (found["status"], found["message"]) == ("excluded", "short nights")


def test_a_launcher_without_the_image_of_a_device_is_not_asked(bench: Bench) -> None:
    bench.worker("rust_offload")
    bench.part("launch/safe-strict.so")
    bench.part("images/sm_90-safe-strict.img", NOTE)
    (found,) = bench.run([point(10, "rust_offload", device="nvidia", arch="sm_90")])
    assert (found["status"], found["message"]) == ("unsupported", "compile: no nvcc on PATH")


@pytest.mark.parametrize("status", ["not_run", "unsupported", "excluded"])
def test_what_can_run_now_is_run(bench: Bench, status: str) -> None:
    before = bench.run([point(10, status_planned=status, reason_planned="no checkout of the emulator")])
    assert [(record["status"], record["message"]) for record in before] == [(status, "no checkout of the emulator")]
    assert [record["status"] for record in bench.run([point(10)])] == ["ok"]


def test_variants_are_interleaved_without_new_starts(bench: Bench) -> None:
    bench.worker("cpp_openmp")
    points = [point(size, variant) for size in (10, 20, 30) for variant in ("cpp_seq", "cpp_openmp")]
    bench.run(points)
    assert bench.lines("starts") == ["native", "native"]
    assert bench.lines("asked") == [item["id"] for item in points]


def test_single_worker_keeps_one_program_at_a_time(bench: Bench) -> None:
    bench.worker("cpp_openmp")
    bench.run([point(10), point(10, "cpp_openmp"), point(20)], "--single-worker")
    assert bench.lines("starts") == ["native"] * 3


def test_only_new_points_are_measured(bench: Bench) -> None:
    before = bench.run([point(10), point(20)])
    after = bench.run([point(10), point(15), point(20)])
    assert after[0] == before[0] and after[2] == before[1]
    assert bench.lines("asked") == [before[0]["id"], before[1]["id"], after[1]["id"]]


def test_a_changed_program_is_measured_again(bench: Bench) -> None:
    bench.run([point(10)])
    with bench.worker().open("a") as file:
        file.write("# changed\n")
    bench.run([point(10)])
    assert len(bench.lines("asked")) == 2


def test_what_is_compared_with_a_changed_program_is_measured_again(bench: Bench) -> None:
    rust, cpp, other_size = point(10, "rust_offload"), point(10, "cpp_seq"), point(20, "cpp_seq")
    bench.worker("rust_offload")
    bench.worker("cpp_seq")
    before = {record["id"]: record for record in bench.run([rust, cpp, other_size])}
    bench.worker("rust_offload", FAKE.read_text() + "# changed\n")
    after = {record["id"]: record for record in bench.run([rust, cpp, other_size])}
    assert after[rust["id"]]["run"] != before[rust["id"]]["run"]
    assert after[cpp["id"]]["run"] == after[rust["id"]]["run"]
    assert after[other_size["id"]]["run"] == before[other_size["id"]]["run"]


def test_a_further_variant_is_measured_beside_those_that_it_is_compared_with(bench: Bench) -> None:
    rust, cpp = point(10, "rust_offload"), point(10, "cpp_seq")
    bench.worker("rust_offload")
    bench.worker("cpp_seq")
    (before,) = bench.run([cpp])
    after = {record["id"]: record for record in bench.run([rust, cpp])}
    assert after[cpp["id"]]["run"] == after[rust["id"]]["run"] != before["run"]


def test_a_changed_part_is_measured_again_and_no_other(bench: Bench) -> None:
    contracted = point(10, contraction="contract", part="baselines/cpp_seq-contract.so", kind="check")
    bench.part(contracted["part"])
    bench.run([point(10), contracted])
    bench.part(contracted["part"], "another library")
    bench.run([point(10), contracted])
    assert bench.lines("asked") == [point(10)["id"], contracted["id"], contracted["id"]]


def test_an_emulated_device_has_its_emulator_and_no_times(bench: Bench) -> None:
    where = {"device": "amd_emulated", "arch": "gfx90a", "kind": "check"}
    bench.worker("rust_liboffload")
    bench.part("images/gfx90a-safe-strict.img")
    emulated = point(10, "rust_liboffload", **where)
    absent = point(20, "rust_liboffload", status_planned="unsupported", reason_planned="no checkout", **where)
    found = bench.run([emulated, absent, point(10)], "--emulator", "python emulator.py")
    assert [record["status"] for record in found] == ["ok", "unsupported", "ok"]
    assert (found[0]["runtime"], found[0]["seconds_per_rep"]) == ("python emulator.py", [])
    assert found[1]["message"] == "no checkout"
    assert found[2]["runtime"] is None


def test_a_changed_toolchain_is_measured_again(bench: Bench) -> None:
    (bench.folder / "toolchain.json").write_text(json.dumps({"sha256": "a" * 64}))
    assert bench.run([point(10)], "--toolchain", "toolchain.json")[0]["toolchain_sha256"] == "a" * 64
    bench.run([point(10)], "--toolchain", "toolchain.json")
    assert len(bench.lines("asked")) == 1
    (bench.folder / "toolchain.json").write_text(json.dumps({"sha256": "b" * 64}))
    bench.run([point(10)], "--toolchain", "toolchain.json")
    assert len(bench.lines("asked")) == 2


def test_repeat_measures_everything_again(bench: Bench) -> None:
    bench.run([point(10)])
    bench.run([point(10)], "--repeat")
    assert len(bench.lines("asked")) == 2


def test_a_journal_that_was_cut_off_loses_one_point(bench: Bench) -> None:
    bench.run([point(10), point(20)])
    journal = bench.folder / "journal.jsonl"
    text = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(text[:2]) + text[2][:40])
    bench.run([point(10), point(20)])
    assert len(bench.lines("asked")) == 3
    bench.run([point(10), point(20)])
    assert len(bench.lines("asked")) == 3


def test_dumps_are_files_or_part_of_the_record(bench: Bench) -> None:
    found = bench.run([point(10, data="random")])
    assert Path(found[0]["dump"]) == Path("dumps") / f"{found[0]['id']}.f64"
    assert (bench.folder / found[0]["dump"]).stat().st_size == 32
    shutil.rmtree(bench.folder / "dumps")  # as Snakemake does before a rule runs
    assert (bench.folder / bench.run([point(10, data="random")])[0]["dump"]).exists()
    assert len(bench.lines("asked")) == 1
    embedded = bench.run([point(10, data="random")], "--embed-dumps", "--repeat")
    assert embedded[0]["dump"] is None and embedded[0]["dump_data"]


def test_ok_without_the_dump_is_not_ok(bench: Bench) -> None:
    found = bench.run([point(10, data="random")], fake={"10": "no_dump"})
    assert (found[0]["status"], found[0]["message"]) == ("crashed", "said ok, but wrote no dump")


def _wait_for(bench: Bench, count: int) -> None:
    for _ in range(200):
        if len(bench.lines("asked")) >= count:
            return
        time.sleep(0.05)
    raise AssertionError("the worker was not asked")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_run_continues(bench: Bench, number: signal.Signals) -> None:
    points = [point(size) for size in (10, 20, 30)]
    process = bench.start(points, fake={"20": "hang"})
    _wait_for(bench, 2)
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    if number == signal.SIGKILL:
        assert process.returncode == -9
    else:
        assert process.returncode == 128 + number
        assert "stopped by" in errors and "Traceback" not in errors
    assert not (bench.folder / "out/records.jsonl").exists()
    found = bench.run(points)
    assert [record["status"] for record in found] == ["ok"] * 3
    assert bench.lines("asked") == [points[0]["id"], points[1]["id"], points[1]["id"], points[2]["id"]]


def test_the_worker_of_a_killed_runner_dies_with_it(bench: Bench) -> None:
    process = bench.start([point(20)], fake={"20": "hang"})
    _wait_for(bench, 1)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    process.communicate()
    for _ in range(100):
        if not any(Path(f"/proc/{child}").exists() for child in children):
            return
        time.sleep(0.05)
    raise AssertionError("the worker outlived its runner")


def test_a_second_runner_waits_for_the_first(bench: Bench) -> None:
    points = [point(size) for size in (10, 20, 30)]
    first = bench.start(points, fake={"10": "slow", "20": "slow", "30": "slow"})
    _wait_for(bench, 1)
    second = bench.start(points)
    _, errors = second.communicate(timeout=30)
    assert errors == "ironsweep: another runner is at these points; waiting until it has finished\n"
    first.communicate(timeout=30)
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(bench.lines("asked")) == 3


def test_what_nvidia_smi_tells_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        "#!/bin/sh\n"
        "case $1 in\n"
        '--help-query-gpu) printf \'"name"\\nThe name.\\n"uuid"\\n"clocks_event_reasons.active"\\n\' ;;\n'
        "--query-gpu=name,uuid,clocks_event_reasons.active) echo 'NVIDIA H200, GPU-1, 0x0' ;;\n"
        "*) exit 1 ;;\n"
        "esac\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    facts = runner.environment_facts("r", "start", ["nvidia"], 2)
    assert facts["nvidia"] == [{"name": "NVIDIA H200", "uuid": "GPU-1", "clocks_event_reasons.active": "0x0"}]
    assert runner.environment_facts("r", "start", ["host"], 2)["nvidia"] == []


def test_a_failing_disk_is_an_error_not_a_result(bench: Bench) -> None:
    (bench.folder / "out").write_text("a file where a folder is needed")
    process = bench.start([point(10)])
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 74
    assert errors.startswith("ironsweep: the run cannot go on") and len(errors.splitlines()) == 1


def test_threads_are_at_most_the_cores_of_the_job(bench: Bench) -> None:
    assert bench.run([point(10)], "--threads", "1")[0]["threads"] == 1
    assert bench.run([point(11)], "--threads", "100000")[0]["threads"] == len(os.sched_getaffinity(0))


def test_it_understands_the_notes_of_failed_builds(tmp_path: Path) -> None:
    attempt.write_note(attempt.Note("build_failed", "compile", "error: ..."), [tmp_path / "worker"])
    assert runner.read_note(tmp_path / "worker") == ("build_failed", "compile: error: ...")
    (tmp_path / "worker").write_bytes(b"\x7fELF")
    assert runner.read_note(tmp_path / "worker") is None


def test_it_travels_alone_with_python_38() -> None:
    tree = ast.parse((SCRIPTS / "ironsweep/runner.py").read_text(), feature_version=(3, 8))
    for node in ast.walk(tree):
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        for module in names:
            assert module.partition(".")[0] in sys.stdlib_module_names, module
