"""Asks the tools for their versions, and rustc for the generation of its offload support."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from ironsweep.errors import UserError

GENERATIONS = {
    "two-pass": "host and device pass; packaging and linking are done by LLVM's tools",
    "three-pass": "a pass for the manifest of kernels, one for the device, one for the host",
    "self-linking": "three passes, and rustc links the device images by itself",
    "none": "this rustc cannot generate offload code",
}
SUPPORTED_GENERATIONS = ("two-pass",)

# The smallest host program that launches a kernel.
_LAUNCH = """\
#![feature(core_intrinsics)]
#![allow(internal_features)]
unsafe extern "Rust" {
    safe fn probe(x: &mut [f64]);
}
fn main() {
    let mut x = [0.0f64; 4];
    core::intrinsics::offload::<_, _, ()>(probe, [1; 3], [1; 3], (&mut x[..],));
}
"""
_EMPTY = "fn main() {}\n"


def version(command: list[str]) -> str | None:
    """The version that a tool says it has, as ``1.2.3``; None if it does not start or says none."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return version_in(done.stdout) if done.returncode == 0 else None


def version_in(text: str) -> str | None:
    """The version in a tool's own words. nvcc and ptxas name theirs twice; the one with the V is complete."""
    match = re.search(r"\bV(\d+\.\d+\.\d+)", text) or re.search(r"\b(\d+\.\d+(?:\.\d+)?)", text)
    return match[1] if match else None


def at_least(found: str, minimum: str) -> bool:
    """Whether a version is the minimum or newer; compared number by number."""
    numbers = [[int(part) for part in re.findall(r"\d+", text)] for text in (found, minimum)]
    return numbers[0] >= numbers[1]


def rustc_llvm(rustc: list[str]) -> str:
    """The version of the LLVM that rustc is linked with. Raises UserError if rustc does not say it."""
    done = subprocess.run([*rustc, "-vV"], capture_output=True, text=True, check=False)
    match = re.search(r"^LLVM version: (\S+)", done.stdout, re.MULTILINE)
    if match is None:
        raise UserError(f"rustc does not say its LLVM version: {(done.stderr or done.stdout).strip()[:300]}")
    return match[1]


def generation(rustc: list[str]) -> str:
    """The generation of rustc's offload support, found by compiling: a key of GENERATIONS.

    The newest is tried first, since later compilers may still accept the settings of earlier ones.
    """
    with tempfile.TemporaryDirectory(prefix="ironsweep-") as scratch:
        folder = Path(scratch)
        (folder / "empty.rs").write_text(_EMPTY)
        (folder / "launch.rs").write_text(_LAUNCH)
        common = [
            "--edition",
            "2024",
            "-Copt-level=3",
            "-Cpanic=abort",
            "-Clto=fat",
            "-Ccodegen-units=1",
            "-Zunstable-options",
        ]

        def compile_(source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
            command = [*rustc, str(folder / source), *common, *arguments]
            return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=120)

        manifest = compile_("empty.rs", f"-Zoffload=HostMetadata={folder}/manifest", "-o", str(folder / "metadata"))
        if "incorrect value" not in manifest.stderr and "unknown unstable option" not in manifest.stderr:
            (folder / "device.bin").touch()
            host = compile_(
                "empty.rs",
                f"-Zoffload=Host={folder}/device.bin",
                "--print=link-args",
                "-Clinker=true",
                "-o",
                str(folder / "host"),
            )
            return "self-linking" if "omptarget" in host.stdout else "three-pass"
        test = compile_("launch.rs", "-Zoffload=Test", "--emit=llvm-ir", "-o", str(folder / "launch.ll"))
        if test.returncode == 0 and "__tgt_target_kernel" in (folder / "launch.ll").read_text():
            return "two-pass"
    return "none"


def check_generation(found: str) -> None:
    """Raise UserError with the generation's name if the rules cannot use it yet."""
    if found not in SUPPORTED_GENERATIONS:
        raise UserError(
            f"this rustc's offload generation is `{found}` ({GENERATIONS[found]}), which is not supported yet; "
            f"supported: {', '.join(SUPPORTED_GENERATIONS)}. Use a rustc of before August 2026, as the Debian toolchain"
        )
