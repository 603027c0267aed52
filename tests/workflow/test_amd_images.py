"""The images for AMD GPUs that were built: as the host side launches them, self-contained, and without slow detours.

No AMD GPU is needed: all is read from the images. What they compute is looked at on the emulated device.
"""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ironsweep.attempt import read_note
from ironsweep.code_object import CodeObject
from ironsweep.codegen import abi_problems, problems

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
BIN = ROOT / "results/bin"
CODEGEN = ROOT / "results/codegen"
RUN = ROOT / "results/toolchain/runtime/run"
TOOLS = ROOT / "results/toolchain/bin"
NAME = re.compile(r"(?P<arch>gfx90a|gfx942)-(?P<safety>\w+)-(?P<contraction>\w+)\.img")
IMAGES = [image for image in sorted(BIN.glob("*/images/gfx*.img")) if NAME.fullmatch(image.name)]

each_image = pytest.mark.parametrize(
    "image",
    [pytest.param(image, id=f"{image.parts[-3]}-{image.stem}") for image in IMAGES]
    or [pytest.param(None, marks=pytest.mark.skip(reason="results/bin has no images for AMD: make run"))],
)


def require_built(file: Path) -> None:
    """Fail if a file was not built; it is an image or worker of a kernel of the suite."""
    note = read_note(file)
    assert note is None, f"{file}: {note and note.reason}"
    assert file.exists(), f"{file} is not built: make run"


@cache
def described(kernel: str) -> dict[str, Any]:
    """What the worker says of its kernel."""
    worker = BIN / kernel / "rust_liboffload"
    require_built(worker)
    done = subprocess.run([RUN, worker, "--list"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    assert found["kernel"] == kernel
    assert "launches" in found, f"{worker} is older than the images: make run"
    return found


def words(kernel: str) -> dict[str, int]:
    """The number of words of each entry of a kernel; entries are launched several times with as many."""
    found: dict[str, int] = {}
    for launch in described(kernel)["launches"]:
        assert found.setdefault(launch["entry"], launch["words"]) == launch["words"]
    return found


def source(kernel: str) -> str:
    """The text of a kernel's file."""
    (file,) = (ROOT / "kernels").glob(f"*/{kernel.lower()}.rs")
    return file.read_text(encoding="utf-8")


def spills_on_nvidia(kernel: str, name: re.Match[str]) -> bool:
    """Whether a kernel of the same tuning has spills on an NVIDIA GPU, in which case an AMD GPU may have them too."""
    tuning = {"safety": name["safety"], "contraction": name["contraction"]}
    reports = (json.loads(file.read_text(encoding="utf-8")) for file in (CODEGEN / kernel).rglob("*.json"))
    return any(
        (entry["spill_stores_bytes"] or 0) > 0
        for report in reports
        if report["arch"].startswith("sm_") and all(report.get(key) == value for key, value in tuning.items())
        for entry in report["entries"].values()
    )


@each_image
def test_kernels_are_as_the_host_launches_them(image: Path) -> None:
    require_built(image)
    kernel = image.parts[-3]
    read = CodeObject(image)
    assert read.arch == image.name.partition("-")[0]
    assert set(read.kernels) == set(words(kernel))
    assert all(entry.startswith(kernel.lower()) for entry in read.kernels)
    assert abi_problems(read, words(kernel), described(kernel)["blocks"]) == []


@each_image
def test_code_is_complete_and_direct(image: Path) -> None:
    require_built(image)
    kernel = image.parts[-3]
    name = NAME.fullmatch(image.name)
    assert name is not None
    adds = re.search(r"\bSum\s*<\s*f64\s*>", source(kernel)) is not None
    scratch = spills_on_nvidia(kernel, name)
    assert problems(image, TOOLS, atomic_addition=adds, scratch=scratch) == []


def test_every_kernel_has_all_images() -> None:
    if not IMAGES:
        pytest.skip("results/bin has no images for AMD: make run")
    by_kernel: dict[str, set[str]] = {}
    for image in IMAGES:
        by_kernel.setdefault(image.parts[-3], set()).add(image.name)
    for kernel, names in by_kernel.items():
        archs = {name.partition("-")[0] for name in names}
        tunings = {name.partition("-")[2] for name in names}
        assert names == {f"{arch}-{tuning}" for arch in archs for tuning in tunings}, kernel
