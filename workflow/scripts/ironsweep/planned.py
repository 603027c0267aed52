"""Reads the plan's table of cells."""

import csv
from pathlib import Path
from typing import Any

Row = dict[str, Any]

_INTEGERS = {"block", "size", "reps", "passes", "warmup", "seed"}


def read_plan(path: Path) -> list[Row]:
    """Planned cells from `cells.csv`, in its order: numbers as integers, empty fields as None."""
    with path.open(newline="") as lines:
        return [
            {key: int(value) if key in _INTEGERS else value or None for key, value in row.items()}
            for row in csv.DictReader(lines)
        ]
