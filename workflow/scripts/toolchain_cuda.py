"""Rule toolchain_cuda: find NVIDIA's compiler, or install its wheels."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ironsweep.errors import run_main
from ironsweep.toolchain import cuda, describe, enter, settings


def main() -> None:
    """Write where the CUDA toolkit is, or why there is none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", type=Path, required=True, help="toolchain file")
    parser.add_argument("--requirements", type=Path, required=True, help="hash-locked wheels")
    parser.add_argument("--record", type=Path, required=True, help="JSON file to write; wheels are installed beside it")
    parser.add_argument("--log", type=Path, required=True)
    arguments = parser.parse_args()
    wanted = settings.read(arguments.toolchain)
    environment = enter.module_environment(wanted.modules_init, wanted.modules)
    search = describe.search_path(wanted, environment)
    with arguments.log.open("w") as log:
        wheels = arguments.record.absolute().with_name("cuda")
        found = cuda.find(wanted.cuda, wheels, arguments.requirements, log, search)
    arguments.record.write_text(json.dumps(found.as_json()) + "\n")


if __name__ == "__main__":
    run_main(main)
