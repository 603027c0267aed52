"""Rule toolchain_lock: write the exact versions of the packages that the root is made of."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from ironsweep.errors import UserError, run_main
from ironsweep.toolchain import apt, settings


def main() -> None:
    """Resolve the newest versions, or check that a frozen lock can still be installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", type=Path, required=True, help="toolchain file")
    parser.add_argument("--lock", type=Path, required=True, help="lock to write")
    arguments = parser.parse_args()
    wanted = settings.read(arguments.toolchain)
    archive = apt.find_archive(wanted, apt.host_sources(), apt.host_network_options())
    with tempfile.TemporaryDirectory(prefix="ironsweep-") as scratch:
        private = apt.PrivateApt(Path(scratch), archive, wanted.suites)
        private.update()
        if wanted.lock:
            frozen = Path(wanted.lock)
            if not frozen.is_file():
                raise UserError(f"toolchain file {wanted.file}, lock: there is no file {frozen}")
            lock = apt.parse_lock(frozen.read_text(encoding="utf-8"), str(frozen))
            apt.check_frozen(lock, private, str(frozen))
        else:
            lock = apt.resolve_lock(wanted, private)
        apt.check_llvm(lock, apt.rustc_llvm_major(lock, private), wanted.lock or arguments.lock.name)
    arguments.lock.parent.mkdir(parents=True, exist_ok=True)
    temporary = arguments.lock.with_name(arguments.lock.name + ".part")
    temporary.write_text(apt.format_lock(lock), encoding="utf-8")
    temporary.rename(arguments.lock)


if __name__ == "__main__":
    run_main(main)
