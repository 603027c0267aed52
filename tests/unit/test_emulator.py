"""The program that runs launches on tinygrad's emulator: its protocol and errors, and the emulator where there is one.

Without a tinygrad checkout, a module of a few lines stands for the emulator.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fake_code_object
from ironsweep.code_object import CodeObject, Parameter
from ironsweep.emulator import (
    ARCHS,
    EMULATOR,
    Descriptor,
    Launch,
    argument_segment,
    dimensions_of,
    dispatch_packet,
    find_clang,
    parse,
    problem_of,
    user_registers,
)
from ironsweep.errors import UserError

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "results/toolchain/bin"
TINYGRAD = os.environ.get("IRONSWEEP_TINYGRAD")

FAKE_EMULATOR = """\
import ctypes, os, signal, struct, subprocess, time
from types import SimpleNamespace

print("what a module prints is no answer")

def decode_inst(data, isa):
    return SimpleNamespace(op=SimpleNamespace(name=decode_inst.name))

def _decode_at(address, isa):
    return None, None

def _get_ftz_lib():
    raise RuntimeError("not to be called")

def _init_wave(*arguments):
    wave = SimpleNamespace(n_lanes=1, register=0x12345678)
    wave._read_vgpr = lambda register, lane: wave.register
    wave._write_vgpr = lambda register, lane, value: setattr(wave, "register", value)
    return wave

def run_asm(code, size, gx, gy, gz, bx, by, bz, arguments, resources, scratch, isa, user):
    action, out, value = struct.unpack("<QQQ", ctypes.string_at(arguments, 24))
    if action == 1:
        raise RuntimeError("[emu] unknown instruction\\nand more")
    if action == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    if action == 3:
        os._exit(3)
    if action == 4:
        decode_inst.name = "S_TRAP"
        _decode_at(code, isa)
    if action == 5:
        decode_inst.name = "GLOBAL_ATOMIC_CMPSWAP_X2"
        _decode_at(code, isa)
    if action == 7:
        subprocess.run(["false"], check=True)
    if action == 6:
        open("sleeping", "w").write(str(os.getpid()))
        time.sleep(60)
    _get_ftz_lib()
    found = [gx, gy, gz, bx, by, bz, value, _init_wave().register, resources >> 15 & 0x1FF, size]
    (ctypes.c_uint64 * len(found)).from_address(out)[:] = found
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like a checkout of tinygrad."""
    folder = tmp_path / "checkout"
    (folder / "tinygrad").mkdir(parents=True)
    for name in ("test", "test/mockgpu", "test/mockgpu/amd"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").touch()
    (folder / EMULATOR).write_text(FAKE_EMULATOR)
    return folder


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A code object with a kernel of three arguments."""
    kernel = fake_code_object.metadata("act", fake_code_object.arguments(3), group_segment_fixed_size=1000)
    return fake_code_object.write(tmp_path / "image", [kernel])


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """A file of 4096 zeros."""
    path = tmp_path / "memory"
    path.write_bytes(bytes(4096))
    return path


def request(image: Path, memory: Path, arguments: Sequence[Mapping[str, int]], **changes: Any) -> dict[str, Any]:
    """A request for a launch."""
    asked = {"image": str(image), "entry": "act", "grid": [2, 1, 1], "block": [64, 1, 1], "memory": str(memory)}
    return {**asked, "arguments": list(arguments), **changes}


def action(number: int, offset: int = 64) -> list[dict[str, int]]:
    """Arguments with which the emulator's stand-in does something."""
    return [{"value": number}, {"offset": offset}, {"value": (1 << 64) - 1}]


Request = Mapping[str, Any] | str


class Done:
    """What the program did."""

    def __init__(
        self, checkout: Path, requests: Sequence[Mapping[str, Any] | str], clang: str = sys.executable
    ) -> None:
        """Let it answer requests. There is a clang unless the caller says otherwise: it is only looked for."""
        lines = [request if isinstance(request, str) else json.dumps(request) for request in requests]
        done = subprocess.run(
            [sys.executable, "-m", "ironsweep.emulator", "--checkout", checkout, "--clang", clang, "--cache", checkout],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": str(ROOT / "workflow/scripts")},
        )
        assert "Traceback" not in done.stderr, done.stderr
        self.status = done.returncode
        self.log = done.stderr
        self.answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(self.answers) == len(lines)

    @property
    def messages(self) -> list[str]:
        """The messages of launches that crashed; of the others `ok`."""
        return [answer.get("message", answer["status"]) for answer in self.answers]


