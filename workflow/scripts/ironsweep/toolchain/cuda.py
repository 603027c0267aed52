"""Finds NVIDIA's compiler on this machine, or installs its wheels."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from ironsweep.errors import UserError

HOW_TO_GET = (
    "put the bin folder of a CUDA toolkit on PATH (or name its module in the toolchain file), "
    "or let the wheels of requirements/cuda.txt be installed (`cuda: auto`)"
)


@dataclass(frozen=True)
class Cuda:
    """A CUDA toolkit: its folder, or the reason why there is none."""

    source: str
    """``path``, ``wheels`` or ``none``."""
    home: str | None = None
    missing: str | None = None

    def as_json(self) -> dict[str, str | None]:
        """The fields as a JSON object."""
        return asdict(self)


def libdevice(home: Path) -> Path | None:
    """NVIDIA's device library (bitcode) in a toolkit's folder."""
    places = (home / "nvvm/libdevice", home / "libdevice")
    return next((file for place in places for file in sorted(place.glob("libdevice*.bc"))), None)


def static_runtime(home: Path) -> Path | None:
    """CUDA's runtime as a static library in a toolkit's folder."""
    return next(
        (
            home / folder / "libcudart_static.a"
            for folder in ("lib64", "lib")
            if (home / folder / "libcudart_static.a").is_file()
        ),
        None,
    )


def libraries(home: Path) -> Path | None:
    """The folder of a toolkit that holds its static runtime library."""
    places = (home / name for name in ("lib64", "lib", "targets/x86_64-linux/lib"))
    return next((folder for folder in places if (folder / "libcudart_static.a").exists()), None)


def is_toolkit(home: Path) -> bool:
    """Whether a folder is a toolkit that can assemble PTX and link the device library."""
    return os.access(home / "bin/ptxas", os.X_OK) and libdevice(home) is not None


def on_path(search_path: str | None = None) -> Path | None:
    """The folder of the toolkit whose nvcc or ptxas is on PATH, or that CUDA_HOME or CUDA_PATH names.

    What is on PATH may be a symbolic link or a shell script that starts the real program from the toolkit's folder.
    """
    for name in ("nvcc", "ptxas"):
        found = shutil.which(name, path=search_path)
        for program in _behind(Path(found)) if found else ():
            home = program.parent.parent
            if is_toolkit(home):
                return home
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        home = Path(os.environ.get(variable) or "/nonexistent")
        if is_toolkit(home):
            return home.resolve()
    return None


def _behind(program: Path) -> list[Path]:
    """The program itself, resolved, and the toolkit programs that it names if it is a script."""
    real = program.resolve()
    with real.open("rb") as file:
        start = file.read(4096)
    if not start.startswith(b"#!"):
        return [real]
    named = re.findall(r"(/[^\s\"'$;]+/bin/(?:nvcc|ptxas))\b", start.decode(errors="replace"))
    return [real, *(Path(name).resolve() for name in named)]


def find(mode: str, wheels: Path, requirements: Path, log: IO[str], search_path: str | None = None) -> Cuda:
    """Find or install the toolkit as the toolchain file's key `cuda` says.

    mode: auto, path, wheels or none. wheels: folder for the wheels. With auto, a toolkit that cannot be had is not an
    error but a reason; with path and wheels it raises UserError.
    """
    if mode == "none":
        return Cuda("none", missing="the toolchain file says `cuda: none`")
    if mode in ("auto", "path"):
        if home := on_path(search_path):
            return Cuda("path", str(home))
        if mode == "path":
            raise UserError(
                "`cuda: path`, but neither nvcc nor ptxas is on PATH with its toolkit: load its module or set PATH"
            )
    try:
        return Cuda("wheels", str(_install(wheels, requirements, log)))
    except UserError as error:
        if mode == "wheels":
            raise
        return Cuda("none", missing=f"no CUDA toolkit on PATH, and {error}; {HOW_TO_GET}")


def _install(wheels: Path, requirements: Path, log: IO[str]) -> Path:
    """Install the hash-locked wheels unless they are there, and return the toolkit's folder in them."""
    mark = f"requirements-{hashlib.sha256(requirements.read_bytes()).hexdigest()}"
    if not (wheels / mark).exists() or _home(wheels) is None:
        part = wheels.with_name(wheels.name + ".part")
        for folder in (part, wheels):
            if folder.exists():
                shutil.rmtree(folder)
        _download(part, requirements, log)
        if (home := _home(part)) is None:
            raise UserError(f"the wheels of {requirements} hold no complete toolkit (bin/ptxas and libdevice)")
        (home / "lib64").symlink_to("lib")  # where nvcc looks for its libraries
        (part / mark).touch()
        part.rename(wheels)
    home = _home(wheels)
    assert home is not None
    return home


def _download(folder: Path, requirements: Path, log: IO[str]) -> None:
    """Install the wheels into a folder. Raises UserError with the installer's last word."""
    if importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip", "install", "--no-warn-script-location"]
    else:
        command = ["uv", "pip", "install", "--python", sys.executable]
    command += ["--quiet", "--require-hashes", "--no-deps", "--target", str(folder), "--requirement", str(requirements)]
    print("+", *command, file=log, flush=True)
    try:
        done = subprocess.run(command, stdout=log, stderr=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        raise UserError(f"the wheels cannot be installed: {command[0]}: {error.strerror}") from error
    log.write(done.stderr)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.lower().startswith("error")] or ["see the log"]
        raise UserError(f"the wheels of {requirements} cannot be installed ({errors[-1]})")


def _home(wheels: Path) -> Path | None:
    return next(
        (ptxas.parent.parent for ptxas in sorted(wheels.glob("nvidia/*/bin/ptxas")) if is_toolkit(ptxas.parents[1])),
        None,
    )
