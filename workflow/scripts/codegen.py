"""Writes what the kernels of a device image use as JSON. See ironsweep.codegen."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ironsweep.codegen import report
from ironsweep.errors import run_main


def main() -> None:
    """Command line of the rule ``codegen``."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("kernel", "arch", "safety", "contraction"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--stem", required=True, help="what the names of the kernels begin with")
    parser.add_argument("--image", type=Path, required=True)
    parser.add_argument("--assembly", type=Path, nargs="?", help="PTX, for an NVIDIA image")
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    row = report(
        arguments.kernel,
        arguments.arch,
        arguments.safety,
        arguments.contraction,
        stem=arguments.stem,
        image=arguments.image,
        assembly=arguments.assembly,
        tools=arguments.tools,
    )
    arguments.out.write_text(json.dumps(row) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run_main(main)
