"""Rule golden: the golden results that the plan and the imported records need for one kernel."""

import argparse
import hashlib
from pathlib import Path

from ironsweep.errors import run_main
from ironsweep.golden import case_of, complete, load, save
from ironsweep.judge import PLANNED
from ironsweep.planned import read_plan
from ironsweep.records import read_records


def main() -> None:
    """Compute what the output does not already have from the same code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--plan", type=Path, required=True, help="table of the planned cells")
    parser.add_argument("--imported", type=Path, nargs="*", default=[], help="files of imported records")
    parser.add_argument("--sources", type=Path, nargs="+", required=True, help="code that the results depend on")
    parser.add_argument("--out", type=Path, required=True, help="golden results; kept and completed if there")
    arguments = parser.parse_args()
    points = [cell for cell in read_plan(arguments.plan) if cell["status_planned"] in (None, PLANNED)]
    points += [record for path in arguments.imported for record in read_records(path)[0]]
    cases = [case_of(arguments.kernel, point) for point in points if point["kernel"] == arguments.kernel]
    version = hashlib.sha256(b"".join(path.read_bytes() for path in arguments.sources)).hexdigest()
    known = load(arguments.out, version) if arguments.out.exists() else {}
    save(arguments.out, arguments.kernel, complete(arguments.kernel, cases, known), version)


if __name__ == "__main__":
    run_main(main)
