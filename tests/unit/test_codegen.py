"""What the vendors' tools print of an image, and what is read out of it."""

from __future__ import annotations

from pathlib import Path

from ironsweep.attempt import Note, write_note
from ironsweep.codegen import amd_usage, nvidia_usage, report, section_size, symbol_size

PTXAS = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'algorithm_reduce_sum' for 'sm_90'
ptxas info    : Function properties for algorithm_reduce_sum
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 8192 bytes smem
"""

NOTES = """\
    .group_segment_fixed_size: 8192
    .kernarg_segment_size: 64
    .private_segment_fixed_size: 0
    .sgpr_count:     20
    .sgpr_spill_count: 0
    .vgpr_count:     12
    .vgpr_spill_count: 3
"""

SECTIONS = """\
  [Nr] Name              Type            Address          Off    Size   ES Flg Lk Inf Al
  [11] .text.stream_triad PROGBITS        0000000000000000 000480 000200 00  AX  3  14 128
"""

SYMBOLS = """\
   Num:    Value          Size Type    Bind   Vis       Ndx Name
     1: 0000000000001900   256 FUNC    GLOBAL PROTECTED   7 stream_triad
     2: 0000000000000640    64 OBJECT  GLOBAL PROTECTED   6 stream_triad.kd
"""


def test_ptxas_report() -> None:
    assert nvidia_usage(PTXAS) == {
        "registers": 24,
        "spill_stores_bytes": 8,
        "spill_loads_bytes": 12,
        "scratch_bytes": 16,
        "shared_bytes": 8192,
    }


def test_kernel_without_shared_memory_uses_none() -> None:
    assert nvidia_usage("ptxas info    : Used 14 registers, used 0 barriers")["shared_bytes"] == 0


def test_amd_metadata() -> None:
    assert amd_usage(NOTES) == {
        "vgprs": 12,
        "sgprs": 20,
        "spill_stores_bytes": 12,
        "scratch_bytes": 0,
        "shared_bytes": 8192,
    }


def test_code_sizes() -> None:
    assert section_size(SECTIONS, ".text.stream_triad") == 0x200
    assert section_size(SECTIONS, ".text.triad") is None
    assert symbol_size(SYMBOLS, "stream_triad") == 256
    assert symbol_size(SYMBOLS, "triad") is None


def test_an_image_that_was_not_built_says_why(tmp_path: Path) -> None:
    image = tmp_path / "sm_90.img"
    write_note(Note("unsupported", "nvidia_image", "ptxas: not found"), [image])
    row = report("Stream_TRIAD", "stream_triad", "sm_90", image, None, tmp_path)
    assert (row["status"], row["reason"], row["registers"]) == ("unsupported", "ptxas: not found", None)
