"""What surrounds a run in the process that a person started: lock, orphans, progress, and a word at the end.

Snakemake is started again in every Slurm job and for some local ones, and reads the workflow there, too. Nothing of
this is done there, nor where somebody only looks (``-n``, ``--lint``, ``--dag``, ``snakemake plan``).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from ironsweep import batches, lock, progress, slurm, source
from ironsweep.errors import UserError

LOCK = Path("results/.lock")

SUBMITTING = Path("results/.slurm")
"""There from the first Slurm job of a start until a start has ended well: as long as jobs may be in the queue."""

# Options of snakemake with which no job runs and no result is removed.
LOOKING = (
    "containerize",
    "d3dag",
    "dag",
    "detailed_summary",
    "dryrun",
    "filegraph",
    "generate_unit_tests",
    "lint",
    "list_changes",
    "list_conda_envs",
    "list_input_changes",
    "list_params_changes",
    "list_rules",
    "list_target_rules",
    "list_untracked",
    "print_compilation",
    "rulegraph",
    "summary",
    "unlock",
)

ANSWERED = {"compare", "doctor", "explain", "history", "plan"}
"""Targets that are answered while the workflow is read."""


def say(text: str) -> None:
    """A line for the person who started the run."""
    with contextlib.suppress(OSError, ValueError):
        print(f"ironsweep: {text}", file=sys.stderr, flush=True)


def command_line() -> Any | None:
    """Snakemake's own reading of its command line and profile; None if it was not started as a program.

    While it reads the workflow it keeps to itself what it will do then. It stands in the frame of its caller; to read
    all options once more would take 0.4 s.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "args_to_api":
            return frame.f_locals.get("args")
        frame = frame.f_back
    return None


def will_run(workflow: Any, arguments: Any | None) -> bool:
    """Whether a Snakemake that reads the workflow is the one that a person started, and will change results."""
    if not workflow.is_main_process:
        return False
    if arguments is None:
        return True
    report = getattr(arguments, "reporter", None) and not getattr(arguments, "report_after_run", False)
    looks = any(getattr(arguments, name, None) not in (None, False) for name in LOOKING)
    return not (report or looks or ANSWERED.intersection(getattr(arguments, "targets", None) or ()))


class Session:
    """One start of snakemake that will run jobs; it has the folder's lock."""

    def __init__(self, workflow: Any) -> None:
        """Take the lock. Raises UserError."""
        self._workflow = workflow
        self._lock = lock.take(LOCK)
        lock.forget_snakemakes_locks()
        self._since = time.time()
        self._clock = time.monotonic()
        self._started = False
        self._stopped_by: int | None = None
        self._events = progress.Events()
        self._sweep: progress.Sweep | None = None
        self._display: progress.Display | None = None
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._stop)

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        """Ctrl-C and SIGTERM: Snakemake cancels what runs, as it does for Ctrl-C, and comes back to :meth:`end`."""
        if self._stopped_by is not None:
            say("jobs are being ended, which can take half a minute; to kill snakemake is safe, too")
            return
        self._stopped_by = number
        if not self._started:
            say("stopped before anything was run")
            raise SystemExit(128 + number)
        if number == signal.SIGTERM:
            # Its own way would be to wait for running jobs, for hours perhaps. On a terminal Ctrl-C reaches all
            # processes; here they have to be told.
            for pid in _group_below(os.getpid()):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGINT)
        raise KeyboardInterrupt

    def start(self, index: progress.Index, status_command: str | None = None) -> None:
        """To be called before the first job is run. Raises UserError if something of an earlier start still runs.

        ``status_command``: how Slurm is asked for the state of jobs, if the systems say it.
        """
        from snakemake.logging import logger

        if self._workflow.touch:
            return
        logger.addHandler(self._events)
        _do_not_limit_local_jobs(self._workflow)
        if status_command and self._workflow.executor_plugin.name == "slurm":
            self._workflow.executor_settings.status_command = status_command
        self._end_orphans()
        source.keep(Path(self._workflow.basedir))
        self._sweep = progress.Sweep(index)
        if sys.stderr.isatty():
            self._display = progress.Display(self._sweep, sys.stderr)
            self._display.start()
        self._started = True
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._stop)

    def _end_orphans(self) -> None:
        through_slurm = self._workflow.executor_plugin.name == "slurm"
        if not through_slurm and not SUBMITTING.exists():
            return
        settings = self._workflow.executor_settings if through_slurm else None
        known = slurm.end_orphans(
            Path(self._workflow.workdir_init),
            say,
            own_run=str(getattr(self._workflow.scheduler._executor, "run_uuid", "")),
            prefix=(settings.jobname_prefix or "") if settings else slurm.PREFIX,
            needed=through_slurm,
            patience=slurm.Patience() if through_slurm else slurm.Patience(answer=10.0),
        )
        if through_slurm:
            SUBMITTING.touch()
            _look_steadily(self._workflow)
        elif known is not None:
            SUBMITTING.unlink(missing_ok=True)

    def end(self, success: bool) -> None:
        """To be called when all has been run that could be."""
        if self._sweep is None:
            return
        if self._display:
            self._display.stop()
        self._sweep.look()
        if not success and self._stopped_by is None:
            for line in progress.failed(self._sweep, self._events, self._since):
                say(line)
        if self._sweep.has_changed or self._events.submitted:
            say(f"{progress.summary(self._sweep, time.monotonic() - self._clock, len(self._events.submitted))}")
            for line in batches.estimates(self._sweep.finished, self._since, Path()):
                say(line)
        if success:
            SUBMITTING.unlink(missing_ok=True)
        if self._stopped_by is not None:
            say("stopped; what was measured is kept, and the same command goes on from here")


