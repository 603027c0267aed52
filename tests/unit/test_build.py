"""Flags, targets and libraries of the build rules."""

from __future__ import annotations

import pytest

from ironsweep import build

ARCHS = {"host": ["host"], "nvidia": ["sm_80", "sm_90"], "amd": ["gfx90a"]}


@pytest.mark.parametrize(
    ("arch", "vendor", "target"),
    [
        ("sm_90", "nvidia", "nvptx64-nvidia-cuda"),
        ("gfx942", "amd", "amdgcn-amd-amdhsa"),
        ("host", "host", "x86_64-unknown-linux-gnu"),
    ],
)
def test_an_architecture_names_its_vendor_and_target(arch: str, vendor: str, target: str) -> None:
    assert (build.vendor(arch), build.target(arch)) == (vendor, target)


def test_a_gpu_is_compiled_for_with_its_own_core() -> None:
    assert build.core_libraries("host") == []
    assert all("/sm_90/" in library for library in build.core_libraries("sm_90"))
    assert build.target_flags("gfx90a", "x86-64-v3").endswith("--sysroot results/build/core/gfx90a")
    assert build.target_flags("host", "x86-64-v2") == "-Ctarget-cpu=x86-64-v2"


def test_amd_libraries_belong_to_the_architecture() -> None:
    assert "@device_libs@/oclc_isa_version_90a.bc" in build.amd_libraries("gfx90a")


def test_baselines_are_compiled_for_every_architecture_and_contract_nothing() -> None:
    made = build.baselines(ARCHS, "x86-64-v3")
    assert "code=sm_80" in made["cuda"].compile and "code=sm_90" in made["cuda"].compile
    assert "--offload-arch=gfx90a" in made["hip"].compile
    assert "-fmad=false" in made["cuda"].compile
    assert all("-ffp-contract=off" in made[name].compile for name in ("cpp_seq", "cpp_openmp", "hip"))
    assert "openmp" not in made["cpp_seq"].compile and "-fopenmp" in made["cpp_openmp"].compile


def test_kernels_are_compiled_without_unsafe() -> None:
    assert "-Funsafe_code" in build.KERNEL
    assert build.KERNEL in build.DEVICE_KERNEL
