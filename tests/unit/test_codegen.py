"""What the vendors' tools print of an image, and what is read out of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import fake_code_object
from ironsweep import codegen
from ironsweep.attempt import Note, write_note
from ironsweep.code_object import CodeObject, Elf, unpack
from ironsweep.codegen import NUMBERS, Report, report
from ironsweep.errors import UserError

PTXAS = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'apps_energy_2' for 'sm_90'
ptxas info    : Function properties for apps_energy_2
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 0 barriers
ptxas info    : Compile time = 15.388 ms
ptxas info    : Compiling entry function 'apps_energy_1' for 'sm_90'
ptxas info    : Function properties for apps_energy_1
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 8192 bytes smem
ptxas info    : Compile time = 15.388 ms
"""

PTX = """\
.version 7.8
.target sm_90
.visible .entry apps_energy_1(
	.param .u64 .ptr .align 1 apps_energy_1_param_0,
	.param .u32 apps_energy_1_param_1,
	.param .f64 apps_energy_1_param_2
)
{
	ret;
}
.visible .entry apps_energy_2(
	.param .u64 .ptr .align 1 apps_energy_2_param_0,
	.param .align 8 .b8 apps_energy_2_param_1[24]
)
.maxntid 64, 2
{
	ret;
}
"""

DISASSEMBLY = """\

image:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001700 <one>:
	s_load_dwordx4 s[0:3], s[4:5], 0x28                        // 000000001700: C00A0002 00000028
	global_atomic_add_f64 v0, v[2:3], s[0:1]
	global_atomic_add_f64 v0, v[4:5], s[0:1]
	s_endpgm

0000000000001800 <two>:
	global_atomic_cmpswap_x2 v[0:1], v2, v[4:7], s[0:1] glc
	s_swappc_b64 s[30:31], s[0:1]
	s_endpgm
"""


def test_ptxas_reports_each_kernel() -> None:
    usage = codegen.nvidia_usage(PTXAS)
    assert list(usage) == ["apps_energy_2", "apps_energy_1"]
    assert usage["apps_energy_1"] == {
        "registers": 24,
        "spill_stores_bytes": 8,
        "spill_loads_bytes": 12,
        "scratch_bytes": 16,
        "shared_bytes": 8192,
    }
    assert (usage["apps_energy_2"]["registers"], usage["apps_energy_2"]["shared_bytes"]) == (14, 0)


def test_ptx_signatures() -> None:
    assert codegen.nvidia_signatures(PTX) == {
        "apps_energy_1": {"argument_bytes": 24, "max_workgroup": 1024},
        "apps_energy_2": {"argument_bytes": 32, "max_workgroup": 128},
    }


def energy(path: Path, **changes: int) -> Path:
    """An AMD image with two kernels of one file and one of another."""
    hidden = {".offset": 16, ".size": 4, ".value_kind": "hidden_block_count_x"}
    kernels = [
        fake_code_object.metadata("apps_energy_1", fake_code_object.arguments(2), vgpr_spill_count=3, **changes),
        fake_code_object.metadata("apps_energy_2", [*fake_code_object.arguments(2), hidden]),
        fake_code_object.metadata("other", fake_code_object.arguments(1)),
    ]
    return fake_code_object.write(path, kernels)


def of(image: Path, arch: str = "gfx90a", stem: str = "apps_energy", tools: Path = Path("nowhere")) -> Report:
    return report("Apps_ENERGY", arch, "safe", "strict", stem=stem, image=image, assembly=None, tools=tools)


def test_amd_image_reports_the_kernels_of_its_file(tmp_path: Path) -> None:
    row = of(energy(tmp_path / "image", group_segment_fixed_size=8192))
    assert (row["kernel"], row["arch"], row["safety"], row["contraction"]) == (
        "Apps_ENERGY",
        "gfx90a",
        "safe",
        "strict",
    )
    assert (row["status"], row["reason"]) == ("ok", "")
    assert list(row["entries"]) == ["apps_energy_1", "apps_energy_2"]
    assert row["entries"]["apps_energy_1"] == {
        "registers": None,
        "vgprs": 12,
        "sgprs": 20,
        "spill_stores_bytes": 12,
        "spill_loads_bytes": None,
        "scratch_bytes": 0,
        "shared_bytes": 8192,
        "max_workgroup": 1024,
        "argument_bytes": 16,
        "code_bytes": 4,
        "arguments": [{"offset": 0, "size": 8, "kind": "by_value"}, {"offset": 8, "size": 8, "kind": "by_value"}],
        "hidden_arguments": [],
    }
    assert row["entries"]["apps_energy_2"]["hidden_arguments"] == [
        {"offset": 16, "size": 4, "kind": "hidden_block_count_x"}
    ]
    assert len(row["entries"]["apps_energy_2"]["arguments"]) == 2


def test_host_image_has_code_sizes_only(tmp_path: Path) -> None:
    row = of(energy(tmp_path / "image"), arch="host")
    entry = row["entries"]["apps_energy_1"]
    assert {number: entry[number] for number in NUMBERS} == dict.fromkeys(NUMBERS) | {"code_bytes": 4}


def test_image_without_the_kernel_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no kernel whose name begins with stream_triad; it has apps_energy_1, "):
        of(energy(tmp_path / "image"), stem="stream_triad")


def test_an_image_that_was_not_built_says_why(tmp_path: Path) -> None:
    image = tmp_path / "sm_90.img"
    write_note(Note("unsupported", "nvidia_image", "ptxas: not found"), [image])
    row = of(image, arch="sm_90")
    assert (row["status"], row["reason"], row["entries"]) == ("unsupported", "ptxas: not found", {})


