"""What `snakemake doctor` says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ironsweep import doctor
from ironsweep.doctor import gpus_of
from ironsweep.toolchain import describe, enter, record, root, settings
from ironsweep.toolchain.record import Tool, Toolchain
from ironsweep.variants import DEVICES

DEBIAN = Path(__file__).parents[2] / "config/toolchains/debian.yaml"


def built(folder: Path, **tools: Tool) -> None:
    """Write a toolchain.json as if the toolchain were built."""
    names = (*describe.REQUIRED_TOOLS, *record.PLACES, "clang++")
    toolchain = Toolchain("debian", "two-pass", "bwrap", {}, {**dict.fromkeys(names, Tool("/x", "1.0")), **tools}, "0")
    (folder / doctor.DESCRIPTION).parent.mkdir(parents=True)
    (folder / doctor.DESCRIPTION).write_text(json.dumps(toolchain.as_json()))


def line(lines: list[str], name: str) -> str:
    """The text beside a name."""
    return next(text.strip().removeprefix(name).strip() for text in lines if text.strip().startswith(name + " "))


@pytest.fixture(autouse=True)
def _nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "gpus_of", lambda device: None)
    monkeypatch.setattr(root, "missing", lambda: None)


def test_without_a_toolchain_it_says_how_to_get_it(tmp_path: Path) -> None:
    lines = doctor.report(tmp_path, settings.read(DEBIAN))
    assert line(lines, "compilers") == "not built yet: make run"
    assert line(lines, "rust_offload on host") == "build: after `make run`; run: yes"
    assert line(lines, "hip on amd") == "build: after `make run`; run: no, no AMD GPU here"


def test_every_variant_has_its_line(tmp_path: Path) -> None:
    lines = doctor.report(tmp_path, settings.read(DEBIAN))
    assert (
        sum(" on " in text and "build:" in text for text in lines) == sum(map(len, DEVICES.values())) - 1
    )  # not the emulated one


def test_what_stops_the_toolchain_stops_the_variants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root, "missing", lambda: "install mmdebstrap")
    lines = doctor.report(tmp_path, settings.read(DEBIAN))
    assert line(lines, "root") == "cannot be made: install mmdebstrap"
    assert line(lines, "cpp_seq on host").startswith("build: no, install mmdebstrap")


def test_tools_have_their_version_or_the_reason(tmp_path: Path) -> None:
    built(tmp_path, rustc=Tool("/usr/bin/rustc", "1.97.1"), nvcc=Tool(missing="nvcc: no CUDA toolkit; load its module"))
    lines = doctor.report(tmp_path, settings.read(DEBIAN))
    assert line(lines, "rustc") == "1.97.1"
    assert line(lines, "nvcc") == "missing: no CUDA toolkit; load its module"
    assert line(lines, "cuda on nvidia") == "build: no, it needs nvcc; run: no, no NVIDIA GPU here"
    assert line(lines, "cpp_seq on host") == "build: yes; run: yes"


def test_tools_of_kind_path_are_looked_for_without_building_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    enter.write_executable(tmp_path / "bin/llc-22", "#!/bin/sh\necho LLVM version 22.1.8\n")
    built(tmp_path)  # of kind debian: it says nothing about this one
    wanted = settings.read(DEBIAN.with_name("path.yaml"))
    never = {**wanted.tools, "hipcc": settings.ToolSetting(("no-such-hipcc",))}
    lines = doctor.report(tmp_path, replace(wanted, tools=never))
    assert line(lines, "llc") == "22.1.8"
    assert line(lines, "hipcc").startswith("missing: no no-such-hipcc found; install it or load its module")
    assert line(lines, "hip on amd").startswith("build: no, it needs ")


def test_a_damaged_description_is_said(tmp_path: Path) -> None:
    (tmp_path / doctor.DESCRIPTION).parent.mkdir(parents=True)
    (tmp_path / doctor.DESCRIPTION).write_text("{")
    assert "damaged" in line(doctor.report(tmp_path, settings.read(DEBIAN)), "compilers")


def test_gpus_are_listed_with_their_driver(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    assert gpus_of("nvidia", root=tmp_path) is None
    (tmp_path / "dev/nvidia0").touch()
    assert gpus_of("nvidia", run=lambda command: "NVIDIA H200, 9.0, 580.1\n", root=tmp_path) == [
        "NVIDIA H200, sm_90, driver 580.1"
    ]
    assert gpus_of("nvidia", run=lambda command: None, root=tmp_path) == [
        "there is one, but nvidia-smi does not say which"
    ]
    (tmp_path / "dev/kfd").touch()
    assert gpus_of("amd", root=tmp_path) == ["of unknown architecture"]
