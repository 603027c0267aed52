"""The report's model: sentences with numbers, every cell, failures with their last words, and nothing that runs."""

import dataclasses
import html
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from ironsweep import report, tables
from ironsweep.columns import frame_of
from ironsweep.tables import Floors, System
from synthetic import Row, sweep

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


def sources(cells: list[Row], records: dict[str, Row], golden: Any, **changes: Any) -> report.Sources:
    """What a report of a sweep is made from."""
    system = System("laptop", cells, records)
    rows = tables.judged_cells(system, golden, {})
    ratios = list(tables.ratios(rows, tables.samples_of([system]), {"host": "cpp_openmp"}, Floors([])))
    known: dict[str, Any] = {
        "cells": frame_of(rows, "cells"),
        "ratios": frame_of(ratios, "ratios"),
        "means": frame_of(tables.geometric_means(ratios), "geometric_means"),
        "claims": frame_of([], "claims"),
        "problems": frame_of([], "problems"),
        "figures": [],
        "records": {("laptop", name): record for name, record in records.items() if record["status"] != "ok"},
        "environments": [],
        "toolchain": {"sha256": "c" * 64, "tools": {"rustc": {"version": "1.97.1"}}},
    }
    return report.Sources(**(known | changes))


def data_of(page: str) -> dict[str, Any]:
    """The data of the page's table."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_five_sentences_with_numbers() -> None:
    cells, records, golden = sweep()
    sentences = list(report.summary(sources(cells, records, golden)))
    assert len(sentences) == 5
    assert sentences[0] == "60 measurements of 5 kernels on 1 system were planned: 60 ok."
    assert sentences[1] == (
        "The results are verified: 0 of 0 correctness checks that ran came out right, and 2 of 2 planted wrong kernels"
        " that ran were caught."
    )
    assert "cpp_seq safe is 0.5" in sentences[2] and "of 5 of 5 kernels on host (launch_sync)" in sentences[2]
    assert "the verdicts are" in sentences[3]
    assert sentences[4] == "0 measurements failed, 0 lines of records were left out, and 0 measurements were not run."


def test_unverified_results_say_so_first() -> None:
    cells, records, golden = sweep()
    planted = next(cell for cell in cells if cell["kind"] == "planted")
    records[planted["id"]]["checksums"] = records[cells[0]["id"]]["checksums"]
    golden[planted["kernel"]] = dict(golden["Stream_TRIAD"].items())
    page = report.render(sources(cells, records, golden))
    assert "UNVERIFIED" in page


def test_every_cell_is_in_the_table_and_failures_have_their_last_words() -> None:
    cells, records, golden = sweep()
    failed, absent = cells[0]["id"], cells[1]["id"]
    records[failed] |= {"status": "crashed", "message": "signal 11", "log_tail": "first\nlast words"}
    del records[absent]
    page = report.render(sources(cells, records, golden))
    data = data_of(page)
    columns = {column["name"]: column for column in data["columns"]}
    assert data["rows"] == len(cells) and all(len(column["values"]) == len(cells) for column in columns.values())
    words = [columns["id"]["words"][at] for at in columns["id"]["values"]]
    assert sorted(words) == sorted(cell["id"] for cell in cells)
    for name, status in ((failed, "crashed"), (absent, "not_run")):
        at = words.index(name)
        assert columns["status"]["words"][columns["status"]["values"][at]] == status
        assert columns["median_s"]["values"][at] is None  # never zero
    assert "<pre>first\nlast words</pre>" in page and "signal 11" in page
    assert page.count("<details>") == 2  # this failure and the toolchain; what was not run is no failure


def test_what_a_worker_says_is_text() -> None:
    cells, records, golden = sweep()
    records[cells[0]["id"]] |= {"status": "crashed", "message": HOSTILE, "log_tail": HOSTILE}
    page = report.render(sources(cells, records, golden))
    assert "<img src=x" not in page and "alert(1)</script>" not in page
    assert html.escape("<img src=x onerror=alert(1)>", quote=False) in page
    reasons = next(column for column in data_of(page)["columns"] if column["name"] == "reason")
    assert HOSTILE in reasons["words"]


def test_it_needs_nothing_from_outside_and_stays_small(tmp_path: Path) -> None:
    cells, records, golden = sweep()
    whole = sources(cells, records, golden)
    many = pd.concat([whole.cells.assign(id=f"{n:03x}" + whole.cells["id"].str[3:]) for n in range(82)])[:5000]
    figure = tmp_path / "laptop/a_figure.svg"
    figure.parent.mkdir()
    figure.write_text("<svg xmlns='http://www.w3.org/2000/svg'>" + "x" * report.LARGEST_SVG + "</svg>")
    figure.with_suffix(".png").write_bytes(b"\x89PNG")
    page = report.render(dataclasses.replace(whole, cells=many, ratios=frame_of([], "ratios"), figures=[figure]))
    assert len(page.encode()) < 10_000_000
    assert data_of(page)["rows"] == 5000
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page) and "@import" not in page
    assert "data:image/png" in page and "data:image/svg" not in page  # the drawing was too large


def test_provenance_names_devices_commit_and_tools() -> None:
    cells, records, golden = sweep()
    line = {"host": "node1", "cpu": "Xeon", "source": {"commit": "d" * 40, "clean": False, "changed": ["a.rs"]}}
    page = report.render(sources(cells, records, golden, environments=[line]))
    assert "d" * 40 in page and "changed</span>: a.rs" in page
    assert "<td>node1</td><td>Some CPU</td>" in page and "<td>1.97.1</td>" in page
