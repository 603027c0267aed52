"""The few lines that a person wants to see when a run has ended: of one tuning of each variant, as in the figures."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.ticker import EngFormatter

from ironsweep.figures import one_tuning
from ironsweep.tables import count_by_status

_seconds = EngFormatter(unit="s", places=2)


def summary(cells: pd.DataFrame, ratios: pd.DataFrame, tables: Path, figures: list[Path]) -> str:
    """Results at the largest size, counts, verdicts and where everything is, as text.

    Args:
        cells: the cells table.
        ratios: the ratios table.
        tables: the folder of the tables.
        figures: the folders of the figures.
    """
    lines = [line for system in cells["system"].unique() for line in _of_system(system, cells, ratios)]
    drawn = [str(path) for folder in figures for path in sorted(folder.glob("*.svg"))]
    return "\n".join([*lines, "", f"tables   {tables}", *(f"figure   {path}" for path in drawn)]) + "\n"


def _of_system(system: str, cells: pd.DataFrame, ratios: pd.DataFrame) -> Iterator[str]:
    own = cells[cells["system"] == system]
    measured = own[own["kind"] == "measure"]
    yield f"{system}: {_counts(measured)} of {len(measured)} measured cells"
    yield f"  correctness checks: {_counts(own[own['kind'] == 'check'])}"
    yield f"  planted wrong kernels: {_counts(own[own['kind'] == 'planted'])}: {_verdict(own)}"
    shown = one_tuning(measured)
    shown = shown[shown["status"] == "ok"]
    own_ratios = ratios[(ratios["system"] == system) & (ratios["status"] == "ok")]
    for (kernel, arch), group in shown.groupby(["kernel", "arch"], sort=False):
        size = group["size"].max()
        regions = group[group["size"] == size].groupby("region", sort=False)
        texts = [f"{region} {_of_region(rows, own_ratios)}" for region, rows in regions]
        yield f"  {kernel} {arch} {size:,}: " + " | ".join(texts)


def _of_region(rows: pd.DataFrame, ratios: pd.DataFrame) -> str:
    """Medians of the variants, and how fast each is beside its baseline."""
    texts = []
    for _, row in rows.iterrows():
        speed = ratios[ratios["id"] == row["id"]]
        relative = f" ({speed['speed'].iloc[0]:.2f}x {speed['baseline_variant'].iloc[0]})" if len(speed) else ""
        texts.append(f"{row['variant']} {_seconds(row['median_s'])}{relative}")
    return ", ".join(texts)


def _counts(cells: pd.DataFrame) -> str:
    return ", ".join(f"{count} {status}" for status, count in count_by_status(cells).items()) or "none"


def _verdict(cells: pd.DataFrame) -> str:
    return "verified" if cells["verified"].all() else "UNVERIFIED, do not use these results"
