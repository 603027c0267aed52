"""Rule summary: what came out, in a few lines."""

import argparse
from pathlib import Path

from ironsweep.columns import read_table
from ironsweep.errors import run_main
from ironsweep.summary import summary


def main() -> None:
    """Write the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, required=True, help="folder with cells.parquet and ratios.parquet")
    parser.add_argument("--figures", type=Path, nargs="*", default=[], help="folders of figures")
    parser.add_argument("--out", type=Path, required=True, help="text file")
    arguments = parser.parse_args()
    cells, ratios = (read_table(arguments.tables / f"{name}.parquet") for name in ("cells", "ratios"))
    arguments.out.write_text(summary(cells, ratios, arguments.tables, arguments.figures))


if __name__ == "__main__":
    run_main(main)
