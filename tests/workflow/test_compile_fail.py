"""Kernels that must not compile, each with one mistake that the types of the launch layer exclude."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ironsweep.build import DEVICE_KERNEL, core_libraries

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "results/toolchain/bin"
FOLDER = ROOT / "tests/compile_fail"
CONTROLS = sorted(FOLDER.glob("controls/*.rs"))
MISTAKES = sorted(FOLDER.glob("*.rs"))
# The mistakes must not compile for any device; the host's is the one that every toolchain compiles for.
FLAGS = ["--edition", "2024", "-Cpanic=abort"]
# What a file does not declare itself.
DEFAULTS = {"kernel! {": "declaration.rs", "impl Launch for Arguments {": "launch.rs"}


@pytest.fixture(scope="module")
def sysroot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rust's libraries as a device has them: the core library alone."""
    if not (TOOLS / "rustc").exists():
        pytest.skip("the toolchain is not built: make run")
    libraries = [Path(library) for library in core_libraries("host")]
    if all((ROOT / library).exists() for library in libraries):
        return (ROOT / libraries[0]).parents[4]
    place = tmp_path_factory.mktemp("core") / libraries[0].relative_to(libraries[0].parents[4])
    place.parent.mkdir(parents=True)
    subprocess.run(["sh", "workflow/scripts/host_core.sh", TOOLS, place.parent], cwd=ROOT, check=True)
    return place.parents[4]


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory, sysroot: Path) -> Path:
    """The compiled launch layer."""
    library = tmp_path_factory.mktemp("layer") / "libironsweep.rlib"
    command: list[str | Path] = [TOOLS / "rustc", *FLAGS, "--cfg", "device", "--sysroot", sysroot]
    command += ["--crate-name", "ironsweep", "--crate-type", "rlib", "kernels/launch/lib.rs", "-o", library]
    subprocess.run(command, cwd=ROOT, check=True)
    return library


def whole(source: Path) -> str:
    """A kernel's file: what all of them have in common is added to what `source` is about."""
    text = source.read_text(encoding="utf-8")
    missing = [name for beginning, name in DEFAULTS.items() if beginning not in text]
    return "\n".join(
        [text, *((FOLDER / "common" / name).read_text(encoding="utf-8") for name in [*missing, "kernel.rs"])]
    )


def errors(source: Path, sysroot: Path, layer: Path, folder: Path) -> str:
    """Compile a kernel, as the build rules do, to an object file: only that looks at a window's width."""
    kernel = folder / "compile_fail.rs"
    kernel.write_text(whole(source), encoding="utf-8")
    command: list[str | Path] = [TOOLS / "rustc", *FLAGS, *DEVICE_KERNEL.split(), "--sysroot", sysroot]
    command += [
        "--crate-type",
        "lib",
        "--emit=obj",
        "--extern",
        f"ironsweep={layer}",
        kernel,
        "-o",
        folder / "kernel.o",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == ("\nerror" in f"\n{done.stderr}"), done.stderr
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("source", CONTROLS, ids=lambda source: source.stem)
def test_control_compiles(source: Path, sysroot: Path, layer: Path, tmp_path: Path) -> None:
    assert errors(source, sysroot, layer, tmp_path) == ""


@pytest.mark.parametrize("source", MISTAKES, ids=lambda source: source.stem)
def test_mistake_does_not_compile(source: Path, sysroot: Path, layer: Path, tmp_path: Path) -> None:
    """The compiler says what the file's lines `// error:` say, and nothing else."""
    expected = re.findall(r"^// error: (.*)", source.read_text(encoding="utf-8"), re.MULTILINE)
    assert expected, f"{source} names no error"
    output = errors(source, sysroot, layer, tmp_path)
    assert output, f"{source} compiles"
    said = [error for error in re.split(r"^(?=error|warning)", output, flags=re.MULTILINE) if error.startswith("error")]
    said = [error for error in said if not error.startswith("error: aborting due to")]
    missing = [text for text in expected if not any(text in error for error in said)]
    assert not missing, f"not among the compiler's errors: {missing}\n{output}"
    further = [error for error in said if not any(text in error for text in expected)]
    assert not further, f"more than one mistake:\n{output}"
