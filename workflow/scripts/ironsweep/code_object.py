"""Reads ELF files, and the code objects of AMD GPUs among them: segments, symbols, kernels and their arguments.

Format: the LLVM project's "User Guide for AMDGPU Backend". Standard library only.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ironsweep.errors import UserError

_LOADED = 1
_NOTES = 4
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
_RELOCATIONS = (4, 9)  # SHT_RELA, SHT_REL
_AMDGPU = 224
_METADATA_NOTE = 32  # NT_AMDGPU_METADATA
_FUNCTION = 2


@dataclass(frozen=True)
class Segment:
    """A part of the file that is loaded to memory; what it has more in memory than in the file is zero."""

    address: int
    memory_size: int
    content: bytes


@dataclass(frozen=True)
class Symbol:
    """A name, and where it is."""

    name: str
    address: int
    size: int
    function: bool
    defined: bool


@dataclass(frozen=True)
class Parameter:
    """An argument of a kernel in its argument segment."""

    offset: int
    size: int
    kind: str
    """``value_kind`` of the metadata: `by_value`, `global_buffer`; `hidden_...`: what the runtime adds by itself."""

    @property
    def hidden(self) -> bool:
        """Whether the runtime adds it, rather than who launches the kernel."""
        return self.kind.startswith("hidden_")


@dataclass(frozen=True)
class Kernel:
    """A kernel of an AMD code object, from its metadata. Sizes are in bytes, those of registers in registers."""

    name: str
    descriptor: str
    """Name of the symbol of the kernel descriptor."""
    parameters: tuple[Parameter, ...]
    argument_bytes: int
    shared_bytes: int
    scratch_bytes: int
    max_workgroup: int
    vgprs: int
    sgprs: int
    spilled: int | None
    """Registers, of both kinds; None if the metadata do not tell."""

    @property
    def explicit(self) -> list[Parameter]:
        """The arguments that a launch passes."""
        return [parameter for parameter in self.parameters if not parameter.hidden]


class Elf:
    """A 64-bit little-endian ELF file."""

    def __init__(self, path: Path) -> None:
        """Read a file."""
        self.path = path
        try:
            self._data = path.read_bytes()
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from error
        if self._data[:6] != b"\x7fELF\x02\x01":
            raise UserError(f"{path} is not a 64-bit ELF file")
        try:
            self._read()
        except (struct.error, IndexError, ArithmeticError, ValueError) as error:
            raise UserError(f"{path} is damaged: {error}") from error

    def _read(self) -> None:
        self.machine = struct.unpack_from("<H", self._data, 18)[0]
        segments, sections = struct.unpack_from("<QQ", self._data, 32)
        segment_size, segment_count, section_size, section_count, names = struct.unpack_from("<5H", self._data, 54)
        self.segments: list[Segment] = []
        self._notes: list[bytes] = []
        for at in range(segments, segments + segment_count * segment_size, segment_size):
            kind, _, offset, address, _, size, memory_size = struct.unpack_from("<IIQQQQQ", self._data, at)
            if kind == _LOADED:
                self.segments.append(Segment(address, memory_size, self._content(offset, size)))
            elif kind == _NOTES:
                self._notes.append(self._content(offset, size))
        headers = [
            struct.unpack_from("<IIQQQQIIQQ", self._data, at)
            for at in range(sections, sections + section_count * section_size, section_size)
        ]
        self.section_sizes = {
            self._name(headers[names][4], name): size for name, _, _, _, _, size, _, _, _, _ in headers
        }
        self.relocations = sum(size // entry for _, kind, *_, size, _, _, _, entry in headers if kind in _RELOCATIONS)
        self.symbols: dict[str, Symbol] = {}
        for _, kind, _, _, offset, size, link, _, _, entry in headers:
            if kind in _SYMBOL_TABLES:
                for at in range(offset, offset + size, entry):
                    self._read_symbol(at, headers[link][4])

    def _read_symbol(self, at: int, strings: int) -> None:
        start, info, _, section, address, size = struct.unpack_from("<IBBHQQ", self._data, at)
        if name := self._name(strings, start):
            self.symbols[name] = Symbol(name, address, size, info & 15 == _FUNCTION, section != 0)

    def _content(self, offset: int, size: int) -> bytes:
        content = self._data[offset : offset + size]
        if len(content) != size:
            raise ValueError("it is too short")
        return content

    def _name(self, strings: int, start: int) -> str:
        begin = strings + start
        return self._data[begin : self._data.index(b"\0", begin)].decode()

    @property
    def functions(self) -> dict[str, Symbol]:
        """The functions that the file defines."""
        return {name: symbol for name, symbol in self.symbols.items() if symbol.function and symbol.defined}

    @property
    def undefined(self) -> list[str]:
        """Names that another file would have to define."""
        return sorted(name for name, symbol in self.symbols.items() if not symbol.defined)


class CodeObject(Elf):
    """A code object for an AMD GPU."""

    def __init__(self, path: Path) -> None:
        """Read a file."""
        super().__init__(path)
        if self.machine != _AMDGPU:
            raise UserError(f"{path} is no code object of an AMD GPU")

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What the compiler notes about the code object."""
        for notes in self._notes:
            at = 0
            while at + 12 <= len(notes):
                name_size, size, kind = struct.unpack_from("<III", notes, at)
                name = notes[at + 12 : at + 12 + name_size].rstrip(b"\0")
                start = at + 12 + (name_size + 3) // 4 * 4
                if name == b"AMDGPU" and kind == _METADATA_NOTE:
                    found = unpack(notes[start : start + size])
                    if isinstance(found, dict):
                        return found
                at = start + (size + 3) // 4 * 4
        raise UserError(f"{self.path} has no metadata of an AMD code object")

    @property
    def arch(self) -> str:
        """The architecture, for example `gfx90a`."""
        return str(self.metadata.get("amdhsa.target", "")).partition(":")[0].rpartition("-")[2]

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels by name."""
        try:
            return {kernel.name: kernel for kernel in map(_kernel, self.metadata.get("amdhsa.kernels", []))}
        except KeyError as error:
            raise UserError(f"{self.path}: the metadata of a kernel lack {error}") from error


def _kernel(data: dict[str, Any]) -> Kernel:
    spilled = [count for key in (".vgpr_spill_count", ".sgpr_spill_count") if (count := data.get(key)) is not None]
    return Kernel(
        name=data[".name"],
        descriptor=data[".symbol"],
        parameters=tuple(Parameter(p[".offset"], p[".size"], p[".value_kind"]) for p in data.get(".args", [])),
        argument_bytes=data[".kernarg_segment_size"],
        shared_bytes=data[".group_segment_fixed_size"],
        scratch_bytes=data[".private_segment_fixed_size"],
        max_workgroup=data[".max_flat_workgroup_size"],
        vgprs=data[".vgpr_count"],
        sgprs=data[".sgpr_count"],
        spilled=sum(spilled) if spilled else None,
    )


def unpack(data: bytes) -> Any:
    """The value that a MessagePack text holds."""
    try:
        return _unpack(data, 0)[0]
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise UserError(f"damaged metadata: {error}") from error


# First byte: (format of a number in struct's language) and (that of a length) by kind.
_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_SIMPLE = {0xC0: None, 0xC2: False, 0xC3: True}
_BINARY = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}
_TEXTS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_LISTS = {0xDC: ">H", 0xDD: ">I"}
_MAPS = {0xDE: ">H", 0xDF: ">I"}


def _unpack(data: bytes, at: int) -> tuple[Any, int]:
    """The value that starts at a position, and where the next one does."""
    first = data[at]
    at += 1
    if first < 0x80:
        return first, at
    if first >= 0xE0:
        return first - 0x100, at
    if first in _SIMPLE:
        return _SIMPLE[first], at
    if first in _NUMBERS:
        return struct.unpack_from(_NUMBERS[first], data, at)[0], at + struct.calcsize(_NUMBERS[first])
    if first < 0x90:
        return _unpack_map(data, at, first & 15)
    if first < 0xA0:
        return _unpack_list(data, at, first & 15)
    if first < 0xC0:
        return _part(data, at, first & 31).decode(), at + (first & 31)
    for kind in (_BINARY, _TEXTS, _LISTS, _MAPS):
        if first in kind:
            (length,) = struct.unpack_from(kind[first], data, at)
            at += struct.calcsize(kind[first])
            if kind is _MAPS:
                return _unpack_map(data, at, length)
            if kind is _LISTS:
                return _unpack_list(data, at, length)
            content = _part(data, at, length)
            return content.decode() if kind is _TEXTS else content, at + length
    raise UserError(f"damaged metadata: byte {first:#x}")


def _part(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise IndexError("it ends too early")
    return data[at : at + length]


def _unpack_list(data: bytes, at: int, length: int) -> tuple[list[Any], int]:
    values = []
    for _ in range(length):
        value, at = _unpack(data, at)
        values.append(value)
    return values, at


def _unpack_map(data: bytes, at: int, length: int) -> tuple[dict[Any, Any], int]:
    values = {}
    for _ in range(length):
        key, at = _unpack(data, at)
        values[key], at = _unpack(data, at)
    return values, at
