"""Makes one object of all packaged images of a kernel, which registers them with libomptarget when a program starts."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from ironsweep.attempt import read_note

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tools", type=Path, required=True)
parser.add_argument("--packages", type=Path, nargs="+", required=True)
parser.add_argument("--bitcode", type=Path, required=True)
parser.add_argument("--object", type=Path, required=True)
arguments = parser.parse_args()

notes = {package: read_note(package) for package in arguments.packages}
packages = [str(package) for package, note in notes.items() if note is None]
for package, note in notes.items():
    if note:
        print(f"left out: {package}: {note.reason}")
if not packages:
    sys.exit("no image could be built")

for command in (
    [
        arguments.tools / "llvm-offload-wrapper",
        "--kind=openmp",
        "--triple=x86_64-unknown-linux-gnu",
        "-o",
        arguments.bitcode,
        *packages,
    ],
    [
        arguments.tools / "clang",
        "-O2",
        "-fPIC",
        "-Wno-override-module",
        "-c",
        arguments.bitcode,
        "-o",
        arguments.object,
    ],
):
    if status := subprocess.run(command, check=False).returncode:
        sys.exit(status)
