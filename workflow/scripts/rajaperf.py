"""Rules of rajaperf.smk: RAJAPerf's layouts from our tables, RAJAPerf's times beside our cells."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ironsweep.columns import frame_of, read_table, rows_of, write_table
from ironsweep.errors import UserError, run_main
from ironsweep.judge import read_references
from ironsweep.rajaperf import export
from ironsweep.rajaperf_import import beside, read_folder
from ironsweep.records import Record, read_records


def main() -> None:
    """Export, take in, or put side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    exporting = commands.add_parser("export", help="write one system's cells in RAJAPerf's layouts")
    exporting.add_argument("--system", required=True, help="name of the system or of the import")
    exporting.add_argument("--baseline", type=json.loads, required=True, help="JSON object: baseline variant by device")
    exporting.add_argument("--references", type=Path, required=True, help="RAJAPerf's checksums")
    taking = commands.add_parser("take", help="check RAJAPerf's files and make rows of them")
    taking.add_argument("--folder", type=Path, required=True, help="into which RAJAPerf wrote")
    taking.add_argument("--name", required=True, help="of the import")
    comparing = commands.add_parser("compare", help="put what was taken in beside our cells")
    comparing.add_argument("--taken", type=Path, nargs="+", required=True, help="what `take` wrote")
    for command in (exporting, comparing):
        command.add_argument("--cells", type=Path, required=True, help="cells.parquet")
        command.add_argument("--records", type=Path, nargs="*", default=[], help="records of the planned cells")
        command.add_argument("--imported", type=Path, nargs="*", default=[], help="NAME.jsonl: records of others")
    for command, what in ((exporting, "folder"), (taking, "file"), (comparing, "folder for the tables")):
        command.add_argument("--out", type=Path, required=True, help=what)
    arguments = parser.parse_args()
    {"export": _export, "take": _take, "compare": _compare}[arguments.command](arguments)


def _export(arguments: argparse.Namespace) -> None:
    cells = read_table(arguments.cells)
    records = {key[1]: record for key, record in _records(arguments).items() if key[0] == arguments.system}
    tolerances: Mapping[str, float] = {
        key[0]: reference.tolerance for key, reference in read_references(arguments.references).items()
    }
    own = rows_of(cells[cells["system"] == arguments.system])
    export(own, records, arguments.baseline, tolerances, arguments.out)


def _take(arguments: argparse.Namespace) -> None:
    rows = read_folder(arguments.folder, arguments.name)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    part = arguments.out.with_name(f"{arguments.out.name}.part")
    frame_of(rows, "rajaperf_imported").to_parquet(part, index=False)
    part.replace(arguments.out)
    print(f"{arguments.out}: {len(rows)} times, {sum(row['status'] == 'ok' for row in rows)} of them measured")


def _compare(arguments: argparse.Namespace) -> None:
    taken = pd.concat([read_table(path) for path in arguments.taken], ignore_index=True)
    samples = {key: record.get("seconds_per_rep") or [] for key, record in _records(arguments).items()}
    compared = beside(rows_of(taken), rows_of(read_table(arguments.cells)), samples)
    write_table(taken, arguments.out, "rajaperf_imported")
    write_table(frame_of(compared, "rajaperf_compared"), arguments.out, "rajaperf_compared")


def _records(arguments: argparse.Namespace) -> dict[tuple[str, str], Record]:
    """All records by system and id, as the tables were made from them: of planned cells the later file counts more."""
    found: dict[tuple[str, str], Any] = {}
    for path in arguments.records:
        found |= {(record["system"], record["id"]): record for record in _read(path)}
    for path in arguments.imported:
        found |= {(path.stem, record["id"]): record for record in _read(path)}
    return found


def _read(path: Path) -> list[Record]:
    records, problems = read_records(path)
    if not records and problems:
        raise UserError(str(problems[0]))
    return records


if __name__ == "__main__":
    run_main(main)
