"""Says what this machine has: compilers, runtimes, GPUs, schedulers, and which variants can be built and run.

A line an item, with its version or the way to get it. It starts nothing slow and needs no toolchain.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from pathlib import Path

from ironsweep.config import detect_gpus
from ironsweep.errors import UserError
from ironsweep.toolchain import Tool, cuda, describe, enter, load, probe, root
from ironsweep.toolchain.settings import Settings
from ironsweep.variants import DEVICES, EMULATED

DESCRIPTION = Path("results/toolchain/toolchain.json")

# What a variant needs for a device, beside the tools without which there is no toolchain.
TOOLS: dict[tuple[str, str], tuple[str, ...]] = {
    ("rust_offload", "nvidia"): ("ptxas", "libdevice"),
    ("rust_offload", "amd"): ("device_libs",),
    ("rust_liboffload", "nvidia"): ("ptxas", "libdevice"),
    ("rust_liboffload", "amd"): ("device_libs",),
    ("cpp_seq", "host"): ("clang++",),
    ("cpp_openmp", "host"): ("clang++",),
    ("cuda", "nvidia"): ("nvcc", "cuda_libs"),
    ("hip", "amd"): ("hipcc", "hip_libs"),
}

NO_GPU = {
    "nvidia": "no NVIDIA GPU: install the driver, or take the bundle to a machine that has one (`snakemake bundle`)",
    "amd": "no AMD GPU: its kernel driver makes /dev/kfd, which is not there",
}


@dataclass(frozen=True)
class Item:
    """One line: a name, and its version or the way to get it."""

    name: str
    text: str


Run = Callable[[Sequence[str]], str | None]


def run(command: Sequence[str]) -> str | None:
    """What a command prints; None if it does not exist or fails, or takes longer than ten seconds."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout or done.stderr) if done.returncode == 0 else None


def report(folder: Path, settings: Settings) -> list[str]:
    """All lines for the repository in `folder` with this toolchain file."""
    here = {device: gpus for device in NO_GPU if (gpus := gpus_of(device)) is not None}
    notes, tools = find_tools(folder, settings)
    lines = []
    for title, items in (
        ("This machine", list(machine())),
        (f"Toolchain ({settings.file})", [*builders(settings), *notes, *tool_items(tools or {})]),
        ("GPUs", list(gpu_items(here))),
        ("Schedulers", list(schedulers())),
        ("Variants", list(variants(settings, tools, set(here) | {"host"}))),
    ):
        width = max(len(item.name) for item in items)
        lines += [title, *(f"  {item.name:{width}}  {item.text}" for item in items)]
    return lines


def machine() -> Iterator[Item]:
    """The operating system, Python, Snakemake, and what building and entering a root needs."""
    release = Path("/etc/os-release")
    name = re.search(r'^PRETTY_NAME="?([^"\n]*)', release.read_text() if release.exists() else "", re.MULTILINE)
    cores = len(os.sched_getaffinity(0))
    yield Item("system", f"{name[1] if name else platform.system()}, {platform.machine()}, {cores} cores")
    yield Item("python", platform.python_version())
    try:
        yield Item("snakemake", package_version("snakemake"))
    except PackageNotFoundError:
        yield Item("snakemake", "missing: `make run` installs it into .venv")
    if os.geteuid() == 0:
        yield Item("rights", "root")
    elif root.user_namespaces():
        yield Item("rights", "user namespaces")
    else:
        yield Item("rights", "neither root nor user namespaces: a toolchain of kind `path` works, a root does not")


def builders(settings: Settings) -> Iterator[Item]:
    """What a root is made and entered with."""
    if settings.kind == "debian":
        for program, package in (("mmdebstrap", "mmdebstrap"), ("bwrap", "bubblewrap")):
            found = run([program, "--version"])
            yield Item(program, (found and probe.version_in(found)) or f"missing: apt-get install {package}")
        if reason := root.missing():
            yield Item("root", f"cannot be made: {reason}")


def find_tools(folder: Path, settings: Settings) -> tuple[list[Item], dict[str, Tool] | None]:
    """The toolchain's tools, and what else there is to say; None if a root has to be built before they can be seen."""
    try:
        toolchain = load(folder / DESCRIPTION)
        if toolchain.kind == settings.kind:
            meaning = probe.GENERATIONS[toolchain.generation]
            return [Item("generation", f"{toolchain.generation}: {meaning}")], toolchain.tools
        state = "not built yet: make run"
    except UserError as error:
        state = str(error) if (folder / DESCRIPTION).exists() else "not built yet: make run"
    if settings.kind == "path":
        return look_on_path(settings)
    home = cuda.on_path()
    plan = f"toolkit in {home}" if home else f"none on PATH: {_cuda_plan(settings)}"
    return [Item("compilers", state), Item("CUDA", plan)], None


