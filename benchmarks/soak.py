"""A long sweep through a real Slurm on this machine while faults are injected at random: is anything lost?

    python benchmarks/soak.py                               20 000 points, faults for 30 minutes
    python benchmarks/soak.py --points 4000 --minutes 5     less of both

Workers are those that `make run` built, on the host device, in jobs that ask for GPUs of three kinds of node. Every few
seconds something is done to them, to their runners, to jobs, nodes, slurmctld, or snakemake; where snakemake ended, the
same command is given again. At the end every planned cell must have exactly one record. Needs root and Debian's
slurmctld, slurmd, slurm-client and munge.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("workflow/scripts", "tests/unit", "tests/cluster")]

from ironsweep import progress  # noqa: E402
from ironsweep.errors import UserError, run_main  # noqa: E402
from slurm_on_one_host import Cluster, running, why_not  # noqa: E402
from sweep_through_slurm import SYSTEMS, Sweep  # noqa: E402

KINDS = tuple(SYSTEMS)


def processes(folder: Path, word: str) -> list[psutil.Process]:
    """Processes whose command line has a word and that work in a folder or below it."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "cwd"])
        if word in " ".join(process.info["cmdline"] or ()) and Path(process.info["cwd"] or "/").is_relative_to(folder)
    ]


class Soak:
    """The sweep, the cluster, and what has been done to them."""

    def __init__(self, sweep: Sweep, cluster: Cluster, seed: int) -> None:
        """Nothing runs yet."""
        self.sweep = sweep
        self.cluster = cluster
        self.random = random.Random(seed)
        self.faults: Counter[str] = Counter()
        self.starts = 0
        self.jobs: set[str] = set()
        self.log = (sweep.folder / "snakemake.log").open("w")
        self.process: subprocess.Popen[str] | None = None

    def begin(self) -> None:
        """The command, once more."""
        self.starts += 1
        environment = {**self.sweep.environment, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self.process = subprocess.Popen(
            [
                *("snakemake", "--profile", "slurm", *(str(entry.records) for entry in self.sweep.index.batches)),
                *("--allowed-rules", "program", "run_batch", "--retries", "3", "--jobs", "3"),
                *("--seconds-between-status-checks", "2", "--slurm-init-seconds-before-status-checks", "2"),
                *("--config", *self.sweep.settings),
            ],
            cwd=self.sweep.folder,
            env=environment,
            stdout=self.log,
            stderr=self.log,
            text=True,
            start_new_session=True,
        )

    def inject(self) -> None:
        """One fault, of a kind that is possible now."""
        kinds: dict[str, Callable[[], bool]] = {
            "worker killed": lambda: self._kill("--folder"),
            "runner killed": lambda: self._kill("ironsweep.batch"),
            "job cancelled": self._cancel,
            "node lost": self._lose_node,
            "job pre-empted": self._pre_empt,
            "slurmctld killed and started": self._restart_controller,
            "snakemake killed": lambda: self._end(signal.SIGKILL),
            "snakemake interrupted": lambda: self._end(signal.SIGINT),
        }
        weights = (6, 4, 4, 2, 2, 1, 1, 1)
        name = self.random.choices(list(kinds), weights)[0]
        with contextlib.suppress(subprocess.SubprocessError):  # slurmctld does not answer at the moment
            if kinds[name]():
                self.faults[name] += 1

    def _kill(self, word: str) -> bool:
        found = processes(self.sweep.folder, word)
        if found:
            with contextlib.suppress(psutil.NoSuchProcess):
                self.random.choice(found).kill()
        return bool(found)

    def _cancel(self) -> bool:
        jobs = self.cluster.jobs("RUNNING")
        if jobs:
            self.cluster.call("scancel", self.random.choice(jobs))
        return bool(jobs)

    def _lose_node(self) -> bool:
        node = self.random.choice(["nv1", "nv2"])  # the others are the only ones of their kind
        self.cluster.call("scontrol", "update", f"nodename={node}", "state=down", "reason=soak")
        time.sleep(3)
        self.cluster.call("scontrol", "update", f"nodename={node}", "state=resume")
        return True

    def _pre_empt(self) -> bool:
        node = self.random.choice(["nv1", "nv2"])
        whole = ("--partition=urgent", f"--nodelist={node}", "--exclusive", "--time=1", f"--chdir={self.sweep.folder}")
        self.cluster.call("sbatch", *whole, "--output=/dev/null", "--wrap=sleep 3")
        return True

    def _restart_controller(self) -> bool:
        self.cluster.kill_controller()
        time.sleep(self.random.uniform(0, 5))
        self.cluster.start_controller()
        return True

    def _end(self, number: signal.Signals) -> bool:
        assert self.process
        if self.process.poll() is not None:
            return False
        self.process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(60)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        return True

    def go_on(self, seconds: float) -> None:
        """Let it run, with faults for so many seconds, until everything is there."""
        end = time.monotonic() + seconds
        self.begin()
        while True:
            assert self.process
            time.sleep(self.random.uniform(5, 40) if time.monotonic() < end else 2)
            with contextlib.suppress(subprocess.SubprocessError):
                self.jobs |= set(self.cluster.jobs())
            missing = [e for e in self.sweep.index.batches if not (self.sweep.folder / e.records).exists()]
            if self.process.poll() is not None:
                if not missing:
                    return
                if time.monotonic() > end + 1800:
                    raise UserError(f"{len(missing)} batches are missing half an hour after the last fault")
                self.begin()
            elif time.monotonic() < end:
                self.inject()


def plan(sweep: Sweep, sizes: int, passes: int) -> int:
    """Plan a sweep over so many sizes, from a thousand elements to 300 000; its number of points."""
    chosen = sorted({int(1000 * 300 ** (number / max(1, sizes - 1))) for number in range(sizes)})
    sweep.settings = [f"sizes=[{','.join(map(str, chosen))}]", f"passes={passes}"]
    shutil.rmtree(sweep.folder / "results/plan", ignore_errors=True)
    sweep.plan()
    return sum(entry.points for entry in sweep.index.batches)


def ids(files: Iterable[Path]) -> Counter[str]:
    """How often each point is in files of points or records."""
    lines = (progress.values(line) for file in files for line in file.read_bytes().splitlines())
    return Counter(line["id"] for line in lines if "id" in line)


def main() -> None:
    """Run it and print what happened as a table."""
    parser = argparse.ArgumentParser(description="A long sweep through a real Slurm with faults injected at random.")
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long faults are injected, at most")
    parser.add_argument("--passes", type=int, default=10, help="of each measured cell: how long the sweep takes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the sweep (default: a temporary one)")
    options = parser.parse_args()
    if why_not():
        raise UserError(f"no Slurm can be started here: {why_not()}")
    if not (ROOT / "results/toolchain/runtime/run").exists():
        raise UserError("the kernels are not built: make run")
    folder = options.keep or Path(tempfile.mkdtemp(prefix="soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "slurm").mkdir()
    (folder / "sweep").mkdir()
    with running(folder / "slurm") as cluster:
        sweep = Sweep(folder / "sweep", cluster, *KINDS, built=ROOT / "results")
        for name in KINDS:
            file = sweep.folder / f"config/systems/{name}.yaml"
            file.write_text(SYSTEMS[name].replace("runtime: 10", "runtime: 4\n  max_runtime: 30"))
        # Checks are there anyway; as many sizes are measured as it takes.
        one, two = (plan(sweep, count, options.passes) for count in (1, 2))
        points = plan(sweep, max(1, 1 + round((options.points - one) / (two - one))), options.passes)
        print(f"{points} points in {len(sweep.index.batches)} batches; {folder}/sweep/snakemake.log", flush=True)
        soak = Soak(sweep, cluster, options.seed)
        start = time.monotonic()
        soak.go_on(60 * options.minutes)
        minutes = (time.monotonic() - start) / 60
        records = sweep.records()
        planned = ids(sweep.folder / entry.file for entry in sweep.index.batches)
        found = ids(sweep.folder / entry.records for entry in sweep.index.batches)
        measured = ids((sweep.folder / "results/journal").glob("*/*.jsonl"))
    statuses = Counter(record["status"] for record in records)
    killed = sum("SIGKILL" in str(record.get("message")) for record in records)
    rows = [
        ("points, with A/A pairs", points),
        ("batches", len(sweep.index.batches)),
        ("Slurm jobs", len(soak.jobs)),
        ("minutes", f"{minutes:.0f}"),
        ("starts of snakemake", soak.starts),
        ("faults", soak.faults.total()),
        *((f"- {name}", count) for name, count in sorted(soak.faults.items())),
        ("records", len(records)),
        ("points without a record, or with two", sum(((planned - found) + (found - planned)).values())),
        ("points measured more than once", sum(count > 1 for count in measured.values())),
        *((f"status {name}", count) for name, count in sorted(statuses.items())),
        ("records of workers that were killed", killed),
    ]
    print("| | |\n| --- | ---: |")
    for name, value in rows:
        print(f"| {name} | {value} |")
    if planned != found:
        raise UserError(f"records and planned points differ; see {folder}")
    unexpected = len(records) - statuses["ok"] - killed
    if unexpected:
        raise UserError(f"{unexpected} records have a status that no fault explains; see {folder}")


if __name__ == "__main__":
    run_main(main)
