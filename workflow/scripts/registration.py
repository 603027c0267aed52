"""Makes one object of a kernel's images of one tuning, which registers them with libomptarget when it is loaded."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from ironsweep.attempt import read_note
from ironsweep.build import target

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tools", type=Path, required=True)
parser.add_argument("--images", type=Path, required=True, help="folder with the images ARCH-TUNING.img")
parser.add_argument("--tuning", required=True)
parser.add_argument("--archs", nargs="+", required=True)
parser.add_argument("--out", type=Path, required=True, help="the object; what it is made of is put beside it")
arguments = parser.parse_args()


def run(tool: str, *words: str | Path) -> None:
    """Run a tool of the toolchain; if it fails, so does this program."""
    if status := subprocess.run([arguments.tools / tool, *words], check=False).returncode:
        # As a shell reports a signal: a tool that was killed is no tool that failed.
        sys.exit(128 - status if status < 0 else status)


# Each image is a package of its own: of several in one, libomptarget sees the first.
packages = []
for arch in arguments.archs:
    image = arguments.images / f"{arch}-{arguments.tuning}.img"
    if note := read_note(image):
        print(f"left out: {image}: {note.reason}")
        continue
    packages.append(arguments.out.with_name(f"{arch}.bin"))
    described = f"file={image},triple={target(arch)},arch={arch},kind=openmp"
    run("llvm-offload-binary", "-o", packages[-1], f"--image={described}")
if not packages:
    sys.exit("no image could be built")

bitcode = arguments.out.with_suffix(".bc")
run("llvm-offload-wrapper", "--kind=openmp", "--triple=x86_64-unknown-linux-gnu", "-o", bitcode, *packages)
run("clang", "-O2", "-fPIC", "-Wno-override-module", "-c", bitcode, "-o", arguments.out)