def launch(**changes: Any) -> Launch:
    """A launch of three dimensions."""
    given: dict[str, Any] = {"grid": (2, 3, 1), "block": (8, 4, 2), "arguments": (("value", 7), ("offset", 8))}
    return Launch(Path("image"), "act", memory=Path("memory"), **(given | changes))


def test_request() -> None:
    asked = request(Path("/x.img"), Path("/m"), [{"value": (1 << 64) - 1}, {"offset": 8}])
    assert parse(json.dumps(asked)) == Launch(
        Path("/x.img"), "act", (2, 1, 1), (64, 1, 1), Path("/m"), (("value", (1 << 64) - 1), ("offset", 8))
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": 1}, "image should be a string"),
        ({"entry": None}, "entry should be a string"),
        ({"memory": []}, "memory should be a string"),
        ({"grid": [1, 1]}, "grid should be three positive integers"),
        ({"block": [1, 0, 1]}, "block should be three positive integers"),
        ({"block": "64"}, "block should be a list"),
        ({"arguments": {}}, "arguments should be a list"),
        ({"arguments": [{"value": 1}, {"value": -1}]}, "argument 1"),
        ({"arguments": [{"value": 1 << 64}]}, "argument 0"),
        ({"arguments": [{"value": 1.5}]}, "argument 0"),
        ({"arguments": [{"value": 1, "offset": 1}]}, "argument 0"),
        ({"arguments": [7]}, "argument 0"),
    ],
)
def test_wrong_requests(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse(json.dumps(request(Path("x"), Path("m"), []) | change))


@pytest.mark.parametrize("line", ["", "{", "[]", "7"])
def test_lines_that_are_no_request(line: str) -> None:
    with pytest.raises(UserError, match="the request is not"):
        parse(line)


def test_argument_segment(tmp_path: Path) -> None:
    hidden = [
        {".offset": 16, ".size": 4, ".value_kind": "hidden_block_count_y"},
        {".offset": 20, ".size": 2, ".value_kind": "hidden_group_size_z"},
        {".offset": 22, ".size": 2, ".value_kind": "hidden_remainder_x"},
        {".offset": 24, ".size": 2, ".value_kind": "hidden_grid_dims"},
    ]
    args = [*fake_code_object.arguments(2), *hidden]
    kernel = fake_code_object.metadata("act", args, kernarg_segment_size=32)
    read = CodeObject(fake_code_object.write(tmp_path / "image", [kernel])).kernels["act"]
    assert read.parameters[2] == Parameter(16, 4, "hidden_block_count_y")
    expected = struct.pack("<QQIHHH6x", 7, 1008, 3, 2, 0, 3)
    assert argument_segment(read, launch(), 1000) == expected
    with pytest.raises(UserError, match="act takes 2 arguments, not 0"):
        argument_segment(read, launch(arguments=()), 1000)


def test_dimensions() -> None:
    assert dimensions_of(launch()) == 3
    assert dimensions_of(launch(block=(8, 1, 1))) == 2
    assert dimensions_of(launch(grid=(1, 1, 1), block=(1, 1, 1))) == 1


def test_dispatch_packet(image: Path) -> None:
    packet = dispatch_packet(CodeObject(image).kernels["act"], launch(), 0x1111, 0x2222)
    fields = struct.unpack("<6H5IQQQQ", packet)
    assert fields == (0, 3, 8, 4, 2, 0, 16, 12, 2, 0, 1000, 0x1111, 0x2222, 0, 0)


def test_user_registers() -> None:
    assert user_registers(Descriptor(0, 0, 0b1010), 1 << 32 | 2, 3 << 32 | 4, 5) == [2, 1, 4, 3]
    assert user_registers(Descriptor(0, 0, 0b1001000), 0, 4, 5) == [4, 0, 5]
    assert user_registers(Descriptor(0, 0, 1), 0, 4, 5) == [0, 0, 0, 0]


def test_descriptor_words() -> None:
    assert [Descriptor(0, ids << 11, 0).item_dimensions for ids in range(3)] == [1, 2, 3]
    assert Descriptor(0, 0x1FF << 15 | 1, 0).with_shared(8193) == 17 << 15 | 1


def test_launches_are_passed_on(checkout: Path, image: Path, memory: Path) -> None:
    done = Done(checkout, [request(image, memory, action(0), grid=[2, 3, 4], block=[8, 2, 1])] * 2)
    assert done.messages == ["ok", "ok"]
    assert done.status == 0
    assert "act: 24 workgroups of 16: ok" in done.log
    written = struct.unpack("<10Q", memory.read_bytes()[64 : 64 + 80])
    assert written[:7] == (2, 3, 4, 8, 2, 1, (1 << 64) - 1)
    # The kernel asks for its work-items' place along x alone, and for 1000 bytes of shared memory.
    assert written[7:9] == (0x278, 2)
    assert written[9] >= 64


def test_every_request_gets_an_answer(checkout: Path, image: Path, memory: Path, tmp_path: Path) -> None:
    requests: list[Request] = [
        "no request",
        request(tmp_path / "absent", memory, action(0)),
        request(memory, memory, action(0)),
        request(image, memory, action(0), entry="absent"),
        request(image, memory, action(0)[:2]),
        request(image, memory, action(0), block=[1025, 1, 1]),
        request(image, memory, action(0, 4097)),
        request(image, tmp_path / "absent", action(0)),
        request(image, memory, action(1)),
        request(image, memory, action(2)),
        request(image, memory, action(3)),
        request(image, memory, action(4)),
        request(image, memory, action(5)),
        request(image, memory, action(7)),
        request(image, memory, action(0)),
    ]
    expected = [
        "the request is not JSON",
        f"cannot read {tmp_path / 'absent'}",
        f"{memory} is not a 64-bit ELF file",
        f"{image} has no kernel absent; it has act",
        "act takes 3 arguments, not 2",
        "act allows workgroups of 1024 threads, not 1025",
        f"offset 4097 is outside of {memory}, which has 4096 bytes",
        f"cannot map {tmp_path / 'absent'}",
        "the emulator cannot run act: RuntimeError: [emu] unknown instruction",
        "act accessed memory outside of its arrays",
        "act ended the emulator (exit status 3)",
        "the kernel trapped",
        "the emulator has no compare-and-swap of 64 bits",
        "false failed on the emulator's C code (exit status 1)",
        "ok",
    ]
    done = Done(checkout, requests)
    assert len(done.messages) == len(expected)
    for message, begin in zip(done.messages, expected, strict=True):
        assert message.startswith(begin)
        assert "\n" not in message


@pytest.mark.parametrize(
    ("arch", "undefined", "message"),
    [("gfx1100", (), "is for gfx1100, the emulator for"), ("gfx90a", ("exp",), "is not fully linked (exp)")],
)
def test_images_that_cannot_run(
    arch: str, undefined: Sequence[str], message: str, checkout: Path, memory: Path, tmp_path: Path
) -> None:
    image = fake_code_object.write(tmp_path / "image", [], arch, undefined)
    assert message in Done(checkout, [request(image, memory, [])]).messages[0]


def test_scratch_memory(checkout: Path, memory: Path, tmp_path: Path) -> None:
    kernel = fake_code_object.metadata("act", fake_code_object.arguments(3), private_segment_fixed_size=16)
    images = [fake_code_object.write(tmp_path / arch, [kernel], arch) for arch in ARCHS]
    done = Done(checkout, [request(image, memory, action(0)) for image in images])
    assert done.messages == ["act uses scratch memory, which the emulator does not have on gfx90a", "ok"]


def test_changed_image_is_loaded_again(checkout: Path, image: Path, memory: Path) -> None:
    lines = [json.dumps(request(image, memory, action(0)))] * 2
    named = ["--checkout", str(checkout), "--clang", sys.executable, "--cache", str(checkout)]
    command = [sys.executable, "-m", "ironsweep.emulator", *named]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow/scripts")}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as program:
        assert program.stdin
        assert program.stdout
        answers = []
        for line in lines:
            program.stdin.write(line + "\n")
            program.stdin.flush()
            answers.append(json.loads(program.stdout.readline()))
            fake_code_object.write(image, [fake_code_object.metadata("act", fake_code_object.arguments(2))])
        program.stdin.close()
    assert [answer["status"] for answer in answers] == ["ok", "crashed"]
    assert answers[1]["message"] == "act takes 2 arguments, not 3"


@pytest.mark.parametrize("end", ["killed", "unread"])
def test_no_launch_outlives_its_asker(end: str, checkout: Path, image: Path, memory: Path, tmp_path: Path) -> None:
    named = ["--checkout", str(checkout), "--clang", sys.executable, "--cache", str(checkout)]
    program = subprocess.Popen(
        [sys.executable, "-m", "ironsweep.emulator", *named],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "workflow/scripts")},
    )
    assert program.stdin
    assert program.stdout
    program.stdin.write(json.dumps(request(image, memory, action(6))) + "\n")
    program.stdin.flush()
    note = tmp_path / "sleeping"
    wait_until(lambda: note.exists() and note.read_text() != "")
    if end == "killed":
        program.kill()
    program.stdout.close()
    program.stdin.close()
    program.wait(10)
    # The process is gone, or a remainder that nobody has waited for.
    status = Path("/proc") / note.read_text() / "status"
    wait_until(lambda: not status.exists() or "State:\tZ" in status.read_text())


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens soon."""
    for _ in range(500):
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("it does not happen")


def test_folders_that_are_no_checkout(tmp_path: Path, checkout: Path) -> None:
    assert problem_of(checkout) is None
    assert "is not a folder" in (problem_of(tmp_path / "absent") or "")
    assert "is not a checkout of tinygrad" in (problem_of(tmp_path) or "")


def test_wrong_checkout_is_one_sentence(tmp_path: Path, image: Path, memory: Path) -> None:
    done = Done(tmp_path, [request(image, memory, action(0))] * 2)
    assert done.messages == [problem_of(tmp_path)] * 2
    assert done.status == 1
    assert done.log == f"ironsweep emulator: {problem_of(tmp_path)}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import numpie", "cannot be loaded: ModuleNotFoundError: No module named 'numpie'"),
        ("def run_asm(): pass", "has no _init_wave, _decode_at, _get_ftz_lib, decode_inst; commit "),
    ],
)
def test_checkout_of_another_kind(text: str, message: str, checkout: Path, image: Path, memory: Path) -> None:
    (checkout / EMULATOR).write_text(text)
    done = Done(checkout, [request(image, memory, action(0))] * 2)
    assert all(message in answer for answer in done.messages)


def test_clang_is_missing(checkout: Path, image: Path, memory: Path) -> None:
    done = Done(checkout, [request(image, memory, action(0))], clang="clang-of-nowhere")
    assert done.messages == ["the emulator needs clang, and there is no clang-of-nowhere"]


def test_which_clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clang = tmp_path / "clang"
    clang.write_text("#!/bin/sh\n")
    clang.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert find_clang(None) == str(clang)
    # Another compiler than clang is of no use.
    monkeypatch.setenv("CC", "/bin/sh")
    assert find_clang(None) == str(clang)
    assert find_clang("absent") is None


# OpenCL C, in which the compiler's own names for places are used: there is no library for it.
KERNELS = """\
#pragma OPENCL EXTENSION cl_khr_fp64: enable
typedef unsigned long u64;
#define BARRIER \\
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \\
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")

