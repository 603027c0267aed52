"""The Rust sources: the launch layer's own tests, clippy, and where `unsafe` may stand."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from ironsweep.build import CORE, DEVICE_KERNEL, PROGRAMS, TARGETS, vendor

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "results/toolchain/bin"
RUN = ROOT / "results/toolchain/runtime/run"
LAYER = "kernels/launch/lib.rs"
KERNELS = sorted([*ROOT.glob("kernels/suite/*.rs"), *ROOT.glob("kernels/planted/*.rs")])

# Every way in which the launch layer is built.
DEVICES = ["--cfg device", "--cfg device --cfg unchecked"]
PROGRAM = [program.configuration for program in PROGRAMS.values()]
CONFIGURATIONS = [*DEVICES, "--cfg launcher", *PROGRAM]
# A GPU's threads one after another on the host: only for tests.
SIMULATED = f"{PROGRAM[-1]} --cfg simulated"

# What a kernel's file does not say. The compiler refuses `unsafe`, and what the launch layer keeps to itself; the rest
# it cannot refuse: what differs between the builds of a kernel (its declaration has to be one), what threads see of one
# another (they are to be alike where they come to a barrier), and ways around the prelude.
#
# A number that is another one in the worker than on the device would let the host check another launch than the device
# runs: the standard library's own methods (which hide a trait's) and sizes of types differ so.
UNSPOKEN = {
    "a comment within a line": r"/\*|\S.*//",
    "an own trait": r"\btrait\b",
    "the size of a type": r"\b(size|align)_of",
    "the environment": r"\benv!|\boption_env!",
    "unsafe": r"\bunsafe\b",
    "a static": r"(?<!')\bstatic\b",
    "an atomic": r"\bAtomic\w+|\bsync\b",
    "a cfg": r"\bcfg",
    "an attribute of the crate": r"#!\[",
    "extern": r"\bextern\b",
    "an own macro": r"\bmacro_rules\b",
    "another file": r"\b(include|path|mod)\b",
    "a hidden name": r"\b__\w|\bexpansion\b",
    "the launch layer beyond its prelude": r"\bironsweep::(?!prelude::\*;)",
}


def without_comments(path: Path) -> str:
    """The file without lines that are comments. What else looks like one may stand in a string, or hide something."""
    return re.sub(r"(?m)^\s*//.*$", "", path.read_text(encoding="utf-8"))


@pytest.fixture
def toolchain() -> None:
    """The compiler that `make run` installs."""
    if not (TOOLS / "rustc").exists():
        pytest.skip("the toolchain is not built: make run")


@pytest.fixture
def clippy(toolchain: None) -> list[str | Path]:
    """The beginning of a call of clippy; it takes what rustc takes."""
    if not (TOOLS / "clippy-driver").exists():
        pytest.skip("the toolchain has no clippy")
    return [TOOLS / "clippy-driver", "--edition", "2024", "-Dwarnings", "-Dclippy::undocumented_unsafe_blocks"]


def check(command: Sequence[str | Path]) -> None:
    """Run a command, which has to succeed."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def layer(configuration: str, folder: Path) -> list[str | Path]:
    """What tells a compiler to look at the launch layer."""
    flags = ["--crate-type", "rlib", "--crate-name", "ironsweep", *configuration.split(), "--emit=metadata"]
    return [*flags, LAYER, "-o", folder / "libironsweep.rmeta"]


@pytest.mark.toolchain
@pytest.mark.parametrize("configuration", [*PROGRAM, SIMULATED])
def test_own_tests_of_launch_layer(configuration: str, toolchain: None, tmp_path: Path) -> None:
    program = tmp_path / "tests"
    build: list[str | Path] = [TOOLS / "rustc", "--test", "--edition", "2024", *configuration.split(), LAYER]
    # No test launches: the runtimes' symbols may stay undefined.
    check([*build, "-o", program, "-Awarnings", "-Clink-args=-Wl,--unresolved-symbols=ignore-all"])
    done = subprocess.run([RUN, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout and " 0 passed" not in done.stdout


@pytest.mark.toolchain
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_launch_layer_is_clean_for_clippy(configuration: str, clippy: list[str | Path], tmp_path: Path) -> None:
    """Clean, and with a reason at each `unsafe`."""
    check([*clippy, *layer(configuration, tmp_path)])


@pytest.mark.toolchain
@pytest.mark.parametrize("configuration", DEVICES)
@pytest.mark.parametrize("arch", ["sm_90", "gfx90a"])
def test_launch_layer_for_gpus_is_clean_for_clippy(
    arch: str, configuration: str, clippy: list[str | Path], tmp_path: Path
) -> None:
    sysroot = ROOT / CORE / arch
    if not list(sysroot.rglob("libcore.rlib")):
        pytest.skip(f"Rust's core library for {arch} is not built: make run")
    target: list[str | Path] = ["--target", TARGETS[vendor(arch)], f"-Ctarget-cpu={arch}", "--sysroot", sysroot]
    check([*clippy, *target, *layer(configuration, tmp_path)])


@pytest.mark.toolchain
def test_kernels_are_clean_for_clippy(clippy: list[str | Path], tmp_path: Path) -> None:
    """As a device's code and as workers. Formulas with several indices may have loops over all of them."""
    for number, (configuration, flags) in enumerate([("--cfg device", DEVICE_KERNEL), (PROGRAM[-1], PROGRAM[-1])]):
        folder = tmp_path / str(number)
        folder.mkdir()
        check([TOOLS / "rustc", "--edition", "2024", *layer(configuration, folder)])
        kind = ["--crate-type", "lib" if number == 0 else "bin", "--emit=metadata"]
        for kernel in KERNELS:
            rest: list[str | Path] = [
                "--extern",
                f"ironsweep={folder}/libironsweep.rmeta",
                kernel,
                "-o",
                folder / "kernel.rmeta",
            ]
            check(
                [
                    *clippy,
                    *flags.split(),
                    "-Funsafe_code",
                    "-Cpanic=abort",
                    "-Aclippy::needless_range_loop",
                    *kind,
                    *rest,
                ]
            )


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.stem)
def test_kernel_says_only_what_kernels_say(kernel: Path) -> None:
    code = without_comments(kernel)
    said = [name for name, pattern in UNSPOKEN.items() if re.search(pattern, code)]
    assert not said


def test_only_the_launch_layer_is_unsafe() -> None:
    """Whatever else is written in Rust here does without it, but for the mistakes that must not compile."""
    unsafe = [
        path.relative_to(ROOT)
        for folder in ("kernels", "workflow", "config", "docs", "examples")
        for path in (ROOT / folder).rglob("*.rs")
        if re.search(r"\bunsafe\b", without_comments(path))
    ]
    assert unsafe and all(path.is_relative_to("kernels/launch") for path in unsafe), unsafe
