"""Runs one batch: a runner for each of its lanes, side by side, and one file of records when all have ended well.

``python -m ironsweep.batch`` is what a Slurm job, or a local start, runs. A lane has a device of its own, a part of
the cores and a journal of its own, from which it continues after any kind of end. A lane that fails leaves the
others alone; the records' file is written only when every point has a record.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import jsonschema

from ironsweep import runner
from ironsweep.config import SCHEMAS

Record = dict[str, Any]

EX_UNAVAILABLE = 69
PATIENCE_S = 20.0
"""Seconds that lanes have to end after they were told to."""


class BatchError(Exception):
    """Why a batch cannot be run, in a sentence; ``code`` is the exit code."""

    def __init__(self, message: str, code: int) -> None:
        """``message`` is for a person."""
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Batch:
    """What a batch's file says.

    Attributes:
        device: what all points run on.
        lanes: how many devices measure side by side.
        points: ids in the file's order, and the lane of each.
    """

    device: str
    lanes: int
    points: Sequence[tuple[str, int]]


def read(path: Path) -> Batch:
    """Read a batch's file. Raises BatchError."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BatchError(f"the batch {path} cannot be read: {error.strerror}", runner.EX_IOERR) from None
    except UnicodeDecodeError:
        raise BatchError(f"the batch {path} is damaged: it is no text", runner.EX_USAGE) from None
    try:
        return _checked(path.stem, text)
    except ValueError as error:
        raise BatchError(f"the batch {path} is damaged: {error}", runner.EX_USAGE) from None


def _checked(name: str, text: str) -> Batch:
    lines = [(number, _object(number, line)) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines or lines[0][1].get("type") != "batch":
        raise ValueError("its first line is no header")
    header, points = lines[0][1], lines[1:]
    if header.get("batch") != name:
        raise ValueError(f"its header is that of batch {header.get('batch')}")
    lanes = header.get("lanes")
    if not isinstance(lanes, int) or isinstance(lanes, bool) or lanes < 1:
        raise ValueError("its header has no number of lanes")
    if "points" in header and header["points"] != len(points):
        raise ValueError(f"it has {len(points)} points, its header says {header['points']}")
    _check_expected(header.get("expected", {}))
    found: dict[str, int] = {}
    last = 0
    for number, point in points:
        _check_point(number, point, header)
        if point["id"] in found:
            raise ValueError(f"line {number}: the point {point['id']} is there twice")
        if point["lane"] < last:
            raise ValueError(f"line {number}: a point of lane {point['lane']} after those of a later lane")
        found[point["id"]] = last = point["lane"]
    return Batch(str(header.get("device")), lanes, list(found.items()))


def _object(number: int, line: str) -> Record:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(f"line {number} is no JSON, or was cut off") from None
    if not isinstance(value, dict):
        raise ValueError(f"line {number} is no JSON object")
    return value


def _check_expected(expected: Any) -> None:
    """What the header says of the device. Raises ValueError."""
    if not isinstance(expected, dict):
        raise ValueError("the header's expected is no object")
    if not all(isinstance(expected.get(name, ""), str | None) for name in ("vendor", "model")):
        raise ValueError("the header's expected vendor and model must be words")
    archs = expected.get("arch", [])
    if not isinstance(archs, list) or not all(isinstance(arch, str) for arch in archs):
        raise ValueError("the header's expected arch must be a list of words")


@functools.cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / "point.schema.json").read_text(encoding="utf-8"))
    return schema


@functools.cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(_schema())


def _check_point(number: int, point: Record, header: Record) -> None:
    """Raises ValueError."""
    wrong = [name for name in (*_schema()["required"], "lane") if name not in point]
    wrong += [str(error.absolute_path[0]) for error in _validator().iter_errors(point) if error.absolute_path]
    wrong += [name for name in point if name not in _schema()["properties"]]
    if wrong:
        raise ValueError(f"line {number} is no point: wrong or missing: {', '.join(wrong)}")
    if not 0 <= point["lane"] < header["lanes"]:
        raise ValueError(f"line {number}: there is no lane {point['lane']} of {header['lanes']}")
    if point["device"] != header.get("device"):
        raise ValueError(f"line {number}: the device is {point['device']}, the batch's {header.get('device')}")


# --- lanes ----------------------------------------------------------------------------------------------------------


def devices_of(device: str, lanes: int, environment: Mapping[str, str]) -> list[dict[str, str]]:
    """The environment of each lane, in which it sees one device only; the same for all where there are no GPUs.

    Lane k has the k-th of the devices that are visible here, in the words that Slurm, or whoever started this, used.

    Raises:
        BatchError: if fewer are visible than there are lanes.
    """
    plain = dict(environment)
    if device not in ("nvidia", "amd"):
        return [plain] * lanes
    entries = _visible(device, environment)
    if entries is None:
        entries = [str(number) for number in range(lanes)]
        found = runner.gpus(device) if lanes > 1 else None
        if found is not None:
            entries = entries[: len(found)]
    if len(entries) < lanes:
        raise BatchError(f"the batch needs {lanes} {device} devices, visible here: {len(entries)}", EX_UNAVAILABLE)
    if device == "nvidia":
        # nvidia-smi counts in this order, and so do clusters.
        plain.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
        return [{**plain, "CUDA_VISIBLE_DEVICES": entry} for entry in entries[:lanes]]
    # HIP has its own variables, which count among what ROCR shows.
    for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"):
        plain.pop(name, None)
    return [{**plain, "ROCR_VISIBLE_DEVICES": entry} for entry in entries[:lanes]]


