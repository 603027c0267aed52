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

    def wait_until_asked(self, count: int) -> None:
        """Wait until workers were asked for so many points."""
        for _ in range(400):
            if len(self.lines("asked")) >= count:
                return
            time.sleep(0.05)
        raise AssertionError("the workers were not asked")


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_run_continues(bench: Bench, number: signal.Signals) -> None:
    points = [point(size) for size in (10, 20, 30)]
    process = bench.start(points, fake={"20": "hang"})
    bench.wait_until_asked(2)
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


def test_several_signals_stop_it_once(bench: Bench) -> None:
    process = bench.start([point(20)], fake={"20": "hang"})
    bench.wait_until_asked(1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode in (128 + signal.SIGTERM, 128 + signal.SIGINT)
    assert len(errors.splitlines()) == 1 and "stopped by" in errors


def test_the_worker_of_a_killed_runner_dies_with_it(bench: Bench) -> None:
    process = bench.start([point(20)], fake={"20": "hang"})
    bench.wait_until_asked(1)
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
    bench.wait_until_asked(1)
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


# --- devices that are broken ----------------------------------------------------------------------------------------


def _at_sizes(sizes: list[int], behaviour: str = "crash") -> dict[str, str]:
    return {str(size): behaviour for size in sizes}


def _mixed(sizes: list[int]) -> list[dict[str, Any]]:
    """Points of two programs in turn."""
    return [point(size, ("cpp_seq", "cpp_openmp")[number % 2]) for number, size in enumerate(sizes)]


def test_after_three_faults_in_a_row_the_rest_is_handed_back(bench: Bench) -> None:
    bench.worker("cpp_openmp")
    points = _mixed([10, 20, 30, 40, 50, 60])
    found = bench.run(points, fake={"20": "crash", "30": "garbage", "40": "exit"})
    assert [record["status"] for record in found] == ["ok", "crashed", "crashed", "crashed", "not_run", "not_run"]
    assert [record.get("handed_back") for record in found] == [None] * 4 + [True] * 2
    assert "quarantined after 3 faults in a row" in found[4]["message"]
    assert "Stream_TRIAD cpp_openmp crashed: ended with exit code 7" in found[4]["message"]
    assert len(bench.lines("asked")) == 4
    # The next start, on a device that works, has no faults behind it, and measures what is left.
    again = bench.run(points)
    assert [record["status"] for record in again] == ["ok", "crashed", "crashed", "crashed", "ok", "ok"]
    assert not any("handed_back" in record for record in again)


@pytest.mark.parametrize("behaviour", ["", "out_of_memory"])
def test_an_answer_in_between_ends_the_row(bench: Bench, behaviour: str) -> None:
    bench.worker("cpp_openmp")
    fake = {**_at_sizes([10, 20, 40, 50]), "30": behaviour}
    found = bench.run(_mixed([10, 20, 30, 40, 50, 60]), fake=fake)
    between = behaviour or "ok"
    assert [record["status"] for record in found] == ["crashed", "crashed", between, "crashed", "crashed", "ok"]


def test_what_says_nothing_about_the_device_does_not_end_the_row(bench: Bench) -> None:
    bench.worker("cpp_openmp")
    found = bench.run(_mixed([10, 20, 30, 40, 50]), fake={**_at_sizes([10, 20, 40]), "30": "unsupported"})
    assert [record["status"] for record in found] == ["crashed", "crashed", "unsupported", "crashed", "not_run"]


@pytest.mark.parametrize("behaviour", ["out_of_memory", "no_memory", "half", "unsupported"])
def test_what_is_no_fault_of_the_device_quarantines_nothing(bench: Bench, behaviour: str) -> None:
    bench.worker("cpp_openmp")
    found = bench.run(_mixed([10, 20, 30, 40, 50]), fake=_at_sizes([10, 20, 30, 40], behaviour))
    assert found[-1]["status"] == "ok"
    assert len(bench.lines("asked")) == 5


def test_one_broken_program_needs_ten_faults(bench: Bench) -> None:
    sizes = list(range(10, 22))
    found = bench.run([point(size) for size in sizes], fake=_at_sizes(sizes))
    assert [record["status"] for record in found] == ["crashed"] * 10 + ["not_run"] * 2


def test_hanging_is_a_fault(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "START_GRACE_S", 0.5)
    monkeypatch.setenv("IRONSWEEP_FAKE", json.dumps(_at_sizes([10, 20, 30], "hang")))
    monkeypatch.chdir(bench.folder)
    bench.worker("cpp_openmp")
    Path("points.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in _mixed([10, 20, 30, 40])))
    assert runner.main(["--points", "points.jsonl", "--bin", "bin", "--out", "out.jsonl", "--timeout", "0.2"]) == 0
    found, _ = records.read_records(Path("out.jsonl"))
    assert [record["status"] for record in found] == ["timeout"] * 3 + ["not_run"]


def test_a_quarantine_leaves_what_is_no_measurement(bench: Bench) -> None:
    bench.worker("cpp_openmp")
    bench.part("baselines/cuda-strict.so", NOTE)
    built = point(70, "cuda", device="nvidia", arch="sm_90")
    found = bench.run([*_mixed([10, 20, 30, 40]), built], fake=_at_sizes([10, 20, 30]))
    assert [record["status"] for record in found[3:]] == ["not_run", "unsupported"]


# --- devices that are others than was asked for ---------------------------------------------------------------------

H200 = {"vendor": "nvidia", "model": "H200", "arch": ["sm_90"]}


@pytest.mark.parametrize(
    ("expected", "found", "fits"),
    [
        (H200, {"vendor": "nvidia", "name": "NVIDIA H200", "arch": "sm_90"}, True),
        ({"vendor": "nvidia", "model": "h200"}, {"name": "NVIDIA H200"}, True),
        (H200, {"vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3", "arch": "sm_90"}, False),
        (H200, {"vendor": "nvidia", "name": "NVIDIA GH200 480GB", "arch": "sm_90"}, False),
        (H200, {"vendor": "nvidia", "name": "NVIDIA H200", "arch": "sm_100"}, False),
        (H200, {"vendor": "amd", "name": "H200", "arch": "sm_90"}, False),
        (H200, {"name": "NVIDIA H200 MIG 1g.18gb"}, False),
        ({"vendor": "nvidia", "model": "H200 MIG 1g.18gb"}, {"name": "NVIDIA H200 MIG 1g.18gb"}, True),
        ({"vendor": "nvidia", "model": "A100-SXM4-40GB"}, {"name": "NVIDIA A100-SXM4-40GB"}, True),
        ({"vendor": "nvidia", "model": "A100-SXM4-40GB"}, {"name": "NVIDIA A100-SXM4-80GB"}, False),
        ({"vendor": "amd", "model": "MI250X (one GCD)"}, {"name": "AMD Instinct MI250X", "arch": "gfx90a"}, True),
        (
            {"vendor": "amd", "model": "MI250X", "arch": ["gfx90a"]},
            {"name": "", "arch": "gfx90a:sramecc+:xnack-"},
            True,
        ),
        ({"vendor": "amd", "model": "MI300A", "arch": ["gfx942"]}, {"name": "AMD Instinct MI300X"}, False),
        ({}, {"vendor": "host", "name": "anything", "arch": "host"}, True),
    ],
)
def test_a_device_fits_or_both_are_named(expected: dict[str, Any], found: dict[str, Any], fits: bool) -> None:
    reason = runner.misfit(expected, found)
    if fits:
        assert reason is None
    else:
        assert reason and expected["model"] in reason and found["name"] in reason


def _gpu_bench(bench: Bench, monkeypatch: pytest.MonkeyPatch, smi: str | None = None, **device: str) -> Bench:
    """A bench whose worker says that it has a certain GPU, with an nvidia-smi that is a script."""
    bench.worker("cuda")
    monkeypatch.setenv("IRONSWEEP_FAKE_DEVICE", json.dumps(device))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    fake_smi(bench.folder / "tools", smi or "exit 9")
    monkeypatch.setenv("PATH", str(bench.folder / "tools"), prepend=":")
    return bench


def fake_smi(folder: Path, query: str, listing: str = "exit 1") -> None:
    """An nvidia-smi that is a shell script; it is no test of NVIDIA's."""
    folder.mkdir(exist_ok=True)
    tool = folder / "nvidia-smi"
    tool.write_text(
        "#!/bin/sh\n"
        "case $1 in\n"
        '--help-query-gpu) printf \'"name"\\n"uuid"\\n"compute_cap"\\n"mig.mode.current"\\n\' ;;\n'
        f"--query-gpu=name,uuid,compute_cap,mig.mode.current) {query} ;;\n"
        f"-L) {listing} ;;\n"
        "*) exit 1 ;;\n"
        "esac\n"
    )
    tool.chmod(0o755)


def _gpu_points(*sizes: int) -> list[dict[str, Any]]:
    """Points of a GPU."""
    return [point(size, "cuda", device="nvidia", arch="sm_90") for size in sizes]


def _with_header(points: list[dict[str, Any]], expected: dict[str, Any], lanes: int = 1) -> list[dict[str, Any]]:
    return [{"type": "batch", "batch": "x", "lanes": lanes, "device": "nvidia", "expected": expected}, *points]


def _run_expecting(bench: Bench, points: list[dict[str, Any]], expected: dict[str, Any]) -> list[dict[str, Any]]:
    process = bench.start(_with_header(points, expected))
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    found, problems = records.read_records(bench.folder / "out/records.jsonl")
    assert problems == []
    return found


def test_what_another_device_measured_is_no_measurement(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    _gpu_bench(bench, monkeypatch, device_name="NVIDIA H100 80GB HBM3", device_vendor="nvidia")
    found = _run_expecting(bench, _gpu_points(10, 20), H200)
    assert [record["status"] for record in found] == ["wrong_device"] * 2
    assert found[0]["message"] == "asked for nvidia H200 sm_90, found NVIDIA H100 80GB HBM3 sm_90"
    assert not {"seconds_per_rep", "checksums", "flops", "bytes_read"} & found[0].keys()
    # The right device measures them: such records are not kept.
    _gpu_bench(bench, monkeypatch, device_name="NVIDIA H200", device_vendor="nvidia")
    assert [record["status"] for record in _run_expecting(bench, _gpu_points(10, 20), H200)] == ["ok"] * 2


def test_a_worker_that_says_nothing_about_its_device_proves_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _gpu_bench(bench, monkeypatch, device_name="", device_arch="")
    (found,) = _run_expecting(bench, _gpu_points(10), H200)
    assert (found["status"], found["message"]) == ("wrong_device", "the worker does not say which device it had")


def test_without_a_header_nothing_is_expected(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    _gpu_bench(bench, monkeypatch, device_name="NVIDIA H100 80GB HBM3")
    assert [record["status"] for record in bench.run(_gpu_points(10))] == ["ok"]


def test_a_wrong_gpu_is_noticed_before_anything_is_started(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    _gpu_bench(bench, monkeypatch, "echo 'NVIDIA A100-SXM4-40GB, GPU-1, 8.0, Disabled'", device_name="NVIDIA H200")
    found = _run_expecting(bench, _gpu_points(10, 20), H200)
    assert [record["status"] for record in found] == ["wrong_device"] * 2
    assert found[1]["message"] == "asked for nvidia H200 sm_90, found NVIDIA A100-SXM4-40GB sm_80"
    assert bench.lines("starts") == []


@pytest.mark.parametrize("after", ["GPU-2, 9.0, Disabled", "GPU-1, 9.0, Enabled"])
def test_a_device_that_is_another_one_afterwards_has_measured_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    query = f"[ -e again ] && echo 'NVIDIA H200, {after}' || echo 'NVIDIA H200, GPU-1, 9.0, Disabled'; touch again"
    _gpu_bench(bench, monkeypatch, query, device_name="NVIDIA H200", device_vendor="nvidia")
    found = _run_expecting(bench, [*_gpu_points(10, 20), point(30)], H200)
    assert [record["status"] for record in found] == ["wrong_device", "wrong_device", "ok"]
    assert found[0]["message"].startswith("the device changed during the run: GPU-1 MIG Disabled before, GPU-")
    assert "seconds_per_rep" not in found[0]
    again = _run_expecting(bench, _gpu_points(10, 20), H200)
    assert [record["status"] for record in again] == ["ok"] * 2


def test_a_tool_that_is_silent_afterwards_takes_nothing_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "[ -e again ] && exit 3 || echo 'NVIDIA H200, GPU-1, 9.0, Disabled'; touch again"
    _gpu_bench(bench, monkeypatch, query, device_name="NVIDIA H200")
    assert [record["status"] for record in _run_expecting(bench, _gpu_points(10), H200)] == ["ok"]
    start, end = records.read_file(bench.folder / "out/records.jsonl").environments
    assert start["nvidia"][0]["uuid"] == "GPU-1" and end["nvidia"] is None


def test_tools_that_hang_or_are_not_there_tell_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    assert runner.gpus("nvidia") is None and runner.gpus("amd") is None
    monkeypatch.setattr(runner, "TOOL_TIMEOUT_S", 0.2)
    for name in ("nvidia-smi", "rocm-smi", "amd-smi"):
        (tools / name).write_text("#!/bin/sh\n/bin/sleep 100\n")
        (tools / name).chmod(0o755)
    begin = time.monotonic()
    assert runner.gpus("nvidia") is None and runner.gpus("amd") is None
    assert time.monotonic() - begin < 50


@pytest.mark.parametrize(
    ("seen", "used"),
    [
        (None, ["GPU-aa11", "GPU-bb22"]),
        ("1", ["GPU-bb22"]),
        ("GPU-bb", ["GPU-bb22"]),
        ("MIG-5", ["GPU-bb22"]),
        ("7", ["GPU-aa11", "GPU-bb22"]),
        ("NoDevFiles", ["GPU-aa11", "GPU-bb22"]),
    ],
)
def test_the_gpu_that_programs_see_is_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: str | None, used: list[str]
) -> None:
    fake_smi(
        tmp_path,
        "echo 'NVIDIA H200, GPU-aa11, 9.0, Disabled'; echo 'NVIDIA H200, GPU-bb22, 9.0, Enabled'",
        "echo 'GPU 0: NVIDIA H200 (UUID: GPU-aa11)'; echo 'GPU 1: NVIDIA H200 (UUID: GPU-bb22)';"
        " echo '  MIG 1g.18gb Device 0: (UUID: MIG-5)'",
    )
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if seen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    facts = runner.environment_facts("r", "start", ["nvidia"], 2)["nvidia"]
    assert [gpu["uuid"] for gpu in facts] == used
    assert facts[0]["arch"] == "sm_90"


AMD_SMI_STATIC = [
    {
        "gpu": 0,
        "asic": {"market_name": "AMD Instinct MI300A", "asic_serial": "0xAB12", "target_graphics_version": "gfx942"},
        "driver": {"name": "amdgpu", "version": "6.8.5"},
        "limit": {"max_power": {"value": 550, "unit": "W"}},
        "vbios": {"name": "not of interest"},
    }
]
ROCM_SMI = {
    "card0": {"Card Series": "AMD INSTINCT MI200 (MCM)", "GFX Version": "gfx90a", "Unique ID": "0xab12"},
    "system": {"Driver version": "6.3.6"},
}


def test_what_amds_tools_tell_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are made up after the tools' documentation: there was no AMD GPU to ask."""

    def tool(name: str, answer: Any) -> None:
        (tmp_path / f"{name}.json").write_text(json.dumps(answer))
        (tmp_path / name).write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/{name}.json\n")
        (tmp_path / name).chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ROCR_VISIBLE_DEVICES", raising=False)
    tool("rocm-smi", ROCM_SMI)
    (gpu,) = runner.environment_facts("r", "start", ["amd"], 2)["amd"]
    assert (gpu["uuid"], gpu["arch"], gpu["Driver version"]) == ("0xab12", "gfx90a", "6.3.6")
    assert "name" not in gpu  # a board's name in the list of PCI devices is no model
    for answer in (AMD_SMI_STATIC, {"gpu_data": AMD_SMI_STATIC}):
        tool("amd-smi", answer)
        (gpu,) = runner.environment_facts("r", "start", ["amd"], 2)["amd"]
        assert (gpu["name"], gpu["uuid"], gpu["arch"]) == ("AMD Instinct MI300A", "0xAB12", "gfx942")
        assert gpu["limit.max_power"] == "550 W" and gpu["driver.version"] == "6.8.5" and "vbios.name" not in gpu
    for answer in ("no list", [1], {"gpu_data": [None]}, {"card0": 5}):
        tool("amd-smi", answer)
        tool("rocm-smi", answer)
        assert runner.gpus("amd") is None


# --- batches --------------------------------------------------------------------------------------------------------


def test_a_twin_is_measured_anew_with_its_cell(bench: Bench) -> None:
    bench.worker("rust_offload")
    rust, cpp = point(10, "rust_offload"), point(10)
    twin = {**cpp, "id": "f" * 16, "twin_of": cpp["id"], "lane": 0}
    before = bench.run([rust, twin, cpp])
    assert (before[1]["twin_of"], before[1]["lane"], before[1]["status"]) == (cpp["id"], 0, "ok")
    bench.worker("rust_offload", FAKE.read_text() + "# changed\n")
    after = bench.run([rust, twin, cpp])
    assert len({record["run"] for record in after}) == 1 and after[1]["run"] != before[1]["run"]


def test_one_lane_of_a_batch_is_measured(bench: Bench) -> None:
    points = [{**point(size), "lane": lane} for size, lane in ((10, 0), (20, 1), (30, 1))]
    process = bench.start(_with_header(points, {}, lanes=2), "--lane", "1")
    assert process.wait(30) == 0
    assert bench.lines("asked") == [item["id"] for item in points[1:]]


def test_journals_of_a_batch_that_was_given_up_are_taken_over(bench: Bench) -> None:
    points = [point(10, data="random"), point(20), point(30)]
    process = bench.start(points, fake={"30": "hang"})
    bench.wait_until_asked(3)
    process.kill()
    process.communicate()
    (bench.folder / "journal.jsonl").rename(bench.folder / "old.1.jsonl")
    (bench.folder / "journal.dumps").rename(bench.folder / "old.1.dumps")
    found = bench.run([point(40), *points], "--earlier", "old", "never")
    assert [record["status"] for record in found] == ["ok"] * 4
    assert (bench.folder / found[1]["dump"]).stat().st_size == 32
    assert bench.lines("asked") == [item["id"] for item in (*points, point(40), points[2])]
    moments = [line["moment"] for line in records.read_file(bench.folder / "out/records.jsonl").environments]
    assert sorted(moments) == ["end", "start", "start"]
    # What was measured anew since then is not overwritten.
    bench.worker(text=f"{FAKE.read_text()}# changed\n")
    for _ in range(2):
        bench.run([point(40), *points], "--earlier", "old")
        assert len(bench.lines("asked")) == 9


def test_a_full_disk_leaves_the_journal_whole(bench: Bench) -> None:
    (bench.folder / "points.jsonl").write_text("".join(f"{json.dumps(point(size))}\n" for size in range(10, 40)))
    arguments = ["--points", "points.jsonl", "--bin", "bin", "--out", "records.jsonl", "--journal", "journal.jsonl"]
    done = subprocess.run(
        ["prlimit", "--fsize=9000", sys.executable, "-m", "ironsweep.runner", *arguments],
        cwd=bench.folder,
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == runner.EX_IOERR
    assert done.stderr.startswith("ironsweep: the run cannot go on: OSError") and len(done.stderr.splitlines()) == 1
    kept = (bench.folder / "journal.jsonl").read_text()
    assert kept.endswith("\n") and len([json.loads(line) for line in kept.splitlines()]) > 2
    found = bench.run([point(size) for size in range(10, 40)])
    assert [record["status"] for record in found] == ["ok"] * 30