def test_the_program_writes_the_report(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    script = Path(codegen.__file__).parents[1] / "codegen.py"
    named = {
        "kernel": "Apps_ENERGY",
        "arch": "gfx90a",
        "safety": "safe",
        "contraction": "strict",
        "stem": "apps_energy",
        "image": energy(tmp_path / "image"),
        "tools": tmp_path,
        "out": out,
    }
    words = [str(word) for name, value in named.items() for word in (f"--{name}", value)]
    subprocess.run([sys.executable, script, *words, "--assembly"], check=True)
    assert json.loads(out.read_text()) == of(tmp_path / "image")


def test_disassembly_is_taken_apart() -> None:
    code = codegen.disassembly(DISASSEMBLY)
    assert list(code) == ["one", "two"]
    assert code["one"][0] == "s_load_dwordx4 s[0:3], s[4:5], 0x28"
    assert (codegen.atomics(code["one"]), codegen.calls(code["one"])) == (["global_atomic_add_f64"], [])
    assert codegen.atomics(code["two"]) == ["global_atomic_cmpswap_x2"]
    assert codegen.calls(code["two"]) == ["s_swappc_b64 s[30:31], s[0:1]"]


def objdump(folder: Path, text: str) -> Path:
    """A folder with an llvm-objdump that prints the text."""
    (folder / "text").write_text(text)
    tool = folder / "llvm-objdump"
    tool.write_text(f"#!/bin/sh\ncat {folder}/text\n")
    tool.chmod(0o755)
    return folder


def test_problems_of_code(tmp_path: Path) -> None:
    kernels = [
        fake_code_object.metadata("one", [], private_segment_fixed_size=16),
        fake_code_object.metadata("two", []),
    ]
    image = fake_code_object.write(tmp_path / "image", kernels, undefined=["exp"])
    expected = [
        "exp is not defined",
        "one uses 16 bytes of scratch memory",
        "two has a call: s_swappc_b64 s[30:31], s[0:1]",
        "two compares and swaps: global_atomic_cmpswap_x2",
    ]
    tools = objdump(tmp_path, DISASSEMBLY)
    assert codegen.problems(image, tools, atomic_addition=True) == expected
    assert expected[1] not in codegen.problems(image, tools, scratch=True)
    objdump(tmp_path, DISASSEMBLY.replace("add_f64", "add_f32"))
    assert "there is no global_atomic_add_f64" in codegen.problems(image, tools, atomic_addition=True)


def test_kernels_that_are_not_as_the_host_launches_them(tmp_path: Path) -> None:
    wide = [*fake_code_object.arguments(6), {".offset": 48, ".size": 16, ".value_kind": "by_value"}]
    kernels = [
        fake_code_object.metadata("right", fake_code_object.arguments(9)),
        fake_code_object.metadata("short", fake_code_object.arguments(8)),
        fake_code_object.metadata("wide", wide),
        fake_code_object.metadata("padded", fake_code_object.arguments(6), kernarg_segment_size=64),
        fake_code_object.metadata("narrow", fake_code_object.arguments(6), max_flat_workgroup_size=256),
        fake_code_object.metadata("large", fake_code_object.arguments(6), group_segment_fixed_size=65544),
    ]
    image = CodeObject(fake_code_object.write(tmp_path / "image", kernels))

    def problems(entry: str, words: int, blocks: Sequence[int] = (64, 1024)) -> list[str]:
        return codegen.abi_problems(image, {entry: words}, blocks)

    assert problems("right", 3) == []
    assert problems("narrow", 0, [64, 256]) == []
    (short,) = problems("short", 3)
    assert short.startswith("short should take 9 arguments of 8 bytes each, not (offset, size) [(0, 8), (8, 8), ")
    assert "(48, 16)" in problems("wide", 1)[0]
    assert problems("padded", 0) == ["padded has 64 bytes of arguments, not 48"]
    assert problems("narrow", 0) == ["narrow allows 256 threads, not 1024"]
    assert problems("large", 0) == ["large uses 65544 bytes of shared memory; there are 65536"]
    assert problems("absent", 0) == ["there is no kernel absent; there is right, short, wide, padded, narrow, large"]


def test_code_object_knows_its_architecture(tmp_path: Path) -> None:
    image = CodeObject(fake_code_object.write(tmp_path / "image", [], arch="gfx942:sramecc+:xnack-"))
    assert (image.arch, image.kernels, image.undefined, image.relocations) == ("gfx942", {}, [], 0)


@pytest.mark.parametrize("size", [3, 70, 200, 900])
def test_damaged_images_are_the_users_errors(size: int, tmp_path: Path) -> None:
    image = energy(tmp_path / "image")
    image.write_bytes(image.read_bytes()[:size])
    with pytest.raises(UserError, match="image"):
        CodeObject(image)


def test_other_files_are_no_code_objects(tmp_path: Path) -> None:
    image = energy(tmp_path / "image")
    content = bytearray(image.read_bytes())
    content[18] = 62
    image.write_bytes(content)
    assert Elf(image).functions
    with pytest.raises(UserError, match="is no code object of an AMD GPU"):
        CodeObject(image)
    with pytest.raises(UserError, match="cannot read"):
        Elf(tmp_path / "absent")


def test_message_pack() -> None:
    value = {"a": [1, 200, True, False, "x" * 40], "b": {str(number): number for number in range(20)}}
    assert unpack(fake_code_object.pack(value)) == value
    assert unpack(b"\x94\xc0\xff\xd0\x80\xcb\x3f\xf8\0\0\0\0\0\0") == [None, -1, -128, 1.5]
    assert unpack(b"\xc4\x02ab") == b"ab"
    for damaged in (b"", b"\x92\x01", b"\xa5abc", b"\xc1"):
        with pytest.raises(UserError, match="damaged metadata"):
            unpack(damaged)
