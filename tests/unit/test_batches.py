"""Batches: the plan is kept and only grows, nothing that is there is measured again, what came back is planned anew."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from ironsweep import batches, packing, plan
from ironsweep.batches import Entry, Index
from ironsweep.config import Check, Hardware, Region, Reps, Settings, System, Tunings
from ironsweep.errors import UserError
from ironsweep.kernels import Kernel

CLUSTER = System(
    "cluster",
    "slurm",
    {"host": ("host",), "nvidia": ("sm_90",)},
    {"gres": "gpu:h100:2", "runtime": 10, "max_runtime": 30},
    {"nvidia": Hardware(model="H100", count=4)},
)
SETTINGS = Settings(
    kernels=tuple(Kernel(name, name.partition("_")[0], "") for name in ("Stream_TRIAD", "Apps_FIR")),
    planted=(Kernel("Planted_NOTHING", "Planted", "", planted=True),),
    sizes=(1000, 50_000),
    variants=("rust_offload", "rust_liboffload", "cuda"),
    archs={"host": ("host",), "nvidia": ("sm_90",)},
    host_cpu="",
    passes=10,
    warmup=1,
    reps=Reps(20, {}, {}),
    tunings=Tunings(("safe",), ("strict",), (256,)),
    regions={"kernel": Region()},
    check=Check((1, 1000), (1000,), (1,), (), 300, 1),
    emulator=None,
    timeout_s=60.0,
    baseline={},
    systems=(CLUSTER,),
    toolchain="",
    toolchain_dir="",
    defaults={},
)


def settings(**changes: object) -> Settings:
    """Settings with some changes."""
    return dataclasses.replace(SETTINGS, **changes)  # type: ignore[arg-type]


def planned(root: Path, **changes: object) -> Index:
    """The plan in a folder after a start with such settings."""
    changed = settings(**changes)
    return batches.current(changed, root, lambda: plan.make(changed), write=True)


def wanted(**changes: object) -> set[str]:
    """Ids of the cells that are to run."""
    return {cell.id for cell in plan.make(settings(**changes)).cells if cell.status_planned == "planned"}


def lines(root: Path, entry: Entry) -> list[dict[str, Any]]:
    """Header and points of a batch."""
    return [json.loads(line) for line in (root / entry.file).read_text().splitlines()]


def ids(root: Path, entry: Entry) -> list[str]:
    """Cells of a batch, without second measurements."""
    return [line["id"] for line in lines(root, entry)[1:] if "twin_of" not in line]


def run(root: Path, entry: Entry, **statuses: str) -> None:
    """Leave records as if a batch had run; `statuses` by id, `not_run` for what came back."""
    (root / entry.records).parent.mkdir(parents=True, exist_ok=True)
    with (root / entry.records).open("w") as file:
        for line in lines(root, entry)[1:]:
            status = statuses.get(line["id"], "ok")
            back = {"handed_back": True} if status == "not_run" else {}
            took = {"wall_s": 0.01, "seconds_per_rep": [1e-4] * line["passes"], "order": 0, "run": "r"}
            known = {"bytes_read": 8, "bytes_written": 8, "bytes_modified": 0, "bytes_atomic": 0, "flops": 1}
            told = {"launches_per_rep": 1, "actual_size": line["size"], "started": "2026-01-01T00:00:00+00:00"}
            file.write(json.dumps({**line, **took, **known, **told, "status": status, **back}) + "\n")


def begin(root: Path, entry: Entry, *points: str) -> None:
    """Leave a journal as if a batch had been interrupted after some points."""
    path = root / f"{entry.journal}.0.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps({'id': point, 'status': 'ok'})}\n" for point in points) + '{"id": "cut')


def began(root: Path, entry: Entry) -> list[str]:
    """The points in the journal of such a batch."""
    return [json.loads(line)["id"] for line in (root / f"{entry.journal}.0.jsonl").read_text().splitlines()[:-1]]


def test_every_cell_that_can_run_is_in_one_batch(tmp_path: Path) -> None:
    index = planned(tmp_path)
    found = [identity for entry in index.batches for identity in ids(tmp_path, entry)]
    assert sorted(found) == sorted(wanted())
    assert index.cells == len(found)
    assert {(entry.device, entry.lanes) for entry in index.batches} == {("host", 1), ("nvidia", 2)}
    rows = (tmp_path / "results/plan/cells.csv").read_text().splitlines()
    assert len(rows) == 1 + len(plan.make(SETTINGS).cells)


def test_a_batch_file_says_what_is_expected_and_has_its_pairs(tmp_path: Path) -> None:
    entry = next(entry for entry in planned(tmp_path).batches if entry.device == "nvidia")
    header, *points = lines(tmp_path, entry)
    assert header["expected"] == {"vendor": "nvidia", "model": "H100", "arch": ["sm_90"]}
    assert (header["batch"], header["lanes"], header["points"]) == (entry.id, 2, len(points))
    assert [point["lane"] for point in points] == sorted(point["lane"] for point in points)
    twins = [point for point in points if "twin_of" in point]
    assert twins
    for twin in twins:
        cell = next(point for point in points if point["id"] == twin["twin_of"])
        assert (twin["kind"], twin["dump"], twin["id"]) == ("measure", None, packing.twin(cell["id"]))
        same = set(cell) - {"id", "dump"}
        assert {name: cell[name] for name in same} == {name: twin[name] for name in same}


def test_nothing_is_planned_that_is_there(tmp_path: Path) -> None:
    first = planned(tmp_path)

    def fail() -> plan.Plan:
        raise AssertionError("planned again")

    assert batches.current(SETTINGS, tmp_path, fail, write=True) == first


def test_the_plan_is_the_same_everywhere(tmp_path: Path) -> None:
    assert planned(tmp_path / "a") == planned(tmp_path / "b")


@pytest.mark.parametrize("ran", [False, True])
def test_a_further_size_plans_its_own_cells_only(tmp_path: Path, ran: bool) -> None:
    first = planned(tmp_path)
    if ran:
        for entry in first.batches:
            run(tmp_path, entry)
    more = planned(tmp_path, sizes=(1000, 50_000, 70_000))
    assert more.batches[: len(first.batches)] == first.batches
    new = [identity for entry in more.batches[len(first.batches) :] for identity in ids(tmp_path, entry)]
    assert sorted(new) == sorted(wanted(sizes=(1000, 50_000, 70_000)) - wanted())


def test_what_is_compared_is_measured_together(tmp_path: Path) -> None:
    """A further variant: its checks are new, but its times belong beside those of the others."""
    for entry in planned(tmp_path, variants=("cuda",)).batches:
        run(tmp_path, entry)
    index = planned(tmp_path)
    new = [
        line
        for entry in index.batches
        if not (tmp_path / entry.records).exists()
        for line in lines(tmp_path, entry)[1:]
    ]
    measured = {line["id"] for line in new if line["kind"] == "measure" and "twin_of" not in line}
    assert measured == {
        c.id for c in plan.make(SETTINGS).cells if c.kind == "measure" and c.status_planned == "planned"
    }
    assert {line["variant"] for line in new if line["kind"] != "measure"} == {"rust_offload", "rust_liboffload"}


def test_cells_that_are_not_wanted_now_are_kept_for_later(tmp_path: Path) -> None:
    first = planned(tmp_path)
    for entry in first.batches:
        run(tmp_path, entry)
    none = planned(tmp_path, kernels=SETTINGS.kernels[:1], sizes=(90_000,))
    assert {entry.id for entry in first.entries} <= {entry.id for entry in none.entries}
    again = planned(tmp_path)
    assert {entry.id for entry in again.batches} == {entry.id for entry in first.batches}


def test_a_batch_that_did_not_run_is_given_up_if_a_cell_is_not_wanted(tmp_path: Path) -> None:
    planned(tmp_path)
    less = planned(tmp_path, sizes=(1000,))
    found = [identity for entry in less.batches for identity in ids(tmp_path, entry)]
    assert sorted(found) == sorted(wanted(sizes=(1000,)))
    assert all(not entry.earlier for entry in less.batches)


def test_what_a_batch_had_measured_when_it_was_given_up_is_used(tmp_path: Path) -> None:
    first = planned(tmp_path)
    begun = next(entry for entry in first.batches if entry.device == "nvidia")
    begin(tmp_path, begun, *ids(tmp_path, begun))
    less = planned(tmp_path, sizes=(1000,))
    assert {entry.earlier for entry in less.batches if entry.device == "nvidia"} == {(begun.id,)}
    option = batches.journals_before(next(entry for entry in less.batches if entry.earlier))
    assert option == f"--earlier results/journal/cluster/{begun.id}"
    for entry in less.batches:
        run(tmp_path, entry)
    # Back again: what the first one had of the other sizes is not forgotten.
    more = planned(tmp_path)
    assert {entry.earlier for entry in more.batches[len(less.batches) :] if entry.device == "nvidia"} == {(begun.id,)}


def test_journals_without_one_of_its_points_are_nothing_to_a_batch(tmp_path: Path) -> None:
    first = planned(tmp_path)
    begun = next(entry for entry in first.batches if entry.device == "nvidia")
    begin(tmp_path, begun, *({*ids(tmp_path, begun)} - wanted(sizes=(1000,))))
    assert all(not entry.earlier for entry in planned(tmp_path, sizes=(1000,)).batches)


def test_what_did_not_run_does_not_measure_what_is_planned_anew(tmp_path: Path) -> None:
    planned(tmp_path, variants=("rust_offload", "cuda"))
    index = planned(tmp_path)
    found = [identity for entry in index.batches for identity in ids(tmp_path, entry)]
    assert sorted(found) == sorted(wanted())


@pytest.mark.parametrize("damage", ["plan", "index.json", "batch"])
def test_a_lost_plan_loses_no_measurement(tmp_path: Path, damage: str) -> None:
    first = planned(tmp_path)
    for entry in first.batches:
        begin(tmp_path, entry, *ids(tmp_path, entry)[:-1])
    if damage == "plan":
        shutil.rmtree(tmp_path / batches.PLAN)
    elif damage == "batch":
        (tmp_path / first.batches[0].file).unlink()
    else:
        (tmp_path / "results/plan/index.json").unlink()
    # Estimates may have changed meanwhile, and with them what is in which batch.
    index = planned(tmp_path, kernels=SETTINGS.kernels[:1])
    new = [entry for entry in index.batches if entry not in first.batches]
    assert new
    for entry in new:
        assert set(entry.earlier) == {
            old.id for old in first.batches if {*ids(tmp_path, entry)} & {*began(tmp_path, old)} and old.id != entry.id
        }


def test_a_lost_batch_is_planned_again(tmp_path: Path) -> None:
    first = planned(tmp_path)
    (tmp_path / first.batches[0].file).unlink()
    again = planned(tmp_path)
    assert {entry.id for entry in again.batches} == {entry.id for entry in first.batches}
    assert all((tmp_path / entry.file).exists() for entry in again.batches)


def test_cells_are_counted_once(tmp_path: Path) -> None:
    for entry in planned(tmp_path, variants=("cuda",)).batches:
        run(tmp_path, entry)
    assert planned(tmp_path).cells == len(wanted())


def test_points_that_came_back_are_planned_again_with_what_they_are_compared_with(tmp_path: Path) -> None:
    first = planned(tmp_path)
    cells = {cell.id: cell for cell in plan.make(SETTINGS).cells}
    gpu = next(entry for entry in first.batches if entry.device == "nvidia")
    measure = next(c for c in ids(tmp_path, gpu) if cells[c].kind == "measure")
    check = next(c for c in ids(tmp_path, gpu) if cells[c].kind == "check")
    for entry in first.batches:
        run(tmp_path, entry, **{measure: "not_run", check: "not_run"})
    again = planned(tmp_path)
    new = {c for entry in again.batches if entry not in first.batches for c in ids(tmp_path, entry)}
    together = {c for c, cell in cells.items() if packing.compared(cell) == packing.compared(cells[measure])}
    assert new == together | {check}
    assert planned(tmp_path) == again  # once, not at each start
    for entry in again.batches:
        if entry not in first.batches:
            run(tmp_path, entry)
    assert planned(tmp_path).entries == again.entries


def test_a_whole_batch_that_came_back_runs_again(tmp_path: Path) -> None:
    """Its points are packed as before, which must not lead to the records that are there."""
    for entry in planned(tmp_path).batches:
        run(tmp_path, entry)
    for _ in range(3):
        index = planned(tmp_path, sizes=(1000, 50_000, 70_000))
        new = [entry for entry in index.batches if not (tmp_path / entry.records).exists()]
        assert new
        for entry in new:
            run(tmp_path, entry, **dict.fromkeys(ids(tmp_path, entry), "not_run"))
    assert len({entry.id for entry in index.entries}) == len(index.entries)


def test_points_that_came_back_are_not_forgotten_when_their_next_batch_is_given_up(tmp_path: Path) -> None:
    first = planned(tmp_path)
    gpu = next(entry for entry in first.batches if entry.device == "nvidia")
    cells = {
        line["id"]: line for line in lines(tmp_path, gpu)[1:] if line["kind"] == "measure" and "twin_of" not in line
    }
    small = next(name for name, cell in cells.items() if cell["size"] == 1000)
    large = next(name for name, cell in cells.items() if cell["size"] == 50_000)
    for entry in first.batches:
        run(tmp_path, entry, **{small: "not_run", large: "not_run"})
    planned(tmp_path)
    less = planned(tmp_path, sizes=(1000,))
    assert any(small in ids(tmp_path, entry) for entry in less.batches if entry not in first.batches)


def test_records_that_were_written_again_are_looked_through_again(tmp_path: Path) -> None:
    first = planned(tmp_path)
    for entry in first.batches:
        run(tmp_path, entry)
    planned(tmp_path)
    gpu = next(entry for entry in first.batches if entry.device == "nvidia")
    run(tmp_path, gpu, **{ids(tmp_path, gpu)[0]: "not_run"})
    os.utime(tmp_path / gpu.records, ns=(1, 1))
    assert len(planned(tmp_path).batches) == len(first.batches) + 1


@pytest.mark.parametrize("text", [b"", b"{", b'{"handed_back": true, "id": 3', b'\xff"handed_back"\n[]\n'])
def test_damaged_records_stop_no_plan(tmp_path: Path, text: bytes) -> None:
    first = planned(tmp_path)
    for entry in first.batches:
        run(tmp_path, entry)
        with (tmp_path / entry.records).open("ab") as file:
            file.write(text + b'{"status": "ok"}\n{"status": "ok", "run": 1, "order": null}\n')
    more = planned(tmp_path, sizes=(1000, 50_000, 70_000))
    assert len(more.batches) > len(first.batches)


@pytest.mark.parametrize("keep", [0, 300, -2])
def test_records_that_are_cut_off_are_named(tmp_path: Path, keep: int) -> None:
    """Else their cells would be `not_run` for ever."""
    entry = planned(tmp_path).batches[0]
    run(tmp_path, entry)
    path = tmp_path / entry.records
    path.write_bytes(path.read_bytes()[:keep])
    for _ in range(2):
        with pytest.raises(UserError, match=rf"{path.name}: is damaged, \d+ of its {entry.points} records"):
            planned(tmp_path)
    run(tmp_path, entry)
    assert planned(tmp_path).batches


@pytest.mark.parametrize("text", [b"", b"[]", b"{}\n", b"\xff\n"])
def test_a_damaged_batch_is_named(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / planned(tmp_path).batches[0].file
    path.write_bytes(text)
    with pytest.raises(UserError, match=rf"{path.name}: is damaged; remove it"):
        planned(tmp_path, sizes=(1000,))


@pytest.mark.parametrize("place", ["results/plan", "results/plan/batches", "results/plan/index.part"])
def test_where_nothing_can_be_written_a_sentence_says_so(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    if place.endswith(".part"):
        (tmp_path / place).mkdir()
    else:
        (tmp_path / place).write_text("")
    with pytest.raises(UserError, match="cannot be"):
        planned(tmp_path)


def test_who_only_looks_changes_no_plan(tmp_path: Path) -> None:
    first = planned(tmp_path)
    table = (tmp_path / "results/plan/cells.csv").read_bytes()
    other = settings(sizes=(1000, 80_000))
    looked = batches.current(other, tmp_path, lambda: plan.make(other), write=False)
    assert {entry.id for entry in looked.batches} != {entry.id for entry in first.batches}
    assert all((tmp_path / entry.file).exists() for entry in looked.batches)  # Snakemake looks for them
    assert (tmp_path / "results/plan/cells.csv").read_bytes() == table
    assert batches.load(tmp_path) == first


def test_a_job_finds_its_batch_whatever_the_plan_is_now(tmp_path: Path) -> None:
    first = planned(tmp_path)
    entry = next(entry for entry in first.batches if entry.device == "nvidia")
    other = planned(tmp_path, sizes=(1000,))
    assert entry.id not in [known.id for known in other.entries]
    assert other.entry(entry.id, tmp_path) == dataclasses.replace(entry, wanted=True)


@pytest.mark.parametrize("text", ["", "{", '{"format": 2}', '{"format": 2, "entries": [{"id": 3}]}', "\0"])
def test_a_damaged_index_is_named(tmp_path: Path, text: str) -> None:
    planned(tmp_path)
    (tmp_path / "results/plan/index.json").write_text(text)
    with pytest.raises(UserError, match=r"index\.json: is damaged .*remove it"):
        planned(tmp_path)


def test_after_a_run_it_is_said_how_good_estimates_were(tmp_path: Path) -> None:
    index = planned(tmp_path)
    for entry in index.batches:
        run(tmp_path, entry)
    points = sum(entry.points for entry in index.batches)
    (said,) = batches.estimates(index.batches, 0.0, tmp_path)
    assert said.startswith(f"cluster: {points} points took {points * 0.01:.0f} s, estimated were ")
    assert batches.estimates(index.batches, time.time(), tmp_path) == []  # all of them were measured before
    for entry in index.batches:
        (tmp_path / entry.records).write_bytes(b"\0\n[]\n{}\n")
    assert batches.estimates(index.batches, 0.0, tmp_path) == []
    shutil.rmtree(tmp_path / "results")
    assert batches.estimates(index.batches, 0.0, tmp_path) == []


def test_time_asked_for(tmp_path: Path) -> None:
    short = Entry("0", "cluster", "nvidia", (), 1, 0, 1, 10.0)
    assert [batches.minutes_of(short, CLUSTER, 60.0, attempt) for attempt in (1, 2, 6)] == [3, 6, 30]
    assert batches.minutes_of(dataclasses.replace(short, seconds=380.0), CLUSTER, 60.0) == 12
    for entry in planned(tmp_path, passes=100_000).batches:
        assert entry.seconds <= 10 * 60 / batches.SAFETY - batches.START_S


def test_what_takes_longer_than_an_allocation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"config/systems/cluster\.yaml: slurm: runtime"):
        planned(tmp_path, passes=2_000_000)


@pytest.mark.parametrize(
    ("slurm", "count", "lanes"),
    [
        ({"gres": "gpu:h100:4"}, 8, 4),
        ({"gres": "gpu:2"}, 8, 2),
        ({"gres": "gpu"}, 8, 1),
        ({"exclusive": True}, 8, 8),
        ({}, 8, 1),
    ],
)
def test_lanes(slurm: dict[str, Any], count: int, lanes: int) -> None:
    system = dataclasses.replace(CLUSTER, slurm=slurm, hardware={"nvidia": Hardware(count=count)})
    assert batches.lanes(system, "nvidia") == lanes
    assert batches.lanes(system, "host") == 1