// Each thread writes its opposite's place in the workgroup, and its workgroup's.
__kernel void places(__global double* out, u64 nothing) {
    __local double tile[256];
    u64 bx = __builtin_amdgcn_workgroup_size_x(), by = __builtin_amdgcn_workgroup_size_y();
    u64 all = bx * by * __builtin_amdgcn_workgroup_size_z();
    u64 x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
    u64 z = __builtin_amdgcn_workitem_id_z();
    u64 gx = __builtin_amdgcn_workgroup_id_x(), gy = __builtin_amdgcn_workgroup_id_y();
    u64 gz = __builtin_amdgcn_workgroup_id_z();
    u64 nx = __builtin_amdgcn_grid_size_x() / bx, ny = __builtin_amdgcn_grid_size_y() / by;
    u64 thread = x + bx * (y + by * z);
    tile[thread] = x + 10 * y + 100 * z;
    BARRIER;
    out[(gx + nx * (gy + ny * gz)) * all + thread] = tile[all - 1 - thread] + 1e3 * gx + 1e4 * gy + 1e5 * gz;
}

__kernel void along_x(__global double* out, u64 items) {
    u64 x = __builtin_amdgcn_workitem_id_x();
    if (x < items) out[x] += 1;
}

__kernel void arithmetic(__global double* out, u64 items) {
    u64 i = __builtin_amdgcn_workitem_id_x();
    double x = out[i], y = out[items + i];
    out[2 * items + i] = x / y;
    out[3 * items + i] = __builtin_sqrt(x);
    out[4 * items + i] = __builtin_fma(x, y, -(x * y));
    out[5 * items + i] = x * y - 0.3;
    out[6 * items + i] = x * 1e-310;
}

