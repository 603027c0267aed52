"""What the kernels of a device image use: registers, spills, shared memory, code size, arguments."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ironsweep.attempt import read_note
from ironsweep.code_object import CodeObject, Elf, Kernel
from ironsweep.errors import UserError

WORD = 8
"""Bytes of each argument of a kernel."""
OTHER_WORDS = 6
"""Arguments beside a launch's own words: the environment in front; items along x, y and z, grid and block behind."""
SHARED_BYTES = 64 * 1024
"""The shared memory that a workgroup can have on every AMD GPU."""

Usage = dict[str, int | None]
Entry = dict[str, Any]
Report = dict[str, Any]

NUMBERS = (
    "registers",
    "vgprs",
    "sgprs",
    "spill_stores_bytes",
    "spill_loads_bytes",
    "scratch_bytes",
    "shared_bytes",
    "max_workgroup",
    "argument_bytes",
    "code_bytes",
)
"""What is known of a kernel in numbers; None where a vendor's tools do not tell."""

_NVIDIA_MAX_WORKGROUP = 1024  # of all architectures, unless the kernel says less


def report(
    kernel: str,
    arch: str,
    safety: str,
    contraction: str,
    *,
    stem: str,
    image: Path,
    assembly: Path | None,
    tools: Path,
) -> Report:
    """What the kernels in the image of a kernel's file use.

    stem: what their names begin with. assembly: the PTX of an NVIDIA image. tools: folder of the toolchain's programs.
    An image that is a failure note gives its status and reason, and no entries. Each entry has `NUMBERS`, and for AMD
    `arguments` and `hidden_arguments`, lists of {offset, size, kind}; these are None elsewhere.
    """
    head = {"kernel": kernel, "arch": arch, "safety": safety, "contraction": contraction}
    if note := read_note(image):
        return {**head, "status": note.status, "reason": note.reason, "entries": {}}
    if arch.startswith("sm_"):
        if assembly is None:
            raise UserError(f"{arch}: the report on an NVIDIA image needs its assembly")
        found = _nvidia_entries(arch, image, assembly, tools)
    elif arch.startswith("gfx"):
        found = amd_entries(CodeObject(image))
    else:
        found = {name: _entry(code_bytes=symbol.size) for name, symbol in Elf(image).functions.items()}
    entries = {name: entry for name, entry in sorted(found.items()) if name.startswith(stem)}
    if not entries:
        raise UserError(
            f"{image} has no kernel whose name begins with {stem}; it has {', '.join(sorted(found)) or 'none'}"
        )
    return {**head, "status": "ok", "reason": "", "entries": entries}


def _entry(arguments: Any = None, hidden_arguments: Any = None, **usage: int | None) -> Entry:
    known = dict.fromkeys(NUMBERS) | usage
    return {**known, "arguments": arguments, "hidden_arguments": hidden_arguments}


