"""Rule aggregate: from records to tables of cells, ratios to the baseline, noise, device images and damaged records."""

import argparse
import json
from pathlib import Path

from ironsweep import columns, efficiency, tables
from ironsweep.errors import run_main
from ironsweep.golden import load
from ironsweep.judge import read_references
from ironsweep.planned import Row, read_plan
from ironsweep.records import Problem, read_records
from ironsweep.runner import Programs
from ironsweep.tables import System


def main() -> None:
    """Judge every planned and imported cell and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True, help="table of the planned cells")
    parser.add_argument("--bin", type=Path, required=True, help="folder of programs, or of notes why there are none")
    parser.add_argument(
        "--records", type=Path, nargs="*", default=[], help="records of the planned cells, later ones counting more"
    )
    parser.add_argument("--imported", type=Path, nargs="*", default=[], help="NAME.jsonl: records of other machines")
    parser.add_argument("--golden", type=Path, nargs="+", required=True, help="KERNEL.json: golden results")
    parser.add_argument("--references", type=Path, required=True, help="RAJAPerf's checksums")
    parser.add_argument("--codegen", type=Path, nargs="*", default=[], help="JSON files about device images")
    parser.add_argument("--baseline", type=json.loads, required=True, help="JSON object: baseline variant by device")
    parser.add_argument("--out", type=Path, required=True, help="folder for the tables")
    parser.add_argument("--toolchain", type=Path, help="toolchain.json of what built the programs")
    arguments = parser.parse_args()

    planned = read_plan(arguments.plan)
    tables.take_over_notes(planned, Programs(arguments.bin))
    systems, problems = _read(planned, arguments.records, arguments.imported)
    golden = {path.stem: load(path) for path in arguments.golden}
    references = read_references(arguments.references)
    toolchain = json.loads(arguments.toolchain.read_text(encoding="utf-8")) if arguments.toolchain else None
    cells = [row for system in systems for row in tables.judged_cells(system, golden, references, toolchain)]
    for system in systems:
        problems += tables.unproven((row for row in cells if row["system"] == system.name), f"system {system.name}")
    noise = list(tables.noise(cells, systems))
    ratios = list(tables.ratios(cells, tables.samples_of(systems), arguments.baseline, tables.Floors(noise)))
    for name, rows in (
        ("cells", cells),
        ("ratios", ratios),
        ("noise", noise),
        ("geometric_means", tables.geometric_means(ratios)),
        ("portability", efficiency.portability(cells)),
        ("scaling", efficiency.scaling(cells)),
        ("codegen", tables.codegen_rows(arguments.codegen)),
        ("problems", [vars(problem) for problem in problems]),
    ):
        columns.write_table(columns.frame_of(rows, name), arguments.out, name)
    columns.write_table(columns.dictionary(), arguments.out, "dictionary")
    for problem in problems:
        print(f"left out: {problem}")


def _read(planned: list[Row], records: list[Path], imported: list[Path]) -> tuple[list[System], list[Problem]]:
    """All systems with their records, and what was wrong in the files."""
    measured: list[Row] = []
    problems: list[Problem] = []
    for path in records:
        found, wrong = read_records(path)
        measured += found
        problems += wrong
    systems = tables.planned_systems(planned, measured)
    for path in imported:
        found, wrong = read_records(path)
        systems.append(tables.imported_system(path.stem, found))
        problems += wrong
    return systems, problems


if __name__ == "__main__":
    run_main(main)
