"""Kernels that must not compile, each with one mistake that the types of the launch layer exclude."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ironsweep.build import DEVICE_KERNEL

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
RUSTC = ROOT / "results/toolchain/bin/rustc"
FOLDER = ROOT / "tests/compile_fail"
CONTROL = FOLDER / "control.rs"
# The mistakes must not compile for any device; the host's is the one that every toolchain compiles for.
FLAGS = ["--edition", "2024", "-Cpanic=abort"]
KERNEL = DEVICE_KERNEL.split()


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled launch layer."""
    if not RUSTC.exists():
        pytest.skip("the toolchain is not built: make run")
    library = tmp_path_factory.mktemp("layer") / "libironsweep.rlib"
    command: list[str | Path] = [
        RUSTC,
        *FLAGS,
        "--cfg",
        "device",
        "--crate-name",
        "ironsweep",
        "--crate-type",
        "rlib",
        "-o",
        library,
    ]
    subprocess.run([*command, "kernels/launch/lib.rs"], cwd=ROOT, check=True)
    return library


def compile_kernel(source: Path, layer: Path, output: Path) -> subprocess.CompletedProcess[str]:
    """Compile a kernel, as the build rules do, to an object file: only that checks a window's width."""
    command: list[str | Path] = [RUSTC, *FLAGS, *KERNEL, "--crate-type", "lib", "--emit=obj"]
    command += ["--extern", f"ironsweep={layer}", source.relative_to(ROOT), "-o", output]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def expected_errors(source: Path) -> list[str]:
    """What the compiler has to say, from the `// error:` lines of a kernel's file."""
    lines = source.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("// error: ") for line in lines if line.startswith("// error: ")]


def test_control_compiles(layer: Path, tmp_path: Path) -> None:
    done = compile_kernel(CONTROL, layer, tmp_path / "control.o")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("source", sorted(set(FOLDER.glob("*.rs")) - {CONTROL}), ids=lambda source: source.stem)
def test_mistake_does_not_compile(source: Path, layer: Path, tmp_path: Path) -> None:
    expected = expected_errors(source)
    assert expected, f"{source} names no error"
    done = compile_kernel(source, layer, tmp_path / "mistake.o")
    assert done.returncode != 0, f"{source} compiles"
    missing = [text for text in expected if text not in done.stderr]
    assert not missing, f"not among the compiler's errors: {missing}\n{done.stderr}"
    assert "aborting due to 1 previous error" in done.stderr, f"more than one mistake:\n{done.stderr}"
