"""What points cost: the model, what is learnt from records, and how its error is corrected."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ironsweep import costs
from ironsweep.costs import Costs, Point, Speeds, Traffic
from ironsweep.errors import UserError
from ironsweep.records import Record, read_records

H200 = Path(__file__).parents[2] / "examples/h200/h200.jsonl.xz"
POINT = Point("0" * 16, "Stream_TRIAD", "cuda", "nvidia", 1_000_000, 10, 5, 1, "kernel", "reference")
PLAIN = Speeds(
    memory=1e9, flops=1e9, launch_s=1e-6, transfer=1e8, initial=1e7, fetch=1e6, start_s=0.5, pause_s=0.04, point_s=1e-3
)


def record(number: int, seconds: float, **changes: Any) -> Record:
    """A record of a point that took so many seconds of wall time, the ``number``-th of its run."""
    values = POINT._asdict() | {"id": f"{number:016x}"} | changes
    return {
        "status": "ok",
        "run": "a",
        "order": number,
        "wall_s": seconds,
        "seconds_per_rep": [1e-6] * values["passes"],
        "bytes_read": 16 * values["size"],
        "bytes_written": 8 * values["size"],
        "bytes_modified": 0,
        "bytes_atomic": 0,
        "flops": 2 * values["size"],
        "launches_per_rep": 1,
        **values,
    }


def run(model: Costs, points: list[Point], factor: float = 1.0) -> list[Record]:
    """Records of a run in which every point costs what a model says, times a factor, starts and pauses apart."""
    records, workers = [], dict[tuple[str, str], int]()
    before = None
    for number, point in enumerate(points):
        worker = (point.kernel, point.variant)
        own = model.point(point) + (model.initial(point) if workers.get(worker) != point.size else 0.0)
        wall = factor * own + (model.start(point) if worker not in workers else 0.0)
        wall += model.pause(point) if worker != before else 0.0
        records.append(record(number, wall, **{k: v for k, v in point._asdict().items() if k != "id"}))
        workers[worker], before = point.size, worker
    return records


def some_points(seed: int, count: int = 40) -> list[Point]:
    rng = random.Random(seed)
    return [
        POINT._replace(
            id=f"{number:016x}",
            kernel=rng.choice(["Stream_TRIAD", "Apps_FIR"]),
            variant=rng.choice(["cuda", "rust_offload"]),
            size=rng.choice([1000, 1_000_000]),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("device", sorted(costs.DEFAULTS))
@pytest.mark.parametrize("changes", [{"size": 2_000_000}, {"reps": 20}, {"passes": 10}, {"region": "with_transfers"}])
def test_more_work_costs_more(device: str, changes: dict[str, Any]) -> None:
    point = POINT._replace(device=device)
    assert Costs().point(point._replace(**changes)) > Costs().point(point) > 0.0


def test_a_repetition_takes_as_long_as_what_limits_it() -> None:
    def of(moved: float, flops: float) -> float:
        known = Costs({"nvidia": PLAIN}, {POINT.kernel: [Traffic(POINT.size, moved, flops, 1)]})
        return known.point(POINT)

    assert of(2e9, 1e9) == of(2e9, 2e9) == of(1e9, 2e9)
    assert of(2e9, 3e9) - of(2e9, 2e9) == pytest.approx(POINT.reps * (POINT.passes + POINT.warmup) * 1.0)


def test_large_results_are_looked_at_twice_only() -> None:
    slow_fetch = Costs({"nvidia": replace(costs.DEFAULTS["nvidia"], fetch=1.0)})
    large = costs.LOOKED_AT_EACH_PASS // costs.REAL
    few = slow_fetch.point(POINT._replace(size=large + 1, passes=20))
    assert few == pytest.approx(2 * costs.LOOKED_AT_EACH_PASS, rel=1e-3)
    assert slow_fetch.point(POINT._replace(size=large, passes=20)) == pytest.approx(10 * few, rel=1e-3)


def test_traffic_comes_from_the_nearest_size_in_proportion() -> None:
    learnt = costs.learn([record(0, 1.0, size=1000, flops=5e3), record(1, 1.0, size=1_000_000, flops=9e6)])
    assert learnt.traffic[POINT.kernel] == (Traffic(1000, 24e3, 5e3, 1), Traffic(1_000_000, 24e6, 9e6, 1))
    assert learnt._traffic(POINT._replace(size=2000)) == Traffic(2000, 48e3, 10e3, 1)
    assert learnt._traffic(POINT._replace(size=4_000_000)).flops == 36e6
    assert learnt._traffic(POINT._replace(kernel="Apps_FIR", size=1000)) == Traffic(1000, 24e3, 2e3, 1)


def test_what_is_modified_moves_twice() -> None:
    learnt = costs.learn([record(0, 1.0, bytes_read=1, bytes_written=2, bytes_modified=4, bytes_atomic=8)])
    assert learnt.traffic[POINT.kernel][0].moved == 1 + 2 + 2 * (4 + 8)


def test_a_cell_that_ran_costs_what_it_took_without_what_others_share() -> None:
    model = Costs({"nvidia": PLAIN})
    first, second = record(0, 100.0), record(1, 7.0)
    learnt = costs.learn([first, second], model.speeds)
    assert learnt.point(POINT._replace(id=second["id"])) == 7.0
    own = 100.0 - PLAIN.start_s - PLAIN.pause_s - learnt.initial(POINT)
    assert learnt.point(POINT._replace(id=first["id"])) == pytest.approx(own)


def test_a_cell_costs_at_least_what_its_worker_timed() -> None:
    learnt = costs.learn([record(0, 0.5, seconds_per_rep=[0.01] * 5)])
    assert learnt.point(POINT) == pytest.approx(0.01 * POINT.reps * (POINT.passes + POINT.warmup))
    assert costs.learn([record(0, 0.0)]).point(POINT) > 0.0


def test_an_emulated_point_without_times_costs_its_wall_time() -> None:
    point = POINT._replace(device="amd_emulated", size=300)
    learnt = costs.learn(
        [record(number, 9.0, seconds_per_rep=[], device="amd_emulated", size=300) for number in (0, 1)]
    )
    assert learnt.point(point._replace(id=f"{1:016x}")) == 9.0


@pytest.mark.parametrize("status", ["crashed", "timeout", "not_run", "out_of_memory"])
def test_failures_teach_nothing(status: str) -> None:
    assert costs.learn([{**record(0, 99.0), "status": status}]) == costs.learn([])


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_records_does_not_matter(seed: int) -> None:
    records = run(Costs(), some_points(seed), 1.7)
    mixed = random.Random(seed).sample(records, len(records))
    assert costs.learn(records) == costs.learn(mixed)
    assert costs.error(Costs(), records) == costs.error(Costs(), mixed)


@pytest.mark.parametrize("seed", range(5))
def test_a_run_that_went_as_estimated_has_no_error(seed: int) -> None:
    points = some_points(seed)
    found = costs.error(Costs(), run(Costs(), points))
    assert found.points == len(points)
    assert found.ninety == pytest.approx(0.0, abs=1e-9)
    assert found.actual_s == pytest.approx(found.estimated_s)
    assert all(factor == pytest.approx(1.0) for factor in found.factors.values())


@pytest.mark.parametrize("factor", [0.25, 3.0])
def test_a_correction_brings_the_total_nearer(factor: float) -> None:
    points = [POINT._replace(size=50_000_000)] * 30
    records = run(Costs(), points, factor)
    before = costs.error(Costs(), records)
    corrected = Costs().corrected(before)
    after = costs.error(corrected, records)
    assert before.median == pytest.approx(abs(math.log(factor)), rel=0.2)
    assert after.median < 0.1 * before.median
    # A second correction multiplies the first.
    assert costs.error(corrected.corrected(after), records).median < after.median


def test_a_factor_concerns_its_kernel_and_variant_alone() -> None:
    corrected = Costs().corrected(costs.error(Costs(), run(Costs(), [POINT._replace(size=50_000_000)] * 9, 2.0)))
    assert corrected.point(POINT) > 1.5 * Costs().point(POINT)
    for other in (POINT._replace(kernel="Apps_FIR"), POINT._replace(variant="rust_offload")):
        assert corrected.point(other) == Costs().point(other)


def test_a_short_point_moves_a_factor_little() -> None:
    points = [POINT._replace(size=10)]
    found = costs.error(Costs(), run(Costs(), points, 10.0))
    assert found.median > 0.0
    assert found.factors[POINT.kernel, POINT.variant] < 1.1


def test_an_error_can_be_asked_for_some_cells() -> None:
    records = run(Costs(), some_points(1))
    ids = {entry["id"] for entry in records[10:15]}
    found = costs.error(Costs(), records, ids)
    assert found.points == 5
    assert found.ninety == pytest.approx(0.0, abs=1e-9)


def test_without_records_there_is_no_error_to_speak_of() -> None:
    found = costs.error(Costs(), [])
    assert found.points == 0 and math.isnan(found.median) and not found.factors
    assert "no point" in found.describe()


def test_a_group_pays_for_data_once_a_worker_and_for_pauses_between_workers() -> None:
    model = Costs({"nvidia": PLAIN})
    own, data = model.point(POINT), model.initial(POINT)
    other = POINT._replace(variant="rust_offload")
    assert model.group([POINT]) == pytest.approx(own + data + PLAIN.pause_s)
    assert model.group([POINT] * 4) == pytest.approx(4 * own + data + PLAIN.pause_s)
    # Of two and two in random order two neighbours differ on average, and one follows another group.
    assert model.group([POINT, other] * 2) == pytest.approx(4 * own + 2 * data + 3 * PLAIN.pause_s)


def test_a_group_costs_the_same_in_any_order() -> None:
    points = [point._replace(kernel="Apps_FIR", size=1000) for point in some_points(3)]
    assert Costs().group(points) == Costs().group(points[::-1])


def test_a_system_states_its_own_speeds() -> None:
    assert costs.speeds("host") == costs.DEFAULTS["host"]
    assert costs.speeds("amd", {"memory": 5e12}) == replace(costs.DEFAULTS["amd"], memory=5e12)


@pytest.mark.parametrize(
    ("stated", "words"),
    [({"bandwidth": 1.0}, "no speed bandwidth"), ({"flops": 0}, "above 0"), ({"flops": math.inf}, "above 0")],
)
def test_impossible_speeds_are_refused_with_their_place(stated: dict[str, float], words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        costs.speeds("nvidia", stated, "config/systems/x.yaml")
    assert str(caught.value).startswith("config/systems/x.yaml: nvidia: ")


def test_real_records_are_estimated_well_enough_to_pack() -> None:
    records, _ = read_records(H200)
    alone = costs.error(Costs(), records)
    learnt = costs.learn(records)
    corrected = costs.error(replace(learnt, measured={}), records)
    assert alone.median < math.log(1.25) and alone.ninety < math.log(3)
    assert corrected.median < alone.median and corrected.ninety < alone.ninety
    assert 0.9 < corrected.estimated_s / corrected.actual_s < 1.1
    assert costs.error(learnt, records).ninety < math.log(1.1)
