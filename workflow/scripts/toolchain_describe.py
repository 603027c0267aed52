"""Rule toolchain: write the tools' wrappers and toolchain.json."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ironsweep.errors import run_main
from ironsweep.toolchain import apt, cuda, describe, enter, settings


def main() -> None:
    """Describe the toolchain; it is refused if a required tool is missing or the compiler does not fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", type=Path, required=True, help="toolchain file")
    parser.add_argument("--lock", type=Path, nargs="?", help="lock of the root beside it (kind debian)")
    parser.add_argument("--cuda", type=Path, required=True, help="record of rule toolchain_cuda")
    parser.add_argument("--output", type=Path, required=True, help="toolchain.json, in the toolchain's folder")
    arguments = parser.parse_args()
    wanted = settings.read(arguments.toolchain)
    found = cuda.Cuda(**json.loads(arguments.cuda.read_text(encoding="utf-8")))
    folder = arguments.output.parent.absolute()
    if wanted.kind == "debian":
        packages = apt.parse_lock(arguments.lock.read_text(encoding="utf-8"), str(arguments.lock))
        root = arguments.lock.absolute().with_name("root")
        toolchain = describe.describe_debian(wanted, root, packages, found, folder)
    else:
        environment = enter.module_environment(wanted.modules_init, wanted.modules)
        toolchain = describe.describe_path(wanted, environment, found, folder)
    temporary = arguments.output.with_name(arguments.output.name + ".part")
    temporary.write_text(json.dumps(toolchain.as_json(), indent=2) + "\n", encoding="utf-8")
    temporary.rename(arguments.output)


if __name__ == "__main__":
    run_main(main)
