"""The variants: who implements a kernel, for which devices, and what can be timed."""

from __future__ import annotations

from collections.abc import Mapping

# Devices that a variant exists for. `amd_emulated` is an AMD GPU whose instructions a program interprets.
DEVICES: Mapping[str, tuple[str, ...]] = {
    "rust_offload": ("host", "nvidia", "amd"),
    "rust_liboffload": ("nvidia", "amd", "amd_emulated"),
    "cpp_seq": ("host",),
    "cpp_openmp": ("host",),
    "cuda": ("nvidia",),
    "hip": ("amd",),
}

# What lies inside a variant's timed region. std::offload waits for every launch, so it has no `kernel` region.
REGIONS: Mapping[str, tuple[str, ...]] = {
    "rust_offload": ("launch_sync", "with_transfers"),
    "rust_liboffload": ("kernel", "launch_sync"),
    "cpp_seq": ("launch_sync",),
    "cpp_openmp": ("launch_sync",),
    "cuda": ("kernel", "launch_sync"),
    "hip": ("kernel", "launch_sync"),
}

# Architectures for which LLVM can make device code; for another there is no image.
_NVIDIA = (60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, "90a", 100, "100a", 101, "101a", 103, "103a", 120, "120a", 121)
_AMD = (
    *(900, 906, 908, "90a", 942, 950),
    *(1010, 1011, 1012, 1030, 1031, 1032, 1033, 1034, 1035, 1036),
    *(1100, 1101, 1102, 1103, 1150, 1151, 1152, 1153, 1200, 1201),
)
ARCHS: Mapping[str, tuple[str, ...]] = {
    "host": ("host",),
    "nvidia": tuple(f"sm_{name}" for name in _NVIDIA),
    "amd": tuple(f"gfx{name}" for name in _AMD),
}

EMULATED = "amd_emulated"
EMULATED_ARCHS = ("gfx90a", "gfx942")

# The variants whose kernels are written in Rust, each with a program of its own; `native` serves all others.
RUST = ("rust_offload", "rust_liboffload")


# The programs of the toolchain that decide how a variant's code comes out (ironsweep/build.py has the commands).
COMPILERS: Mapping[str, tuple[str, ...]] = {
    "rust_offload": ("rustc", "clang", "llc"),
    "rust_liboffload": ("rustc", "llc"),
    "cpp_seq": ("clang++",),
    "cpp_openmp": ("clang++",),
    "cuda": ("nvcc",),
    "hip": ("hipcc",),
}


def program(variant: str) -> str:
    """The worker that serves a variant: a file in results/bin/{kernel}/."""
    return variant if variant in RUST else "native"


def part(variant: str, arch: str, safety: str, contraction: str) -> str:
    """What the worker loads for a tuning of a variant: a path below results/bin/{kernel}/."""
    if variant == "rust_liboffload":
        return f"images/{arch}-{safety}-{contraction}.img"
    if variant == "rust_offload":
        return f"launch/{safety}-{contraction}.so"
    return f"baselines/{variant}-{contraction}.so"
