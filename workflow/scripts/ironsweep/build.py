"""How things are compiled and linked: flags, targets and libraries. The rules say what is made of what.

In flags, ``@name@`` stands for the place of that file or folder in the toolchain (see ``ironsweep.attempt``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# What a device's architectures are called by rustc and by the packager.
TARGETS: Mapping[str, str] = {
    "nvidia": "nvptx64-nvidia-cuda",
    "amd": "amdgcn-amd-amdhsa",
    "host": "x86_64-unknown-linux-gnu",
}

CORE = "results/build/core"

# Floating point is strict everywhere: rustc contracts no a * b + c, so the baselines must not either.
RUSTC = "--edition 2024 -Copt-level=3 -Cpanic=abort -Ccodegen-units=1 -Dwarnings"
CXX = "-std=c++20 -O3 -Wall -Wextra -Werror -ffp-contract=off"
NVCC = "-x cu -std=c++20 -O3 -fmad=false"
LINK = "-Clinker=@clang@ -Clink-arg=-fuse-ld=lld -Lnative=@offload_libs@"

# A kernel's body may not contain `unsafe`; what the launch layer's macro makes of it is not the body's.
KERNEL = "-Cstrip=symbols -Funsafe_code"

# On a device a kernel has no standard library, and so no place where it could keep an item or an output for later.
DEVICE_KERNEL = f"{KERNEL} --cfg device -Zcrate-attr=no_std -Zallow-features=abi_gpu_kernel"


@dataclass(frozen=True)
class Runtime:
    """A way to launch a kernel from Rust: how the launch layer is configured, and how a worker is built with it."""

    configuration: str
    worker: str = "-Clto=off"
    link: str = ""


RUNTIMES: Mapping[str, Runtime] = {
    "rust_offload": Runtime(
        "--cfg std_offload",
        # The link-time optimisation turns the call of the intrinsic into mappings and a launch.
        "-Clto=fat -Zunstable-options -Zoffload=Test '-Zcrate-attr=feature(core_intrinsics)' -Ainternal_features",
        # Without nostart-stop-gc the linker drops the table of entry points.
        "-Clink-arg=-Wl,-z,nostart-stop-gc -Clink-args='-lomptarget -lomp -lLLVMOffload'",
    ),
    "rust_liboffload": Runtime("--cfg liboffload", link="-Clink-arg=-lLLVMOffload"),
    # The baselines' workers: what they launch is compiled by another compiler.
    "native": Runtime("--cfg native"),
}


@dataclass(frozen=True)
class Baseline:
    """A native variant: the folder of its sources, the tool that it needs, how it is compiled and linked."""

    source: str
    tool: str
    compile: str
    link: str
    needs: str = ""


def baselines(archs: Mapping[str, Sequence[str]], host_cpu: str) -> dict[str, Baseline]:
    """The native variants, for the architectures that are asked for."""
    nvidia = " ".join(f"-gencode arch={arch.replace('sm', 'compute')},code={arch}" for arch in archs.get("nvidia", ()))
    amd = " ".join(f"--offload-arch={arch}" for arch in archs.get("amd", ()))
    cpp = f"{CXX} -march={host_cpu}"
    return {
        "cpp_seq": Baseline("cpp", "clang++", cpp, "-Clink-arg=-lstdc++"),
        "cpp_openmp": Baseline("cpp", "clang++", f"{cpp} -fopenmp=libomp", "-Clink-args='-lstdc++ -lomp'"),
        "cuda": Baseline(
            "gpu",
            "nvcc",
            f"{NVCC} {nvidia}",
            "-Lnative=@cuda_libs@ -Clink-args='-lcudart_static -lstdc++'",
            "cuda_libs",
        ),
        "hip": Baseline(
            # Without unsafe-fp-atomics an atomic addition is a loop of compare-and-swap.
            "gpu",
            "hipcc",
            f"{CXX} -munsafe-fp-atomics {amd}",
            "-Lnative=@hip_libs@ -Clink-args='-lamdhip64 -lstdc++'",
            "hip_libs",
        ),
    }


def vendor(arch: str) -> str:
    """The device that an architecture belongs to: ``nvidia``, ``amd`` or ``host``."""
    return "nvidia" if arch.startswith("sm_") else "amd" if arch.startswith("gfx") else "host"


def target(arch: str) -> str:
    """The target triple of an architecture."""
    return TARGETS[vendor(arch)]


def core_libraries(arch: str) -> list[str]:
    """Rust's own libraries for a device; the host's come with the compiler."""
    if vendor(arch) == "host":
        return []
    folder = f"{CORE}/{arch}/lib/rustlib/{target(arch)}/lib"
    return [f"{folder}/libcore.rlib", f"{folder}/libcompiler_builtins.rlib"]


def target_flags(arch: str, host_cpu: str) -> str:
    """What tells rustc to compile for an architecture."""
    if vendor(arch) == "host":
        return f"-Ctarget-cpu={host_cpu}"
    return f"--target {target(arch)} -Ctarget-cpu={arch} --sysroot {CORE}/{arch}"


def amd_libraries(arch: str) -> list[str]:
    """AMD's math library, and the constants that say how it computes: strictly, in wavefronts of 64."""
    names = [
        "ocml",
        f"oclc_isa_version_{arch.removeprefix('gfx')}",
        "oclc_abi_version_500",
        "oclc_correctly_rounded_sqrt_on",
        "oclc_daz_opt_off",
        "oclc_finite_only_off",
        "oclc_unsafe_math_off",
        "oclc_wavefrontsize64_on",
    ]
    return [f"@device_libs@/{name}.bc" for name in names]


def attempt(step: str, requires: str, command: str, options: str = "") -> str:
    """The shell command of a build step that needs these tools, written for a rule with a log, inputs and outputs.

    options: further ones of ``scripts/attempt.py``.
    """
    return (
        f"python workflow/scripts/attempt.py --step {step} --log {{log}} {options} --requires {requires}"
        f" --inputs {{input}} --outputs {{output}} -- {command}"
    )
