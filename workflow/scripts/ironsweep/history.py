"""Times over many result sets, as a figure and a table, for `snakemake history`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from scipy import stats

from ironsweep.compare import ResultSet, compare
from ironsweep.figures import STYLES, WIDTH_IN, paper_style, save

FILE = Path("results/history")
OTHER = "0.3"


def rows(sets: Sequence[ResultSet]) -> list[dict[str, Any]]:
    """For each set after the first: every cell's speed relative to the first set.

    Raises:
        UserError: if a set has no cell in common with the first.
    """
    first, *others = sets
    return [
        {"set": number, "name": one.name} | row
        for number, one in enumerate(others, start=2)
        for row in compare(first, one)
    ]


def draw(table: Sequence[dict[str, Any]], names: Sequence[str]) -> Figure:
    """Geometric mean and range of each variant's speeds over the sets, a panel for each region, with n of N cells."""
    frame = pd.DataFrame(table)
    frame["speed"] = frame["speed"].astype(float)
    places = list(frame.groupby(["arch", "region"], sort=True))
    with paper_style():
        figure = Figure(figsize=(WIDTH_IN, 0.9 + 1.6 * len(places)), layout="constrained")
        axes_column = figure.subplots(len(places), 1, sharex=True, squeeze=False)[:, 0]
        for axes, ((arch, region), own) in zip(axes_column, places, strict=True):
            for variant, cells in own.groupby("variant"):
                known = cells.dropna(subset="speed")
                by_set = known.groupby("set")["speed"]
                means, low, high = by_set.apply(stats.gmean), by_set.min(), by_set.max()
                style = STYLES.get(str(variant))
                colour, marker = (style.colour, style.marker) if style else (OTHER, "o")
                axes.fill_between([1, *means.index], [1.0, *low], [1.0, *high], color=colour, alpha=0.15, linewidth=0)
                axes.plot(
                    [1, *means.index], [1.0, *means], color=colour, marker=marker, markersize=4, label=str(variant)
                )
            shown = int(own["speed"].notna().sum())
            axes.set_title(f"{arch}, {region}: {shown} of {len(own)} cells", loc="left")
            axes.axhline(1.0, color="0.6", linewidth=0.6, zorder=0)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.set_ylabel("speed relative\nto the first set")
        axes_column[-1].xaxis.set_major_locator(FixedLocator(range(1, len(names) + 1)))
        axes_column[-1].xaxis.set_major_formatter(FuncFormatter(lambda place, _: f"{place:.0f}"))
        axes_column[-1].set_xlabel("result set: " + ", ".join(f"{n} {name}" for n, name in enumerate(names, 1)))
        handles = {
            label: handle
            for axes in axes_column
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=4, frameon=False)
        return figure


def write(sets: Sequence[ResultSet]) -> list[Path]:
    """Write results/history.csv, .svg and .png; the files' names."""
    table = rows(sets)
    FILE.parent.mkdir(exist_ok=True)
    csv = FILE.with_suffix(".csv")
    part = csv.with_suffix(".part")
    pd.DataFrame(table).to_csv(part, index=False)
    part.replace(csv)
    save(draw(table, [one.name for one in sets]), FILE)
    return [csv, FILE.with_suffix(".svg"), FILE.with_suffix(".png")]
