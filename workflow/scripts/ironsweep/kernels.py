"""The kernels: one file each, and for each of the suite a line in ``kernels/registry.yaml``.

``kernels/suite/stream_triad.rs`` is ``Stream_TRIAD`` of the group ``Stream``; ``kernels/planted`` holds the kernels
that are wrong on purpose, which need no line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ironsweep.errors import UserError

REGISTRY = "kernels/registry.yaml"

BLOCKS = (64, 128, 256, 512, 1024)
"""The workgroup sizes that there are."""

_STEM = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+")


@dataclass(frozen=True, order=True)
class Kernel:
    """A kernel, the file that describes it (``file`` is relative to the repository) and the blocks that it allows."""

    name: str
    group: str
    file: str
    planted: bool = False
    blocks: tuple[int, ...] = BLOCKS

    @property
    def stem(self) -> str:
        """The file's name without its ending: that of the baselines' files, with which entry points begin."""
        return Path(self.file).stem

    def block(self, wanted: int) -> int:
        """The allowed block that is nearest to the wanted one; of two that are equally near the smaller."""
        return min(self.blocks, key=lambda block: (abs(block - wanted), block))


def kernel_name(stem: str) -> str:
    """Name of the kernel in a file: ``algorithm_reduce_sum`` is ``Algorithm_REDUCE_SUM``."""
    group, _, rest = stem.partition("_")
    return f"{group.capitalize()}_{rest.upper()}"


def discover(root: Path) -> dict[str, Kernel]:
    """Kernels below ``root`` (the repository) by name, sorted; Rust files with other names are passed over.

    Raises UserError if files and registry do not agree.
    """
    registered = _registry(root / REGISTRY)
    files = {kernel_name(file.stem): file for file in (root / "kernels/suite").glob("*.rs") if _is_kernel(file)}
    for name in sorted(files.keys() - registered.keys()):
        shown = files[name].relative_to(root)
        raise UserError(f"{shown}: the kernel is not registered; add the line `{name}: {{}}` to {REGISTRY}")
    for name in sorted(registered.keys() - files.keys()):
        line, _ = registered[name]
        raise UserError(
            f"{REGISTRY}:{line}: there is no kernels/suite/{name.lower()}.rs; write the kernel or remove the line"
        )
    found = [_kernel(root, file, blocks=registered[name][1]) for name, file in files.items()]
    found += [_kernel(root, file, planted=True) for file in (root / "kernels/planted").glob("*.rs") if _is_kernel(file)]
    return {kernel.name: kernel for kernel in sorted(found)}


def _is_kernel(file: Path) -> bool:
    return _STEM.fullmatch(file.stem) is not None


def _kernel(root: Path, file: Path, **properties: Any) -> Kernel:
    name = kernel_name(file.stem)
    return Kernel(name, name.partition("_")[0], str(file.relative_to(root)), **properties)


def _registry(path: Path) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Line and blocks of each kernel in the registry; nothing if there is no such file."""
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise UserError(f"{REGISTRY}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, Mapping) or not (node is None or isinstance(node, yaml.MappingNode)):
        raise UserError(f"{REGISTRY}: one line a kernel is expected, such as `Stream_TRIAD: {{}}`")
    lines: dict[str, int] = {}
    for key, _ in node.value if node else ():
        line = key.start_mark.line + 1
        if key.value in lines:
            raise UserError(
                f"{REGISTRY}:{line}: {key.value} is already on line {lines[key.value]}; remove one of the two"
            )
        lines[key.value] = line
    return {name: (lines[name], _blocks(name, lines[name], properties)) for name, properties in content.items()}


def _blocks(name: str, line: int, properties: Any) -> tuple[int, ...]:
    """The blocks that a line of the registry allows."""
    properties = {} if properties is None else properties
    if not isinstance(properties, Mapping) or properties.keys() - {"blocks"}:
        raise UserError(f"{REGISTRY}:{line}: {name}: write {{}} or {{blocks: [64]}}; there is no other property")
    blocks = properties.get("blocks", BLOCKS)
    if not isinstance(blocks, list | tuple) or not blocks or not set(blocks) <= set(BLOCKS):
        known = ", ".join(map(str, BLOCKS))
        raise UserError(f"{REGISTRY}:{line}: {name}: blocks: {blocks} is not possible; it must be a list of {known}")
    return tuple(sorted(set(blocks)))
