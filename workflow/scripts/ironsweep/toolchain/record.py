"""Reads ``toolchain.json``. Standard library only: every build step asks it which tools there are."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ironsweep.errors import UserError

# Files and folders that a build needs beside its tools: sources of core, AMD's and NVIDIA's device libraries,
# libomptarget and liboffload, libamdhip64, CUDA's static runtime.
PLACES = ("rust_src", "device_libs", "libdevice", "offload_libs", "hip_libs", "cuda_libs")


@dataclass(frozen=True)
class Tool:
    """A tool or folder: where it is as the tools see it (in a root: inside it), or why it is missing."""

    path: str | None = None
    version: str | None = None
    missing: str | None = None


@dataclass(frozen=True)
class Toolchain:
    """What ``toolchain.json`` says. Paths are as the tools see them: in a root, inside it."""

    kind: str
    generation: str
    enter: str
    """How a command gets to the tools: ``bwrap`` or ``chroot`` (a root), ``path``."""
    packages: dict[str, str]
    tools: dict[str, Tool]
    """Tools, which have a version, and the files and folders of PLACES, which have none."""
    sha256: str
    """Identity: of the generation and all versions, not of places or times."""

    def reason(self, name: str) -> str | None:
        """Why a tool is missing, and how to get it; None if it is there."""
        tool = self.tools.get(name)
        return f"{name} is not part of the toolchain" if tool is None else tool.missing

    def as_json(self) -> dict[str, Any]:
        """The content of ``toolchain.json``."""
        return {
            **asdict(self),
            "tools": {
                name: {k: v for k, v in asdict(tool).items() if v is not None} for name, tool in self.tools.items()
            },
            **{name: self.tools[name].path for name in PLACES},
        }


def load(file: Path) -> Toolchain:
    """Read ``toolchain.json``. Raises UserError if it is missing or damaged."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return Toolchain(
            kind=data["kind"],
            generation=data["generation"],
            enter=data["enter"],
            packages=data["packages"],
            tools={name: Tool(**tool) for name, tool in data["tools"].items()},
            sha256=data["sha256"],
        )
    except FileNotFoundError as error:
        raise UserError(f"{file} does not exist: the toolchain is not built yet; `make run` builds it") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} is damaged ({error}): remove it and run again") from error
