"""The bench driver's own tests, compiled with the toolchain and run with its libraries."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
RUSTC = ROOT / "results/toolchain/bin/rustc"
CLIPPY = ROOT / "results/toolchain/bin/clippy-driver"
RUN = ROOT / "results/toolchain/runtime/run"


@pytest.fixture(autouse=True)
def toolchain() -> None:
    """These tests need the compiler that `make run` installs."""
    if not RUSTC.exists():
        pytest.skip("the toolchain is not built: make run")


def test_bench_driver(tmp_path: Path) -> None:
    program = tmp_path / "tests"
    build = [RUSTC, "--test", "--edition", "2024", "--cfg", "std_offload", "kernels/launch/lib.rs", "-o", program]
    # No test launches: the runtimes' symbols may stay undefined.
    build += ["-Awarnings", "-Clink-args=-Wl,--unresolved-symbols=ignore-all"]
    subprocess.run(build, cwd=ROOT, check=True)
    done = subprocess.run([RUN, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout and " 0 passed" not in done.stdout


@pytest.mark.parametrize("cfg", ["device", "std_offload", "liboffload", "native"])
def test_launch_layer_is_clean_for_clippy(cfg: str, tmp_path: Path) -> None:
    if not CLIPPY.exists():
        pytest.skip("the toolchain has no clippy")
    check = [CLIPPY, "--edition", "2024", "--crate-type", "rlib", "--crate-name", "ironsweep", "--cfg", cfg]
    check += ["-Dwarnings", "--emit=metadata", "--out-dir", tmp_path, "kernels/launch/lib.rs"]
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
