"""The code of Peak_FMA: fused multiply-adds in each tuning, in registers, and next to nothing else in the loop.

A peak is one only if this is so. No GPU is needed: all is read from what was built. Of NVIDIA's code this is PTX; the
CUDA baseline has none that could be read without a CUDA toolkit.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ironsweep.attempt import read_note

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
OBJDUMP = RESULTS / "toolchain/bin/llvm-objdump"
CHAINS = 32
LABEL = re.compile(r"(?:[0-9a-f]+ )?<?(?P<name>L\d+|\$L__BB\w+)>?:.*")
TARGET = re.compile(r"<?(?P<name>L\d+|\$L__BB\w+)>?;?")
MULTIPLY_ADD = re.compile(r"v_fmac?_f64(_e\d+)?|vfn?madd\d+[ps]d|fma\.rn\.f64")
# What else computes with doubles: it would have to be counted, and would take the place of a multiply-add.
OTHER_ARITHMETIC = re.compile(r"v_(add|mul)_f64\w*|v(add|sub|mul)[ps]d|(add|sub|mul)(\.rn)?\.f64")


def built(pattern: str) -> Any:
    """The files that were built, each one a test of its own."""
    files = sorted(RESULTS.glob(pattern))
    missing = pytest.param(None, marks=pytest.mark.skip(reason=f"results has no {pattern}: make run"))
    return pytest.mark.parametrize("file", [pytest.param(file, id=file.name) for file in files] or [missing])


def require(file: Path) -> None:
    """Fail if something was not built, unless the tools for it are missing."""
    note = read_note(file)
    if note and note.status == "unsupported":
        pytest.skip(note.reason)
    assert note is None, f"{file}: {note and note.reason}"


def require_fused_operations() -> None:
    """Skip if the host's code is for processors that do not all have them: then it calls a library."""
    module = RESULTS / "build/optimised/Peak_FMA/host-safe.ll"
    if '"target-cpu"="x86-64-v2"' in module.read_text(encoding="utf-8"):
        pytest.skip("built for processors without fused multiply-add")


def disassembled(file: Path) -> list[str]:
    """The code of an object, with its labels."""
    command = [OBJDUMP, "-d", "--no-show-raw-insn", "--no-leading-addr", "--symbolize-operands", file]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def instructions(lines: list[str]) -> list[str]:
    """Without labels, comments, directives and predicates."""
    code = (re.sub(r"//.*|#.*|@!?%p\d+", "", line).strip() for line in lines if not LABEL.fullmatch(line.strip()))
    return [line for line in code if line and not line.startswith(".")]


def multiply_adds(code: list[str]) -> int:
    """How many numbers are multiplied and added: a vector of the host has several."""
    fused = [line for line in code if MULTIPLY_ADD.fullmatch(line.split()[0])]
    lanes = {"zmm": 8, "ymm": 4, "xmm": 2}
    return sum(
        next((count for name, count in lanes.items() if name in line), 1) if line.split()[0].endswith("pd") else 1
        for line in fused
    )


def hot_loop(lines: list[str]) -> list[str]:
    """The instructions of the loop with the most multiply-adds, without loops around it."""
    labels: dict[str, int] = {}
    found: list[list[str]] = []
    for number, line in enumerate(lines):
        if label := LABEL.fullmatch(line.strip()):
            labels[label["name"]] = number
        elif (words := line.partition("//")[0].split()) and (target := TARGET.fullmatch(words[-1])):
            start = labels.get(target["name"])
            body = lines[start:number] if start is not None else []
            if body and not any(LABEL.fullmatch(inner.strip()) for inner in body[1:]):
                found.append(instructions([*body, line]))
    assert found, "there is no loop"
    return max(found, key=multiply_adds)


def check(lines: list[str], most_others: float) -> list[str]:
    """Look at all code of a kernel, and return its loop.

    most_others: how many other instructions the loop may have, for each fused multiply-add instruction.
    """
    code = instructions(lines)
    loop = hot_loop(lines)
    steps = multiply_adds(loop)
    fused = sum(1 for line in loop if MULTIPLY_ADD.fullmatch(line.split()[0]))
    assert steps >= CHAINS and steps % CHAINS == 0
    assert multiply_adds(code) - steps == CHAINS - 1
    assert len(loop) - fused <= most_others * fused, loop
    assert not [line for line in code if OTHER_ARITHMETIC.fullmatch(line.split()[0])]
    return loop


@built("build/assembly/Peak_FMA/sm_*.ptx")
def test_nvidia(file: Path) -> None:
    require(file)
    # ptxas unrolls the loop further.
    check(file.read_text(encoding="utf-8").splitlines(), 1 / 16)


def check_amd(file: Path) -> None:
    """A wave's other vector instructions take a multiply-add's place; scalar ones have their own unit."""
    loop = check(disassembled(file), 1 / 16)
    vector = [line for line in loop if not line.startswith("s_")]
    others = [line for line in vector if not MULTIPLY_ADD.fullmatch(line.split()[0])]
    assert len(others) <= len(vector) / 64, others


@built("bin/Peak_FMA/images/gfx*.img")
def test_amd(file: Path) -> None:
    require(file)
    check_amd(file)


@built("bin/Peak_FMA/baselines/hip-*.so")
def test_hip(file: Path, tmp_path: Path) -> None:
    require(file)
    library = tmp_path / file.name
    library.write_bytes(file.read_bytes())
    subprocess.run([OBJDUMP, "--offloading", library.name], cwd=tmp_path, capture_output=True, check=True)
    objects = sorted(tmp_path.glob("*amdgcn*"))
    assert objects
    for each in objects:
        check_amd(each)


def check_host(file: Path) -> None:
    """All chains of an element are in registers."""
    loop = check(disassembled(file), 1 / 4)
    assert not [line for line in loop if "(%" in line]


@built("bin/Peak_FMA/images/host-*.img")
def test_host(file: Path) -> None:
    require(file)
    require_fused_operations()
    check_host(file)


@built("bin/Peak_FMA/baselines/cpp_*.so")
def test_cpp(file: Path) -> None:
    require(file)
    require_fused_operations()
    check_host(file)


@built("codegen/Peak_FMA/*.json")
def test_nothing_is_spilled(file: Path) -> None:
    report = json.loads(file.read_text(encoding="utf-8"))
    if report["status"] == "unsupported":
        pytest.skip(report["reason"])
    for entry in report["entries"].values():
        assert not entry["spill_stores_bytes"] and not entry["spill_loads_bytes"] and not entry["scratch_bytes"]


def test_a_loop_is_found_and_other_arithmetic_is_noticed() -> None:
    fma = ["\tfma.rn.f64 \t%d1, %d1, %d2, %d3;"] * CHAINS
    loop = ["$L__BB0_1:", *fma, "\t@%p1 bra \t$L__BB0_1;", *fma[1:]]
    assert len(check(loop, 1 / 32)) == CHAINS + 1
    for wrong in (
        [*loop, "\tadd.rn.f64 \t%d1, %d1, %d2;"],
        [loop[0], "\tmov.b64 \t%d1, %d2;", *loop[1:]],
        [*loop, fma[0]],
        [loop[0], *loop[2:]],
    ):
        with pytest.raises(AssertionError):
            check(wrong, 1 / 32)
