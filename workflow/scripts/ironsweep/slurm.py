"""Ends the Slurm jobs that an earlier start of this folder left in the queue.

A snakemake that is killed cannot cancel its jobs. They would measure beside the new ones, so they are cancelled and
waited for before anything is submitted. Nothing is lost: the runner's journal keeps every point that they finished.

Every call of Slurm's programs has a time limit, for a controller that is away lets them wait. Where it is not known
what is in the queue, nothing is started.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ironsweep.errors import UserError

PREFIX = "ironsweep"
"""How the names of this workflow's jobs begin (slurm-jobname-prefix in profiles/slurm/config.yaml)."""

# Every other state is one of a job that still runs, or may run again.
ENDED = {
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
}

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

AT_ONCE = 100
"""Ids in one call of scancel."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Patience:
    """Seconds.

    Attributes:
        answer: that one call may take.
        away: for which a controller that does not answer is asked again; a restart takes a few.
        ending: that cancelled jobs have to end.
        pause: between two attempts.
    """

    answer: float = 30.0
    away: float = 120.0
    ending: float = 300.0
    pause: float = 3.0


@dataclass(frozen=True)
class Job:
    """A line of the queue."""

    id: str
    state: str
    name: str
    folder: str


class Away(Exception):
    """Slurm gave no answer; the text says why."""


def _call(command: Sequence[str], patience: Patience) -> str:
    """What one of Slurm's programs prints. Raises Away."""
    if shutil.which(command[0]) is None:
        raise Away(f"there is no {command[0]} on PATH")
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=patience.answer
        )
    except subprocess.TimeoutExpired:
        raise Away(f"{command[0]} gave no answer within {patience.answer:g} s") from None
    except OSError as error:
        raise Away(f"{command[0]} cannot be started: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise Away(f"{command[0]} failed: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout


def queue(patience: Patience) -> list[Job]:
    """This user's jobs that have not ended, of all names and folders. Raises Away."""
    answer = _call(["squeue", "--me", "--noheader", "--states=all", "--format=%i|%T|%j|%Z"], patience)
    jobs = [Job(*map(str.strip, line.split("|", 3))) for line in answer.splitlines() if line.count("|") >= 3]
    return [job for job in jobs if job.state not in ENDED]


def _is_of(job: Job, folder: Path, prefix: str, own_run: str) -> bool:
    # Without a prefix the executor takes a bare UUID.
    named = job.name.startswith(f"{prefix}_") if prefix else UUID.fullmatch(job.name)
    return bool(named) and job.name != own_run and os.path.realpath(job.folder) == os.path.realpath(folder)


def orphans(folder: Path, prefix: str, own_run: str, patience: Patience) -> list[Job]:
    """Jobs of earlier starts in a folder that have not ended. Raises Away."""
    return [job for job in queue(patience) if _is_of(job, folder, prefix, own_run)]


def _patiently(ask: Callable[[], list[Job]], patience: Patience, say: Say) -> list[Job]:
    """Ask again while Slurm is away. Raises Away when it stays so."""
    end = time.monotonic() + patience.away
    told = False
    while True:
        try:
            return ask()
        except Away as reason:
            if time.monotonic() >= end or shutil.which("squeue") is None:
                raise
            if not told:
                say(f"Slurm does not answer ({reason}); asking again for up to {patience.away:g} s")
                told = True
            time.sleep(patience.pause)


def _cancel(jobs: Iterable[Job], patience: Patience, say: Say) -> None:
    """Ask for the end of jobs. What comes of it, the queue will show."""
    ids = [job.id for job in jobs]
    for first in range(0, len(ids), AT_ONCE):
        try:
            _call(["scancel", *ids[first : first + AT_ONCE]], patience)
        except Away as reason:
            say(f"{reason}; trying again")


def end_orphans(
    folder: Path,
    say: Say,
    own_run: str = "",
    prefix: str = PREFIX,
    needed: bool = True,
    patience: Patience = Patience(),
) -> list[Job] | None:
    """Cancel the jobs that earlier starts in a folder left in the queue, and wait until they are gone.

    Args:
        folder: the working directory that the jobs were submitted with.
        say: what becomes of it, in lines for a person.
        own_run: name of the jobs of this start, which stay.
        prefix: how the names of jobs begin.
        needed: whether this start submits jobs itself. If not, a Slurm that does not answer is no reason to stop.
        patience: how long to wait for what.

    Returns:
        The jobs that were cancelled; None if Slurm did not say whether there are any.

    Raises:
        UserError: if it cannot be known whether there are such jobs, or they do not end.
    """
    try:
        found = (
            _patiently(lambda: orphans(folder, prefix, own_run, patience), patience, say)
            if needed
            else orphans(folder, prefix, own_run, patience)
        )
    except Away as reason:
        if not needed:
            if shutil.which("squeue"):
                say(f"whether an earlier start left Slurm jobs is not known: {reason}")
            return None
        raise UserError(
            f"Slurm cannot say whether jobs of an earlier start are still in the queue ({reason}), and nothing is"
            " started beside them; start again when squeue --me works"
        ) from None
    if not found:
        return []
    say(
        f"cancelling {_listed(found)}: an earlier start in this folder left"
        f" {'it' if len(found) == 1 else 'them'} in the queue; nothing is lost, journals keep every finished point"
    )
    left = found
    why = ""
    end = time.monotonic() + patience.ending
    again = 0.0
    while left and time.monotonic() < end:
        if time.monotonic() >= again:  # more than once, for a controller that was away
            _cancel((job for job in left if job.state != "COMPLETING"), patience, say)
            again = time.monotonic() + 10 * patience.pause
        time.sleep(patience.pause)
        try:
            left = orphans(folder, prefix, own_run, patience)
        except Away as reason:
            why = f" ({reason})"
    if left:
        raise UserError(
            f"{_listed(left)} of an earlier start did not end within {patience.ending:g} s after being cancelled{why},"
            " and nothing is started beside what still runs; start again when squeue --me shows no more of it"
        )
    return found


def _listed(jobs: Sequence[Job], most: int = 8) -> str:
    ids = ", ".join(job.id for job in jobs[:most])
    more = f" and {len(jobs) - most} more" if len(jobs) > most else ""
    return f"Slurm job{'' if len(jobs) == 1 else 's'} {ids}{more}"
