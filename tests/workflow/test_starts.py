"""Starts of snakemake that meet: beside one another, after a kill, after an interruption. No compilers, no Slurm."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "workflow/scripts"
POINTS = 5

SNAKEFILE = f"""
import sys

sys.path.insert(0, {str(PACKAGE)!r})
from types import SimpleNamespace
from ironsweep import session

SESSION = session.begin(workflow)
BATCH = SimpleNamespace(id="b", system="s", device="host", points={POINTS}, seconds=1.0)
planned = SimpleNamespace(batches=[BATCH], cells={POINTS})


rule all:
    input:
        "results/records/s/b.jsonl",


# Snakemake reads the workflow again to run this.
rule prepare:
    output:
        "prepared",
    localrule: True
    run:
        open(output[0], "w").close()


rule run_batch:
    input:
        "prepared",
    output:
        "results/records/s/b.jsonl",
    log:
        "results/logs/run/s/b.log",
    resources:
        slurm_partition="gpu",
        slurm_account="me",
    shell:
        "{sys.executable} job.py {{output}} {{log}}"


onstart:
    session.starts(SESSION, planned)


onsuccess:
    session.ends(SESSION, True)


onerror:
    session.ends(SESSION, False)
"""

# A batch, with the runner's journal: after two points it waits for the file `go`. With a file `fail` it fails.
JOB = f"""
import os, signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, lambda *_: os._exit(130))
sys.path.insert(0, {str(PACKAGE)!r})
from ironsweep.runner import Journal
Path(f"started.{{os.getpid()}}").touch()
journal = Journal(Path("results/journal/s/b.0.jsonl"))
for number in range({POINTS}):
    if str(number) in journal.records:
        continue
    while number >= 2 and not Path("go").exists():
        time.sleep(0.02)
    if Path("fail").exists():
        Path(sys.argv[2]).write_text("first\\nthe device is gone\\n")
        sys.exit(3)
    with Path("measured").open("a") as measured:
        measured.write(f"{{number}}\\n")
    journal.append({{"id": str(number), "status": "ok" if number else "crashed"}})
Path(sys.argv[1]).write_bytes(Path("results/journal/s/b.0.jsonl").read_bytes())
"""

LOCAL = ("--profile", str(REPOSITORY / "profiles/local"))
BARE = ("--cores", "2", "--rerun-incomplete")


class Folder:
    """A working directory, and the processes that were started in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "Snakefile").write_text(SNAKEFILE)
        (path / "job.py").write_text(JOB)
        self._processes: list[subprocess.Popen[str]] = []
        self.environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A snakemake, in a group of its own, whose output goes to a file."""
        process = subprocess.Popen(
            ["snakemake", *arguments],
            cwd=self.path,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=(self.path / f"said.{len(self._processes)}").open("w"),
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._processes.append(process)
        return process

    def said(self, process: subprocess.Popen[str]) -> str:
        """What a snakemake has written so far."""
        return (self.path / f"said.{self._processes.index(process)}").read_text()

    def ends(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        """Exit status and output, once it has ended."""
        code = process.wait(120)
        return code, self.said(process)

    def jobs(self) -> list[int]:
        """Processes of batches that were started and live."""
        pids = [int(file.suffix[1:]) for file in self.path.glob("started.*")]
        alive = []
        for pid in pids:
            with contextlib.suppress(OSError):
                if b"job.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    alive.append(pid)
        return alive

    def measured(self) -> list[str]:
        """Points in the order in which they were measured."""
        file = self.path / "measured"
        return file.read_text().split() if file.exists() else []

    def close(self) -> None:
        """End what is left."""
        for process in self._processes:
            process.kill()
            process.wait()
        for pid in self.jobs():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """A fresh working directory."""
    folder = Folder(tmp_path)
    yield folder
    folder.close()


@pytest.mark.parametrize("options", [LOCAL, BARE], ids=["profile", "bare"])
def test_a_second_start_is_refused_and_after_kill_the_same_command_goes_on(
    folder: Folder, options: tuple[str, ...]
) -> None:
    first = folder.start(*options)
    wait_for(lambda: len(folder.measured()) == 2)

    code, said = folder.ends(folder.start(*options))
    assert code == 1
    assert f"ironsweep: another snakemake works in this folder: process {first.pid} on " in said
    assert "Traceback" not in said
    # Looking is always allowed, and takes nothing away from the first.
    for look in ("--dry-run", "--summary", "--list-rules"):
        code, said = folder.ends(folder.start(*options, look))
        assert (code, "another snakemake" in said) == (0, False), said
    assert "another snakemake" in folder.ends(folder.start(*options))[1]

    first.kill()
    first.wait()
    (left,) = folder.jobs()  # the runner has outlived its snakemake
    again = folder.start(*options)
    wait_for(lambda: "another runner is at these points" in folder.said(again))
    assert sorted(folder.jobs()) != [left]
    (folder.path / "go").touch()
    code, said = folder.ends(again)
    assert code == 0, said
    assert folder.measured() == [str(number) for number in range(POINTS)]  # each of them once
    assert folder.jobs() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_that_the_same_command_goes_on(folder: Folder, number: signal.Signals) -> None:
    first = folder.start(*LOCAL)
    wait_for(lambda: len(folder.measured()) == 2)
    if number == signal.SIGINT:
        os.killpg(first.pid, number)  # as a terminal does
    else:
        first.send_signal(number)
    code, said = folder.ends(first)
    assert code == 1
    assert "Traceback" not in said
    assert said.count("ironsweep: stopped; what was measured is kept, and the same command goes on from here") == 1
    assert "failed" not in said.partition("ironsweep: stopped")[0].partition("Terminating processes")[2]
    assert folder.jobs() == []

    (folder.path / "go").touch()
    assert folder.ends(folder.start(*LOCAL))[0] == 0
    assert folder.measured() == [str(number) for number in range(POINTS)]


def test_at_the_end_there_are_a_table_and_the_reasons_of_failures(folder: Folder) -> None:
    (folder.path / "fail").touch()
    code, said = folder.ends(folder.start(*LOCAL))
    assert code == 1
    assert said.count("ironsweep: batch b on s failed: the device is gone (log: results/logs/run/s/b.log)") == 1
    (folder.path / "fail").unlink()
    (folder.path / "go").touch()
    code, said = folder.ends(folder.start(*LOCAL))
    assert code == 0
    first, _, table = said.partition(f"ironsweep: {POINTS} of {POINTS} cells in ")[2].partition("\n")
    assert first.endswith(", 1 of 1 batches done")
    lines = [" ".join(line.split()) for line in table.splitlines()]
    assert lines[:2] == ["cells ok crashed all", f"s {POINTS - 1} 1 {POINTS}"]
    assert "cells (" not in said  # that is for a terminal

    code, said = folder.ends(folder.start(*LOCAL))
    assert (code, "cells" in said) == (0, False)


FAKE = f"""#!{sys.executable}
import json, sys
from pathlib import Path
here = Path(__file__).parent
name = Path(sys.argv[0]).name
with (here / "calls").open("a") as calls:
    calls.write(json.dumps([name, *sys.argv[1:]]) + "\\n")