def _output(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    except OSError as error:
        raise UserError(f"cannot start {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise UserError(f"{' '.join(command)}: {done.stdout.strip() or f'exit status {done.returncode}'}")
    return done.stdout


def _nvidia_entries(arch: str, image: Path, assembly: Path, tools: Path) -> dict[str, Entry]:
    text = assembly.read_text(encoding="utf-8", errors="replace")
    signatures = nvidia_signatures(text)
    sizes = Elf(image).section_sizes
    said = _output([str(tools / "ptxas"), "-v", f"-arch={arch}", str(assembly), "-o", "/dev/null"])
    return {
        name: _entry(**usage, **signatures.get(name, {}), code_bytes=sizes.get(f".text.{name}"))
        for name, usage in nvidia_usage(said).items()
    }


def nvidia_usage(text: str) -> dict[str, Usage]:
    """What ``ptxas -v`` says of each kernel."""
    parts = re.split(r"Compiling entry function '([^']+)'[^\n]*", text)
    return {
        name: {
            "registers": _number(r"Used (\d+) registers", part),
            "spill_stores_bytes": _number(r"(\d+) bytes spill stores", part),
            "spill_loads_bytes": _number(r"(\d+) bytes spill loads", part),
            "scratch_bytes": _number(r"(\d+) bytes stack frame", part),
            "shared_bytes": _number(r"(\d+) bytes smem", part) or 0,
        }
        for name, part in zip(parts[1::2], parts[2::2], strict=True)
    }


def nvidia_signatures(text: str) -> dict[str, Usage]:
    """Bytes of arguments and largest workgroup of each kernel in a PTX file."""
    found: dict[str, Usage] = {}
    for name, parameters, limits in re.findall(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{]*)", text):
        size = 0
        for parameter in parameters.split(","):
            if kind := re.search(r"\.[bfsu](8|16|32|64)\b", parameter):
                width = int(kind[1]) // 8
                elements = _number(r"\[(\d+)\]", parameter) or 1
                # Of a pointer it is the alignment of what it points to.
                aligned = 0 if ".ptr" in parameter else _number(r"\.align\s+(\d+)", parameter) or 0
                size = -(-size // max(width, aligned)) * max(width, aligned) + width * elements
        limit = re.search(r"\.maxntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", limits)
        threads = 1
        for extent in limit.groups(default="1") if limit else ():
            threads *= int(extent)
        found[name] = {"argument_bytes": size, "max_workgroup": threads if limit else _NVIDIA_MAX_WORKGROUP}
    return found


def amd_entries(image: CodeObject) -> dict[str, Entry]:
    """What the kernels of an AMD code object use."""
    functions = image.functions
    return {
        name: _entry(
            vgprs=kernel.vgprs,
            sgprs=kernel.sgprs,
            # Counted in registers of 4 bytes a lane; the metadata do not tell stores from loads.
            spill_stores_bytes=None if kernel.spilled is None else 4 * kernel.spilled,
            scratch_bytes=kernel.scratch_bytes,
            shared_bytes=kernel.shared_bytes,
            max_workgroup=kernel.max_workgroup,
            argument_bytes=kernel.argument_bytes,
            code_bytes=functions[name].size if name in functions else None,
            arguments=_arguments(kernel, hidden=False),
            hidden_arguments=_arguments(kernel, hidden=True),
        )
        for name, kernel in image.kernels.items()
    }


def _arguments(kernel: Kernel, *, hidden: bool) -> list[dict[str, int | str]]:
    return [
        {"offset": parameter.offset, "size": parameter.size, "kind": parameter.kind}
        for parameter in kernel.parameters
        if parameter.hidden == hidden
    ]


def _number(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    return int(found[1]) if found else None


def instructions(image: Path, tools: Path) -> dict[str, list[str]]:
    """The instructions of an AMD code object, operands included, by function."""
    return disassembly(_output([str(tools / "llvm-objdump"), "-d", "--no-show-raw-insn", str(image)]))


def disassembly(text: str) -> dict[str, list[str]]:
    """The instructions in what ``llvm-objdump -d`` prints, by function."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if label := re.fullmatch(r"[0-9a-f]+ <([^>]+)>:", line):
            lines = found.setdefault(label[1], [])
        elif line.startswith("\t") and (instruction := line.partition("//")[0].strip()):
            lines.append(instruction)
    return found


def calls(code: Sequence[str]) -> list[str]:
    """The instructions that jump to what a register holds: calls, and returns of functions that are called."""
    return [line for line in code if line.split()[0] in ("s_swappc_b64", "s_setpc_b64", "s_call_b64")]


def atomics(code: Sequence[str]) -> list[str]:
    """The names of the atomic operations on memory, without repetition."""
    return sorted({name for line in code if "_atomic_" in (name := line.split()[0])})


def problems(image: Path, tools: Path, *, atomic_addition: bool = False, scratch: bool = False) -> list[str]:
    """What is wrong with the code of an AMD code object; an empty list if nothing is.

    atomic_addition: whether its kernels add to memory atomically; the hardware's own instruction has to do that.
    scratch: whether scratch memory is allowed.
    """
    read = CodeObject(image)
    code = instructions(image, tools)
    found = [f"{name} is not defined" for name in read.undefined]
    if read.relocations:
        found.append(f"{read.relocations} relocations are left")
    for name, kernel in read.kernels.items():
        if kernel.scratch_bytes and not scratch:
            found.append(f"{name} uses {kernel.scratch_bytes} bytes of scratch memory")
    for name, lines in code.items():
        found += [f"{name} has a call: {line}" for line in calls(lines)]
        found += [f"{name} compares and swaps: {operation}" for operation in atomics(lines) if "cmpswap" in operation]
    if atomic_addition and not any("global_atomic_add_f64" in atomics(lines) for lines in code.values()):
        found.append("there is no global_atomic_add_f64")
    return found


def abi_problems(image: CodeObject, words: Mapping[str, int], blocks: Iterable[int]) -> list[str]:
    """Where the kernels of an AMD code object are not as the host side launches them; an empty list if nowhere.

    words: by entry, how many words its launches pass beside those that all do. blocks: threads of a workgroup.
    """
    found: list[str] = []
    threads = max(blocks)
    for entry, own in words.items():
        kernel = image.kernels.get(entry)
        if kernel is None:
            found.append(f"there is no kernel {entry}; there is {', '.join(image.kernels) or 'none'}")
            continue
        count = own + OTHER_WORDS
        places = [(parameter.offset, parameter.size) for parameter in kernel.explicit]
        if places != [(WORD * index, WORD) for index in range(count)]:
            found.append(f"{entry} should take {count} arguments of {WORD} bytes each, not (offset, size) {places}")
        size = max((parameter.offset + parameter.size for parameter in kernel.parameters), default=0)
        if not size <= kernel.argument_bytes < size + WORD:
            found.append(f"{entry} has {kernel.argument_bytes} bytes of arguments, not {size}")
        if kernel.max_workgroup < threads:
            found.append(f"{entry} allows {kernel.max_workgroup} threads, not {threads}")
        if kernel.shared_bytes > SHARED_BYTES:
            found.append(f"{entry} uses {kernel.shared_bytes} bytes of shared memory; there are {SHARED_BYTES}")
    return found