__kernel void add(__global double* out, u64 items) {
    __builtin_amdgcn_global_atomic_fadd_f64(out, 1.0 + __builtin_amdgcn_workitem_id_x());
}

__kernel void stop(__global double* out, u64 items) {
    if (__builtin_amdgcn_workitem_id_x() >= items) __builtin_trap();
}

__kernel void stray(__global double* out, u64 items) { out[items] = 1; }
"""


@pytest.fixture(scope="module")
def real_images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The kernels above for each architecture."""
    if TINYGRAD is None:
        pytest.skip("IRONSWEEP_TINYGRAD names no checkout of tinygrad")
    if not (TOOLS / "clang").exists():
        pytest.skip("the toolchain is not built: make run")
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernels.cl").write_text(KERNELS)
    flags = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-O2", "-ffp-contract=off", "-w"]
    images = {}
    for arch in ARCHS:
        images[arch] = folder / f"{arch}.img"
        compiled = folder / f"{arch}.o"
        source = folder / "kernels.cl"
        subprocess.run([TOOLS / "clang", *flags, f"-mcpu={arch}", "-c", source, "-o", compiled], check=True)
        subprocess.run([TOOLS / "ld.lld", "-shared", "--no-undefined", compiled, "-o", images[arch]], check=True)
    return images


