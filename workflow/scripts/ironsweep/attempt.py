"""Runs one build step so that its failure is a result, not an error.

A step that cannot be done leaves a *failure note* in the place of each of its outputs, and every later step passes it
on: in the end the cells of a sweep that need that output are `unsupported` or `build_failed`, with the reason, and all
others go on. What is no fault of the code or the toolchain (a step that was killed, a full disk) remains an error.

Standard library only: it is started for every build step.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from ironsweep.errors import UserError
from ironsweep.toolchain import record

FIRST_LINE = "ironsweep failure note"

# How compilers end when they fail on a program ("LLVM ERROR" aborts): results, like an error message.
_CRASHES = frozenset({signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP})

_PATH = re.compile(r"@([a-z_.+]+)@")

_FULL_DISK = ("No space left on device", "Disk quota exceeded")


@dataclass(frozen=True)
class Note:
    """Why an output could not be made."""

    status: str
    """``unsupported`` (a tool is missing) or ``build_failed``."""
    step: str
    reason: str


def read_note(path: Path) -> Note | None:
    """The note that a file holds; None if the file is a real output or does not exist."""
    try:
        with path.open("rb") as file:
            if file.read(len(FIRST_LINE) + 1) != f"{FIRST_LINE}\n".encode():
                return None
            return Note(**json.loads(file.read()))
    except (FileNotFoundError, IsADirectoryError):
        return None


def write_note(note: Note, outputs: Sequence[Path]) -> None:
    """Write the note in the place of each output."""
    text = f"{FIRST_LINE}\n{json.dumps(asdict(note))}\n"
    for output in outputs:
        remove(output)
        output.parent.mkdir(parents=True, exist_ok=True)
        part = output.with_name(output.name + ".part")
        part.write_text(text, encoding="utf-8")
        part.rename(output)


def remove(path: Path) -> None:
    """Remove a file or folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def attempt(
    command: Sequence[str],
    *,
    step: str,
    inputs: Sequence[Path],
    outputs: Sequence[Path],
    log: Path,
    requires: Sequence[str] = (),
    absent: str = "",
    toolchain: Path,
) -> None:
    """Run the command, or leave a note in the outputs if an input is a note, a tool is missing or the command fails.

    `absent` says that there is nothing to build, and why: the note says the same.
    The command's messages go to `log`. Raises UserError if the command was killed, the disk is full, or the command
    succeeded without writing its outputs.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    note = (
        Note("unsupported", step, absent) if absent else _inherited(inputs) or _unsupported(step, requires, toolchain)
    )
    if note is None:
        for output in outputs:
            remove(output)
            output.parent.mkdir(parents=True, exist_ok=True)
        status = _run(_with_paths(command, toolchain), log)
        if status == 0:
            if lacking := [str(output) for output in outputs if not output.exists()]:
                raise UserError(f"{step}: the command succeeded but did not write {', '.join(lacking)}; see {log}")
            return
        note = _failed(step, status, log)
    else:
        log.write_text(f"not attempted: {note.reason}\n", encoding="utf-8")
    write_note(note, outputs)


def _inherited(inputs: Sequence[Path]) -> Note | None:
    return next((note for note in map(read_note, inputs) if note is not None), None)


def _unsupported(step: str, requires: Sequence[str], toolchain: Path) -> Note | None:
    if not requires:
        return None
    described = record.load(toolchain)
    reasons = [reason for tool in requires if (reason := described.reason(tool))]
    return Note("unsupported", step, "; ".join(reasons)) if reasons else None


def _with_paths(command: Sequence[str], toolchain: Path) -> list[str]:
    """The command with ``@name@`` replaced by where the toolchain has that file or folder, such as ``@libdevice@``."""
    if not any(map(_PATH.search, command)):
        return list(command)
    described = record.load(toolchain)

    def path(found: re.Match[str]) -> str:
        if reason := described.reason(found[1]):
            raise UserError(f"{found[0]}: {reason}")
        return str(described.tools[found[1]].path)

    return [_PATH.sub(path, word) for word in command]


def _run(command: Sequence[str], log: Path) -> int:
    """Exit status of the command; negative: the signal that ended it. A terminated attempt takes its command along."""
    with log.open("wb") as file:
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        except OSError as error:
            raise UserError(f"cannot start {command[0]}: {error.strerror}") from error

        def stop(number: int, frame: FrameType | None) -> None:
            del frame
            child.send_signal(number)

        before = signal.signal(signal.SIGTERM, stop)
        status = child.wait()
        signal.signal(signal.SIGTERM, before)
    # a shell, and the way into the toolchain's root, report a signal as 128 + its number
    return 128 - status if 128 < status <= 128 + signal.NSIG else status


def _failed(step: str, status: int, log: Path) -> Note:
    said = log.read_text(encoding="utf-8", errors="replace")
    if full := next((words for words in _FULL_DISK if words in said), None):
        raise UserError(f"{step}: {full}; see {log}")
    last = "\n".join(said.strip().splitlines()[-20:])[-4000:]
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
        if -status not in _CRASHES:
            raise UserError(f"{step}: ended by {name}, so this says nothing about the code; run again, or see {log}")
        return Note("build_failed", step, f"the compiler crashed ({name})\n{last}".strip())
    return Note("build_failed", step, last or f"exit status {status} without a message")


def main() -> None:
    """Command line of ``workflow/scripts/attempt.py``."""
    parser = argparse.ArgumentParser(description="Run a build step; its failure becomes a note in its outputs.")
    parser.add_argument("--step", help="name of the step, for the note (default: the name of the first output)")
    parser.add_argument("--log", type=Path, required=True, help="file for the command's messages")
    parser.add_argument(
        "--toolchain", type=Path, default=Path("results/toolchain/toolchain.json"), help="toolchain.json"
    )
    parser.add_argument(
        "--requires", nargs="+", default=[], metavar="TOOL", help="tools without which it is unsupported"
    )
    parser.add_argument(
        "--absent", default="", metavar="REASON", help="why there is nothing to build (default: there is)"
    )
    parser.add_argument("--inputs", nargs="*", type=Path, default=[], help="files that may be notes")
    parser.add_argument("--outputs", nargs="+", type=Path, required=True)
    parser.add_argument("command", nargs="+", help="the command, after --")
    arguments = parser.parse_args()
    attempt(
        arguments.command,
        step=arguments.step or arguments.outputs[0].name,
        inputs=arguments.inputs,
        outputs=arguments.outputs,
        log=arguments.log,
        requires=arguments.requires,
        absent=arguments.absent,
        toolchain=arguments.toolchain,
    )
