"""Runs the points of a plan on this machine and writes one record for each, whatever happens.

Python's standard library only (3.8 or newer), and nothing else of this project: this file travels to machines that
have no more than that.

A worker is started once for each kernel, variant and device, gets its points one after another and loads the part of
each: the image or library of its tuning. A point whose
worker dies, hangs or answers nonsense becomes a record too (`crashed`, `timeout`), the worker is started again and the
rest goes on. Each record is written through to a journal before the next point starts, so that a run that was ended
in any way continues where it stopped; only records whose programs have not changed are taken over.

A device on which point after point fails is quarantined (`Faults`): what is left is handed back, `not_run`. The header
of a batch says which device is expected; what another one measured is `wrong_device` and keeps no number.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import platform
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TextIO

if TYPE_CHECKING:  # Python 3.8 would not understand these two
    from collections.abc import Iterator

    Point = dict[str, Any]
    Record = dict[str, Any]

# What a worker is told; the other columns of the plan are added to its record.
SENT = (
    "id",
    "kernel",
    "variant",
    "device",
    "arch",
    "safety",
    "contraction",
    "tuning",
    "block",
    "part",
    "size",
    "reps",
    "passes",
    "warmup",
    "region",
    "data",
    "seed",
)
WORKER_STATUSES = ("ok", "unsupported", "out_of_memory", "crashed", "wrong_device")
# Variants with a program of their own; the others are libraries that the program `native` loads.
RUST_VARIANTS = ("rust_offload", "rust_liboffload")
EMULATED = "amd_emulated"
NOTE_MARK = b"ironsweep failure note\n"
TAIL_LINES = 12
# Signals that say nothing about a kernel: somebody, or the scheduler, ends the run. (SIGKILL can be the kernel's fault,
# for want of memory: it is recorded, and measured again at the next start.)
ENDED_FROM_OUTSIDE = ("SIGTERM", "SIGINT", "SIGHUP")
FULL_DISK = ("No space left on device", "Disk quota exceeded")
# A device is quarantined after so many faults in a row of several programs, or of one alone.
FAULTS_OF_SEVERAL = 3
FAULTS_OF_ONE = 10
# What a worker's answer says about its measurement, as opposed to its device.
NUMBERS = (
    "actual_size",
    "seconds_per_rep",
    "checksums",
    "bytes_read",
    "bytes_written",
    "bytes_modified",
    "bytes_atomic",
    "flops",
    "launches_per_rep",
    "clock_resolution_s",
    "dump_data",
)
TOOL_TIMEOUT_S = 30.0
START_GRACE_S = 60.0  # a fresh worker may take this long for its driver, on top of the point's own limit
# Idle OpenMP threads spin for a while; a worker that has just finished must not do so beside the next one.
OPENMP_SPIN_MS = 20
EX_INTERRUPTED = 128
EX_IOERR = 74
EX_USAGE = 64


class Interrupted(Exception):
    """A signal asked the runner to stop; the argument is its number."""


class WorkerFailed(Exception):
    """A worker gave no valid record for a point."""

    def __init__(self, status: str, message: str, left: bool = False) -> None:
        """``status`` and ``message`` become those of the point's record.

        ``left``: it had ended in good order after an earlier point, and has nothing to do with this one.
        """
        super().__init__(message)
        self.status = status
        self.message = message
        self.left = left


# --- workers --------------------------------------------------------------------------------------------------------


def die_with_parent() -> None:
    """In the child: be killed when the runner dies, even by SIGKILL, so that nothing measures beside its successor."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Worker:
    """A running program that answers points, one JSON line each, on its standard output."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        """Start ``command``; its standard error goes to the file ``log``."""
        self.fresh = True
        self._buffer = b""
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as errors:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=environment,
                    start_new_session=True,
                    preexec_fn=die_with_parent,
                )
            except OSError as error:
                raise WorkerFailed("crashed", f"cannot be started: {error}") from None
        assert self._process.stdin and self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)

    @property
    def alive(self) -> bool:
        """Whether the program still runs."""
        return self._process.poll() is None

    def ask(self, point: Point, timeout_s: float) -> Record:
        """Send a point and wait for its record. Raises WorkerFailed."""
        deadline = time.monotonic() + timeout_s + (START_GRACE_S if self.fresh else 0.0)
        with contextlib.suppress(BrokenPipeError):  # its end is reported by the missing answer
            self._stdin.write(json.dumps(point).encode() + b"\n")
            self._stdin.flush()
        line = self._read_line(deadline, timeout_s)
        self.fresh = False
        return _parse_answer(line, point["id"])

    def _read_line(self, deadline: float, timeout_s: float) -> bytes:
        while b"\n" not in self._buffer:
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                if time.monotonic() < deadline:
                    continue
                raise WorkerFailed("timeout", f"no answer within {timeout_s:g} s")
            part = os.read(self._stdout.fileno(), 1 << 16)
            if not part:
                ending = self._how_it_ended()
                left = self._process.returncode == 0 and not self.fresh and not self._buffer
                raise WorkerFailed("crashed", ending, left)
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(10)
        except subprocess.TimeoutExpired:
            return "closed its output without an answer"
        if code < 0:
            return f"ended by signal {-code} ({_signal_name(-code)})"
        # A shell or a loader in between reports a signal as 128 + its number.
        named = f" (signal {code - 128}, {_signal_name(code - 128)})" if 128 < code < 128 + 65 else ""
        return f"ended with exit code {code}{named} without an answer"

    def tail(self) -> str:
        """The last lines that it wrote to standard error."""
        with contextlib.suppress(OSError):
            with self._log.open("rb") as file:
                file.seek(max(0, self._log.stat().st_size - 8192))
                text = file.read().decode("utf-8", "replace")
            return "\n".join(text.splitlines()[-TAIL_LINES:])
        return ""

    def close(self, patience_s: float = 10.0) -> None:
        """End of input, then, if that is not heeded, SIGKILL to the program and everything that it started."""
        with contextlib.suppress(OSError):
            self._stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            if patience_s:
                self._process.wait(patience_s)
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._selector.close()
        self._stdout.close()


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return "unknown"


def _parse_answer(line: bytes, asked: str) -> Record:
    """The record in a worker's line; NaN and infinities, which JSON does not have, become null."""
    shown = line[:120].decode("utf-8", "replace")
    try:
        record = json.loads(line.decode("utf-8"), parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        raise WorkerFailed("crashed", f"answered what is no JSON: {shown}") from None
    if not isinstance(record, dict) or record.get("id") != asked:
        raise WorkerFailed("crashed", f"answered something other than the record of this point: {shown}")
    if record.get("status") not in WORKER_STATUSES:
        raise WorkerFailed("crashed", f"answered with the unknown status {record.get('status')!r}")
    return record


def program(point: Point) -> str:
    """The program that answers a point. Each native variant runs in one of its own: their libraries share names."""
    return str(point["variant"]) if point["variant"] in RUST_VARIANTS else "native"


class Fleet:
    """The workers that are running, by kernel, variant and device."""

    def __init__(self, options: argparse.Namespace, logs: Path, environment: dict[str, str]) -> None:
        """``logs`` is the folder for what workers write to standard error."""
        self._options = options
        self._logs = logs
        self._environment = environment
        self._running: dict[tuple[str, str, str], Worker] = {}

    def get(self, point: Point) -> Worker:
        """The worker for a point, started if it is not running. Raises WorkerFailed."""
        key = (point["kernel"], point["variant"], point["device"])
        worker = self._running.get(key)
        if worker and worker.alive:
            return worker
        self.drop(point)
        # Workers of one kernel stay, so that variants can be interleaved; those of other kernels are done.
        for other in [other for other in self._running if other[0] != key[0] or self._options.single_worker]:
            self._running.pop(other).close()
        folder = Path(self._options.bin) / point["kernel"]
        runtime = [self._options.runtime] if self._options.runtime else []
        command = [*runtime, str(folder / program(point)), "--folder", str(folder)]
        environment = dict(self._environment)
        if point["device"] == EMULATED:
            environment["IRONSWEEP_EMULATOR"] = self._options.emulator
        self._running[key] = Worker(command, environment, self._logs / f"{'-'.join(key)}.err")
        return self._running[key]

    def drop(self, point: Point) -> None:
        """End the worker of a point at once."""
        worker = self._running.pop((point["kernel"], point["variant"], point["device"]), None)
        if worker:
            worker.close(patience_s=0)

    def close(self, patience_s: float = 10.0) -> None:
        """End all workers."""
        while self._running:
            self._running.popitem()[1].close(patience_s)


# --- what has been measured already ---------------------------------------------------------------------------------


def read_note(file: Path) -> tuple[str, str] | None:
    """Status and reason, if a file is the note of a failed build (ironsweep.attempt writes them) and no program."""
    with file.open("rb") as data:
        if data.read(len(NOTE_MARK)) != NOTE_MARK:
            return None
        note = json.loads(data.read().decode("utf-8"))
    return note["status"], f"{note['step']}: {note['reason']}"


def _why_missing(file: Path) -> tuple[str, str] | None:
    """Status and reason if a file was not built."""
    return read_note(file) if file.exists() else ("build_failed", f"{file} does not exist")


class Programs:
    """Content hashes of what a record depends on, and the notes that stand in for programs that were not built."""

    def __init__(self, folder: Path, toolchain: Path | None = None) -> None:
        """Hashes are computed when they are first asked for.

        ``folder`` has a folder of programs for each kernel; ``toolchain`` is the toolchain.json of what built them.
        """
        self._bin = folder
        self._hashes: dict[Path, str | None] = {}
        self._notes: dict[tuple[Path, ...], tuple[str, str] | None] = {}
        self.toolchain = _toolchain_hash(toolchain) if toolchain else None

    def _files(self, point: Point) -> tuple[Path, Path]:
        folder = self._bin / point["kernel"]
        return folder / program(point), folder / point["part"]

    def of(self, point: Point) -> Record:
        """Hashes of the program and of the part that it loads for a point, and of the toolchain that built them."""
        binary, part = self._files(point)
        return {
            "binary_sha256": self._hash(binary),
            "image_sha256": self._hash(part),
            "toolchain_sha256": self.toolchain,
        }

    def note(self, point: Point) -> tuple[str, str] | None:
        """Status and reason if the program or the part of a point could not be built, or the image in that part."""
        files = self._files(point)
        # A launcher holds the images of all devices but those that could not be built.
        image = self._bin / point["kernel"] / "images" / "{arch}-{safety}-{contraction}.img".format(**point)
        needed = (*files, image) if point["variant"] == "rust_offload" and image.exists() else files
        if needed not in self._notes:
            self._notes[needed] = next(filter(None, map(_why_missing, needed)), None)
        return self._notes[needed]

    def _hash(self, file: Path) -> str | None:
        if file not in self._hashes:
            self._hashes[file] = _sha256(file) if file.exists() else None
        return self._hashes[file]


def _sha256(file: Path) -> str:
    state = hashlib.sha256()
    with file.open("rb") as data:
        for block in iter(lambda: data.read(1 << 20), b""):
            state.update(block)
    return state.hexdigest()


def _toolchain_hash(file: Path) -> str:
    stated = json.loads(file.read_text(encoding="utf-8")).get("sha256")
    return str(stated) if stated else _sha256(file)


def _read_source(file: str | None) -> Record | None:
    """Commit and state of the source; None where nobody said it."""
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8")) if file else None
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


class Journal:
    """An append-only file of records; each is on the disk before the next point is measured."""

    def __init__(self, path: Path) -> None:
        """Open, or continue, the journal at ``path``. Waits while another runner has it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.records: dict[str, Record] = {}
        self.environments: dict[str, list[Record]] = {}
        self._known: set[str] = set()
        # Without a buffer: what could not be written must not be tried again when the file is closed.
        self._file = path.open("ab", buffering=0)
        lock(self._file, "another runner is at these points; waiting until it has finished")
        for line in _whole_lines(path):
            self._take(line)

    def _take(self, line: Record) -> None:
        if line.get("type") == "environment":
            self.environments.setdefault(str(line.get("run")), []).append(line)
        elif line.get("type") == "forgotten":
            for name in line["ids"]:
                self.records.pop(str(name), None)
        elif "id" in line:
            self.records[str(line["id"])] = line
            self._known.add(str(line["id"]))

    def take_over(self, path: Path, ids: set[str]) -> list[Record]:
        """Append what another journal, which nobody writes any more, holds of points that this one never had."""
        records: dict[str, Record] = {}
        environments = []
        for line in _whole_lines(path):
            if line.get("type") == "environment":
                environments.append(line)
            elif line.get("type") == "forgotten":
                for name in line["ids"]:
                    records.pop(str(name), None)
            elif line.get("id") in ids - self._known:
                records[str(line["id"])] = line
        runs = {record.get("run") for record in records.values()} - set(self.environments)
        self.extend([*(line for line in environments if line.get("run") in runs), *records.values()])
        return list(records.values())

    def has_ended(self, run: str) -> bool:
        """Whether a run came to its end."""
        return any(line.get("moment") == "end" for line in self.environments.get(run, []))

    def append(self, line: Record) -> None:
        """Write a record (or a description of the environment) through to the disk."""
        self.extend([line])

    def extend(self, lines: list[Record]) -> None:
        """Write all of the lines through to the disk, or, if it is full, none of them."""
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        before = os.fstat(self._file.fileno()).st_size
        try:
            while data:
                data = data[os.write(self._file.fileno(), data) :]
            os.fsync(self._file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(before)
            raise
        for line in lines:
            self._take(line)

    def forget(self) -> None:
        """Begin anew."""
        self._file.truncate(0)
        self.records.clear()
        self.environments.clear()
        self._known.clear()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def lock(file: IO[bytes], waiting: str) -> None:
    """Be alone: a runner whose Snakemake was killed goes on, and nothing must be measured beside it.

    ``waiting`` is said if somebody else has the file; then this waits.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"ironsweep: {waiting}", file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        pass  # a file system without locks


def _whole_lines(path: Path) -> Iterator[Record]:
    """Objects in a file of JSON lines; a line that was cut off is ended, so that the next one starts afresh."""
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        with path.open("ab") as file:
            file.write(b"\n")
    for line in data.splitlines():
        with contextlib.suppress(ValueError):
            value = json.loads(line.decode("utf-8"))
            if isinstance(value, dict):
                yield value


def _comparison(point: Point) -> tuple[Any, ...]:
    """What the points have in common that are compared with one another; the twin of an A/A pair is one of them."""
    return tuple(point.get(name) for name in ("kernel", "kind", "device", "arch", "size", "data"))


def _still_valid(record: Record, hashes: Record, timeout_s: float, dump: Path | None) -> bool:
    """Whether a record of an earlier run stands for the same point now."""
    if any(record.get(name) != value for name, value in hashes.items()):
        return False
    # What could not run may be able to now: another device, a checkout of the emulator.
    if record.get("status") in ("wrong_device", "not_run", "unsupported", "excluded"):
        return False
    if "(SIGKILL)" in str(record.get("message")):
        return False
    if record.get("status") == "timeout" and record.get("timeout_s", 0) < timeout_s:
        return False
    return record.get("status") != "ok" or dump is None or "dump_data" in record or dump.exists()


# --- the machine ----------------------------------------------------------------------------------------------------

NVIDIA_FACTS = (
    "name",
    "uuid",
    "driver_version",
    "compute_cap",
    "memory.total",
    "pci.bus_id",
    "persistence_mode",
    "compute_mode",
    "mig.mode.current",
    "ecc.mode.current",
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "clocks.max.mem",
    "clocks.applications.graphics",
    "power.limit",
    "power.draw",
    "temperature.gpu",
    "clocks_event_reasons.active",
    "clocks_throttle_reasons.active",
)
# Of what amd-smi says: who the device is, how it is divided, clocks, power, errors in memory, what slows it down.
AMD_FACTS = re.compile(
    r"(asic|driver|limit|partition|throttle)\.|bus\.bdf|ras\.eeprom_version|(ras|ecc)\.\w*(correctable|state)|power\."
    r"|clock\.(gfx_0|mem_0)\.(clk|max_clk)$|temperature\."
)


def _output(command: list[str]) -> str | None:
    """What a tool prints; None if it is not there, fails, or hangs as the driver of a broken device does."""
    try:
        tool = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
    except OSError:
        return None
    try:
        text, _ = tool.communicate(timeout=TOOL_TIMEOUT_S)
        return text.decode("utf-8", "replace") if tool.returncode == 0 else None
    except subprocess.TimeoutExpired:
        return None  # nobody waits for it: a process that hangs in the driver cannot even be killed
    finally:
        if tool.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(tool.pid, signal.SIGKILL)
        if tool.stdout:
            tool.stdout.close()


def gpus(vendor: str) -> list[Record] | None:
    """One object a GPU of this machine, as the vendor's tool describes it; None if there is no tool that answers.

    Besides what the tool says each has ``name``, ``uuid`` and ``arch``, where they are told.
    """
    return _nvidia_gpus() if vendor == "nvidia" else _amd_gpus()


def _nvidia_gpus() -> list[Record] | None:
    """Drivers differ in what they know and refuse a question that has one unknown word."""
    if not shutil.which("nvidia-smi"):
        return None
    understood = _output(["nvidia-smi", "--help-query-gpu"]) or ""
    known = [name for name in NVIDIA_FACTS if f'"{name}"' in understood]
    answer = _output(["nvidia-smi", f"--query-gpu={','.join(known)}", "--format=csv,noheader"]) if known else None
    if answer is None:
        return None
    rows = [[value.strip() for value in line.split(",")] for line in answer.splitlines()]
    found = []
    for row in rows:
        if len(row) == len(known):
            gpu: Record = {name: row[index] for index, name in enumerate(known)}
            capability = gpu.get("compute_cap", "").replace(".", "")
            arch = f"sm_{capability}" if capability.isdigit() else None
            found.append(_named(gpu, gpu.get("name"), gpu.get("uuid"), arch))
    return found


def _amd_gpus() -> list[Record] | None:
    """From amd-smi, or else from rocm-smi, which calls a GPU by its board's name in the list of PCI devices."""
    for tool, read in (("amd-smi", _from_amd_smi), ("rocm-smi", _from_rocm_smi)):
        if shutil.which(tool):
            found = read()
            if found:
                return found
    return None


def _from_amd_smi() -> list[Record]:
    found: dict[str, Record] = {}
    for command in ("static", "metric"):
        told = _json_of(["amd-smi", command, "--json"])
        for gpu in told.get("gpu_data", []) if isinstance(told, dict) else told or []:
            if isinstance(gpu, dict):
                facts = {name: value for name, value in _flat(gpu) if AMD_FACTS.match(name)}
                found.setdefault(str(gpu.get("gpu")), {}).update(facts)
    names = ("asic.market_name", "asic.asic_serial", "asic.target_graphics_version")
    return [_named(gpu, *map(gpu.get, names)) for gpu in found.values()]


def _from_rocm_smi() -> list[Record]:
    basic = ["rocm-smi", "--showproductname", "--showuniqueid", "--showdriverversion", "--showclocks"]
    more = ["--showpower", "--showmaxpower", "--showtemp", "--showperflevel"]
    told = _json_of([*basic, *more, "--json"]) or _json_of([*basic, "--json"])
    if not isinstance(told, dict):
        return []
    found = []
    for card, facts in told.items():
        if re.match(r"card\d+$", card) and isinstance(facts, dict):
            # Versions differ in how they write the names.
            named = {name.lower(): value for name, value in facts.items()}
            gpu = {**facts, "card": card, "board": named.get("card series")}
            found.append(_named(gpu, None, named.get("unique id"), named.get("gfx version")))
    if found and isinstance(told.get("system"), dict):
        found[0].update(told["system"])
    return found


def _named(gpu: Record, name: Any, uuid: Any, arch: Any) -> Record:
    """What a tool says of a GPU, with what every tool should say under names of its own, if it is told."""
    names = {"name": name, "uuid": uuid, "arch": arch}
    told = {key: str(value) for key, value in names.items() if value and "N/A" not in str(value)}
    return {**{key: value for key, value in gpu.items() if key not in names}, **told}


def _json_of(command: list[str]) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(_output(command) or "")
    return None


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Names such as `asic.market_name` and their values; a value with a unit is one."""
    if isinstance(value, dict) and set(value) == {"value", "unit"}:
        yield name, f"{value['value']} {value['unit']}"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    elif not isinstance(value, list):
        yield name, value


def _in_use(vendor: str) -> list[Record] | None:
    """The GPUs that programs see: those that the environment names, or all where it does not, or not clearly."""
    found = gpus(vendor)
    entries = visible(os.environ.get("CUDA_VISIBLE_DEVICES" if vendor == "nvidia" else "ROCR_VISIBLE_DEVICES"))
    if not found or entries is None:
        return found
    parents = _parents_of_slices() if any(entry.startswith("MIG-") for entry in entries) else {}
    used = []
    for entry in entries:
        # AMD's tools do not count as the runtime does, above all not inside a job.
        if entry.isdigit() and vendor == "nvidia":
            used += found[int(entry) : int(entry) + 1]
        elif entry in parents:
            used += [{**gpu, "mig.uuid": entry} for gpu in found if gpu.get("uuid") == parents[entry]]
        elif not entry.isdigit():
            used += [gpu for gpu in found if _same_gpu(entry, str(gpu.get("uuid", "")))]
    return used or found


def visible(value: str | None) -> list[str] | None:
    """What a variable such as CUDA_VISIBLE_DEVICES names; None if it is not set. A wrong word ends the list."""
    if value is None:
        return None
    entries = [entry.strip() for entry in value.split(",")]
    wrong = (number for number, entry in enumerate(entries) if not re.match(r"\d+$|(GPU|MIG)-", entry))
    return entries[: next(wrong, len(entries))]


def _same_gpu(entry: str, uuid: str) -> bool:
    """Whether an environment's word means a GPU: the beginning of NVIDIA's UUID or of AMD's unique number."""
    number = re.sub(r"^(GPU-|0x)", "", uuid, flags=re.I).lower()
    return bool(number) and number.startswith(entry[len("GPU-") :].lower())


def _parents_of_slices() -> dict[str, str]:
    """UUIDs of MIG devices, and of the GPU that each is a slice of, as nvidia-smi lists them."""
    parents: dict[str, str] = {}
    gpu = ""
    for line in (_output(["nvidia-smi", "-L"]) or "").splitlines():
        uuid = re.search(r"UUID: ([^)]+)\)", line)
        if uuid and line.startswith("GPU"):
            gpu = uuid[1]
        elif uuid:
            parents[uuid[1]] = gpu
    return parents


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def misfit(expected: Record, found: Record) -> str | None:
    """Why a device is not the one that is expected, if it is not. What is not told about it is no reason.

    ``expected`` and ``found`` have ``vendor``, ``model`` or ``name``, and ``arch`` (of ``expected`` a list). All words
    of the model must be words of the name; what the model has in parentheses is a remark. A slice of a GPU (MIG) is not
    the whole.
    """
    model = re.sub(r"\([^)]*\)", " ", expected.get("model") or "")
    name, vendor = found.get("name") or "", found.get("vendor") or ""
    arch = str(found.get("arch") or "").partition(":")[0]
    wanted = _words(model)
    is_slice = bool(wanted) and "mig" in _words(name) - wanted
    if (
        (not vendor or vendor == expected.get("vendor", vendor))
        and (not name or (wanted <= _words(name) and not is_slice))
        and (not arch or not expected.get("arch") or arch in expected["arch"])
    ):
        return None
    asked = " ".join(filter(None, (expected.get("vendor"), model.strip(), " or ".join(expected.get("arch") or []))))
    there = " ".join(filter(None, (name or vendor, arch)))
    return f"asked for {asked}, found {there}"


def _wrong_gpu(expected: Record, environment: Record) -> str | None:
    """Why nothing is to be measured here: none of the GPUs of which the tools know fits."""
    found = environment.get(expected.get("vendor", ""))
    reasons = [misfit(expected, {**gpu, "vendor": expected["vendor"]}) for gpu in found or []]
    return reasons[0] if reasons and all(reasons) else None


def _exchanged(before: Record, after: Record) -> str | None:
    """How devices after a run differ from those before it, or from how they were divided, if tools told both times."""
    for vendor in ("nvidia", "amd"):
        first, last = (sorted(map(_identity, line.get(vendor) or [])) for line in (before, after))
        if first and last and first != last:
            return f"the device changed during the run: {'; '.join(first)} before, {'; '.join(last)} after"
    return None


def _identity(gpu: Record) -> str:
    words = {"uuid": "", "mig.uuid": "", "mig.mode.current": "MIG ", "partition.compute_partition": "partition "}
    return " ".join(f"{word}{gpu[name]}" for name, word in words.items() if gpu.get(name))


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def environment_facts(run: str, moment: str, devices: list[str], threads: int, source: Record | None = None) -> Record:
    """What is known about this machine at the start or the end (``moment``) of a run, for the devices in use.

    ``source``: which source the programs come from.
    """
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return {
        "type": "environment",
        "run": run,
        "moment": moment,
        "time": _now(),
        "host": socket.gethostname(),
        "uname": " ".join(platform.uname()[:5]),
        "python": platform.python_version(),
        "cpu": _cpu_model(),
        "cpus_usable": len(os.sched_getaffinity(0)),
        "threads": threads,
        "governor": governor.read_text(encoding="utf-8").strip() if governor.exists() else None,
        "load": os.getloadavg()[0],
        "slurm_job": os.environ.get("SLURM_JOB_ID"),
        "source": source,
        "visible_devices": {
            name: os.environ[name]
            for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
            if name in os.environ
        },
        "nvidia": _in_use("nvidia") if "nvidia" in devices else [],
        "amd": _in_use("amd") if "amd" in devices else [],
    }


def _now() -> str:
    """The time in UTC, as ISO 8601 writes it, to milliseconds."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03d}+00:00"


# --- the run --------------------------------------------------------------------------------------------------------


class Progress:
    """One line on a terminal that says how far the run is; nothing where nobody watches."""

    def __init__(self, total: int, stream: TextIO) -> None:
        """``total`` points are planned."""
        self._total = total
        self._stream = stream
        self._watched = stream.isatty()
        self.counts: dict[str, int] = {}

    def show(self, record: Record) -> None:
        """Count a record."""
        self.counts[record["status"]] = self.counts.get(record["status"], 0) + 1
        if self._watched:
            done = sum(self.counts.values())
            self._stream.write(f"\r\x1b[K{done}/{self._total} cells · {record['kernel']} · {self.summary()}")
            self._stream.flush()

    def end(self) -> None:
        """Remove the line."""
        if self._watched and self.counts:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def summary(self) -> str:
        """Numbers of records by status."""
        return ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items()) if count)


class Faults:
    """Points in a row that crashed or hung: when it is the device, and not a kernel, that is broken.

    One broken kernel must not condemn a device: it is after `FAULTS_OF_SEVERAL` in a row if they are of two programs
    (kernel and variant) at least, and after `FAULTS_OF_ONE` if they are of one. An answer that needs a working device
    ends the row. What says nothing about the device (`unsupported`, `wrong_device`, a worker that was killed by
    SIGKILL, as happens where the host's memory is full) neither counts nor ends it.
    """

    def __init__(self) -> None:
        """None yet."""
        self._row: list[tuple[str, str]] = []

    def count(self, point: Point, answer: Record) -> None:
        """Take a worker's answer, or what stands in its place, into account."""
        status, message = answer["status"], str(answer.get("message"))
        if status in ("ok", "out_of_memory"):
            self._row.clear()
        elif status in ("crashed", "timeout") and "(SIGKILL)" not in message:
            self._row.append((f"{point['kernel']} {point['variant']}", f"{status}: {message[:80]}"))

    @property
    def verdict(self) -> str | None:
        """Why the device is quarantined; None if it is not."""
        several = len({who for who, _ in self._row}) > 1
        if len(self._row) < (FAULTS_OF_SEVERAL if several else FAULTS_OF_ONE):
            return None
        last = "; ".join(f"{who} {what}" for who, what in self._row[-FAULTS_OF_SEVERAL:])
        return f"not measured: the device is quarantined after {len(self._row)} faults in a row, the last: {last}"


class Paths(NamedTuple):
    """Where a run keeps what it must not lose, and where it puts its result."""

    out: Path
    journal: Path
    kept_dumps: Path
    logs: Path
    dumps: Path | None


class Run:
    """One run over a list of points."""

    def __init__(self, options: argparse.Namespace, points: list[Point], expected: Record | None = None) -> None:
        """Nothing is started yet. ``expected`` says which device it has to be: vendor, model, list of arch."""
        journal = Path(options.journal or f"{options.out}.journal")
        self.paths = Paths(
            out=Path(options.out),
            journal=journal,
            kept_dumps=journal.with_suffix(".dumps"),
            logs=journal.with_suffix(".logs"),
            dumps=Path(options.dumps) if options.dumps else None,
        )
        self.options = options
        self.points = points
        self.expected = expected or {}
        usable = len(os.sched_getaffinity(0))
        self.threads = min(options.threads, usable) if options.threads else usable
        self.programs = Programs(Path(options.bin), Path(options.toolchain) if options.toolchain else None)
        self.source = _read_source(options.source)
        self.journal = Journal(journal)
        if options.repeat:
            self.journal.forget()
        self._take_over()
        self.fleet = Fleet(options, self.paths.logs, self._worker_environment())
        self.progress = Progress(len(points), sys.stderr)
        self.run_id = uuid.uuid4().hex[:12]
        self.measured = 0
        self.faults = Faults()
        self.quarantined: str | None = None
        self._refused: str | None = None
        self._answered: list[Point] = []
        self._last_worker: Worker | None = None

    def _take_over(self) -> None:
        """What journals of batches hold that were given up for this one."""
        ids = {point["id"] for point in self.points}
        for stem in self.options.earlier:
            for path in sorted(Path(stem).parent.glob(f"{Path(stem).name}.*.jsonl")):
                for record in self.journal.take_over(path, ids):
                    dump = path.with_suffix(".dumps") / str(record.get("dump"))
                    if record.get("dump") and dump.exists():
                        self.paths.kept_dumps.mkdir(parents=True, exist_ok=True)
                        part = self.paths.kept_dumps / f"{record['dump']}.part"
                        shutil.copyfile(dump, part)
                        part.replace(self.paths.kept_dumps / record["dump"])

    def _worker_environment(self) -> dict[str, str]:
        return {
            **os.environ,
            # Without a device a kernel must not run on the host in its place, unnoticed.
            "OMP_TARGET_OFFLOAD": "MANDATORY",
            "OMP_NUM_THREADS": str(self.threads),
            "OMP_PROC_BIND": "true",
            "KMP_BLOCKTIME": str(OPENMP_SPIN_MS),
        }

    def everything(self) -> None:
        """Get a record for every point and write the result."""
        for folder in (self.paths.kept_dumps, self.paths.out.parent):
            folder.mkdir(parents=True, exist_ok=True)
        self._forget_comparisons()
        todo = [point for point in self.points if not self._is_kept(point)]
        for point in self.points:
            if self._is_kept(point):
                self.progress.show(self.journal.records[point["id"]])
        runs = [point for point in todo if self._is_measured(point)]
        devices = sorted({point["device"] for point in runs})
        start = None
        if runs:
            start = environment_facts(self.run_id, "start", devices, self.threads, self.source)
            self.journal.append(start)
            if self.expected.get("vendor") in devices:
                self._refused = _wrong_gpu(self.expected, start)
        for order, point in enumerate(todo):
            record = self._record(point, order)
            self.journal.append(record)
            self.progress.show(record)
        self.fleet.close()
        if start:
            end = environment_facts(self.run_id, "end", devices, self.threads, self.source)
            # In one piece: records of a run whose end is on the disk are believed.
            self.journal.extend([*self._condemned(_exchanged(start, end)), end])
        self.measured = len(self._answered)
        self._write_result()

    def _condemned(self, reason: str | None) -> list[Record]:
        """What GPUs answered in this run, without its numbers, if there is a reason not to believe them."""
        records = []
        for point in self._answered if reason else []:
            if point["device"] in ("nvidia", "amd"):
                before = self.journal.records[point["id"]]
                self.progress.counts[before["status"]] -= 1
                records.append({**_without_numbers(before), "status": "wrong_device", "message": reason})
                self.progress.show(records[-1])
        return records

    def _forget_comparisons(self) -> None:
        """Drop what would be compared with a record that is missing or no longer holds: they are measured in one run.

        What a run had measured when it was interrupted stays.
        """
        measured = [point for point in self.points if self._is_measured(point)]
        stale = {_comparison(point) for point in measured if not self._is_kept(point)}
        changed = {
            _comparison(point)
            for point in measured
            if (record := self.journal.records.get(point["id"]))
            and (not self._is_kept(point) or self.journal.has_ended(str(record.get("run"))))
        } & stale
        ids = [point["id"] for point in self.points if _comparison(point) in changed]
        if ids:
            self.journal.append({"type": "forgotten", "ids": ids})

    def _is_kept(self, point: Point) -> bool:
        """Whether an earlier run's record of a point still holds."""
        kept = self.journal.records.get(point["id"])
        if kept is None or kept.get("threads", 1) not in (1, self.threads):
            return False
        return _still_valid(kept, self.programs.of(point), self.options.timeout, self._dump(point))

    def _is_measured(self, point: Point) -> bool:
        """Whether a worker has to answer a point; else its record follows from the plan or a failed build."""
        return point["status_planned"] == "planned" and not self.programs.note(point)

    def _dump(self, point: Point) -> Path | None:
        return self.paths.kept_dumps / point["dump"] if point.get("dump") else None

    def _record(self, point: Point, order: int) -> Record:
        """The record of a point: from the plan, from the note of a failed build, or from a worker."""
        started, clock = _now(), time.monotonic()
        # For what is excluded nothing was built.
        note = None if point["status_planned"] == "excluded" else self.programs.note(point)
        if note:
            answer: Record = {"status": note[0], "message": note[1]}
        elif not self._is_measured(point):
            answer = {"status": point["status_planned"], "message": point["reason_planned"]}
        elif self._refused and point["device"] == self.expected.get("vendor"):
            answer = {"status": "wrong_device", "message": self._refused}
        elif self.quarantined:
            answer = {"status": "not_run", "message": self.quarantined, "handed_back": True}
        else:
            answer = self._attested(point, self._measure(point))
            self._answered.append(point)
            self.faults.count(point, answer)
            self.quarantined = self.faults.verdict
            if self.quarantined:
                self.fleet.close(patience_s=0)
        answer["dump"] = point.get("dump")
        return {
            **answer,
            **{
                name: value for name, value in point.items() if name not in ("status_planned", "reason_planned", "dump")
            },
            **self.programs.of(point),
            "host": socket.gethostname(),
            "run": self.run_id,
            "started": started,
            "wall_s": round(time.monotonic() - clock, 6),
            "order": order,
            "timeout_s": self.options.timeout,
        }

    def _attested(self, point: Point, answer: Record) -> Record:
        """A worker's answer, or, if it comes from another device than is expected, that it does and no number."""
        if not self.expected or point["device"] != self.expected.get("vendor", point["device"]):
            return answer
        found = {name: answer.get(f"device_{name}") for name in ("vendor", "name", "arch")}
        reason = misfit(self.expected, found)
        if not reason and answer["status"] == "ok" and not (found["name"] or found["arch"]):
            reason = "the worker does not say which device it had"
        return {**_without_numbers(answer), "status": "wrong_device", "message": reason} if reason else answer

    def _measure(self, point: Point) -> Record:
        dump = self._dump(point)
        sent = {name: point[name] for name in SENT}
        sent["dump"] = str(dump) if dump else None
        worker = None
        try:
            worker = self.fleet.get(point)
            if worker is not self._last_worker:
                time.sleep(2e-3 * OPENMP_SPIN_MS)  # the threads of the last one go to sleep
            self._last_worker = worker
            record = worker.ask(sent, self.options.timeout)
        except WorkerFailed as failure:
            self.fleet.drop(point)
            if failure.left:
                return self._measure(point)  # by a fresh worker, which cannot have left
            if any(f"({name})" in failure.message for name in ENDED_FROM_OUTSIDE):
                raise OSError(f"the worker of {point['kernel']} {point['variant']} {failure.message}") from None
            tail = worker.tail() if worker else ""
            if "memory allocation of" in tail:  # how a Rust program ends that gets no memory
                return {"status": "out_of_memory", "message": tail.splitlines()[-1], "log_tail": tail}
            return {"status": failure.status, "message": failure.message, "log_tail": tail}
        if record.get("variant", point["variant"]) != point["variant"]:
            return {
                "status": "crashed",
                "message": f"asked for {point['variant']}, was answered by {record['variant']}",
            }
        if full := next((words for words in FULL_DISK if words in str(record.get("message"))), None):
            raise OSError(full)
        if record["status"] == "crashed":  # a device fault: its context is of no use any more
            record["log_tail"] = worker.tail()
            self.fleet.drop(point)
        if record["status"] == "ok" and dump:
            if not dump.exists():
                return {"status": "crashed", "message": "said ok, but wrote no dump", "log_tail": worker.tail()}
            if self.options.embed_dumps:
                record["dump_data"] = base64.b64encode(zlib.compress(dump.read_bytes(), 9)).decode()
                dump.unlink()
        return record

    def _write_result(self) -> None:
        """The records file, whole or not at all: what is known about the machine first, then the points' order."""
        # A record that was taken over was measured in another lane.
        records = [
            {
                **self.journal.records[point["id"]],
                **{name: point[name] for name in ("lane", "twin_of") if name in point},
            }
            for point in self.points
        ]
        if self.paths.dumps:
            self.paths.dumps.mkdir(parents=True, exist_ok=True)
        for record in records:
            self._place_dump(record)
        runs = sorted({str(record.get("run")) for record in records})
        lines = [line for run in runs for line in self.journal.environments.get(run, [])] + records
        write_whole(self.paths.out, lines)

    def _place_dump(self, record: Record) -> None:
        name = record.get("dump")
        if not name or record["status"] != "ok" or "dump_data" in record:
            record["dump"] = None
        elif self.paths.dumps:
            shutil.copyfile(self.paths.kept_dumps / name, self.paths.dumps / name)
            record["dump"] = str(self.paths.dumps / name)
        else:
            record["dump"] = str(self.paths.kept_dumps / name)

    def close(self, patience_s: float) -> None:
        """End what is still running."""
        self.fleet.close(patience_s)
        self.journal.close()
        self.progress.end()


def write_whole(path: Path, lines: list[Record]) -> None:
    """Write a file of JSON lines, whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _without_numbers(record: Record) -> Record:
    return {name: value for name, value in record.items() if name not in NUMBERS}


def read_points(paths: list[str], lane: int | None = None) -> tuple[list[Point], Record]:
    """Points of several files, in their order, or of one lane, and which device a batch's header expects for them."""
    points: list[Point] = []
    expected: Record = {}
    for path in paths:
        for text in Path(path).read_text(encoding="utf-8").splitlines():
            line = json.loads(text) if text.strip() else None
            if line and line.get("type") == "batch":
                expected = line.get("expected") or {}
            elif line and (lane is None or line.get("lane") == lane):
                points.append(line)
    return points, expected


def stop(number: int, _frame: Any) -> None:
    """What a signal does: it ends the run, once. Slurm and Ctrl-C tell every process, and so may its parent."""
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, _heard)
    raise Interrupted(number)


def _heard(_number: int, _frame: Any) -> None:
    """Not SIG_IGN, of which Python complains if a signal is waiting already."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ironsweep.runner", description="Run points and write their records.")
    parser.add_argument("--points", required=True, nargs="+", help="files with one point a line, or batches")
    parser.add_argument("--lane", type=int, help="measure this lane of a batch only")
    parser.add_argument("--bin", required=True, help="folder with a folder of workers and parts for each kernel")
    parser.add_argument("--out", required=True, help="records file, written when all points have a record")
    parser.add_argument("--runtime", help="program that runs a worker with the right loader and libraries")
    parser.add_argument("--toolchain", help="toolchain.json of the compilers that built the workers")
    parser.add_argument("--source", help="JSON file that says from which source they come")
    parser.add_argument("--emulator", default="", help="command of the program that emulates an AMD GPU")
    parser.add_argument("--journal", help="records as they come, kept for the next run (default: OUT.journal)")
    parser.add_argument("--earlier", nargs="+", default=[], help="stems of journals to take over what is missing from")
    parser.add_argument("--dumps", help="folder for the arrays of the random data mode")
    parser.add_argument("--embed-dumps", action="store_true", help="put these arrays into the records instead")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a point may take")
    parser.add_argument("--threads", type=int, default=0, help="host threads (default: the cores of this job)")
    parser.add_argument("--single-worker", action="store_true", help="never keep two programs on the device at once")
    parser.add_argument("--repeat", action="store_true", help="forget earlier records and measure everything again")
    parser.add_argument("--log", help="file for a summary")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run; 0 if every point has a record, whatever its status."""
    options = _parser().parse_args(arguments)
    run = None
    patience_s = 10.0
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        run = Run(options, *read_points(options.points, options.lane))
        run.everything()
    except Interrupted as signalled:
        patience_s = 0.0
        print(
            f"ironsweep: stopped by {_signal_name(signalled.args[0])}; what was measured is kept in the journal",
            file=sys.stderr,
        )
        return EX_INTERRUPTED + int(signalled.args[0])
    except (OSError, ValueError, KeyError) as error:
        patience_s = 0.0
        reason = f"the run cannot go on: {type(error).__name__}: {error}"
        print(f"ironsweep: {reason}", file=sys.stderr)
        if options.log:
            with contextlib.suppress(OSError):  # the disk may be full
                Path(options.log).write_text(f"{reason}\n", encoding="utf-8")
        return EX_IOERR
    finally:
        for number in before:
            signal.signal(number, _heard)  # the workers are being ended already
        if run:
            run.close(patience_s)
        for number, handler in before.items():
            signal.signal(number, handler)
    text = f"{options.out}: {len(run.points)} cells, {run.progress.summary()}; {run.measured} measured in this run"
    if "ok" not in run.progress.counts and run.points:
        text += f"\nnothing is ok; the first says: {run.journal.records[run.points[0]['id']].get('message')}"
    if run.quarantined:
        text += f"\n{run.quarantined}"
    if options.log:
        try:
            Path(options.log).write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            print(f"ironsweep: the summary cannot be written: {error}", file=sys.stderr)
            return EX_IOERR
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
