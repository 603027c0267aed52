"""Rule claims: what the tables say about the statements in config/claims.yaml."""

import argparse
from pathlib import Path

from ironsweep import claims
from ironsweep.columns import frame_of, read_table, write_table
from ironsweep.errors import run_main


def main() -> None:
    """Decide every claim; write a table and a text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=Path, required=True, help="YAML file of claims")
    parser.add_argument("--tables", type=Path, required=True, help="folder of tables")
    parser.add_argument("--text", type=Path, required=True, help="the verdicts as text")
    arguments = parser.parse_args()

    ratios, cells = (read_table(arguments.tables / f"{name}.parquet") for name in ("ratios", "cells"))
    rows = claims.table_of(ratios, cells)
    decisions = [claims.decide(claim, rows) for claim in claims.read(arguments.claims, str(arguments.claims))]
    write_table(frame_of(claims.verdict_rows(decisions), "claims"), arguments.tables, "claims")
    part = arguments.text.with_name(f"{arguments.text.name}.part")
    part.write_text(claims.report(decisions), encoding="utf-8")
    part.replace(arguments.text)


if __name__ == "__main__":
    run_main(main)
