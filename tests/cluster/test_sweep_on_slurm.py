"""A small sweep through a real Slurm: the repository's own workflow and profile, workers that only pretend.

Compilers are not needed: what would be built lies there already, and only the rules of plan and run are allowed.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm_on_one_host import Cluster, running, why_not

from ironsweep import variants
from ironsweep.build import CONTRACTIONS, PROGRAMS, SAFETIES
from ironsweep.kernels import discover
from ironsweep.records import RecordFile, read_file

REPOSITORY = Path(__file__).parents[2]
FAKE_WORKER = REPOSITORY / "tests/unit/fake_worker.py"
COPIED = ("Snakefile", "config", "kernels", "profiles", "slurm", "workflow")
KERNELS = ("Stream_TRIAD", "Basic_DAXPY")
ARCHS = ("host", "sm_90", "gfx90a", "gfx942")

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(why_not()), reason=f"no Slurm can be started: {why_not()}"),
]

# The same (pretended) host device on two kinds of node; the second with a GPU of the node's two.
SYSTEM = """\
scheduler: slurm
devices:
  host: {}
slurm:
  cpus: 2
  mem_mb: 1000
  runtime: 5
"""
GPU_SYSTEM = f"{SYSTEM}  partition: gpu\n  gres: gpu:h100:1\n  constraint: h100\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running cluster."""
    with running(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the repository with two Slurm systems and everything built."""
    for name in COPIED:
        source = REPOSITORY / name
        if source.is_symlink():
            (tmp_path / name).symlink_to(source.readlink())
        elif source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)
    (tmp_path / "config/systems/quiet.yaml").write_text(SYSTEM)
    (tmp_path / "config/systems/gpus.yaml").write_text(GPU_SYSTEM)
    (tmp_path / "profiles/slurm/system.yaml").write_text("system: [quiet, gpus]\n")
    for kernel in discover(tmp_path):
        folder = tmp_path / "results/bin" / kernel
        for variant, arch, safety, contraction in itertools.product(
            variants.DEVICES, ARCHS, (*SAFETIES, "none"), CONTRACTIONS
        ):
            part = folder / variants.part(variant, arch, safety, contraction)
            part.parent.mkdir(parents=True, exist_ok=True)
            part.write_text("what a worker would load")
        for program in PROGRAMS:
            shutil.copy(FAKE_WORKER, folder / program)
            (folder / program).chmod(0o755)
    runtime = tmp_path / "results/toolchain/runtime/run"
    runtime.parent.mkdir(parents=True)
    runtime.write_text('#!/bin/sh\nexec "$@"\n')
    runtime.chmod(0o755)
    (tmp_path / "results/toolchain/toolchain.json").write_text(json.dumps({"sha256": "0" * 64}))
    return tmp_path


def records_files() -> list[str]:
    """What the sweep is to make."""
    return [f"results/records/{system}/{kernel}.jsonl" for system in ("quiet", "gpus") for kernel in KERNELS]


def snakemake(checkout: Path, cluster: Cluster, *arguments: str, fake: str = "{}") -> subprocess.CompletedProcess[str]:
    """``snakemake --profile slurm`` for the records."""
    environment = cluster.environment()
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    environment["IRONSWEEP_FAKE"] = fake
    environment["IRONSWEEP_FAKE_POINTS"] = str(checkout / "asked")
    return subprocess.run(
        [
            *("snakemake", "--profile", "slurm", *records_files()),
            *("--allowed-rules", "points", "run_kernel"),
            *("--seconds-between-status-checks", "2", "--slurm-init-seconds-before-status-checks", "2"),
            *("--latency-wait", "5"),
            *arguments,
        ],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def results(checkout: Path) -> dict[str, RecordFile]:
    """Contents of the records files."""
    return {name: read_file(checkout / name) for name in records_files()}


def test_a_sweep_runs_in_slurm_jobs_and_only_once(checkout: Path, cluster: Cluster) -> None:
    crash = json.dumps({"1000000": "crash"})
    done = snakemake(checkout, cluster, fake=crash)
    assert done.returncode == 0, done.stdout + done.stderr
    found = results(checkout)
    for name, content in found.items():
        assert content.problems == []
        measured = [r for r in content.records if r["device"] == "host" and r["kind"] == "measure"]
        assert {(r["size"], r["status"]) for r in measured} == {(10_000, "ok"), (1_000_000, "crashed")}
        assert {r["tuning"] for r in measured if r["variant"] == "cpp_seq"} == {"strict", "contract"}
        assert content.environments[0]["slurm_job"]
        visible = content.environments[0]["visible_devices"].get("CUDA_VISIBLE_DEVICES")
        assert (visible in ("0", "1")) == ("/gpus/" in name)
        assert {r["threads"] for r in content.records if r["status"] == "ok"} == {min(2, len(os.sched_getaffinity(0)))}
    jobs = {content.environments[0]["slurm_job"] for content in found.values()}
    assert len(jobs) == len(found)  # one allocation a system and kernel

    again = snakemake(checkout, cluster, "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr

    asked = len((checkout / "asked").read_text().splitlines())
    more = snakemake(checkout, cluster, "--config", "sizes=[1e4,1e6,2e6]")
    assert more.returncode == 0, more.stdout + more.stderr
    new = len((checkout / "asked").read_text().splitlines()) - asked
    assert new == sum(
        r["size"] == 2_000_000 and r["device"] == "host" for c in results(checkout).values() for r in c.records
    )
    assert new > 0


def test_a_job_that_slurm_refuses_ends_nothing_else(checkout: Path, cluster: Cluster) -> None:
    (checkout / "config/systems/gpus.yaml").write_text(GPU_SYSTEM.replace("h100:1", "h100:7"))
    done = snakemake(checkout, cluster)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    for name in records_files():
        assert (checkout / name).exists() == ("/quiet/" in name)
