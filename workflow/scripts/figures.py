"""Rule figures: everything that is drawn of one system."""

import argparse
from pathlib import Path

from ironsweep.columns import read_table
from ironsweep.errors import run_main
from ironsweep.figures import save_all


def main() -> None:
    """Draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--system", required=True, help="name of the system or of the import")
    parser.add_argument("--cells", type=Path, required=True, help="cells.parquet")
    parser.add_argument("--ratios", type=Path, required=True, help="ratios.parquet")
    parser.add_argument("--out", type=Path, required=True, help="folder for the figures")
    arguments = parser.parse_args()
    cells, ratios = read_table(arguments.cells), read_table(arguments.ratios)
    save_all(cells[cells["system"] == arguments.system], ratios[ratios["system"] == arguments.system], arguments.out)


if __name__ == "__main__":
    run_main(main)
