"""How well the planner estimates what points cost: prints the error of its estimates against records.

    python benchmarks/cost_estimates.py                      against examples/h200/h200.jsonl.xz
    python benchmarks/cost_estimates.py FILE.jsonl           against other records of one system

A point's error is the absolute logarithm of actual over estimated seconds of wall time: 0.10 is a factor of 1.11, 0.69
a factor of 2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from ironsweep.costs import Costs, Errors, error, learn  # noqa: E402
from ironsweep.errors import UserError, run_main  # noqa: E402
from ironsweep.records import Record, read_records  # noqa: E402


def estimates(records: Sequence[Record]) -> Iterator[tuple[str, Errors]]:
    """What an estimate knows, and how far it is off, from knowing nothing to knowing all but one size."""
    learnt = learn(records)
    known = Costs(traffic=learnt.traffic)
    yield "the model alone", error(Costs(), records)
    yield "with bytes and operations of the kernels", error(known, records)
    yield "with factors of these records too", error(replace(learnt, measured={}), records)
    sizes = sorted({record["size"] for record in records if record["kind"] == "measure"})
    if len(sizes) > 1:
        largest = {record["id"] for record in records if record["size"] >= sizes[-1]}
        others = [record for record in records if record["id"] not in largest]
        yield f"{sizes[-1]} elements and more, from nothing", error(Costs(), records, largest)
        yield "the same, from the smaller sizes", error(learn(others), records, largest)


def table(records: Sequence[Record]) -> str:
    """The errors as lines of text."""
    lines = [f"{'what is known':48} {'points':>6} {'median':>7} {'90 %':>6} {'estimated':>10} {'actual':>8}"]
    for known, errors in estimates(records):
        numbers = f"{errors.points:6d} {errors.median:7.2f} {errors.ninety:6.2f}"
        lines.append(f"{known:48} {numbers} {errors.estimated_s:8.0f} s {errors.actual_s:6.0f} s")
    return "\n".join(lines)


def main() -> None:
    """Read records and print the table."""
    parser = argparse.ArgumentParser(description="Print how well the cost of points is estimated.")
    parser.add_argument("records", nargs="?", type=Path, default=ROOT / "examples/h200/h200.jsonl.xz")
    path = parser.parse_args().records
    records, problems = read_records(path)
    if not records:
        raise UserError(f"{problems[0] if problems else path}: there is no record to compare with")
    print(table(records))


if __name__ == "__main__":
    run_main(main)
