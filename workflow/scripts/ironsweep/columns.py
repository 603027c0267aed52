"""Tables as files: their columns, types and units are declared in `workflow/schemas/tables.yaml`."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ironsweep.config import SCHEMAS

Row = dict[str, Any]

_DTYPES = {"string": "string", "integer": "Int64", "number": "float64", "boolean": "bool"}


@dataclass(frozen=True)
class Column:
    """A column of a table: its type, its unit (of numbers) and what it says."""

    type: str
    description: str
    unit: str = ""


@dataclass(frozen=True)
class Table:
    """What a table has a row for, and its columns in their order."""

    row: str
    columns: Mapping[str, Column]


@functools.cache
def declared() -> Mapping[str, Table]:
    """All tables by name."""
    content = yaml.safe_load((SCHEMAS / "tables.yaml").read_text(encoding="utf-8"))
    common = content.pop("common")
    return {
        name: Table(
            table["row"],
            {column: Column(**(own or common[column])) for column, own in table["columns"].items()},
        )
        for name, table in content.items()
    }


def names_of(table: str) -> list[str]:
    """The columns of a table in their order."""
    return list(declared()[table].columns)


def dictionary() -> pd.DataFrame:
    """The data dictionary: a row for each column of each table."""
    return pd.DataFrame(
        [
            {
                "table": name,
                "a_row_for_each": table.row,
                "column": column,
                "type": of.type,
                "unit": of.unit,
                "description": of.description,
            }
            for name, table in declared().items()
            for column, of in table.columns.items()
        ],
        dtype="string",
    )


def frame_of(rows: Iterable[Row], table: str) -> pd.DataFrame:
    """Rows as a data frame whose column types do not depend on which values are missing."""
    columns = declared()[table].columns
    frame = pd.DataFrame(list(rows), columns=list(columns))
    return frame.astype({name: _DTYPES[column.type] for name, column in columns.items()})


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """Rows of a table, with None where it has nothing."""
    plain = frame.astype(object)
    return [
        {str(key): value for key, value in row.items()} for row in plain.where(plain.notna(), None).to_dict("records")
    ]


def write_table(frame: pd.DataFrame, folder: Path, name: str) -> None:
    """Write a table as CSV and as Parquet; neither file is ever there half written."""
    folder.mkdir(parents=True, exist_ok=True)
    csv, parquet = folder / f"{name}.csv", folder / f"{name}.parquet"
    frame.to_csv(csv.with_name(f"{csv.name}.tmp"), index=False, lineterminator="\n")
    frame.to_parquet(parquet.with_name(f"{parquet.name}.tmp"), index=False)
    for path in (csv, parquet):
        path.with_name(f"{path.name}.tmp").replace(path)


def read_table(path: Path) -> pd.DataFrame:
    """A table with its types, from the Parquet file that `write_table` wrote."""
    return pd.read_parquet(path)
