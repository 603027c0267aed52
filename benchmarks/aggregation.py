"""How long it takes to judge and tabulate a large sweep: the records of the H200 sample, taken for several systems.

    python benchmarks/aggregation.py                     100 000 records
    python benchmarks/aggregation.py --records 20_000 --check

Golden results are computed before, and are not part of the time: a sweep computes each of them once.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from ironsweep import bundle  # noqa: E402
from ironsweep.errors import UserError, run_main  # noqa: E402
from ironsweep.records import read_file  # noqa: E402

SAMPLE = ROOT / "examples/h200/h200.jsonl.xz"
LARGEST = 100_000
"""Of the sample only smaller sizes are taken, whose golden results are there soon."""
TARGET_S, TARGET_MB = 60.0, 2000.0


def systems(records: Path, count: int, folder: Path) -> list[Path]:
    """Files of records of several systems that have so many records in total, made of one file."""
    found = [record for record in read_file(records).records if record["size"] <= LARGEST]
    files = []
    for number in range(-(-count // len(found))):
        own = found[: count - number * len(found)]
        files.append(folder / f"system-{number}.jsonl")
        with files[-1].open("w", encoding="utf-8") as file:
            for record in own:
                file.write(json.dumps(record | {"system": files[-1].stem}) + "\n")
    return files


def main() -> None:
    """Make the records, tabulate them, and print how long that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--check", action="store_true", help=f"fail above {TARGET_S:.0f} s or {TARGET_MB:.0f} MB")
    options = parser.parse_args()
    scripts = ROOT / "workflow/scripts"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle.take(SAMPLE, folder / "sample.jsonl", folder / "dumps")
        files = systems(folder / "sample.jsonl", options.records, folder)
        (folder / "plan.csv").write_text("id\n")
        (folder / "golden").mkdir()
        golden = []
        for kernel in sorted({record["kernel"] for record in read_file(files[0]).records}):
            golden.append(folder / f"golden/{kernel}.json")
            command = [sys.executable, scripts / "golden.py", "--kernel", kernel, "--plan", folder / "plan.csv"]
            command += ["--imported", files[0], "--sources", scripts / "ironsweep/checksum.py", "--out", golden[-1]]
            subprocess.run(command, check=True)
        command = [sys.executable, scripts / "aggregate.py", "--plan", folder / "plan.csv", "--bin", folder]
        command += ["--imported", *files, "--golden", *golden, "--baseline", json.dumps({"nvidia": "cuda"})]
        command += ["--references", ROOT / "workflow/resources/rajaperf_reference_checksums.csv"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        start = time.monotonic()
        subprocess.run([*command, "--out", folder / "tables"], check=True)
        seconds = time.monotonic() - start
        # The largest child so far: that of the aggregation, if it needed more than a golden result did.
        megabytes = max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024
    print(f"{options.records} records of {len(files)} systems: {seconds:.1f} s, at most {megabytes:.0f} MB")
    if options.check and (seconds > TARGET_S or megabytes > TARGET_MB):
        raise UserError(f"more than {TARGET_S:.0f} s or {TARGET_MB:.0f} MB")


if __name__ == "__main__":
    run_main(main)