@pytest.mark.parametrize("arch", ARCHS)
def test_kernels_on_the_emulator(arch: str, real_images: dict[str, Path], tmp_path: Path) -> None:
    grid, block, items = (3, 2, 2), (8, 4, 4), 64
    groups, threads = 12, 128
    values = np.random.default_rng(1).uniform(0.1, 2, (7, items))
    before = {
        "places": np.zeros(groups * threads),
        "along_x": np.zeros(items),
        "arithmetic": values.ravel(),
        "add": np.zeros(1),
        "stop": np.zeros(1),
        "stray": np.zeros(1),
    }
    shapes = {"places": (grid, block), "along_x": ((1, 1, 1), block), "add": ((2, 1, 1), (items, 1, 1))}
    numbers = {"along_x": 8, "arithmetic": items, "stop": 8, "stray": 1 << 40}

    def ask(entry: str) -> dict[str, Any]:
        (tmp_path / entry).write_bytes(bytes(64) + before[entry].tobytes())
        shape = shapes.get(entry, ((1, 1, 1), (items, 1, 1)))
        arguments = [{"offset": 64}, {"value": numbers.get(entry, 0)}]
        sizes = {"grid": list(shape[0]), "block": list(shape[1])}
        return request(real_images[arch], tmp_path / entry, arguments, entry=entry, **sizes)

    def after(entry: str) -> npt.NDArray[np.float64]:
        return np.frombuffer((tmp_path / entry).read_bytes()[64:])

    assert TINYGRAD is not None
    done = Done(Path(TINYGRAD), [ask(entry) for entry in before], clang=str(TOOLS / "clang"))
    assert done.messages == ["ok"] * 4 + ["the kernel trapped", "stray accessed memory outside of its arrays"]

    gz, gy, gx, z, y, x = np.indices((2, 2, 3, 4, 4, 8), dtype=np.float64)
    own = (x + 10 * y + 100 * z).reshape(groups, threads)[:, ::-1]
    np.testing.assert_array_equal(after("places"), (own + (1e3 * gx + 1e4 * gy + 1e5 * gz).reshape(own.shape)).ravel())

    # A kernel that asks for x alone must not see y and z: each element is added to by 16 threads, of two waves.
    assert set(after("along_x")[:8]) <= set(range(1, 17))
    assert not after("along_x")[8:].any()

    a, b = values[:2]
    product, left, quotient, root, small = (after("arithmetic").reshape(7, items)[row] for row in (5, 4, 2, 3, 6))
    np.testing.assert_array_equal(quotient, a / b)
    np.testing.assert_array_equal(root, np.sqrt(a))
    np.testing.assert_array_equal(product, a * b - 0.3)
    np.testing.assert_array_equal(small, a * 1e-310)
    rounded = [Fraction(x) * Fraction(y) - Fraction(x * y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert left.tolist() == [float(difference) for difference in rounded]
    assert left.any()

    assert after("add")[0] == 2 * sum(range(1, items + 1))
