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

# Every tuning is built, also those that a sweep does not ask for: what is built does not depend on what is measured.
SAFETIES = ("safe", "unchecked")
CONTRACTIONS = ("strict", "contract")

CORE = "results/build/core"

RUSTC = "--edition 2024 -Copt-level=3 -Cpanic=abort -Ccodegen-units=1 -Dwarnings"
CXX = "-std=c++20 -O3 -Wall -Wextra -Werror -fPIC"
NVCC = "-x cu -std=c++20 -O3 -Xcompiler -fPIC"
LINK = "-Clinker=@clang@ -Clink-arg=-fuse-ld=lld -Lnative=@offload_libs@"
SHARED = "-shared -fuse-ld=lld -Wl,--no-undefined -L@offload_libs@ -lm"

# A kernel's body may not contain `unsafe`; what the launch layer's macro makes of it is not the body's.
KERNEL = "-Cstrip=symbols -Funsafe_code"

# On a device a kernel has no standard library, and so no place where it could keep an item or an output for later.
DEVICE_KERNEL = f"{KERNEL} --cfg device -Zcrate-attr=no_std -Zallow-features=abi_gpu_kernel"

# std::offload's launch functions, as a library of their own: link-time optimisation, which turns the calls of the
# intrinsic into mappings and launches, takes less than a second where nothing else is in it.
LAUNCHER = (
    f"{KERNEL} --cfg launcher -Clto=fat -Zunstable-options -Zoffload=Test -Zcrate-attr=no_std"
    " '-Zcrate-attr=feature(core_intrinsics)' -Ainternal_features"
)
# Without nostart-stop-gc the linker drops the table of entry points.
LAUNCHER_LINK = f"{LINK} -Clink-args='-Wl,-z,nostart-stop-gc -Wl,--no-undefined -lomptarget -lomp -lc'"


@dataclass(frozen=True)
class Program:
    """A worker: how the launch layer is configured for it, and what it is linked with."""

    configuration: str
    link: str = ""


PROGRAMS: Mapping[str, Program] = {
    "rust_offload": Program("--cfg std_offload", "-Clink-args='-lLLVMOffload -lomptarget -lomp'"),
    "rust_liboffload": Program("--cfg liboffload", "-Clink-arg=-lLLVMOffload"),
    # Loads the baselines, which other compilers compile.
    "native": Program("--cfg native"),
}


@dataclass(frozen=True)
class Baseline:
    """A native variant: the folder of its sources, the tool that it needs, how it is compiled and linked."""

    source: str
    tool: str
    compile: str
    link: str
    contraction: Mapping[str, str]
    needs: str = ""


_CLANG = {"strict": "-ffp-contract=off", "contract": "-ffp-contract=fast"}
_NVCC = {"strict": "-fmad=false", "contract": "-fmad=true"}

# What llc, and ptxas after it, make of a * b + c.
LLC = {"strict": "-fp-contract=off", "contract": "-fp-contract=fast"}
PTXAS = {"strict": "--fmad=false", "contract": "--fmad=true"}


def baselines(archs: Mapping[str, Sequence[str]], host_cpu: str) -> dict[str, Baseline]:
    """The native variants, for the architectures that are asked for."""
    nvidia = " ".join(f"-gencode arch={arch.replace('sm', 'compute')},code={arch}" for arch in archs.get("nvidia", ()))
    amd = " ".join(f"--offload-arch={arch}" for arch in archs.get("amd", ()))
    cpp = f"{CXX} -march={host_cpu}"
    return {
        "cpp_seq": Baseline("cpp", "clang++", cpp, "-lstdc++", _CLANG),
        "cpp_openmp": Baseline("cpp", "clang++", f"{cpp} -fopenmp=libomp", "-lstdc++ -lomp", _CLANG),
        "cuda": Baseline(
            "gpu", "nvcc", f"{NVCC} {nvidia}", "-L@cuda_libs@ -lcudart_static -lstdc++", _NVCC, "cuda_libs"
        ),
        "hip": Baseline(
            # Without unsafe-fp-atomics an atomic addition is a loop of compare-and-swap.
            "gpu",
            "hipcc",
            f"{CXX} -munsafe-fp-atomics {amd}",
            "-L@hip_libs@ -lamdhip64 -lstdc++",
            _CLANG,
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
    """Rust's core library for a device: all that its code can be linked with."""
    folder = f"{CORE}/{arch}/lib/rustlib/{target(arch)}/lib"
    return [f"{folder}/libcore.rlib", f"{folder}/libcompiler_builtins.rlib"]


def target_flags(arch: str, host_cpu: str) -> str:
    """What tells rustc to compile for an architecture."""
    return f"--target {target(arch)} -Ctarget-cpu={cpu(arch, host_cpu)} --sysroot {CORE}/{arch}"


def device_kernel(arch: str) -> str:
    """How a kernel's file is compiled for a device."""
    if vendor(arch) == "host":
        return DEVICE_KERNEL
    return f"{DEVICE_KERNEL} -Zcrate-attr='feature(abi_gpu_kernel)'"


def cpu(arch: str, host_cpu: str) -> str:
    """The processor that compilers are to generate code for."""
    return host_cpu if vendor(arch) == "host" else arch


def shims(arch: str) -> list[str]:
    """The file that leads the launch layer's mathematical functions to those of the vendor's library."""
    return {
        "nvidia": ["kernels/launch/device/nvptx64.ll"],
        "amd": ["kernels/launch/device/amdgpu.ll"],
        "host": [],
    }[vendor(arch)]


def math_libraries(arch: str) -> list[str]:
    """The vendor's mathematical functions as bitcode; the host's are linked last, as those of any program.

    AMD's has constants beside it that say how it computes: strictly, in wavefronts of 64.
    """
    if vendor(arch) == "nvidia":
        return ["@libdevice@"]
    if vendor(arch) == "host":
        return []
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


def math_needs(arch: str) -> str:
    """The part of the toolchain that holds ``math_libraries``."""
    return {"nvidia": "libdevice", "amd": "device_libs", "host": ""}[vendor(arch)]


def attempt(
    step: str,
    requires: str,
    command: str,
    log: str = "{log}",
    inputs: str = "{input}",
    outputs: str = "{output}",
    options: str = "",
) -> str:
    """The shell command of a build step that needs these tools, written for a rule with a log, inputs and outputs.

    options: further ones of ``scripts/attempt.py``.
    """
    return (
        f"python workflow/scripts/attempt.py --step {step} --log {log} {options} --requires {requires}"
        f" --inputs {inputs} --outputs {outputs} -- {command}"
    )


def each(commands: Sequence[str], **values: Sequence[str]) -> str:
    """Shell commands that are run for every combination of values, which they know as ``$name``.

    One job does this for all tunings, because a job costs more time than most of its steps; each step has its own
    outputs, log and failure note nevertheless.
    """
    body = "; ".join(commands)
    for name, words in reversed(values.items()):
        body = f"for {name} in {' '.join(words)}; do {body}; done"
    return body
