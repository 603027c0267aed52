"""Sweeps that run through a Slurm cluster with the repository's own workflow and profile, for tests and benchmarks.

Workers are those that were built, or, where they have to misbehave when a test says so and nothing need be built, the
double of the runner's own tests (tests/unit/fake_worker.py): a process that speaks the protocol. Its checksum is one of
the point, so that a record in the wrong place shows. Nothing is built here: only the rules that run are allowed.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ironsweep import batches, columns, tables, variants
from ironsweep.build import CONTRACTIONS, PROGRAMS, SAFETIES
from ironsweep.kernels import discover
from ironsweep.planned import read_plan
from ironsweep.records import read_file
from slurm_on_one_host import Cluster

REPOSITORY = Path(__file__).parents[2]
FAKE_WORKER = REPOSITORY / "tests/unit/fake_worker.py"
COPIED = ("Snakefile", "config", "kernels", "profiles", "slurm", "workflow")
ARCHS = ("host", "sm_90", "gfx90a", "gfx942")

# The same (pretended) host device on every kind of node; with one of the node's GPUs, as it would be asked for there.
SYSTEM = """\
scheduler: slurm
devices:
  host: {}
slurm:
  cpus: 2
  mem_mb: 1000
  runtime: 10
"""
SYSTEMS = {
    "quiet": SYSTEM,
    "nvidia": f"{SYSTEM}  partition: gpu\n  gres: gpu:h100:1\n  constraint: h100\n",
    "amd": f"{SYSTEM}  partition: gpu\n  gres: gpu:mi300a:1\n  constraint: mi300a\n",
    "spare": f"{SYSTEM}  partition: scavenge\n  gres: gpu:h100:1\n  constraint: h100\n  preemptible: true\n",
}

SLOW = json.dumps({"1000000": "slow"})
"""Points of a million elements take 0.3 s, which makes a batch of 10 s."""

# What differs from run to run.
CHANCE = {
    *(name for name, column in columns.declared()["cells"].columns.items() if column.type == "number"),
    *("n", "warmup_passes", "outliers", "bound", "run", "host", "started", "threads", "id", "system"),
}


class Sweep:
    """A copy of the repository with everything built, in which a sweep runs through Slurm."""

    def __init__(self, folder: Path, cluster: Cluster, *systems: str, built: Path | None = None) -> None:
        """Nothing is planned yet; ``built`` is a folder results with programs, else workers are doubles."""
        self.folder = folder
        self.cluster = cluster
        self.systems = systems
        self.settings = ["kernels=[Stream_TRIAD,Basic_DAXPY]"]
        self.fake = "{}"
        for name in COPIED:
            source = REPOSITORY / name
            if source.is_symlink():
                (folder / name).symlink_to(source.readlink())
            elif source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        for name, text in SYSTEMS.items():
            (folder / f"config/systems/{name}.yaml").write_text(text)
        (folder / "profiles/slurm/system.yaml").write_text(f"system: [{', '.join(systems)}]\n")
        if built:
            self._take(built)
        else:
            self._place_doubles()

    def _take(self, built: Path) -> None:
        """Links to programs, in own folders because the workflow writes beside them; copies of the rest."""
        shutil.copytree(built / "bin", self.folder / "results/bin", copy_function=_link)
        for name in ("codegen", "golden"):
            if (built / name).exists():
                shutil.copytree(built / name, self.folder / "results" / name)
        (self.folder / "results/toolchain").symlink_to(built / "toolchain")

    def _place_doubles(self) -> None:
        for kernel in discover(self.folder):
            folder = self.folder / "results/bin" / kernel
            for variant, arch, safety, contraction in itertools.product(
                variants.DEVICES, ARCHS, (*SAFETIES, "none"), CONTRACTIONS
            ):
                part = folder / variants.part(variant, arch, safety, contraction)
                part.parent.mkdir(parents=True, exist_ok=True)
                part.write_text("what a worker would load")
            for program in PROGRAMS:
                shutil.copy(FAKE_WORKER, folder / program)
                (folder / program).chmod(0o755)
        runtime = self.folder / "results/toolchain/runtime/run"
        runtime.parent.mkdir(parents=True)
        runtime.write_text('#!/bin/sh\nexec "$@"\n')
        runtime.chmod(0o755)
        (self.folder / "results/toolchain/toolchain.json").write_text(json.dumps({"sha256": "0" * 64}))

    @property
    def environment(self) -> dict[str, str]:
        """What snakemake and, through sbatch, the jobs get."""
        environment = self.cluster.environment()
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        environment["IRONSWEEP_FAKE"] = self.fake
        environment["IRONSWEEP_FAKE_POINTS"] = str(self.folder / "asked")
        return environment

    def start(self, *arguments: str, targets: list[str] | None = None) -> subprocess.Popen[str]:
        """``snakemake --profile slurm`` for the records of all batches; it goes on in the background."""
        if targets is None:
            self.plan()
            targets = [str(entry.records) for entry in self.index.batches]
        return subprocess.Popen(
            [
                *("snakemake", "--profile", "slurm", *targets),
                *("--allowed-rules", "program", "run_batch"),
                *("--seconds-between-status-checks", "2", "--slurm-init-seconds-before-status-checks", "2"),
                *("--latency-wait", "5", *arguments),
                *("--config", *self.settings),
            ],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def plan(self) -> str:
        """``snakemake plan``."""
        command = ["snakemake", "--profile", "slurm", "plan", "--config", *self.settings]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True, timeout=120
        )
        return done.stdout

    def run(self, *arguments: str) -> str:
        """The same in the foreground, to its good end; what it printed."""
        return finished(self.start(*arguments))

    @property
    def index(self) -> batches.Index:
        """The plan."""
        found = batches.load(self.folder)
        assert found
        return found

    def asked(self) -> Counter[str]:
        """How often workers were asked for each point."""
        file = self.folder / "asked"
        return Counter(file.read_text().split()) if file.exists() else Counter()

    def wait_for(self, condition: Callable[[], object], seconds: float = 120.0) -> None:
        """Wait until something holds."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"waited {seconds:g} s in vain"
            time.sleep(0.1)

    def wait_until_measuring(self, points: int = 4) -> str:
        """Wait until slow points are being measured; the job's number."""

        def slow() -> int:
            journals = (self.folder / "results/journal").glob("*/*.jsonl")
            return sum(journal.read_bytes().count(b'"size": 1000000') for journal in journals)

        before = slow()
        self.wait_for(lambda: slow() >= before + points)
        return self.cluster.jobs("RUNNING")[0]

    def records(self) -> list[dict[str, Any]]:
        """The records of all wanted batches, without anything being wrong in a file."""
        found = []
        for entry in self.index.batches:
            content = read_file(self.folder / entry.records)
            assert content.problems == []
            found += content.records
        return found

    def table(self) -> list[dict[str, Any]]:
        """The rows of results/tables/cells.csv, without what is chance."""
        planned = read_plan(self.folder / "results/plan/cells.csv")
        rows = [
            {name: value for name, value in row.items() if name not in CHANCE}
            | {"reason": row["reason"].replace(system.name, "SYSTEM")}
            for system in tables.planned_systems(planned, self.records())
            for row in tables.judged_cells(system, {}, {})
        ]
        return sorted(rows, key=str)

    def is_whole(self, back: bool = False) -> None:
        """Every planned cell has exactly one record, every second of a pair too.

        ``back``: points were handed back; what is compared with them was measured again too, and the last one counts.
        """
        planned = read_plan(self.folder / "results/plan/cells.csv")
        cells = {cell["id"] for cell in planned if cell["status_planned"] == "planned"}
        records = self.records()
        found = Counter(r["id"] for r in records if not r.get("twin_of"))
        twins = Counter(r["id"] for r in records if r.get("twin_of"))
        assert found.keys() == cells
        assert twins.total() == sum(entry.pairs for entry in self.index.batches) > 0
        assert back or {*found.values(), *twins.values()} == {1}


def _link(source: str, target: str) -> None:
    """What was said about programs elsewhere is said anew here."""
    if not source.endswith(".sha256"):
        Path(target).symlink_to(source)


def finished(process: subprocess.Popen[str], code: int = 0, seconds: float = 600.0) -> str:
    """What a process printed until its end."""
    try:
        text, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
        raise AssertionError(f"did not end within {seconds:g} s:\n{text}") from None
    assert process.returncode == code, text
    assert "Traceback" not in text, text
    return text
