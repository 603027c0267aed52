"""Rule doctor: say what this machine has, a line an item."""

from __future__ import annotations

import argparse
from pathlib import Path

from ironsweep import doctor
from ironsweep.errors import run_main
from ironsweep.toolchain import settings


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", type=Path, required=True, help="toolchain file")
    arguments = parser.parse_args()
    print("\n".join(doctor.report(Path(), settings.read(arguments.toolchain))))


if __name__ == "__main__":
    run_main(main)
