"""Collects the loader and the libraries that built programs need on a machine that has only a GPU driver.

A program runs as ``runtime/run PROGRAM [ARGUMENT ...]``. Its own C library comes first, so that an older one of the
machine is never mixed in; the driver's libraries are found where the machine has them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from ironsweep.errors import UserError
from ironsweep.toolchain.enter import write_executable
from ironsweep.toolchain.record import Toolchain

LOADER = "ld-linux-x86-64.so.2"

_OFFLOAD = ("libomptarget.so", "libLLVMOffload.so", "libomp.so")
# Parts of the C library and of the compilers that a driver's library may ask for: those of the machine would not fit.
_BASE = (
    "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libresolv.so.2",
    "libgcc_s.so.1", "libstdc++.so.6",
)  # fmt: skip
_HIP = ("libamdhip64.so",)

# libomptarget and liboffload open the names on the left, which machines with only a driver often lack. A link to a
# single file cannot bring in the C library beside it; one that leads nowhere is passed over by the loader.
_DRIVERS = {
    "libcuda.so": (
        "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1",
        "/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1",
    ),
    "libhsa-runtime64.so": ("/opt/rocm/lib/libhsa-runtime64.so.1",),
}  # fmt: skip

_RUN = f"""\
#!/bin/sh
# Runs a program of ironsweep with the libraries that it was built with: run PROGRAM [ARGUMENT ...]
# Made by rule toolchain_runtime. The libraries here come first, then those of LD_LIBRARY_PATH, then the driver's.
case $0 in */*) lib=${{0%/*}}/lib ;; *) lib=./lib ;; esac
path=$lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
for driver in "$lib"/driver/*; do path=$path:$driver; done
path=$path:/usr/local/nvidia/lib64:/opt/rocm/lib:$lib/hip
exec "$lib/{LOADER}" --argv0 "$1" --library-path "$path" "$@"
"""

_RUN_PATH = """\
#!/bin/sh
# Runs a program of ironsweep with the toolchain's libraries: run PROGRAM [ARGUMENT ...]
# Made by rule toolchain_runtime.
export LD_LIBRARY_PATH={folders}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
exec "$@"
"""


def needed(ldd: str) -> dict[str, str]:
    """Library names and paths out of what ldd prints.

    Raises UserError naming a library that ldd does not find.
    """
    if missing := re.findall(r"^\s*(\S+) => not found", ldd, re.MULTILINE):
        raise UserError(f"the toolchain lacks a library that its runtime needs: {missing[0]}")
    return {m[1]: m[2] for m in re.finditer(r"^\s*(\S+) => (/\S+)", ldd, re.MULTILINE)}


def collect(toolchain: Toolchain, enter: Path, runtime: Path) -> None:
    """Write ``run`` and ``lib/`` into the folder `runtime`.

    For a root the libraries are copied (AMD's apart, in ``lib/hip``, as they are large); for kind path, `run` names the
    folders that the machine has.
    """
    if (runtime / "lib").exists():
        shutil.rmtree(runtime / "lib")
    (runtime / "lib").mkdir(parents=True)
    if toolchain.kind == "path":
        folders = [path for name in ("offload_libs", "hip_libs") if (path := toolchain.tools[name].path)]
        write_executable(runtime / "run", _RUN_PATH.format(folders=":".join(folders)))
        return
    base = _closure(enter, [f"/lib/x86_64-linux-gnu/{name}" for name in _BASE])
    offload = _closure(enter, [f"{toolchain.tools['offload_libs'].path}/{name}" for name in _OFFLOAD])
    _copy(enter, base | offload | {LOADER: f"/lib64/{LOADER}"}, runtime / "lib")
    if hip_folder := toolchain.tools["hip_libs"].path:
        hip = _closure(enter, [f"{hip_folder}/{name}" for name in _HIP])
        _copy(enter, {name: path for name, path in hip.items() if name not in base | offload}, runtime / "lib/hip")
    for name, targets in _DRIVERS.items():
        for number, target in enumerate(targets, 1):
            link = runtime / "lib/driver" / f"{name.removeprefix('lib').removesuffix('.so')}{number}" / name
            link.parent.mkdir(parents=True)
            link.symlink_to(target)
    write_executable(runtime / "run", _RUN)


def _closure(enter: Path, libraries: list[str]) -> dict[str, str]:
    """The libraries, by the names that programs ask for, and all libraries that these need."""
    done = subprocess.run([str(enter), "ldd", *libraries], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"the libraries of the runtime cannot be read: {done.stderr.strip()[:300]}")
    return needed(done.stdout) | {_soname(enter, library): library for library in libraries}


def _soname(enter: Path, library: str) -> str:
    shown = subprocess.run([str(enter), "readelf", "--dynamic", library], capture_output=True, text=True, check=False)
    match = re.search(r"\(SONAME\).*\[(\S+)\]", shown.stdout)
    return match[1] if match else Path(library).name


def _copy(enter: Path, libraries: dict[str, str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    script = 'folder=$1; shift; while [ $# -gt 0 ]; do cp -L --preserve=mode "$2" "$folder/$1" || exit; shift 2; done'
    pairs = [part for name, path in sorted(libraries.items()) for part in (name, path)]
    command = [str(enter), "sh", "-c", script, "sh", str(folder.resolve()), *pairs]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"the libraries of the runtime cannot be copied: {done.stderr.strip()[:300]}")
