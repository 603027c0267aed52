"""Makes code objects of AMD GPUs that hold what the tests need: metadata, descriptors, and hardly any code."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ARGUMENT = {".size": 8, ".value_kind": "by_value"}
END_OF_PROGRAM = struct.pack("<I", 0xBF810000)
DESCRIPTOR_PROPERTIES = 0b1010  # dispatch packet and argument segment
RESOURCES = 4 << 1 | 1 << 7 | 1 << 8 | 1 << 9  # 4 user registers, workgroup's place in x, y, z


def pack(value: Any) -> bytes:
    """A value as MessagePack."""
    if isinstance(value, Mapping):
        items = b"".join(pack(key) + pack(item) for key, item in value.items())
        return (bytes([0x80 + len(value)]) if len(value) < 16 else struct.pack(">BH", 0xDE, len(value))) + items
    if isinstance(value, str):
        text = value.encode()
        return (bytes([0xA0 + len(text)]) if len(text) < 32 else struct.pack(">BB", 0xD9, len(text))) + text
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return bytes([value]) if value < 128 else struct.pack(">BI", 0xCE, value)
    items = b"".join(map(pack, value))
    return (bytes([0x90 + len(value)]) if len(value) < 16 else struct.pack(">BH", 0xDC, len(value))) + items


def arguments(count: int) -> list[dict[str, Any]]:
    """The metadata of so many arguments of 8 bytes."""
    return [{".offset": 8 * index, **ARGUMENT} for index in range(count)]


def metadata(name: str, args: Sequence[Mapping[str, Any]], **changes: Any) -> dict[str, Any]:
    """The metadata of a kernel. changes: of numbers, by name without the dot in front."""
    numbers = {
        "kernarg_segment_size": sum(argument[".size"] for argument in args),
        "group_segment_fixed_size": 0,
        "private_segment_fixed_size": 0,
        "max_flat_workgroup_size": 1024,
        "vgpr_count": 12,
        "sgpr_count": 20,
        "vgpr_spill_count": 0,
        "sgpr_spill_count": 0,
    }
    named = {f".{key}": value for key, value in (numbers | changes).items()}
    return {".name": name, ".symbol": f"{name}.kd", ".args": list(args), **named}


def write(
    path: Path, kernels: Sequence[Mapping[str, Any]], arch: str = "gfx90a", undefined: Sequence[str] = ()
) -> Path:
    """Write a code object with these kernels, each of which ends at once."""
    target = f"amdgcn-amd-amdhsa--{arch}"
    described = pack({"amdhsa.kernels": list(kernels), "amdhsa.target": target, "amdhsa.version": [1, 2]})
    note = struct.pack("<III", 7, len(described), 32) + b"AMDGPU\0\0" + described
    note += bytes(-len(note) % 64)
    names = [str(kernel[".name"]) for kernel in kernels]
    note_at = 64 + 2 * 56
    descriptors_at = -(-(note_at + len(note)) // 64) * 64
    code_at = descriptors_at + 64 * len(names)
    body = bytearray(code_at + 64 * len(names))
    body[note_at : note_at + len(note)] = note
    strings = b"\0"
    symbols = bytes(24)

    def add(name: str, kind: int, section: int, address: int, size: int) -> None:
        nonlocal strings, symbols
        symbols += struct.pack("<IBBHQQ", len(strings), 16 + kind, 0, section, address, size)
        strings += name.encode() + b"\0"

    for index, (name, kernel) in enumerate(zip(names, kernels, strict=True)):
        descriptor, code = descriptors_at + 64 * index, code_at + 64 * index
        sizes = (kernel[".group_segment_fixed_size"], kernel[".private_segment_fixed_size"])
        struct.pack_into("<IIII", body, descriptor, *sizes, kernel[".kernarg_segment_size"], 0)
        struct.pack_into("<q", body, descriptor + 16, code - descriptor)
        struct.pack_into("<IIIH", body, descriptor + 44, 0, 0, RESOURCES, DESCRIPTOR_PROPERTIES)
        body[code : code + 4] = END_OF_PROGRAM
        add(name, 2, 3, code, 4)
        add(f"{name}.kd", 1, 3, descriptor, 64)
    for name in undefined:
        add(name, 0, 0, 0, 0)
    section_names = b"\0.dynsym\0.dynstr\0.text\0"
    symbols_at = len(body)
    strings_at = symbols_at + len(symbols)
    names_at = strings_at + len(strings)
    sections_at = names_at + len(section_names)
    sections = [
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (1, 11, 2, 0, symbols_at, len(symbols), 2, 1, 8, 24),
        (9, 3, 2, 0, strings_at, len(strings), 0, 0, 1, 0),
        (17, 1, 6, code_at, code_at, len(body) - code_at, 0, 0, 64, 0),
        (0, 3, 0, 0, names_at, len(section_names), 0, 0, 1, 0),
    ]
    struct.pack_into(
        "<16sHHIQQQIHHHHHH", body, 0, b"\x7fELF\x02\x01\x01\x40", 3, 224, 1, 0, 64, sections_at, 0, 64, 56, 2, 64, 5, 4
    )
    struct.pack_into("<IIQQQQQQ", body, 64, 1, 5, 0, 0, 0, len(body), len(body), 4096)
    struct.pack_into("<IIQQQQQQ", body, 120, 4, 4, note_at, note_at, note_at, len(note), len(note), 4)
    table = b"".join(struct.pack("<IIQQQQIIQQ", *section) for section in sections)
    path.write_bytes(bytes(body) + symbols + strings + section_names + table)
    return path
