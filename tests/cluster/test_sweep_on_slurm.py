"""Sweeps through a real Slurm: few jobs, the right devices in each, nothing twice."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ironsweep.records import read_file
from slurm_on_one_host import Cluster
from sweep_through_slurm import SYSTEMS, Sweep, finished


def test_a_sweep_runs_in_a_job_for_each_batch_and_only_once(tmp_path: Path, cluster: Cluster) -> None:
    """On three kinds of node: without GPUs, with NVIDIA's and with AMD's."""
    sweep = Sweep(tmp_path, cluster, "quiet", "nvidia", "amd")
    sweep.fake = json.dumps({"1000000": "out_of_memory"})
    sweep.run()
    sweep.is_whole()
    records = sweep.records()
    measured = [r for r in records if r["kind"] == "measure"]
    assert {(r["size"], r["status"]) for r in measured} == {(10_000, "ok"), (1_000_000, "out_of_memory")}
    assert {r["tuning"] for r in measured if r["variant"] == "cpp_seq"} == {"strict", "contract"}
    assert {r["threads"] for r in records if r["status"] == "ok"} == {min(2, len(os.sched_getaffinity(0)))}
    jobs = []
    for entry in sweep.index.batches:
        before, after = read_file(sweep.folder / entry.records).environments
        assert (before["moment"], after["moment"]) == ("start", "end")
        assert before["slurm_job"] == after["slurm_job"]
        jobs.append(before["slurm_job"])
        visible = before["visible_devices"]
        assert ("CUDA_VISIBLE_DEVICES" in visible) == (entry.system == "nvidia")
        assert ("ROCR_VISIBLE_DEVICES" in visible) == (entry.system == "amd")
        assert all(len(devices.split(",")) == 1 for devices in visible.values())
    assert len(set(jobs)) == 3
    nodes = {job["JobId"]: job["NodeList"] for job in cluster.ended()}
    assert [nodes[job][:2] for job in jobs] == [
        {"quiet": "cp", "nvidia": "nv", "amd": "am"}[entry.system] for entry in sweep.index.batches
    ]

    assert "Nothing to be done" in sweep.run("--dry-run")

    asked = sweep.asked().total()
    sweep.settings.append("sizes=[1e4,1e6,2e6]")
    before = {entry.id for entry in sweep.index.batches}
    sweep.run()
    sweep.is_whole()
    new = [entry for entry in sweep.index.batches if entry.id not in before]
    assert sweep.asked().total() - asked == sum(entry.points for entry in new) > 0
    assert {r["size"] for entry in new for r in read_file(sweep.folder / entry.records).records} == {2_000_000}


def test_five_hundred_points_take_few_jobs(tmp_path: Path, cluster: Cluster) -> None:
    sweep = Sweep(tmp_path, cluster, "nvidia")
    sweep.settings = ["kernels=[Stream,Basic,Lcals,Apps_FIR,Apps_VOL3D]"]
    before = len(cluster.ended())
    sweep.run()
    sweep.is_whole()
    assert len(sweep.records()) >= 500
    sweep.wait_for(lambda: not cluster.jobs("RUNNING", "COMPLETING"))
    assert 1 <= len(cluster.ended()) - before <= 10


def test_a_job_that_slurm_refuses_ends_nothing_else(tmp_path: Path, cluster: Cluster) -> None:
    sweep = Sweep(tmp_path, cluster, "quiet", "nvidia")
    system = sweep.folder / "config/systems/nvidia.yaml"
    system.write_text(SYSTEMS["nvidia"].replace("h100:1", "h100:7"))
    text = finished(sweep.start(), code=1)
    refused = next(entry for entry in sweep.index.batches if entry.system == "nvidia")
    assert all((sweep.folder / other.records).exists() for other in sweep.index.batches if other != refused)
    assert not (sweep.folder / refused.records).exists()
    assert any(refused.id in line for line in text.splitlines() if line.startswith("ironsweep:")), text
    system.write_text(SYSTEMS["nvidia"])
    sweep.run()
    sweep.is_whole()
