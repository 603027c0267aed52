"""What goes wrong on a cluster: whatever it is, every planned cell ends with one record, and tables are the same."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from slurm_on_one_host import Cluster
from sweep_through_slurm import SLOW, Sweep, finished


def is_undisturbed(sweep: Sweep, undisturbed: list[dict[str, Any]]) -> None:
    """Every cell has one record, the table says what it says without faults, and nothing kept was measured again."""
    sweep.is_whole()
    assert sweep.table() == undisturbed
    again = {name: count for name, count in sweep.asked().items() if count > 1}
    assert len(again) <= 4, again  # what was in flight when a lane was ended, and the cells beside it


def test_a_cancelled_job_is_submitted_again(sweep: Sweep, cluster: Cluster, undisturbed: list[dict[str, Any]]) -> None:
    sweep.fake = SLOW
    process = sweep.start()
    job = sweep.wait_until_measuring()
    cluster.call("scancel", job)
    finished(process)
    is_undisturbed(sweep, undisturbed)


def test_a_lost_node(sweep: Sweep, cluster: Cluster, undisturbed: list[dict[str, Any]]) -> None:
    sweep.fake = SLOW
    process = sweep.start()
    job = sweep.wait_until_measuring()
    node = cluster.call("squeue", "--noheader", "--format=%N", f"--jobs={job}").strip()
    cluster.call("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    try:
        finished(process)
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):  # it may be back already
            cluster.call("scontrol", "update", f"nodename={node}", "state=resume")
    assert {entry["JobState"] for entry in cluster.ended() if entry["JobId"] == job} == {"NODE_FAIL"}
    is_undisturbed(sweep, undisturbed)


def test_a_pre_empted_job_comes_back(tmp_path: Path, cluster: Cluster, undisturbed: list[dict[str, Any]]) -> None:
    sweep = Sweep(tmp_path, cluster, "spare")
    sweep.fake = SLOW
    process = sweep.start()
    job = sweep.wait_until_measuring()
    node = cluster.call("squeue", "--noheader", "--format=%N", f"--jobs={job}").strip()
    # Somebody with a better right needs the whole node for some seconds.
    whole = ("--partition=urgent", f"--nodelist={node}", "--exclusive", "--time=5", f"--chdir={tmp_path}")
    cluster.call("sbatch", *whole, "--wrap=sleep 5")
    sweep.wait_for(lambda: job in cluster.jobs("PENDING"))
    cluster.call("scontrol", "update", f"jobid={job}", "starttime=now")  # Slurm would wait two minutes
    finished(process)
    assert "PREEMPTED" in {entry["JobState"] for entry in cluster.ended() if entry["JobId"] == job}
    is_undisturbed(sweep, undisturbed)


def test_the_controller_dies_and_comes_back(sweep: Sweep, cluster: Cluster, undisturbed: list[dict[str, Any]]) -> None:
    sweep.fake = SLOW
    process = sweep.start()
    sweep.wait_until_measuring()
    cluster.kill_controller()
    cluster.start_controller()
    finished(process)
    is_undisturbed(sweep, undisturbed)


def test_a_job_that_reaches_its_time_limit_goes_on(
    sweep: Sweep, cluster: Cluster, undisturbed: list[dict[str, Any]]
) -> None:
    sweep.fake = json.dumps({"1000000": "once 200"})
    sweep.settings.append("timeout_s=300")
    process = sweep.start()
    sweep.wait_for((sweep.folder / "asked.slept").exists)
    job = cluster.jobs("RUNNING")[0]
    cluster.call("scontrol", "update", f"jobid={job}", "timelimit=1")  # minute
    sweep.wait_for(lambda: job not in cluster.jobs("RUNNING", "COMPLETING"), seconds=150)
    finished(process)
    assert {entry["JobState"] for entry in cluster.ended() if entry["JobId"] == job} == {"TIMEOUT"}
    is_undisturbed(sweep, undisturbed)


def test_ctrl_c_and_the_same_command(sweep: Sweep, cluster: Cluster, undisturbed: list[dict[str, Any]]) -> None:
    sweep.fake = SLOW
    process = sweep.start()
    job = sweep.wait_until_measuring()
    os.kill(process.pid, signal.SIGINT)
    text = finished(process, code=1)
    assert "the same command goes on" in text
    sweep.wait_for(lambda: job not in cluster.jobs("RUNNING", "COMPLETING"))
    sweep.run()
    is_undisturbed(sweep, undisturbed)


def test_snakemake_is_killed_and_the_same_command(
    sweep: Sweep, cluster: Cluster, undisturbed: list[dict[str, Any]]
) -> None:
    sweep.fake = json.dumps({"1000000": "sleep 2"})
    process = sweep.start()
    job = sweep.wait_until_measuring(2)
    process.kill()
    finished(process, code=-signal.SIGKILL)
    assert job in cluster.jobs("RUNNING")  # it is on its own now
    sweep.fake = SLOW
    text = sweep.run()
    assert f"{job}" in text  # named, and ended before anything else ran
    assert {entry["JobState"] for entry in cluster.ended() if entry["JobId"] == job} == {"CANCELLED"}
    is_undisturbed(sweep, undisturbed)


def test_a_device_that_fails_hands_its_points_back(sweep: Sweep, undisturbed: list[dict[str, Any]]) -> None:
    sweep.fake = json.dumps({"1000000": "device_fault"})
    sweep.run()
    sweep.is_whole()
    back = {r.get("twin_of") or r["id"] for r in sweep.records() if r.get("handed_back")}
    faults = [r for r in sweep.records() if r["status"] == "crashed"]
    assert back and len(faults) >= 3
    sweep.fake = "{}"
    sweep.run()
    sweep.is_whole(back=True)
    measured = {r["id"]: r["status"] for r in sweep.records() if not r.get("twin_of")}
    assert {measured[name] for name in back} == {"ok"}
    assert sweep.asked().keys() >= back


def test_a_worker_that_dies_costs_its_points_only(sweep: Sweep) -> None:
    """One that hangs costs no more, but a minute each time (tests/unit/test_batch.py)."""
    sweep.fake = json.dumps({"997": "crash"})
    sweep.settings = ["kernels=[Stream_TRIAD]", "check={sizes: [1, 997, 1023, 10000]}"]
    sweep.run()
    sweep.is_whole()
    bad = [r for r in sweep.records() if r["size"] == 997 and not r.get("handed_back")]
    assert {r["status"] for r in bad} == {"crashed"}