if name == "squeue" and "--me" in sys.argv:
    print((here / "queue").read_text())
elif name == "scancel":
    (here / "queue").write_text("")
elif name == "sbatch":
    print("sbatch: error: Batch job submission failed: Invalid qos", file=sys.stderr)
    sys.exit(1)
"""


def test_through_slurm_orphans_are_ended_before_anything_is_submitted(folder: Folder) -> None:
    slurm = folder.path / "slurm"
    slurm.mkdir()
    for name in ("squeue", "scancel", "sbatch", "sacct", "sinfo", "scontrol", "sacctmgr", "sshare"):
        (slurm / name).write_text(FAKE)
        (slurm / name).chmod(0o755)
    orphan = (
        f"17|RUNNING|ironsweep_{uuid.UUID(int=5)}|{folder.path}\n18|RUNNING|ironsweep_{uuid.UUID(int=5)}|/elsewhere"
    )
    (slurm / "queue").write_text(orphan)
    folder.environment["PATH"] = f"{slurm}:{folder.environment['PATH']}"
    shutil.copytree(REPOSITORY / "profiles/slurm", folder.path / "profiles/slurm")
    quick = ("--seconds-between-status-checks", "1", "--slurm-init-seconds-before-status-checks", "1")
    code, said = folder.ends(folder.start("--profile", "profiles/slurm", "--retries", "0", *quick))
    calls = [json.loads(line) for line in (slurm / "calls").read_text().splitlines()]
    order = [call[0] for call in calls if call[0] in ("scancel", "sbatch")]
    assert order == ["scancel", "sbatch"], said
    assert ["scancel", "17"] in calls
    assert "ironsweep: cancelling Slurm job 17: an earlier start in this folder left it in the queue" in said
    assert code == 1
    refused = (
        "ironsweep: batch b on s failed: Slurm refused it: sbatch: error: Batch job submission failed: Invalid qos"
    )
    assert said.count(refused) == 1

    # A start that submits nothing itself looks, too, as long as jobs may be left; then it knows that there are none.
    (slurm / "queue").write_text(orphan)
    (folder.path / "go").touch()
    code, said = folder.ends(folder.start(*LOCAL))
    assert (code, "cancelling Slurm job 17" in said) == (0, True)
    (slurm / "queue").write_text(orphan)
    code, said = folder.ends(folder.start(*LOCAL, "--forceall"))
    assert (code, "Slurm job" in said) == (0, False)
