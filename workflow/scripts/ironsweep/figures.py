"""Figures for a two-column paper: 7 inches wide, 8 pt, told apart by colour and by marker.

A cell without a number is drawn as a letter, never as zero and never left out, and every title says how many of the
planned cells it shows. Drawn is one tuning of each variant, and the title says which.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

WIDTH_IN = 7.0
_POINT = 8.0
_GREY = "0.45"
_PNG_DPI = 200
_MOST_COLUMNS = 4
_PREFERRED_BLOCK = 256


@dataclass(frozen=True)
class Style:
    """How a variant looks in every figure."""

    colour: str
    marker: str


# Okabe and Ito's palette, which stays distinct with every common kind of colour blindness.
STYLES = {
    "rust_offload": Style("#D55E00", "o"),
    "rust_liboffload": Style("#0072B2", "s"),
    "cuda": Style("#009E73", "^"),
    "hip": Style("#CC79A7", "D"),
    "cpp_openmp": Style("#000000", "v"),
    "cpp_seq": Style("#56B4E9", "X"),
}
_OTHER_STYLE = Style("#E69F00", "P")

LETTERS = {
    "wrong_result": "W",
    "unsupported": "U",
    "build_failed": "B",
    "crashed": "C",
    "timeout": "T",
    "out_of_memory": "M",
    "wrong_device": "D",
    "below_resolution": "R",
    "not_run": "N",
    "excluded": "E",
    "no_baseline": "x",
}

REGIONS = {
    "kernel": "all repetitions enqueued, then waited for",
    "launch_sync": "each launch waited for",
    "with_transfers": "data moved to the device and back in each repetition",
}
"""What is timed, in the order of the panels."""


@contextmanager
def paper_style() -> Iterator[None]:
    """Within it, matplotlib draws and saves in the style of the project; SVG files do not depend on the time."""
    style: Any = {
        **sns.axes_style("ticks"),
        **sns.plotting_context("paper"),
        "font.size": _POINT,
        "axes.titlesize": _POINT,
        "axes.labelsize": _POINT,
        "xtick.labelsize": _POINT - 0.5,
        "ytick.labelsize": _POINT - 0.5,
        "legend.fontsize": _POINT,
        "axes.linewidth": 0.6,
        "axes.edgecolor": _GREY,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "ytick.minor.width": 0.4,
        "ytick.minor.size": 1.5,
        "grid.linewidth": 0.4,
        "grid.color": "0.9",
        "lines.linewidth": 1.0,
        "figure.constrained_layout.wspace": 0.05,
        "svg.hashsalt": "ironsweep",
        "svg.fonttype": "path",
    }
    with mpl.rc_context(style):
        yield


def one_tuning(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of one tuning of each variant: safe rather than unchecked, strict rather than contracted, block 256.

    Args:
        table: rows of the cells or the ratios table.
    """
    rank = (
        4096 * (table["safety"] == "unchecked").astype(int)
        + 2048 * (table["contraction"] == "contract").astype(int)
        + (table["block"].astype(int) - _PREFERRED_BLOCK).abs()
    )
    program = [table[name] for name in ("system", "kernel", "variant", "device", "arch", "region")]
    return table[rank == rank.groupby(program).transform("min")]


