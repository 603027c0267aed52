"""What a device image uses: registers, spills, shared memory, code size; read from the image by the vendors' tools."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ironsweep.attempt import read_note
from ironsweep.errors import UserError

Report = dict[str, str | int | None]

FIELDS = (
    "registers",
    "spill_stores_bytes",
    "spill_loads_bytes",
    "shared_bytes",
    "scratch_bytes",
    "vgprs",
    "sgprs",
    "code_bytes",
)


def report(kernel: str, entry: str, arch: str, image: Path, assembly: Path | None, tools: Path) -> Report:
    """What the image of a kernel for an architecture uses; fields that a vendor does not have are None.

    entry: name of the kernel's entry point. assembly: the PTX of an NVIDIA image. tools: folder of the toolchain's
    programs. An image that is a failure note gives its status and reason. Sizes are in bytes.
    """
    row: Report = {"kernel": kernel, "arch": arch, "status": "ok", "reason": "", **dict.fromkeys(FIELDS)}
    if note := read_note(image):
        return {**row, "status": note.status, "reason": note.reason}
    readelf = str(tools / "llvm-readelf")
    if arch.startswith("sm_"):
        if assembly is None:
            raise UserError(f"{arch}: the report on an NVIDIA image needs its assembly")
        ptxas = [str(tools / "ptxas"), "-v", f"-arch={arch}", str(assembly), "-o", "/dev/null"]
        row |= nvidia_usage(_output(ptxas))
        row["code_bytes"] = section_size(_output([readelf, "-SW", str(image)]), f".text.{entry}")
    elif arch.startswith("gfx"):
        row |= amd_usage(_output([readelf, "--notes", str(image)]))
        row["code_bytes"] = symbol_size(_output([readelf, "-sW", str(image)]), entry)
    else:
        row["code_bytes"] = symbol_size(_output([readelf, "--dyn-syms", "-W", str(image)]), entry)
    return row


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"{' '.join(command)}: {done.stdout.strip() or f'exit status {done.returncode}'}")
    return done.stdout


def nvidia_usage(text: str) -> Report:
    """What ``ptxas -v`` says of one kernel."""
    return {
        "registers": _number(r"Used (\d+) registers", text),
        "spill_stores_bytes": _number(r"(\d+) bytes spill stores", text),
        "spill_loads_bytes": _number(r"(\d+) bytes spill loads", text),
        "scratch_bytes": _number(r"(\d+) bytes stack frame", text),
        "shared_bytes": _number(r"(\d+) bytes smem", text) or 0,
    }


def amd_usage(text: str) -> Report:
    """What the metadata of an HSA code object (``llvm-readelf --notes``) say of one kernel."""

    def of(key: str) -> int | None:
        return _number(rf"\.{key}:\s*(\d+)", text)

    spilled = [count for key in ("vgpr_spill_count", "sgpr_spill_count") if (count := of(key)) is not None]
    return {
        "vgprs": of("vgpr_count"),
        "sgprs": of("sgpr_count"),
        # Counted in registers of 4 bytes a lane; the metadata do not tell stores from loads.
        "spill_stores_bytes": 4 * sum(spilled) if spilled else None,
        "scratch_bytes": of("private_segment_fixed_size"),
        "shared_bytes": of("group_segment_fixed_size"),
    }


def section_size(text: str, name: str) -> int | None:
    """Size of a section in the table that ``llvm-readelf -SW`` prints."""
    found = re.search(rf"\s{re.escape(name)}\s+PROGBITS\s+\S+\s+\S+\s+([0-9a-f]+)", text)
    return int(found[1], 16) if found else None


def symbol_size(text: str, name: str) -> int | None:
    """Size of a function in the table that ``llvm-readelf -sW`` prints."""
    found = re.search(rf"^\s*\d+:\s+\S+\s+(\d+)\s+FUNC\s.*\s{re.escape(name)}$", text, re.MULTILINE)
    return int(found[1]) if found else None


def _number(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    return int(found[1]) if found else None
