"""The registry of kernels: one file each, found by its place and name.

``kernels/suite/stream_triad.rs`` is ``Stream_TRIAD`` of the group ``Stream``; ``kernels/planted`` holds the kernels
that are wrong on purpose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_STEM = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+")


@dataclass(frozen=True, order=True)
class Kernel:
    """A kernel and the file that describes it (``file`` is relative to the repository)."""

    name: str
    group: str
    file: str
    planted: bool = False

    @property
    def stem(self) -> str:
        """The file's name without its ending: the name of the entry point and of the baselines' files."""
        return Path(self.file).stem


def kernel_name(stem: str) -> str:
    """Name of the kernel in a file: ``algorithm_reduce_sum`` is ``Algorithm_REDUCE_SUM``."""
    group, _, rest = stem.partition("_")
    return f"{group.capitalize()}_{rest.upper()}"


def discover(root: Path) -> dict[str, Kernel]:
    """Kernels below ``root`` (the repository) by name, sorted; Rust files with other names are passed over."""
    found = [
        Kernel(
            name=kernel_name(file.stem),
            group=kernel_name(file.stem).partition("_")[0],
            file=str(file.relative_to(root)),
            planted=folder == "planted",
        )
        for folder in ("suite", "planted")
        for file in (root / "kernels" / folder).glob("*.rs")
        if _STEM.fullmatch(file.stem)
    ]
    return {kernel.name: kernel for kernel in sorted(found)}