def time_against_size(cells: pd.DataFrame) -> Figure:
    """Median time per repetition against problem size, a panel for each kernel.

    Args:
        cells: rows of the cells table of the kind `measure`, of one system, architecture and timed region, at least one
            of them `ok`.
    """
    with paper_style():
        kernels, variants = _in_order(cells["kernel"], ()), _in_order(cells["variant"], STYLES)
        columns = min(len(kernels), _MOST_COLUMNS)
        rows = -(-len(kernels) // columns)
        figure = Figure(figsize=(WIDTH_IN, 1.1 + 1.4 * rows), layout="constrained")
        grid = figure.subplots(rows, columns, sharex=True, sharey="row", squeeze=False)
        for number, axes_row in enumerate(grid):
            own = kernels[number * columns : (number + 1) * columns]
            for axes, kernel in zip(axes_row, own, strict=False):
                _draw_times(axes, cells[cells["kernel"] == kernel], variants)
                axes.set_title(kernel)
            for axes in axes_row[len(own) :]:
                axes.set_axis_off()
            _reserve_strip(axes_row[: len(own)], cells[cells["kernel"].isin(own)], variants)
        figure.supylabel("time per repetition", fontsize=_POINT)
        _title(figure, cells, "Median and 95 % interval of the median", "cells")
        _legend(figure, variants, cells, "problem size (elements)")
        return figure


def relative_speed(ratios: pd.DataFrame) -> Figure:
    """Speed relative to the baseline (baseline's median over the variant's), a panel for each size.

    Args:
        ratios: rows of the ratios table of one system, architecture and timed region, at least one of them `ok`.
    """
    with paper_style():
        kernels, variants = _in_order(ratios["kernel"], ()), _in_order(ratios["variant"], STYLES)
        sizes = sorted(ratios["size"].unique())
        height = 1.5 + 0.13 * len(kernels) * max(2, len(variants))
        figure = Figure(figsize=(WIDTH_IN, height), layout="constrained")
        (axes_row,) = figure.subplots(1, len(sizes), sharex=True, sharey=True, squeeze=False)
        for axes, size in zip(axes_row, sizes, strict=True):
            _draw_speeds(axes, ratios[ratios["size"] == size], kernels, variants)
            axes.set_title(f"{_readable(size)} elements")
        _speed_axis(axes_row[0], ratios)
        baseline = _in_order(ratios["baseline_variant"], STYLES)[0]
        _title(figure, ratios, "Ratio of medians and 95 % bootstrap interval", "comparisons")
        _legend(figure, variants, ratios, f"speed relative to {baseline} (above 1: faster than {baseline})")
        return figure


def save(figure: Figure, stem: Path) -> None:
    """Write a figure as `<stem>.svg` and `<stem>.png`."""
    with paper_style():
        for suffix, metadata in ((".svg", {"Date": None}), (".png", {})):
            path = stem.with_name(stem.name + suffix)
            temporary = stem.with_name(stem.name + ".tmp" + suffix)
            figure.savefig(temporary, dpi=_PNG_DPI, metadata=metadata)
            temporary.replace(path)


def save_all(cells: pd.DataFrame, ratios: pd.DataFrame, folder: Path) -> list[Path]:
    """Draw every figure of a system: both kinds for each architecture and region with at least one result to show.

    Args:
        cells: rows of the cells table of one system.
        ratios: rows of the ratios table of the same system.
        folder: where the files go; made if need be.

    Returns:
        The stems of the figures (path without suffix).
    """
    folder.mkdir(parents=True, exist_ok=True)
    measured = cells[cells["kind"] == "measure"]
    stems = []
    for table, draw in ((one_tuning(measured), time_against_size), (one_tuning(ratios), relative_speed)):
        for arch, region in itertools.product(_in_order(table["arch"], ()), _in_order(table["region"], REGIONS)):
            rows = table[(table["arch"] == arch) & (table["region"] == region)]
            if (rows["status"] == "ok").any():
                stem = folder / f"{arch}_{region}_{draw.__name__}"
                save(draw(rows), stem)
                stems.append(stem)
    return stems


# --- Parts of figures ----------------------------------------------------------------------------------------------


def _in_order(values: Iterable[str], order: Iterable[str]) -> list[str]:
    """The distinct values: first those in `order`, then the others as they come."""
    distinct = list(dict.fromkeys(values))
    known = [value for value in order if value in distinct]
    return known + [value for value in distinct if value not in known]


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def _style(variant: str) -> Style:
    return STYLES.get(variant, _OTHER_STYLE)


def _draw_times(axes: Axes, panel: pd.DataFrame, variants: Sequence[str]) -> None:
    axes.set(xscale="log", yscale="log")
    axes.grid(visible=True, which="major")
    measured = panel[panel["status"] == "ok"]
    if not measured.empty:
        sns.lineplot(
            data=measured,
            x="size",
            y="median_s",
            hue="variant",
            style="variant",
            hue_order=list(variants),
            style_order=list(variants),
            palette={variant: _style(variant).colour for variant in variants},
            markers={variant: _style(variant).marker for variant in variants},
            dashes=False,
            markersize=4.5,
            errorbar=None,
            legend=False,
            ax=axes,
        )
        for variant, rows in measured.groupby("variant", sort=False):
            axes.vlines(
                rows["size"], rows["ci_low_s"], rows["ci_high_s"], color=_style(str(variant)).colour, linewidth=1.4
            )
    axes.set(xlabel="", ylabel="")
    axes.xaxis.set_major_locator(FixedLocator(_spread(sorted(panel["size"].unique()))))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: _readable(size)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(EngFormatter(unit="s"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    sns.despine(ax=axes)


def _spread(sizes: Sequence[int]) -> list[int]:
    """Those sizes whose labels do not touch on a logarithmic axis: at least a quarter of the axis apart."""
    apart = (sizes[-1] / sizes[0]) ** 0.25
    shown = [sizes[-1]]
    for size in reversed(sizes[:-1]):
        if shown[-1] / size >= apart:
            shown.append(size)
    return shown


def _reserve_strip(axes_row: Sequence[Axes], cells: pd.DataFrame, variants: Sequence[str]) -> None:
    """Write the letters of the cells without a time below all times, a line for each variant that has any."""
    missing = cells[cells["status"] != "ok"]
    lines = [variant for variant in variants if (missing["variant"] == variant).any()]
    low, high = axes_row[0].get_ylim()
    measured = cells[cells["status"] == "ok"]
    if measured.empty:
        low, high = 1e-6, 1e-3
    step = (high / low) ** 0.13
    bottom = low / step ** len(lines)
    axes_row[0].set_ylim(bottom, high * 1.3)
    if np.log10(high * 1.3 / bottom) < 2:
        axes_row[0].yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for axes in axes_row:
        if lines:
            axes.axhspan(bottom, low, color="0.95", linewidth=0, zorder=0)
    for axes, kernel in zip(axes_row, _in_order(cells["kernel"], ()), strict=True):
        for row in _rows(missing[missing["kernel"] == kernel]):
            height = low / step ** (lines.index(row["variant"]) + 0.5)
            _letter(axes, row["size"], height, row["status"], row["variant"])


def _letter(axes: Axes, x: float, y: float, status: str, variant: str, **where: Any) -> None:
    colour = _style(variant).colour
    axes.text(
        x, y, LETTERS.get(status, "?"), color=colour, ha="center", va="center", fontsize=7, weight="bold", **where
    )


def _draw_speeds(axes: Axes, panel: pd.DataFrame, kernels: Sequence[str], variants: Sequence[str]) -> None:
    axes.axvline(1.0, color=_GREY, linewidth=0.8, zorder=1)
    axes.grid(visible=True, which="major", axis="x")
    for row in _rows(panel):
        variant, style = row["variant"], _style(row["variant"])
        offset = (variants.index(variant) + 1) / (len(variants) + 1) - 0.5
        height = kernels.index(row["kernel"]) + 0.8 * offset
        if row["status"] == "ok":
            axes.hlines(height, row["ci_low"], row["ci_high"], color=style.colour, linewidth=1.4, zorder=2)
            axes.plot(row["speed"], height, style.marker, color=style.colour, markersize=4, markeredgewidth=0, zorder=3)
        else:
            _letter(axes, 0.04, height, row["status"], variant, transform=axes.get_yaxis_transform())
    for boundary in range(1, len(kernels)):
        axes.axhline(boundary - 0.5, color="0.9", linewidth=0.6, zorder=0)
    axes.set_yticks(range(len(kernels)), kernels)
    axes.set_ylim(len(kernels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    sns.despine(ax=axes, left=True)


def _speed_axis(axes: Axes, ratios: pd.DataFrame) -> None:
    """A logarithmic axis with room for the letters, shared by all panels."""
    axes.set_xscale("log")
    numbers = ratios.loc[ratios["status"] == "ok", ["speed", "ci_low", "ci_high"]].to_numpy(dtype=float)
    low, high = min(np.nanmin(numbers), 0.8), max(np.nanmax(numbers), 1.25)
    margin = (high / low) ** 0.08
    axes.set_xlim(low / margin**1.5, high * margin)
    axes.xaxis.set_major_locator(LogLocator(subs=_ticks_per_decade(float(np.log10(high / low)))))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _ticks_per_decade(decades: float) -> tuple[float, ...]:
    if decades < 0.25:
        return (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
    if decades < 0.6:
        return (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    return (1.0, 2.0, 5.0) if decades < 2 else (1.0,)


def _readable(size: float) -> str:
    """A number of elements as 2·10⁴ or 10⁶ where it is that round, else with separators."""
    exponent = int(np.floor(np.log10(size)))
    mantissa = size / 10**exponent
    if exponent < 3 or not np.isclose(mantissa, round(mantissa)):
        return f"{int(size):_}".replace("_", "\u2009")
    factor = "" if round(mantissa) == 1 else f"{round(mantissa)}\\cdot"
    return f"${factor}10^{{{exponent}}}$"


def _title(figure: Figure, rows: pd.DataFrame, what: str, noun: str) -> None:
    """What is shown, of how many, what the region and the tunings are, and whether it may be believed."""
    first = rows.iloc[0]
    shown = int((rows["status"] == "ok").sum())
    names = [name for name in rows["device_name"].dropna().unique() if name] if "device_name" in rows else []
    device = f" ({', '.join(names)})" if names else ""
    lines = [f"{first['system']}: {first['arch']}{device}. {what}; {shown} of {len(rows)} {noun}."]
    region = str(first["region"])
    lines += [f"{region}: {REGIONS.get(region, '')}. Tunings: {', '.join(_in_order(rows['tuning'], ()))}."]
    figure.suptitle(
        "\n".join(lines),
        fontsize=_POINT,
        x=0.01,
        ha="left",
    )
    if not rows["verified"].all():
        figure.text(
            0.5,
            0.5,
            "UNVERIFIED",
            fontsize=44,
            color="#B00020",
            alpha=0.22,
            rotation=20,
            ha="center",
            va="center",
            weight="bold",
            zorder=10,
        )


def _legend(figure: Figure, variants: Sequence[str], rows: pd.DataFrame, axis: str) -> None:
    """Variants, and the meaning of the letters that occur, below the name of the common axis.

    The name is the legend's title because a label of the figure would be laid over a legend outside of the axes.
    """
    handles = [
        Line2D([], [], color=_style(variant).colour, marker=_style(variant).marker, markersize=4.5, label=variant)
        for variant in variants
    ]
    present = set(rows["status"])
    handles += [
        Line2D([], [], linestyle="", marker=f"${letter}$", color="black", markeredgewidth=0, markersize=5, label=status)
        for status, letter in LETTERS.items()
        if status in present
    ]
    figure.legend(
        handles=handles,
        title=axis,
        title_fontsize=_POINT,
        loc="outside lower center",
        ncols=min(len(handles), 6),
        frameon=False,
    )