def _do_not_limit_local_jobs(workflow: Any) -> None:
    """Drop Snakemake's limit of jobs a second where they run on this machine; it is never reached there.

    It leaves a timer behind for each job, and all of them look for further jobs every second: of 240 jobs of 0.25 s
    each, two at a time, it takes 11.2 instead of 7.7 s of processor time, and more with more jobs.
    """
    scheduler = workflow.scheduler
    if workflow.executor_plugin.common_settings.local_exec and hasattr(scheduler, "job_rate_limiter"):
        scheduler.job_rate_limiter = None


def _look_steadily(workflow: Any) -> None:
    """Ask Slurm how jobs are as often as the profile says.

    By itself the executor waits 10 s longer after each look that brought nothing new, up to three minutes, so that a
    sweep of a few long batches would idle between them.
    """
    executor = workflow.scheduler._executor
    interval = workflow.executor_settings.init_seconds_before_status_checks
    if interval and hasattr(executor, "next_seconds_between_status_checks"):
        type(executor).next_seconds_between_status_checks = property(lambda _: interval, lambda _, value: None)


def begin(workflow: Any) -> Session | None:
    """The session of this process; None if it runs nothing. Leaves with one sentence if another one has the folder."""
    if not will_run(workflow, command_line()):
        return None
    try:
        return Session(workflow)
    except UserError as error:
        sys.exit(f"ironsweep: {error}")


def may_keep_plan(session: Session | None) -> bool:
    """Whether a plan that is made now is kept: for a run, and for `snakemake plan` while nothing runs in the folder."""
    if session is not None:
        return True
    if "plan" not in getattr(command_line(), "targets", ()):
        return False
    try:
        lock.take(LOCK).release()
    except UserError:
        return False
    return True


def starts(session: Session | None, index: progress.Index, status_command: str | None = None) -> None:
    """For ``onstart``: ends the process with a sentence if the run cannot start."""
    if session is not None:
        try:
            session.start(index, status_command)
        except UserError as error:
            sys.exit(f"ironsweep: {error}")


def ends(session: Session | None, success: bool) -> None:
    """For ``onsuccess`` and ``onerror``."""
    if session is not None:
        session.end(success)


def _group_below(root: int) -> list[int]:
    """Processes that a process started, directly or not, and that are in its group, as a terminal sees it."""
    found = []
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(root).children(recursive=True):
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(process.pid) == os.getpgid(root):
                    found.append(process.pid)
    return found
