"""Runs kernels of AMD code objects without an AMD GPU, on the emulator of tinygrad, an open-source project.

A program: it reads launches from standard input, one JSON object a line, and answers each with one line:

    {"image": "/abs/x.img", "entry": "stream_triad", "grid": [4, 1, 1], "block": [64, 1, 1], "memory": "/abs/file",
     "arguments": [{"value": 0}, {"offset": 4096}, {"value": 100}, ...]}
    {"status": "ok"}   or   {"status": "crashed", "message": "..."}

`memory` is a file that holds all that the kernel reads and writes. `arguments` are the kernel's, in order: a number of
64 bits, or the place of an array in the file. What the kernel expects beside them (dispatch packet, hidden arguments)
is added.

The emulator is `test/mockgpu/amd/emu.py` of a tinygrad checkout; it turns instructions into C, which clang compiles. It
says what a kernel computes, never how fast. It runs in a process of its own: a kernel that accesses memory which is not
there kills it, and the next launch gets another one.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import mmap
import multiprocessing
import os
import platform
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ironsweep.code_object import CodeObject, Kernel
from ironsweep.errors import UserError

ARCHS = ("gfx90a", "gfx942")
"""Architectures whose images the emulator runs."""

EMULATOR = Path("test/mockgpu/amd/emu.py")
KNOWN_COMMIT = "a9069c177a9da9cca18593edf55acd2e6073cca6"
"""The commit of tinygrad with which this was tested."""

_ROOT = Path(__file__).parents[3]
_NAMES = ("run_asm", "_init_wave", "_decode_at", "_get_ftz_lib", "decode_inst")
_ISA = "cdna"
_WAVE = 64
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_PAGE = 4096
_AFTER_CODE = 256  # decoding looks a few bytes ahead
_INSTRUCTION = 16  # bytes of the longest one
_LDS_GRANULE = 512
_LOOK_AROUND_S = 1.0
_WORDS = 8

Size = tuple[int, int, int]
Answer = dict[str, str]


@dataclass(frozen=True)
class Launch:
    """A launch that was asked for."""

    image: Path
    entry: str
    grid: Size
    block: Size
    memory: Path
    arguments: tuple[tuple[str, int], ...]
    """(`value` or `offset`, number)."""


def problem_of(checkout: Path) -> str | None:
    """Why a folder is no tinygrad checkout that can be used; None if it looks like one. Does not start anything."""
    if not checkout.is_dir():
        return f"{checkout} is not a folder; it should be a checkout of tinygrad"
    if not (checkout / EMULATOR).is_file() or not (checkout / "tinygrad").is_dir():
        return f"{checkout} is not a checkout of tinygrad: it has no {EMULATOR} (nor have tinygrad's packages)"
    return None


def find_clang(named: str | None) -> str | None:
    """The clang to use: the one named, that of the environment (CC), of the path, or of the toolchain."""
    if named:
        return shutil.which(named)
    of_environment = os.environ.get("CC", "")
    candidates = ["clang", str(_ROOT / "results/toolchain/bin/clang")]
    if "clang" in of_environment:  # another compiler is of no use
        candidates.insert(0, of_environment)
    return next((found for name in candidates if (found := shutil.which(name))), None)


def parse(line: str) -> Launch:
    """The launch that a line asks for."""
    try:
        data = json.loads(line)
        if not isinstance(data, dict):
            raise UserError("the request is not a JSON object")
        return Launch(
            image=Path(_text(data, "image")),
            entry=_text(data, "entry"),
            grid=_size(data, "grid"),
            block=_size(data, "block"),
            memory=Path(_text(data, "memory")),
            arguments=tuple(_argument(number, value) for number, value in enumerate(_list(data, "arguments"))),
        )
    except json.JSONDecodeError as error:
        raise UserError(f"the request is not JSON: {error}") from error


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise UserError(f"the request's {key} should be a string")
    return value


def _list(data: dict[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    if not isinstance(value, list):
        raise UserError(f"the request's {key} should be a list")
    return value


def _size(data: dict[str, Any], key: str) -> Size:
    value = _list(data, key)
    if len(value) != 3 or not all(type(number) is int and number > 0 for number in value):
        raise UserError(f"the request's {key} should be three positive integers, not {value}")
    return (value[0], value[1], value[2])


def _argument(number: int, data: Any) -> tuple[str, int]:
    if isinstance(data, dict) and len(data) == 1:
        (kind, value), *_ = data.items()
        if kind in ("value", "offset") and type(value) is int and 0 <= value < 1 << 64:
            return kind, value
    raise UserError(
        f'argument {number} of the request should be {{"value": N}} or {{"offset": N}} with N of 64 bits, not {data}'
    )


class Image:
    """A code object in memory, as a GPU would have it."""

    def __init__(self, path: Path) -> None:
        """Load the code object of a file."""
        self.object = CodeObject(path)
        if self.object.arch not in ARCHS:
            raise UserError(
                f"{path} is for {self.object.arch or 'an unknown GPU'}, the emulator for {', '.join(ARCHS)}"
            )
        if self.object.relocations or self.object.undefined:
            what = ", ".join(self.object.undefined) or "relocations"
            raise UserError(f"{path} is not fully linked ({what})")
        self.size = max(segment.address + segment.memory_size for segment in self.object.segments)
        self._memory = ctypes.create_string_buffer(self.size + _AFTER_CODE + _PAGE)
        self.base = -(-ctypes.addressof(self._memory) // _PAGE) * _PAGE
        for segment in self.object.segments:
            ctypes.memmove(self.base + segment.address, segment.content, len(segment.content))

    def kernel(self, name: str) -> Kernel:
        """A kernel by its name."""
        try:
            return self.object.kernels[name]
        except KeyError:
            names = ", ".join(self.object.kernels) or "none"
            raise UserError(f"{self.object.path} has no kernel {name}; it has {names}") from None

    def address(self, symbol: str) -> int:
        """Where a symbol is in memory."""
        return self.base + self.object.symbols[symbol].address


@dataclass(frozen=True)
class Descriptor:
    """A kernel descriptor: what the hardware has to set up before the first instruction."""

    code: int
    resources: int
    """The second word for the hardware's registers (``COMPUTE_PGM_RSRC2``)."""
    properties: int

    @classmethod
    def at(cls, address: int) -> Descriptor:
        """The descriptor at an address."""
        (entry,) = struct.unpack("<q", ctypes.string_at(address + 16, 8))
        _, _, resources, properties = struct.unpack("<IIIH", ctypes.string_at(address + 44, 14))
        return cls(address + entry, resources, properties)

    @property
    def item_dimensions(self) -> int:
        """For how many dimensions work-items get their place in the workgroup."""
        return min((self.resources >> 11 & 3) + 1, 3)

    def with_shared(self, size: int) -> int:
        """The register's word with the size of shared memory, which the dispatcher enters."""
        return self.resources & ~(0x1FF << 15) | -(-size // _LDS_GRANULE) << 15


def argument_segment(kernel: Kernel, launch: Launch, base: int) -> bytes:
    """The kernel's argument segment: what the launch passes, and what the kernel expects beside that.

    base: address of the launch's memory.
    """
    explicit = kernel.explicit
    if len(explicit) != len(launch.arguments):
        raise UserError(f"{kernel.name} takes {len(explicit)} arguments, not {len(launch.arguments)}")
    segment = bytearray(kernel.argument_bytes)
    for number, (parameter, (kind, value)) in enumerate(zip(explicit, launch.arguments, strict=True)):
        if parameter.size != _WORDS:
            raise UserError(f"argument {number} of {kernel.name} has {parameter.size} bytes, not {_WORDS}")
        struct.pack_into("<Q", segment, parameter.offset, value + base if kind == "offset" else value)
    hidden = hidden_arguments(launch)
    for parameter in kernel.parameters:
        if parameter.hidden:
            value = hidden.get(parameter.kind, 0)
            segment[parameter.offset : parameter.offset + parameter.size] = value.to_bytes(parameter.size, "little")
    return bytes(segment)


def hidden_arguments(launch: Launch) -> dict[str, int]:
    """Hidden arguments whose value is not zero, by their kind. The grid is a multiple of the block: no remainder."""
    values = {"hidden_grid_dims": dimensions_of(launch)}
    for axis, groups, items in zip("xyz", launch.grid, launch.block, strict=True):
        values |= {f"hidden_block_count_{axis}": groups, f"hidden_group_size_{axis}": items}
    return values


def dimensions_of(launch: Launch) -> int:
    """How many dimensions the launch has."""
    return max((axis for axis in (1, 2, 3) if launch.grid[axis - 1] * launch.block[axis - 1] > 1), default=1)


def dispatch_packet(kernel: Kernel, launch: Launch, descriptor: int, segment: int) -> bytes:
    """The packet that a queue would hold; kernels may read the launch's size from it."""
    items = [groups * items for groups, items in zip(launch.grid, launch.block, strict=True)]
    head = struct.pack("<HH3HH", 0, dimensions_of(launch), *launch.block, 0)
    sizes = struct.pack("<3III", *items, kernel.scratch_bytes, kernel.shared_bytes)
    return head + sizes + struct.pack("<QQQQ", descriptor, segment, 0, 0)


def user_registers(descriptor: Descriptor, packet: int, segment: int, scratch: int) -> list[int]:
    """The scalar registers that are set before the first instruction, in the order that the descriptor's bits give."""
    registers: list[int] = []
    for bit, value, words in (
        (0, 0, 4),  # buffer for scratch memory
        (1, packet, 2),
        (2, 0, 2),  # queue
        (3, segment, 2),
        (4, 0, 2),  # dispatch's number
        (5, 0, 2),  # scratch memory for flat addresses
        (6, scratch, 1),
    ):
        if descriptor.properties >> bit & 1:
            registers += [value >> 32 * word & 0xFFFFFFFF for word in range(words)]
    return registers


class Emulator:
    """tinygrad's emulator. Its names are private to tinygrad, hence what is checked about them at the start."""

    def __init__(self, checkout: Path, clang: str, cache: Path) -> None:
        """Load the emulator of a checkout. cache: folder for compiled instructions."""
        os.environ |= {"CC": clang, "DEV": "CPU", "DEBUG": "0", "PROFILE": "0", "VIZ": "0"}
        os.environ |= {"CACHEDB": str(cache / "tinygrad.db")} if _writable(cache) else {"CACHELEVEL": "0"}
        self._emu = _module(checkout)
        if absent := [name for name in _NAMES if not callable(getattr(self._emu, name, None))]:
            raise UserError(
                f"the emulator of the tinygrad in {checkout} has no {', '.join(absent)}; commit {KNOWN_COMMIT} has"
            )
        self._images: dict[tuple[Path, int, int], Image] = {}
        self._decoded: dict[int, Any] = {}
        self._item_dimensions = 3
        self._shared_scratch = False
        # As the kernels' descriptors ask: numbers below the normal range stay what they are.
        self._emu._get_ftz_lib = lambda: (None, 0)
        self._emu._init_wave = self._with_item_dimensions(self._emu._init_wave)
        self._emu._decode_at = self._checked(self._emu._decode_at)

    def run(self, launch: Launch) -> None:
        """Run a launch; raises UserError if it cannot be run or crashes."""
        image = self._image(launch.image)
        kernel = image.kernel(launch.entry)
        threads = prod(launch.block)
        if threads > kernel.max_workgroup:
            raise UserError(f"{kernel.name} allows workgroups of {kernel.max_workgroup} threads, not {threads}")
        if kernel.scratch_bytes and image.object.arch == "gfx90a":
            raise UserError(f"{kernel.name} uses scratch memory, which the emulator does not have on gfx90a")
        with _Memory(launch.memory) as memory:
            for kind, value in launch.arguments:
                if kind == "offset" and value > memory.size:
                    raise UserError(f"offset {value} is outside of {launch.memory}, which has {memory.size} bytes")
            self._start(image, kernel, launch, argument_segment(kernel, launch, memory.address), threads)

    def _start(self, image: Image, kernel: Kernel, launch: Launch, arguments: bytes, threads: int) -> None:
        place = image.address(kernel.descriptor)
        descriptor = Descriptor.at(place)
        segment = ctypes.create_string_buffer(arguments, len(arguments) + _AFTER_CODE)
        packet = ctypes.create_string_buffer(dispatch_packet(kernel, launch, place, ctypes.addressof(segment)))
        self._item_dimensions = descriptor.item_dimensions
        self._shared_scratch = kernel.scratch_bytes > 0 and threads > _WAVE
        try:
            self._emu.run_asm(
                descriptor.code,
                image.base + image.size - descriptor.code,
                *launch.grid,
                *launch.block,
                ctypes.addressof(segment),
                descriptor.with_shared(kernel.shared_bytes),
                kernel.scratch_bytes,
                _ISA,
                user_registers(descriptor, ctypes.addressof(packet), ctypes.addressof(segment), kernel.scratch_bytes),
            )
        except UserError:
            raise
        except subprocess.CalledProcessError as error:
            raise UserError(
                f"{error.cmd[0]} failed on the emulator's C code (exit status {error.returncode}); it should be a clang"
                f" for {platform.machine()}"
            ) from error
        except Exception as error:
            raise UserError(f"the emulator cannot run {kernel.name}: {_first_line(error)}") from error

    def _image(self, path: Path) -> Image:
        try:
            status = path.stat()
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from error
        key = (path, status.st_mtime_ns, status.st_size)
        if key not in self._images:
            # Kept to the end: what is known of the instructions goes by their address.
            self._images[key] = Image(path)
        return self._images[key]

    def _with_item_dimensions(self, init_wave: Callable[..., Any]) -> Callable[..., Any]:
        """Work-items get their place only in the dimensions that the kernel asks for; the emulator gives all three."""

        def initialise(*arguments: Any) -> Any:
            wave = init_wave(*arguments)
            if self._item_dimensions < 3:
                mask = (1 << 10 * self._item_dimensions) - 1
                for lane in range(wave.n_lanes):
                    wave._write_vgpr(0, lane, wave._read_vgpr(0, lane) & mask)
            return wave

        return initialise

    def _checked(self, decode: Callable[..., Any]) -> Callable[..., Any]:
        """Instructions are decoded once; those that the emulator passes over or does wrong end the launch."""

        def decoded(address: int, isa: str) -> Any:
            if address not in self._decoded:
                instruction = self._emu.decode_inst(ctypes.string_at(address, _INSTRUCTION), isa)
                operation = getattr(getattr(instruction, "op", None), "name", "")
                # Reached, hence executed: instructions are decoded when it is their turn.
                if operation.startswith("S_TRAP"):
                    raise UserError("the kernel trapped")
                if "CMPSWAP_X2" in operation:
                    raise UserError("the emulator has no compare-and-swap of 64 bits")
                if operation == "S_BARRIER" and self._shared_scratch:
                    raise UserError("the emulator cannot keep scratch memory of several waves over a barrier")
                self._decoded[address] = decode(address, isa)
            return self._decoded[address]

        return decoded


def _module(checkout: Path) -> Any:
    sys.path.insert(0, str(checkout))  # before the standard library, which has a `test` too
    try:
        return importlib.import_module("test.mockgpu.amd.emu")
    except Exception as error:
        raise UserError(f"the tinygrad in {checkout} cannot be loaded: {_first_line(error)}") from error


class _Memory:
    """A file mapped to memory; what is written there is in the file."""

    def __init__(self, path: Path) -> None:
        try:
            with path.open("r+b") as file:
                self.size = os.fstat(file.fileno()).st_size
                # An empty file cannot be mapped, and no kernel needs one.
                self._map = mmap.mmap(file.fileno(), self.size) if self.size else mmap.mmap(-1, 1)
        except OSError as error:
            raise UserError(f"cannot map {path}: {error.strerror}") from error
        first = ctypes.c_char.from_buffer(self._map)
        self.address = ctypes.addressof(first)
        del first  # else the mapping could not be closed

    def __enter__(self) -> _Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self._map.close()


def _unread(descriptor: int) -> bool:
    """Whether nobody is left who could read what is written to a pipe."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0].strip().removesuffix(":")


def _crashed(message: object) -> Answer:
    return {"status": "crashed", "message": " ".join(str(message).split())}


def _say(text: str) -> None:
    print(f"ironsweep emulator: {text}", file=sys.stderr, flush=True)


def _serve_launches(connection: Connection, checkout: Path, clang: str, cache: Path) -> None:
    """Body of the process in which the emulator runs: answers launches until the other side hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to handle
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)  # also in the middle of a launch
    os.dup2(2, 1)  # answers are the parent's to print, whatever tinygrad says
    start = time.monotonic()
    failure: UserError | None = None
    emulator: Emulator | None = None
    try:
        emulator = Emulator(checkout, clang, cache)
        _say(f"started in {time.monotonic() - start:.1f} s")
    except UserError as error:
        failure = error
    while True:
        try:
            launch = connection.recv()
        except EOFError:
            return
        start = time.monotonic()
        try:
            if emulator is None:
                raise failure or UserError("the emulator did not start")
            emulator.run(launch)
            answer = {"status": "ok"}
        except UserError as error:
            answer = _crashed(error)
        except Exception as error:  # whatever happens, there is an answer
            answer = _crashed(_first_line(error))
        size = f"{prod(launch.grid)} workgroups of {prod(launch.block)}"
        _say(f"{launch.entry}: {size}: {answer['status']} in {time.monotonic() - start:.2f} s")
        connection.send(answer)