def look_on_path(settings: Settings) -> tuple[list[Item], dict[str, Tool]]:
    """The tools of a toolchain of kind path, looked for now."""
    try:
        environment = enter.module_environment(settings.modules_init, settings.modules)
    except UserError as error:
        return [Item("modules", str(error))], {}
    home = cuda.on_path(describe.search_path(settings, environment))
    toolkit = cuda.Cuda("path", str(home)) if home else cuda.Cuda("none", missing=f"not found; {_cuda_plan(settings)}")
    with tempfile.TemporaryDirectory(prefix="ironsweep-") as scratch:
        return [], describe.tools_on_path(settings, environment, toolkit, Path(scratch))


def tool_items(tools: Mapping[str, Tool]) -> Iterator[Item]:
    """A line a tool: its version, or its place if it is a folder or file, or why it is missing."""
    for name, tool in tools.items():
        reason = str(tool.missing).removeprefix(f"{name}: ")
        yield Item(name, f"missing: {reason}" if tool.missing else tool.version or str(tool.path))


def _cuda_plan(settings: Settings) -> str:
    if settings.cuda in ("auto", "wheels"):
        return "`make run` installs the wheels of requirements/cuda.txt"
    return cuda.HOW_TO_GET


def gpus_of(device: str, run: Run = run, root: Path = Path("/")) -> list[str] | None:
    """A line for each GPU of a vendor; None if the machine has none. ``root`` stands for ``/`` in tests."""
    archs = detect_gpus(device, root)
    if archs is None:
        return None
    if device == "nvidia":
        listed = run(["nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"])
        rows = [[part.strip() for part in line.split(",")] for line in (listed or "").splitlines()]
        found = [f"{row[0]}, sm_{row[1].replace('.', '')}, driver {row[2]}" for row in rows if len(row) == 3]
        return found or ["there is one, but nvidia-smi does not say which"]
    rights = "" if os.access(root / "dev/kfd", os.R_OK | os.W_OK) else ", which this user may not open (group render)"
    return [arch + rights for arch in archs or ("of unknown architecture",)]


def gpu_items(here: dict[str, list[str]]) -> Iterator[Item]:
    """The GPUs found, or per vendor why there is none."""
    for device, reason in NO_GPU.items():
        yield from (Item(device, text) for text in here.get(device, [reason]))


def schedulers() -> Iterator[Item]:
    """The schedulers whose commands are here; Slurm is the one that the profiles are written for."""
    slurm = run(["sbatch", "--version"])
    yield Item("slurm", (slurm and probe.version_in(slurm)) or "none (sbatch): jobs run on this machine")
    for name, command in (("pbs", "qsub"), ("lsf", "bsub"), ("flux", "flux")):
        if shutil.which(command):
            yield Item(name, f"{command} is here, but there is no profile for it")


def variants(settings: Settings, tools: Mapping[str, Tool] | None, devices: set[str]) -> Iterator[Item]:
    """Per variant and device: whether it can be built, whether it can be run here, and if not, why."""
    for variant, its_devices in DEVICES.items():
        for device in its_devices:
            if device == EMULATED:
                continue  # the configuration says whether it is there
            build = build_obstacle(settings, tools, TOOLS.get((variant, device), ()))
            runs = "yes" if device in devices else f"no, {NO_GPU[device].partition(':')[0]} here"
            yield Item(f"{variant} on {device}", f"build: {build or 'yes'}; run: {runs}")


def build_obstacle(settings: Settings, tools: Mapping[str, Tool] | None, needed: Sequence[str]) -> str | None:
    """Why a variant that needs these tools cannot be built now; None if it can."""
    if tools is not None:
        needs = (*describe.REQUIRED_TOOLS, *describe.REQUIRED_PLACES, *needed)
        lacking = [name for name in needs if name not in tools or tools[name].missing]
        return f"no, it needs {', '.join(lacking)}" if lacking else None
    if reason := root.missing():
        return f"no, {reason}"
    if {"nvcc", "ptxas"}.intersection(needed) and settings.cuda not in ("auto", "wheels") and cuda.on_path() is None:
        return f"no, {cuda.HOW_TO_GET}"
    return "after `make run`"
