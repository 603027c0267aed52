"""Rule report: one HTML file with everything that a reader wants."""

import argparse
import json
from pathlib import Path

from ironsweep import report
from ironsweep.columns import read_table
from ironsweep.errors import run_main
from ironsweep.records import Record, read_file


def main() -> None:
    """Collect tables, figures and what failed workers said, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, required=True, help="folder of tables")
    parser.add_argument("--figures", type=Path, nargs="*", default=[], help="folders of figures")
    parser.add_argument("--records", type=Path, nargs="*", default=[], help="files of records")
    parser.add_argument("--imported", type=Path, nargs="*", default=[], help="NAME.jsonl: records of other machines")
    parser.add_argument("--toolchain", type=Path, required=True, help="toolchain.json")
    parser.add_argument("--out", type=Path, required=True, help="the page")
    arguments = parser.parse_args()

    tables = {
        name: read_table(arguments.tables / f"{name}.parquet")
        for name in ("cells", "ratios", "geometric_means", "claims", "problems")
    }
    records: dict[tuple[str, str], Record] = {}
    environments: list[Record] = []
    for path in [*arguments.records, *arguments.imported]:
        content = read_file(path)
        environments += content.environments
        system = path.stem if path in arguments.imported else path.parent.name
        records |= {(system, record["id"]): record for record in content.records if record["status"] != "ok"}
    page = report.render(
        report.Sources(
            cells=tables["cells"],
            ratios=tables["ratios"],
            means=tables["geometric_means"],
            claims=tables["claims"],
            problems=tables["problems"],
            figures=[file for folder in arguments.figures for file in sorted(folder.glob("*.svg"))],
            records=records,
            environments=environments,
            toolchain=json.loads(arguments.toolchain.read_text(encoding="utf-8")),
        )
    )
    part = arguments.out.with_name(f"{arguments.out.name}.part")
    part.write_text(page, encoding="utf-8")
    part.replace(arguments.out)


if __name__ == "__main__":
    run_main(main)