def _visible(device: str, environment: Mapping[str, str]) -> list[str] | None:
    """What is visible; None if nothing says so."""
    if device == "nvidia":
        return runner.visible(environment.get("CUDA_VISIBLE_DEVICES"))
    shown = runner.visible(environment.get("ROCR_VISIBLE_DEVICES"))
    chosen = runner.visible(environment.get("HIP_VISIBLE_DEVICES"))
    if shown is None or chosen is None:
        return shown if chosen is None else chosen
    return [shown[int(entry)] for entry in chosen if entry.isdigit() and int(entry) < len(shown)]


def cores_of(lanes: int, usable: Sequence[int], threads: int) -> list[tuple[list[int], int]]:
    """Cores and number of threads of each lane: as many for one as for another. No cores: all, for want of them."""
    share = len(usable) // lanes
    wanted = max(1, (threads or len(usable)) // lanes)
    if not share:
        return [([], 1)] * lanes
    return [(list(usable[lane * share : (lane + 1) * share]), min(wanted, share)) for lane in range(lanes)]


def _arguments(options: argparse.Namespace, lane: int, threads: int) -> list[str]:
    """The runner's command line for a lane."""
    stem = f"{options.journal}.{lane}"
    found = [
        *("--points", str(options.batch), "--lane", str(lane), "--bin", options.bin, "--dumps", options.dumps),
        *("--journal", f"{stem}.jsonl", "--out", f"{stem}.records", "--log", f"{stem}.log"),
        *("--timeout", str(options.timeout), "--threads", str(threads)),
    ]
    for name in ("runtime", "toolchain", "source", "emulator"):
        if value := getattr(options, name):
            found += [f"--{name}", value]
    return [*found, "--earlier", *options.earlier] if options.earlier else found


@dataclass(frozen=True)
class _Lane:
    """A runner that is running, and the file with what it says: in memory, because the disk may be what fails."""

    process: subprocess.Popen[bytes]
    words: IO[bytes]


def _start(
    options: argparse.Namespace, lane: int, environment: dict[str, str], cores: list[int], threads: int
) -> _Lane:
    def in_child() -> None:
        runner.die_with_parent()
        if cores:
            os.sched_setaffinity(0, cores)

    package = str(Path(runner.__file__).parents[1])
    path = os.pathsep.join(filter(None, (package, environment.get("PYTHONPATH"))))
    words = os.fdopen(os.memfd_create(f"lane {lane}"), "w+b")
    process = subprocess.Popen(
        [sys.executable, "-m", "ironsweep.runner", *_arguments(options, lane, threads)],
        env={**environment, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=words,
        stderr=words,
        start_new_session=True,  # Ctrl-C reaches this process, which passes it on
        preexec_fn=in_child,
    )
    return _Lane(process, words)


def _run_lanes(options: argparse.Namespace, environments: Sequence[dict[str, str]]) -> int:
    """Run all lanes to their ends; 0 or the exit code of the first one that failed."""
    lanes = len(environments)
    usable = sorted(os.sched_getaffinity(0))
    if lanes == 1:
        os.environ.clear()
        os.environ.update(environments[0])
        return runner.main(_arguments(options, 0, options.threads))
    running: list[_Lane] = []
    try:
        for lane, (cores, threads) in enumerate(cores_of(lanes, usable, options.threads)):
            running.append(_start(options, lane, environments[lane], cores, threads))
        codes = [lane.process.wait() for lane in running]
    except runner.Interrupted as stop:
        _end(running, stop.args[0])
        raise
    except BaseException:
        _end(running, signal.SIGTERM)
        raise
    finally:
        _repeat(running)
    for number, code in enumerate(codes):
        if code:
            print(f"ironsweep: lane {number} of {lanes} failed with exit code {code}", file=sys.stderr)
    code = next(filter(None, codes), 0)
    return code if code >= 0 else runner.EX_INTERRUPTED - code


def _end(running: Sequence[_Lane], number: int) -> None:
    """Pass a signal on and wait until all have ended; those that do not are killed."""
    for lane in running:
        with contextlib.suppress(ProcessLookupError):
            lane.process.send_signal(number)
    deadline = time.monotonic() + PATIENCE_S
    for lane in running:
        try:
            lane.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            lane.process.kill()
            lane.process.wait()


def _repeat(running: Sequence[_Lane]) -> None:
    """Say what lanes said."""
    for number, lane in enumerate(running):
        lane.words.seek(0)
        for line in lane.words.read().decode("utf-8", "replace").splitlines():
            print(f"lane {number}: {line}", file=sys.stderr)


# --- the result -----------------------------------------------------------------------------------------------------


def _merge(options: argparse.Namespace, batch: Batch) -> list[Record]:
    """Write the records' file whole: what is known about the machines first, then the points in the batch's order.

    Returns the records. Raises ValueError if a lane has none for one of its points.
    """
    environments: list[Record] = []
    records: dict[str, Record] = {}
    results = [Path(f"{options.journal}.{lane}.records") for lane in range(batch.lanes)]
    for lane, result in enumerate(results):
        for text in result.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            if line.get("type") == "environment":
                environments.append({**line, "lane": lane})
            else:
                records[line["id"]] = line
    missing = [point for point, _ in batch.points if point not in records]
    if missing:
        raise ValueError(f"{len(missing)} points have no record, the first is {missing[0]}")
    found = [records[point] for point, _ in batch.points]
    out = Path(options.out)
    Path(options.dumps).mkdir(parents=True, exist_ok=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    runner.write_whole(out, [*environments, *found])
    for result in results:
        result.unlink()
    return found


def _summary(options: argparse.Namespace, batch: Batch, records: Sequence[Record]) -> Iterator[str]:
    """What the log says: numbers of records by status, then each lane's own summary."""
    counts = Counter(record["status"] for record in records)
    numbers = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    yield f"{options.out}: {len(records)} points, {numbers}"
    yield from _words(options, batch)


def _words(options: argparse.Namespace, batch: Batch) -> Iterator[str]:
    """What each lane's own log says."""
    for lane in range(batch.lanes):
        with contextlib.suppress(OSError):
            words = Path(f"{options.journal}.{lane}.log").read_text(encoding="utf-8").splitlines()
            yield from (f"lane {lane}: {line.removeprefix(f'{options.journal}.{lane}.records: ')}" for line in words)


def _run(options: argparse.Namespace) -> int:
    batch = read(options.batch)
    journal = Path(options.journal)
    journal.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{journal}.lock").open("ab") as alone:
        # Lanes end at different times: their own locks would let those of another start measure beside the last ones.
        runner.lock(alone, "this batch is being run already; waiting until that has finished")
        for lane in range(batch.lanes):
            Path(f"{journal}.{lane}.log").unlink(missing_ok=True)  # of an earlier start
        code = _run_lanes(options, devices_of(batch.device, batch.lanes, os.environ))
        if code:
            _log(options, "\n".join(_words(options, batch)))
            return code
        records = _merge(options, batch)
        text = "\n".join(_summary(options, batch, records))
    if options.log:
        Path(options.log).write_text(f"{text}\n", encoding="utf-8")
    else:
        print(text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ironsweep.batch", description="Run a batch and write its records.")
    parser.add_argument("--batch", type=Path, required=True, help="the batch: a header, then one point a line")
    parser.add_argument("--bin", required=True, help="folder with a folder of workers and parts for each kernel")
    parser.add_argument("--out", required=True, help="records file, written when all points have a record")
    parser.add_argument("--journal", required=True, help="stem of the lanes' journals: STEM.0.jsonl and so on")
    parser.add_argument("--dumps", required=True, help="folder for the arrays of the random data mode")
    parser.add_argument("--earlier", nargs="+", default=[], help="stems of journals of batches given up for this one")
    parser.add_argument("--runtime", help="program that runs a worker with the right loader and libraries")
    parser.add_argument("--toolchain", help="toolchain.json of the compilers that built the workers")
    parser.add_argument("--source", help="JSON file that says from which source they come")
    parser.add_argument("--emulator", default="", help="command of the program that emulates an AMD GPU")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a point may take")
    parser.add_argument("--threads", type=int, default=0, help="host threads of all lanes (default: this job's cores)")
    parser.add_argument("--log", help="file for a summary")
    return parser


def _complain(options: argparse.Namespace, reason: str) -> None:
    """Say why nothing comes of the batch; the log has it too, for the line about it at the end of the run."""
    print(f"ironsweep: {reason}", file=sys.stderr)
    _log(options, reason)


def _log(options: argparse.Namespace, text: str) -> None:
    if options.log:
        with contextlib.suppress(OSError):  # the disk may be full
            Path(options.log).write_text(f"{text}\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run; 0 if every point has a record, whatever its status."""
    options = _parser().parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, runner.stop)
    try:
        return _run(options)
    except BatchError as error:
        _complain(options, str(error))
        return error.code
    except runner.Interrupted as stop:
        print("ironsweep: stopped by a signal; what was measured is kept in the journals", file=sys.stderr)
        return runner.EX_INTERRUPTED + int(stop.args[0])
    except (OSError, ValueError, KeyError) as error:
        _complain(options, f"the batch cannot go on: {type(error).__name__}: {error}")
        return runner.EX_IOERR


if __name__ == "__main__":
    sys.exit(main())
