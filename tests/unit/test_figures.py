"""Figures show what the tables say: every status, every interval, and whether it may be believed."""

import functools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ironsweep import figures, tables
from ironsweep.columns import frame_of
from ironsweep.figures import LETTERS, STYLES, relative_speed, save, save_all, time_against_size
from ironsweep.judge import Status
from ironsweep.tables import Floors, System
from synthetic import HOST, KERNELS, NVIDIA, sweep

Tables = tuple[pd.DataFrame, pd.DataFrame]


@functools.cache
def both_tables(nvidia: bool = False) -> Tables:
    """Cells and ratios of a sweep in which everything went well."""
    where = ("h200", "nvidia", "sm_90", NVIDIA) if nvidia else ("laptop", "host", "host", HOST)
    cells, records, golden = sweep(*where)
    system = System(where[0], cells, records)
    rows = tables.judged_cells(system, golden, {})
    ratios = tables.ratios(rows, tables.samples_of([system]), {"host": "cpp_openmp", "nvidia": "cuda"}, Floors([]))
    return frame_of(rows, "cells"), frame_of(ratios, "ratios")


def with_failures(table: pd.DataFrame, statuses: list[str]) -> pd.DataFrame:
    """The table with one failure each in the first comparable cells of cpp_seq."""
    rows = table.index[(table["variant"] == "cpp_seq") & (table["status"] == "ok")][: len(statuses)]
    failed = table.copy()
    failed.loc[rows, "status"] = statuses
    return failed


def measured(cells: pd.DataFrame, region: str = "launch_sync") -> pd.DataFrame:
    return cells[(cells["kind"] == "measure") & (cells["region"] == region)]


def in_region(ratios: pd.DataFrame, region: str = "launch_sync") -> pd.DataFrame:
    return ratios[ratios["region"] == region]


def letters(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def title(figure: Figure) -> str:
    return figure.get_suptitle()


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def watermarks(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts if text.get_text() == "UNVERIFIED"]


def test_time_has_a_panel_for_each_kernel() -> None:
    figure = time_against_size(measured(both_tables()[0]))
    assert [axes.get_title() for axes in figure.axes if axes.axison] == sorted(KERNELS)
    assert len(figure.axes) == 8  # two rows of four, three of them empty
    assert "45 of 45 cells" in title(figure) and "laptop: host (Some CPU)" in title(figure)
    assert "launch_sync: each launch waited for" in title(figure) and "Tunings: safe_strict" in title(figure)
    assert letters(figure) == [] and watermarks(figure) == []
    assert legend(figure) == ["rust_offload", "cpp_openmp", "cpp_seq"]
    drawn = [axes for axes in figure.axes if axes.axison]
    assert {axes.get_xscale() for axes in drawn} == {axes.get_yscale() for axes in drawn} == {"log"}


def test_time_is_drawn_where_it_belongs() -> None:
    cells = measured(both_tables()[0])
    figure = time_against_size(cells)
    one = cells[cells["kernel"] == "Stream_TRIAD"]
    (axes,) = (axes for axes in figure.axes if axes.get_title() == "Stream_TRIAD")
    drawn = [np.asarray(line.get_xydata()) for line in axes.lines]
    for _, group in one.groupby("variant"):
        expected = group[["size", "median_s"]].to_numpy(dtype=float)
        assert sum(points.shape == (3, 2) and np.allclose(points, expected, rtol=1e-9, atol=0) for points in drawn) == 1


def test_every_status_is_a_letter_in_both_figures() -> None:
    statuses = [status.value for status in Status if status != Status.OK]
    cells, ratios = both_tables()
    for figure, noun in (
        (time_against_size(measured(with_failures(cells, statuses))), "35 of 45 cells"),
        (relative_speed(in_region(with_failures(ratios, statuses))), "20 of 30 comparisons"),
    ):
        assert sorted(letters(figure)) == sorted(LETTERS[status] for status in statuses)
        assert set(statuses) <= set(legend(figure))
        assert noun in title(figure)


def test_speed_shows_baseline_and_intervals() -> None:
    _, ratios = both_tables(nvidia=True)
    figure = relative_speed(in_region(ratios))
    assert len(figure.axes) == 3
    assert "30 of 30 comparisons" in title(figure)
    assert legend(figure) == ["rust_offload", "rust_liboffload"]
    assert "relative to cuda" in figure.legends[0].get_title().get_text()
    assert sum(len(axes.collections) for axes in figure.axes) == 30


def test_one_tuning_of_each_variant_is_drawn() -> None:
    cells = measured(both_tables()[0])
    others = [
        cells.assign(contraction="contract"),
        cells[cells["variant"] == "rust_offload"].assign(safety="unchecked"),
        cells[cells["variant"] == "rust_offload"].assign(block=64),
    ]
    pd.testing.assert_frame_equal(
        figures.one_tuning(pd.concat([*others, cells], ignore_index=True)).reset_index(drop=True),
        cells.reset_index(drop=True),
    )
    only = cells.assign(safety="unchecked", contraction="contract", block=1024)
    assert len(figures.one_tuning(only)) == len(cells)


def test_unverified_is_written_across() -> None:
    cells, ratios = (table.assign(verified=False) for table in both_tables())
    assert watermarks(time_against_size(measured(cells))) == ["UNVERIFIED"]
    assert watermarks(relative_speed(in_region(ratios))) == ["UNVERIFIED"]


def test_a_baseline_that_failed_everywhere_leaves_letters() -> None:
    ratios = both_tables()[1].copy()
    ratios.loc[ratios["kernel"] == "Apps_FIR", "status"] = "no_baseline"
    assert letters(relative_speed(in_region(ratios))) == [LETTERS["no_baseline"]] * 6


def test_every_status_and_variant_has_its_own_look() -> None:
    assert {s.value for s in Status} - {"ok"} <= set(LETTERS)
    assert len(set(LETTERS.values())) == len(LETTERS)
    assert len({style.colour for style in STYLES.values()}) == len({style.marker for style in STYLES.values()}) == 6


def test_files_of_a_system(tmp_path: Path) -> None:
    stems = save_all(*both_tables(), tmp_path / "laptop")
    names = sorted(path.name for path in (tmp_path / "laptop").iterdir())
    expected = (
        "host_launch_sync_relative_speed",  # the baseline has no other region
        "host_launch_sync_time_against_size",
        "host_with_transfers_time_against_size",
    )
    assert names == [f"{name}.{suffix}" for name in expected for suffix in ("png", "svg")]
    assert [stem.name for stem in stems] == [*expected[1:], expected[0]]


def test_without_any_result_there_is_no_figure(tmp_path: Path) -> None:
    cells, ratios = both_tables()
    assert save_all(cells.assign(status="not_run"), ratios.assign(status="not_run"), tmp_path / "x") == []
    assert (tmp_path / "x").is_dir()


def test_same_data_same_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save(relative_speed(in_region(both_tables()[1])), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert b"<dc:date>" not in (tmp_path / "one.svg").read_bytes()


@pytest.mark.parametrize(
    ("size", "text"),
    [(10, "10"), (1000, "$10^{3}$"), (200_000, "$2\\cdot10^{5}$"), (123_456, "123\u2009456")],
)
def test_sizes_are_readable(size: int, text: str) -> None:
    assert figures._readable(size) == text
