"""Result sets side by side: changes beyond noise, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from ironsweep import compare, history
from ironsweep.errors import UserError
from synthetic import record_of, sweep

IMAGES = {"binary_sha256": "b" * 64, "image_sha256": "a" * 64}


def records(system: str = "laptop", factor: float = 1.0, only: str = "", **changes: Any) -> list[dict[str, Any]]:
    """Records of a sweep with A/A pairs; times of one kernel are longer by a factor."""
    cells, _, _ = sweep(system, sizes=(100_000,))
    found = []
    for cell in cells:
        if cell["kind"] == "planted":
            continue
        seconds = 1e-3 * (factor if cell["kernel"] == only else 1.0)
        found.append(record_of(cell, 1.0, seconds, **changes))
        twin = {**cell, "id": f"f{cell['id'][1:]}"}
        found.append(record_of(twin, 1.0, seconds, twin_of=cell["id"], **changes))
    return found


def result_set(tmp_path: Path, name: str, lines: list[dict[str, Any]]) -> compare.ResultSet:
    file = tmp_path / f"{name}.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return compare.read_set(file, name)


def test_only_what_is_beyond_noise_is_a_change(tmp_path: Path) -> None:
    before = result_set(tmp_path, "before", records())
    slower = result_set(tmp_path, "after", records(factor=1.2, only="Apps_FIR", host="node2"))
    rows = compare.compare(before, slower)
    assert len(rows) == len(before.cells) == 20
    changed = [row for row in rows if row["change"] not in ("same", "inconclusive")]
    assert {(row["kernel"], row["change"]) for row in changed} == {("Apps_FIR", "slower")} and len(changed) == 4
    assert rows[: len(changed)] == changed
    assert compare.is_worse(rows) and "slower     0.8" in compare.report(before, slower, rows)
    assert changed[0]["not_alike"] == "host: node2 / node1"
    faster = compare.compare(slower, before)
    assert {row["change"] for row in faster if row["kernel"] == "Apps_FIR"} == {"faster"}
    assert not compare.is_worse(faster)


def test_what_fails_now_is_worse_and_what_ran_never_is_not(tmp_path: Path) -> None:
    lines = records()
    crashed = [{**lines[0], "status": "crashed", "message": "signal 11"}, *lines[1:]]
    before, after = result_set(tmp_path, "before", lines), result_set(tmp_path, "after", crashed)
    rows = compare.compare(before, after)
    assert (rows[0]["change"], rows[0]["reason"]) == ("lost", "after crashed: signal 11") and compare.is_worse(rows)
    assert not compare.is_worse(compare.compare(after, after))
    assert {row["change"] for row in compare.compare(after, before)} >= {"gained"}


def test_without_pairs_nothing_can_be_told_from_chance(tmp_path: Path) -> None:
    alone = [line for line in records(factor=2.0) if not line.get("twin_of")]
    rows = compare.compare(result_set(tmp_path, "a", alone), result_set(tmp_path, "b", alone))
    assert {row["change"] for row in rows} == {"inconclusive"}


def test_systems_of_other_names_are_compared_if_there_is_one_each(tmp_path: Path) -> None:
    one, other = result_set(tmp_path, "one", records()), result_set(tmp_path, "other", records(system="cluster"))
    assert len(compare.compare(one, other)) == 20
    both = result_set(
        tmp_path,
        "both",
        [*records(), *({**line, "system": "b"} | {"id": "e" + line["id"][1:]} for line in records(system="b"))],
    )
    with pytest.raises(UserError, match="name files of records with one system each"):
        compare.compare(one, both)


def test_a_folder_of_results_has_judged_statuses(tmp_path: Path) -> None:
    from ironsweep import columns

    lines = records()
    (tmp_path / "results/records/laptop").mkdir(parents=True)
    (tmp_path / "results/records/laptop/b.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    rows = [{**line, "status": "wrong_result", "reason": "off"} for line in lines[:1]]
    columns.write_table(columns.frame_of(rows, "cells"), tmp_path / "results/tables", "cells")
    found = compare.read_set(tmp_path, "before")
    assert [cell["reason"] for cell in found.cells.values() if cell["status"] == "wrong_result"] == ["off"]


@pytest.mark.parametrize(
    ("content", "message"), [("", "no record that can be read"), ("{", "no record that can be read")]
)
def test_what_is_no_result_set_is_said(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(content)
    with pytest.raises(UserError, match=f"--config: before: .*{message}"):
        compare.read_set(file, "before")
    with pytest.raises(UserError, match="neither a file of records nor a folder"):
        compare.read_set(tmp_path / "none", "before")


def test_history_follows_the_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [
        result_set(tmp_path, f"s{number}", records(factor=factor, only="Apps_FIR"))
        for number, factor in enumerate((1.0, 1.0, 1.5))
    ]
    rows = history.rows(sets)
    assert {row["set"] for row in rows} == {2, 3} and len(rows) == 40
    last = [row["speed"] for row in rows if row["set"] == 3 and row["kernel"] == "Apps_FIR"]
    assert last == pytest.approx([1 / 1.5] * len(last), rel=0.02)
    monkeypatch.chdir(tmp_path)
    files = history.write(sets)
    assert all(file.stat().st_size > 0 for file in files)
    drawn = history.draw(rows, ["a", "b", "c"])
    assert drawn.axes[0].get_title(loc="left") == "host, launch_sync: 30 of 30 cells"
    assert "speed" in drawn.axes[0].get_ylabel()
