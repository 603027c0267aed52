"""Rule toolchain_runtime: collect the loader and libraries that built programs run with."""

from __future__ import annotations

import argparse
from pathlib import Path

from ironsweep.errors import run_main
from ironsweep.toolchain import record, runtime


def main() -> None:
    """Write runtime/run and runtime/lib."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", type=Path, required=True, help="toolchain.json")
    parser.add_argument("--runtime", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()
    enter = arguments.toolchain.absolute().parent / "enter"
    runtime.collect(record.load(arguments.toolchain), enter, arguments.runtime)


if __name__ == "__main__":
    run_main(main)
