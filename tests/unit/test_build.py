"""Flags, targets and libraries of the build rules."""

from __future__ import annotations

import subprocess

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


@pytest.mark.parametrize("arch", ["host", "sm_90", "gfx90a"])
def test_a_device_is_compiled_for_with_its_own_core(arch: str) -> None:
    assert all(f"/{arch}/" in library for library in build.core_libraries(arch))
    assert build.target_flags(arch, "x86-64-v3").endswith(f"--sysroot results/build/core/{arch}")


def test_the_host_is_the_processor_that_the_configuration_names() -> None:
    assert "-Ctarget-cpu=znver4 " in build.target_flags("host", "znver4")
    assert (build.cpu("host", "znver4"), build.cpu("gfx90a", "znver4")) == ("znver4", "gfx90a")


def test_math_libraries_belong_to_the_architecture() -> None:
    assert "@device_libs@/oclc_isa_version_90a.bc" in build.math_libraries("gfx90a")
    assert build.math_libraries("sm_90") == ["@libdevice@"]
    assert build.math_libraries("host") == build.shims("host") == []
    assert [build.math_needs(arch) for arch in ("sm_90", "gfx90a", "host")] == ["libdevice", "device_libs", ""]


def test_baselines_are_compiled_for_every_architecture_and_contract_only_if_told() -> None:
    made = build.baselines(ARCHS, "x86-64-v3")
    assert "code=sm_80" in made["cuda"].compile and "code=sm_90" in made["cuda"].compile
    assert "--offload-arch=gfx90a" in made["hip"].compile
    assert made["cuda"].contraction == {"strict": "-fmad=false", "contract": "-fmad=true"}
    for name in ("cpp_seq", "cpp_openmp", "hip"):
        assert made[name].contraction == {"strict": "-ffp-contract=off", "contract": "-ffp-contract=fast"}
    assert all("-fPIC" in baseline.compile for baseline in made.values())
    assert "openmp" not in made["cpp_seq"].compile and "-fopenmp" in made["cpp_openmp"].compile


def test_kernels_are_compiled_without_unsafe() -> None:
    assert "-Funsafe_code" in build.KERNEL
    assert build.KERNEL in build.LAUNCHER
    assert all(build.KERNEL in build.device_kernel(arch) for arch in ("host", "sm_90"))
    assert "abi_gpu_kernel)" in build.device_kernel("sm_90") and "abi_gpu_kernel)" not in build.device_kernel("host")


def test_each_runs_its_commands_for_every_combination() -> None:
    command = build.each(["file=$a-$b", "echo $file"], a=("1", "2"), b=("x", "y"))
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1-x", "1-y", "2-x", "2-y"]
