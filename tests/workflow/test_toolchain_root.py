"""The real toolchain in results/toolchain: entering it, building with it, and running what it built."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ironsweep.toolchain import cuda, describe, enter, load, root, settings
from ironsweep.toolchain.apt import format_lock
from ironsweep.toolchain.root import is_whole, lock_digest

REPOSITORY = Path(__file__).parents[2]
FOLDER = REPOSITORY / "results/toolchain"
BIN = FOLDER / "bin"

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.skipif(not (FOLDER / "runtime/run").exists(), reason="the toolchain is not built: make run"),
]

# Says where its C library is; whatever dlopen finds by the name it is given is loaded first.
WHICH_LIBC = """
use std::ffi::{CString, c_char, c_int, c_void};
unsafe extern "C" { fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void; }
fn main() {
    for name in std::env::args().skip(1) {
        let c = CString::new(name.as_str()).unwrap();
        println!("{name} {}", if unsafe { dlopen(c.as_ptr(), 2) }.is_null() { "missing" } else { "found" });
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut files: Vec<&str> = maps.lines().filter_map(|l| l.split_whitespace().nth(5)).collect();
    files.retain(|f| f.contains("/libc.so"));
    files.dedup();
    println!("{}", files.join(" "));
}
"""


def run(command: Sequence[str | Path], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def succeed(command: Sequence[str | Path], cwd: Path, **environment: str) -> str:
    """What a command prints that has to succeed."""
    done = run(command, cwd, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def needs(tool: str) -> None:
    """Skip the test if the toolchain lacks this tool."""
    if reason := load(FOLDER / "toolchain.json").reason(tool):
        pytest.skip(reason)


@pytest.fixture(params=["bwrap", "chroot"])
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An enter script for each way into the root."""
    name = str(request.param)
    if load(FOLDER / "toolchain.json").kind != "debian" or not (FOLDER / "root").is_dir():
        pytest.skip("this toolchain has no root of its own")
    if name == "bwrap" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    if name == "chroot" and (os.geteuid() != 0 or shutil.which("mount") is None):
        pytest.skip("chroot needs root and mount")
    file = tmp_path / "enter"
    enter.write_executable(file, enter.debian_script(name, FOLDER / "root", tmp_path, []))
    return file


def test_the_root_is_the_locks() -> None:
    toolchain = load(FOLDER / "toolchain.json")
    if toolchain.kind != "debian" or not (FOLDER / "root").is_dir():
        pytest.skip("this toolchain has no root of its own")
    assert is_whole(FOLDER / "root", lock_digest(format_lock(toolchain.packages)))


def test_a_command_inside_keeps_its_folder_arguments_and_status(way: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    text = 'printf "[%s]" "$@"; pwd; . /etc/os-release; echo "$VERSION_CODENAME $RUSTC_BOOTSTRAP"; touch made; exit 7'
    done = run([way, "sh", "-c", text, "sh", "two words", "'\"$x"], folder, LD_LIBRARY_PATH="/usr/lib/x86_64-linux-gnu")
    assert (done.stdout, done.returncode) == (f"[two words]['\"$x]{folder}\ntrixie 1\n", 7)
    assert (folder / "made").exists()


def test_the_root_cannot_be_changed_from_inside(way: Path, tmp_path: Path) -> None:
    assert "Read-only" in run([way, "touch", "/usr/bin/made"], tmp_path).stderr


def test_signals_pass_in_both_directions(way: Path, tmp_path: Path) -> None:
    assert run([way, "sh", "-c", "kill -SEGV $$"], tmp_path).returncode in (-signal.SIGSEGV, 128 + signal.SIGSEGV)
    (tmp_path / "sleep.sh").write_text("echo $$ > pid; exec sleep 60")
    with subprocess.Popen([way, "sh", "sleep.sh"], cwd=tmp_path) as child:
        deadline = time.monotonic() + 10
        while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        child.terminate()
        assert child.wait(10) != 0
    sleeper = Path("/proc") / (tmp_path / "pid").read_text().strip()
    while sleeper.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not sleeper.exists()


def test_entering_leaves_no_mount_behind(way: Path, tmp_path: Path) -> None:
    succeed([way, "true"], tmp_path)
    assert str(FOLDER) not in Path("/proc/self/mountinfo").read_text()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program built inside the root, with the host's temporary folder elsewhere."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "which_libc.rs").write_text(WHICH_LIBC)
    succeed([BIN / "rustc", "--edition", "2024", "which_libc.rs"], tmp_path, TMPDIR=str(tmp_path / "tmp"))
    return tmp_path / "which_libc"


def test_built_programs_run_with_the_shipped_libc_alone(program: Path, tmp_path: Path) -> None:
    if load(FOLDER / "toolchain.json").kind != "debian":
        pytest.skip("a toolchain of kind path ships no libraries")
    host = "/usr/lib/x86_64-linux-gnu:/lib64"
    for environment in ({}, {"LD_LIBRARY_PATH": host}):
        said = succeed(
            [FOLDER / "runtime/run", program, "libomptarget.so.22.1", "libLLVMOffload.so.22.1"], tmp_path, **environment
        )
        *libraries, libc = said.splitlines()
        assert all(line.endswith("found") for line in libraries)
        assert Path(libc).resolve() == (FOLDER / "runtime/lib/libc.so.6").resolve()


def test_a_drivers_library_is_found_by_the_name_without_a_version(program: Path, tmp_path: Path) -> None:
    """A machine with libcuda.so.1 alone, in a folder that also holds a C library that must not be taken."""
    if load(FOLDER / "toolchain.json").kind != "debian":
        pytest.skip("a toolchain of kind path ships no libraries")
    machine = tmp_path / "machine"
    machine.mkdir()
    (tmp_path / "driver.c").write_text("#include <math.h>\ndouble f(double x) { return exp(x); }\n")
    succeed(
        [
            BIN / "clang",
            "-shared",
            "-fPIC",
            "driver.c",
            "-lm",
            "-Wl,-soname,libcuda.so.1",
            "-o",
            machine / "libcuda.so.1",
        ],
        tmp_path,
    )
    shutil.copy(FOLDER / "runtime/lib/libc.so.6", machine / "libc.so.6")
    copy = tmp_path / "runtime"
    shutil.copytree(FOLDER / "runtime", copy, symlinks=True, ignore=shutil.ignore_patterns("libLLVM*", "hip", "driver"))
    link = copy / "lib/driver/cuda1/libcuda.so"
    link.parent.mkdir(parents=True)
    link.symlink_to(machine / "libcuda.so.1")
    driver, libc = succeed([copy / "run", program, "libcuda.so"], tmp_path).splitlines()
    assert driver == "libcuda.so found"
    assert Path(libc).resolve() == (copy / "lib/libc.so.6").resolve()


KERNEL = """
#include <cstdio>
__global__ void twice(double *x) { x[threadIdx.x] *= 2; }
int main() { twice<<<1, 64>>>(nullptr); puts("started"); }
"""


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_hip_is_built_offline_and_starts(tmp_path: Path, arch: str) -> None:
    needs("hipcc")
    (tmp_path / "twice.hip").write_text("#include <hip/hip_runtime.h>\n" + KERNEL)
    offline = ["unshare", "--net"] if os.geteuid() == 0 else []
    succeed([*offline, BIN / "hipcc", f"--offload-arch={arch}", "twice.hip", "-o", "twice"], tmp_path)
    assert arch.encode() in (tmp_path / "twice").read_bytes()
    assert "started" in succeed([FOLDER / "runtime/run", tmp_path / "twice"], tmp_path)


def test_cuda_is_built_with_its_static_runtime_and_starts(tmp_path: Path) -> None:
    needs("nvcc")
    (tmp_path / "twice.cu").write_text(KERNEL)
    succeed([BIN / "nvcc", "-arch=sm_90", "-cudart", "static", "twice.cu", "-o", "twice"], tmp_path)
    assert "cudart" not in succeed([FOLDER / "enter", "ldd", tmp_path / "twice"], tmp_path)
    assert "started" in succeed([FOLDER / "runtime/run", tmp_path / "twice"], tmp_path)


def test_kind_path_with_the_roots_tools_on_path(tmp_path: Path) -> None:
    inside = FOLDER / "root/usr/lib"
    if not inside.is_dir():
        pytest.skip("this toolchain has no root of its own")
    wanted = replace(
        settings.read(REPOSITORY / "config/toolchains/path.yaml"),
        path=(str(BIN),),
        folders={
            # rustc's own sysroot is inside the root, where the host does not see it
            "rust_src": (f"{inside}/../src/rustc-*/library",),
            "offload_libs": (f"{inside}/llvm-22/lib",),
            "device_libs": (f"{inside}/llvm-*/lib/clang/*/amdgcn/bitcode",),
            "hip_libs": (f"{inside}/x86_64-linux-gnu",),
        },
    )
    toolchain = describe.describe_path(wanted, {}, cuda.Cuda("none", missing="not asked for"), tmp_path / "toolchain")
    assert (toolchain.generation, toolchain.enter) == ("two-pass", "path")
    assert toolchain.reason("device_libs") is None
    built = load(FOLDER / "toolchain.json").tools
    assert toolchain.tools["llc"].version == built["llc"].version
    (tmp_path / "hello.rs").write_text("fn main() {}")
    succeed([tmp_path / "toolchain/bin/rustc", "hello.rs"], tmp_path)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounting needs root")
def test_what_a_killed_build_left_mounted_is_unmounted_before_it_is_removed(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host/precious").touch()
    (tmp_path / "root.part/mnt").mkdir(parents=True)
    mounted = run(["mount", "--bind", tmp_path / "host", tmp_path / "root.part/mnt"], tmp_path)
    if mounted.returncode != 0:
        pytest.skip(mounted.stderr)
    root.remove(tmp_path / "root.part")
    assert not (tmp_path / "root.part").exists()
    assert (tmp_path / "host/precious").exists()
