"""Batches: lanes side by side, each with its own device, and one file of records.

The lanes are real processes with the fake worker. There are no GPUs here: which device a lane would see is read from
its environment, and nvidia-smi is a script.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ironsweep import batch, records, runner
from test_runner import H200, SCRIPTS, Bench, fake_smi, point

NAME = "0123456789abcdef"


def lane_points(*lanes: list[int], **changes: Any) -> list[dict[str, Any]]:
    """Points of some sizes for each lane."""
    return [{**point(size, **changes), "lane": lane} for lane, sizes in enumerate(lanes) for size in sizes]


def header(lanes: int, **changes: Any) -> dict[str, Any]:
    return {
        "type": "batch",
        "batch": NAME,
        "system": "local",
        "device": "host",
        "lanes": lanes,
        "expected": {},
        **changes,
    }


@dataclass
class BatchBench(Bench):
    """A bench in which a batch can be started."""

    def write(self, lines: list[dict[str, Any]]) -> None:
        """Write the batch's file."""
        self.file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    @property
    def file(self) -> Path:
        return self.folder / f"{NAME}.jsonl"

    @property
    def out(self) -> Path:
        return self.folder / "records" / f"{NAME}.jsonl"

    def begin(
        self, *arguments: str, fake: dict[str, str] | None = None, prefix: tuple[str, ...] = (), **environment: str
    ) -> subprocess.Popen[str]:
        """Start the batch that was written."""
        return subprocess.Popen(
            [
                *(*prefix, sys.executable, "-m", "ironsweep.batch", "--batch", str(self.file), "--bin", "bin"),
                *("--journal", f"journal/{NAME}", "--dumps", "dumps", "--out", str(self.out)),
                *("--log", "log", *arguments),
            ],
            cwd=self.folder,
            env={
                **{name: value for name, value in os.environ.items() if "VISIBLE_DEVICES" not in name},
                "PYTHONPATH": str(SCRIPTS),
                "IRONSWEEP_FAKE": json.dumps(fake or {}),
                "IRONSWEEP_FAKE_POINTS": str(self.folder / "asked"),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, *arguments: str, fake: dict[str, str] | None = None, **environment: str) -> records.RecordFile:
        """Run the batch that was written; its records."""
        process = self.begin(*arguments, fake=fake, **environment)
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, output, errors) == (0, "", "")
        found = records.read_file(self.out)
        assert found.problems == []
        return found

    def fails(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run the batch; its exit code and its one sentence."""
        process = self.begin(*arguments, **environment)
        output, errors = process.communicate(timeout=60)
        assert output == "" and len(errors.splitlines()) == 1 and errors.startswith("ironsweep: "), errors
        assert not self.out.exists()
        return process.returncode, errors.strip()


@pytest.fixture
def bench(tmp_path: Path) -> BatchBench:
    """A bench with one well-behaved worker."""
    bench = BatchBench(tmp_path)
    bench.worker()
    return bench


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_all_lanes_make_one_file_in_the_batchs_order(bench: BatchBench, lanes: int) -> None:
    points = lane_points(*([10 + lane, 20 + lane, 30 + lane] for lane in range(lanes)))
    bench.write([header(lanes), *points])
    found = bench.end()
    assert [(record["id"], record["lane"], record["status"]) for record in found.records] == [
        (item["id"], item["lane"], "ok") for item in points
    ]
    lines = [json.loads(line) for line in bench.out.read_text().splitlines()]
    assert [line.get("type") for line in lines] == ["environment"] * 2 * lanes + [None] * 3 * lanes
    assert [(line["lane"], line["moment"]) for line in found.environments] == [
        (lane, moment) for lane in range(lanes) for moment in ("start", "end")
    ]
    assert sorted(file.name for file in (bench.folder / "journal").glob("*.jsonl")) == [
        f"{NAME}.{lane}.jsonl" for lane in range(lanes)
    ]
    assert bench.lines("log")[0] == f"{bench.out}: {3 * lanes} points, {3 * lanes} ok"


def test_what_was_measured_is_kept_lane_by_lane(bench: BatchBench) -> None:
    bench.write([header(2), *lane_points([10, 20], [30, 40])])
    before = bench.end()
    assert bench.end().records == before.records
    assert len(bench.lines("asked")) == 4


def test_dumps_of_all_lanes_come_into_one_folder(bench: BatchBench) -> None:
    points = lane_points([10], [20], data="random")
    twin = {**points[1], "id": "f" * 16, "twin_of": points[1]["id"], "dump": None}
    bench.write([header(2), *points, twin])
    found = bench.end().records
    assert sorted(file.name for file in (bench.folder / "dumps").iterdir()) == sorted(item["dump"] for item in points)
    assert [record["dump"] for record in found[:2]] == [f"dumps/{item['dump']}" for item in points]
    assert found[2]["dump"] is None and found[2]["twin_of"] == points[1]["id"]


def test_threads_and_cores_are_shared_out(bench: BatchBench) -> None:
    assert batch.cores_of(2, [4, 5, 6, 7, 8], 0) == [([4, 5], 2), ([6, 7], 2)]
    assert batch.cores_of(2, list(range(8)), 4) == [([0, 1, 2, 3], 2), ([4, 5, 6, 7], 2)]
    assert batch.cores_of(3, [1, 2], 8) == [([], 1)] * 3
    bench.write([header(2), *lane_points([10], [20])])
    usable = len(os.sched_getaffinity(0))
    found = bench.end()
    assert [record["threads"] for record in found.records] == [max(1, usable // 2)] * 2
    if usable >= 2:
        assert {line["cpus_usable"] for line in found.environments} == {usable // 2}


# --- files that are no batch ----------------------------------------------------------------------------------------


def test_a_missing_batch_is_one_sentence(bench: BatchBench) -> None:
    code, words = bench.fails()
    assert code == runner.EX_IOERR
    assert words == f"ironsweep: the batch {bench.file} cannot be read: No such file or directory"
    assert bench.lines("log") == [words.removeprefix("ironsweep: ")]


POINT = {**point(10), "lane": 0}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "its first line is no header"),
        ([POINT], "its first line is no header"),
        ([header(1, batch="fedcba9876543210"), POINT], "its header is that of batch fedcba9876543210"),
        ([header(0), POINT], "no number of lanes"),
        ([header(True), POINT], "no number of lanes"),
        ([header(1, points=2), POINT], "it has 1 points, its header says 2"),
        ([header(1, expected=[]), POINT], "expected is no object"),
        ([header(1, expected={"vendor": "nvidia", "arch": "sm_90"}), POINT], "expected arch must be a list"),
        ([header(1, expected={"model": 5}), POINT], "expected vendor and model must be words"),
        ([header(1), {**POINT, "lane": 1}], "there is no lane 1 of 1"),
        ([header(2), {**POINT, "lane": 1}, {**point(20), "lane": 0}], "after those of a later lane"),
        ([header(1), POINT, POINT], "is there twice"),
        ([header(1, device="nvidia"), POINT], "the device is host, the batch's nvidia"),
        ([header(1), {**POINT, "size": "10", "dump": 1}], "wrong or missing: size, dump"),
        ([header(1), {"id": "x"}], "wrong or missing: kernel"),
    ],
)
def test_a_damaged_batch_is_refused(bench: BatchBench, lines: list[dict[str, Any]], reason: str) -> None:
    bench.write(lines)
    code, words = bench.fails()
    assert code == runner.EX_USAGE
    assert reason in words


@pytest.mark.parametrize("text", [b"\xff\xfe", b'{"type": "batch", "ba', b"[1]\n", b"{" * 100_000])
def test_what_is_no_json_is_refused(bench: BatchBench, text: bytes) -> None:
    bench.file.write_bytes(text)
    code, words = bench.fails()
    assert code == runner.EX_USAGE and "is damaged" in words


# --- which device a lane sees ---------------------------------------------------------------------------------------


def test_each_lane_sees_one_device_in_the_words_that_were_used() -> None:
    def nvidia(value: str, lanes: int) -> list[str]:
        found = batch.devices_of("nvidia", lanes, {"CUDA_VISIBLE_DEVICES": value})
        return [environment["CUDA_VISIBLE_DEVICES"] for environment in found]

    assert nvidia("2,3", 2) == ["2", "3"]
    assert nvidia("5,6,7", 1) == ["5"]
    assert nvidia("GPU-a1, GPU-b2", 2) == ["GPU-a1", "GPU-b2"]
    assert nvidia("MIG-GPU-a1/1/0,MIG-77", 2) == ["MIG-GPU-a1/1/0", "MIG-77"]


def test_amds_variables_do_not_contradict_each_other() -> None:
    def amd(lanes: int, **environment: str) -> list[dict[str, str]]:
        return batch.devices_of("amd", lanes, environment)

    both = {"ROCR_VISIBLE_DEVICES": "4,5,6", "HIP_VISIBLE_DEVICES": "2,0", "GPU_DEVICE_ORDINAL": "0"}
    assert amd(2, **both) == [{"ROCR_VISIBLE_DEVICES": "6"}, {"ROCR_VISIBLE_DEVICES": "4"}]
    assert amd(1, ROCR_VISIBLE_DEVICES="4,5", CUDA_VISIBLE_DEVICES="0") == [{"ROCR_VISIBLE_DEVICES": "4"}]
    assert amd(1, HIP_VISIBLE_DEVICES="3") == [{"ROCR_VISIBLE_DEVICES": "3"}]


def test_where_nothing_is_said_devices_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    found = batch.devices_of("nvidia", 3, {})
    assert [environment["CUDA_VISIBLE_DEVICES"] for environment in found] == ["0", "1", "2"]
    assert {environment["CUDA_DEVICE_ORDER"] for environment in found} == {"PCI_BUS_ID"}
    assert [each["ROCR_VISIBLE_DEVICES"] for each in batch.devices_of("amd", 2, {})] == ["0", "1"]
    fake_smi(tools, "echo 'NVIDIA H200, GPU-1, 9.0, Disabled'")
    with pytest.raises(batch.BatchError, match="needs 3 nvidia devices, visible here: 1"):
        batch.devices_of("nvidia", 3, {})


def test_the_host_keeps_what_slurm_set() -> None:
    environment = {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert batch.devices_of("host", 2, environment) == [environment] * 2


@pytest.mark.parametrize(("value", "number"), [("0", 1), ("", 0), ("NoDevFiles", 0), ("0,-1,1", 1)])
def test_too_few_devices_are_a_failure_of_the_infrastructure(bench: BatchBench, value: str, number: int) -> None:
    bench.worker("cuda")
    bench.write([header(2, device="nvidia"), *lane_points([10], [20], variant="cuda", device="nvidia", arch="sm_90")])
    code, words = bench.fails(CUDA_VISIBLE_DEVICES=value)
    assert code == batch.EX_UNAVAILABLE
    assert words == f"ironsweep: the batch needs 2 nvidia devices, visible here: {number}"


@pytest.mark.parametrize("lanes", [1, 2])
def test_lanes_are_told_their_device_and_attest_it(bench: BatchBench, lanes: int) -> None:
    bench.worker("cuda")
    fake_smi(
        bench.folder / "tools",
        "echo 'NVIDIA H100 NVL, GPU-a, 9.0, Disabled'; echo 'NVIDIA H200, GPU-b, 9.0, Disabled';"
        " echo 'NVIDIA A100-SXM4-40GB, GPU-c, 8.0, Disabled'",
    )
    points = lane_points([10], [20], variant="cuda", device="nvidia", arch="sm_90")[:lanes]
    bench.write([header(lanes, device="nvidia", expected=H200), *points])
    found = bench.end(
        CUDA_VISIBLE_DEVICES="1,GPU-c",
        IRONSWEEP_FAKE_DEVICE=json.dumps({"device_name": "NVIDIA H200"}),
        PATH=f"{bench.folder / 'tools'}:{os.environ['PATH']}",
    )
    assert [record["status"] for record in found.records] == ["ok", "wrong_device"][:lanes]
    assert [line["nvidia"][0]["uuid"] for line in found.environments] == ["GPU-b", "GPU-b", "GPU-c", "GPU-c"][
        : 2 * lanes
    ]
    seen = [line["visible_devices"]["CUDA_VISIBLE_DEVICES"] for line in found.environments]
    assert seen == ["1", "1", "GPU-c", "GPU-c"][: 2 * lanes]
    if lanes == 2:
        assert found.records[1]["message"] == "asked for nvidia H200 sm_90, found NVIDIA A100-SXM4-40GB sm_80"
        assert bench.lines("asked") == [points[0]["id"]]


def test_a_quarantined_device_leaves_the_other_lane_alone(bench: BatchBench) -> None:
    bench.worker("cpp_openmp")
    broken = [point(size, variant) for size in (10, 20) for variant in ("cpp_seq", "cpp_openmp")]
    points = [{**item, "lane": 0} for item in broken] + [{**point(size), "lane": 1} for size in (30, 40)]
    bench.write([header(2), *points])
    found = bench.end(fake={"10": "crash", "20": "exit"}).records
    assert [record["status"] for record in found] == ["crashed"] * 3 + ["not_run"] + ["ok"] * 2
    assert found[3]["handed_back"] is True
    assert any(line.startswith("lane 0: not measured: the device is quarantined") for line in bench.lines("log"))


# --- ends of all kinds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_batch_continues(bench: BatchBench, number: signal.Signals, lanes: int) -> None:
    points = lane_points([10, 20, 30], [11, 21, 31])[: 3 * lanes]
    bench.write([header(lanes), *points])
    process = bench.begin(fake={"20": "hang", "21": "hang"})
    bench.wait_until_asked(2 * lanes)
    asked = sorted(bench.lines("asked"))
    process.send_signal(number)
    _, errors = process.communicate(timeout=40)
    assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    assert "Traceback" not in errors and ("what was measured is kept" in errors) == (number != signal.SIGKILL)
    if lanes == 2 and number != signal.SIGKILL:
        told = [f"lane {lane}: ironsweep: stopped by {number.name}" for lane in (0, 1)]
        assert [line.partition(";")[0] for line in errors.splitlines()[:2]] == told
    assert not bench.out.exists()
    found = bench.end().records
    assert [record["status"] for record in found] == ["ok"] * 3 * lanes
    # Only the points that were being measured were asked twice.
    twice = [item["id"] for item in points if item["size"] in (20, 21)]
    assert sorted(bench.lines("asked")) == sorted([*(item["id"] for item in points), *twice])
    assert asked == sorted(item["id"] for item in points if item["size"] < 30)


@pytest.mark.parametrize("lanes", [1, 2])
def test_several_signals_stop_it_once(bench: BatchBench, lanes: int) -> None:
    bench.write([header(lanes), *lane_points([10], [20])[:lanes]])
    process = bench.begin(fake={"10": "hang", "20": "hang"})
    bench.wait_until_asked(lanes)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        os.kill(process.pid, number)
    _, errors = process.communicate(timeout=40)
    assert process.returncode in (128 + signal.SIGTERM, 128 + signal.SIGINT)
    assert "Traceback" not in errors and "ignored" not in errors and "stopped by" in errors


def _descendants(process: int) -> list[int]:
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [one for child in map(int, text.split()) for one in (child, *_descendants(child))]


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_batch(bench: BatchBench, number: signal.Signals) -> None:
    bench.write([header(2), *lane_points([10], [20])])
    process = bench.begin(fake={"10": "hang", "20": "hang"})
    bench.wait_until_asked(2)
    there = _descendants(process.pid)
    assert len(there) == 4  # two lanes and their workers
    process.send_signal(number)
    process.communicate(timeout=40)
    for _ in range(200):
        if not any(map(_runs, there)):
            return
        time.sleep(0.05)
    raise AssertionError("a lane or a worker outlived the batch")


def test_a_lane_that_fails_lets_the_others_finish(bench: BatchBench) -> None:
    points = lane_points([10, 20], [11, 21, 31])
    bench.write([header(2), *points])
    process = bench.begin(fake={"20": "terminated", "11": "slow", "21": "slow", "31": "slow"})
    _, errors = process.communicate(timeout=60)
    assert process.returncode == runner.EX_IOERR
    assert "lane 0: ironsweep: the run cannot go on" in errors
    assert "ironsweep: lane 0 of 2 failed with exit code 74" in errors and "Traceback" not in errors
    assert not bench.out.exists()
    assert len(bench.lines("asked")) == 5
    assert [record["status"] for record in bench.end().records] == ["ok"] * 5
    assert bench.lines("asked")[5:] == [points[1]["id"]]


def test_a_lane_that_is_killed_is_no_result(bench: BatchBench) -> None:
    bench.write([header(2), *lane_points([10], [20])])
    process = bench.begin(fake={"10": "hang"})
    bench.wait_until_asked(2)
    lanes = [int(one) for one in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    busy = next(lane for lane in lanes if "--lane 0" in Path(f"/proc/{lane}/cmdline").read_text().replace("\0", " "))
    os.kill(busy, signal.SIGKILL)
    process.communicate(timeout=40)
    assert process.returncode == 128 + 9
    assert not bench.out.exists()
    assert [record["status"] for record in bench.end().records] == ["ok"] * 2


def test_a_second_start_waits_for_the_first(bench: BatchBench) -> None:
    bench.write([header(2), *lane_points([10], [20, 30])])
    held = bench.folder / "asked.held"
    held.touch()
    first = bench.begin(fake={"20": "held"})
    bench.wait_until_asked(1)
    second = bench.begin()
    assert second.stderr
    assert second.stderr.readline() == "ironsweep: this batch is being run already; waiting until that has finished\n"
    held.unlink()
    second.communicate(timeout=40)
    first.communicate(timeout=40)
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(bench.lines("asked")) == 3


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_full_disk_is_an_error_and_the_journals_stay(bench: BatchBench, lanes: int) -> None:
    """No file may become longer than 9000 bytes: to a program that looks like a disk that is full."""
    points = lane_points(list(range(10, 40)), list(range(40, 70)))[: 30 * lanes]
    bench.write([header(lanes), *points])
    process = bench.begin(prefix=("prlimit", "--fsize=9000"))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == runner.EX_IOERR
    assert "the run cannot go on: OSError" in errors and "Traceback" not in errors
    assert bench.lines("log")[0].startswith("lane 0: the run cannot go on: OSError")
    assert not bench.out.exists()
    for lane in range(lanes):
        text = (bench.folder / f"journal/{NAME}.{lane}.jsonl").read_text()
        assert text.endswith("\n") and len([json.loads(line) for line in text.splitlines()]) > 2
    assert [record["status"] for record in bench.end().records] == ["ok"] * 30 * lanes
