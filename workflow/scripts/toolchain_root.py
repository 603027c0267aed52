"""Rule toolchain_root: install the lock's packages into the root."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ironsweep.errors import run_main
from ironsweep.toolchain import apt, root, settings


def main() -> None:
    """Build the root unless it is whole already, and write its record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", type=Path, required=True, help="toolchain file")
    parser.add_argument("--lock", type=Path, required=True, help="lock to install")
    parser.add_argument("--record", type=Path, required=True, help="file to write when the root beside it is whole")
    parser.add_argument("--log", type=Path, required=True)
    arguments = parser.parse_args()
    wanted = settings.read(arguments.toolchain)
    lock_text = arguments.lock.read_text(encoding="utf-8")
    with arguments.log.open("w") as log:
        archive = apt.find_archive(wanted, apt.host_sources(), apt.host_network_options())
        root.build(wanted, archive, lock_text, arguments.record.with_name("root"), log)
    arguments.record.write_text(json.dumps({"lock_sha256": root.lock_digest(lock_text)}) + "\n")


if __name__ == "__main__":
    run_main(main)