class Server:
    """Answers requests, by an emulator in another process."""

    def __init__(self, checkout: Path, clang: str | None = None, cache: Path | None = None) -> None:
        """The arguments are those of the command line."""
        self._checkout = checkout
        self._clang = find_clang(clang)
        self._cache = cache or _ROOT / "results/build/emulator"
        self.problem = problem_of(checkout)
        if self.problem is None and self._clang is None:
            self.problem = f"the emulator needs clang, and there is {f'no {clang}' if clang else 'none on the path'}"
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None

    def answer(self, line: str) -> Answer:
        """Do what a request's line asks for."""
        try:
            launch = parse(line)
        except UserError as error:
            return _crashed(error)
        if self.problem is not None:
            return _crashed(self.problem)
        connection = self._connect()
        try:
            connection.send(launch)
            while not connection.poll(_LOOK_AROUND_S):
                if _unread(sys.stdout.fileno()):
                    raise BrokenPipeError
            answer = connection.recv()
        except (EOFError, ConnectionResetError):
            return _crashed(f"{launch.entry} {self._end()}")
        assert isinstance(answer, dict)
        return answer

    def close(self) -> None:
        """End the emulator, even in the middle of a launch."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def _connect(self) -> Connection:
        if self._connection is None:
            context = multiprocessing.get_context("fork")
            self._connection, other = context.Pipe()
            assert self._clang is not None
            self._process = context.Process(
                target=_child, args=(self._connection, other, self._checkout, self._clang, self._cache), daemon=True
            )
            self._process.start()
            other.close()
        return self._connection

    def _end(self) -> str:
        """End the process, and say how it ended."""
        assert self._process is not None
        assert self._connection is not None
        self._connection.close()
        self._process.join()
        code, self._process, self._connection = self._process.exitcode, None, None
        if code in (-signal.SIGSEGV, -signal.SIGBUS):
            return "accessed memory outside of its arrays"
        return f"ended the emulator ({signal.Signals(-code).name if code and code < 0 else f'exit status {code}'})"


def _child(ours: Connection, connection: Connection, checkout: Path, clang: str, cache: Path) -> None:
    ours.close()  # else the end of the parent would not be seen
    _serve_launches(connection, checkout, clang, cache)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of the program."""
    parser = argparse.ArgumentParser(
        prog="python -m ironsweep.emulator", description="Runs launches of AMD kernels that standard input asks for."
    )
    parser.add_argument("--checkout", type=Path, required=True, help="folder of a tinygrad checkout")
    parser.add_argument("--clang", help="clang to use (default: $CC, then clang on the path, then the toolchain's)")
    parser.add_argument("--cache", type=Path, help="folder for compiled instructions (default: results/build/emulator)")
    chosen = parser.parse_args(arguments)
    server = Server(chosen.checkout.absolute(), chosen.clang, chosen.cache)
    if server.problem is not None:
        _say(server.problem)
    try:
        for line in sys.stdin:
            if line.strip():
                print(json.dumps(server.answer(line)), flush=True)
    except (KeyboardInterrupt, BrokenPipeError):
        return 1
    finally:
        server.close()
    return 1 if server.problem is not None else 0


if __name__ == "__main__":
    sys.exit(main())
