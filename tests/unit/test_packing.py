"""Packing: nothing is lost or planned twice, limits hold, the order of the input says nothing, few allocations do."""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
from collections import Counter

import pulp
import pytest

from ironsweep import packing, plan
from ironsweep.config import Check, Region, Reps, Settings, System, Tunings
from ironsweep.costs import Costs
from ironsweep.errors import UserError
from ironsweep.kernels import Kernel
from ironsweep.packing import Batch, Group, Limits, Packing, grouped, pack, twin

SETTINGS = Settings(
    kernels=tuple(Kernel(name, name.partition("_")[0], "") for name in ("Stream_TRIAD", "Apps_FIR", "Apps_VOL3D")),
    planted=(Kernel("Planted_NOTHING", "Planted", "", planted=True),),
    sizes=(1000, 50_000, 2_000_000),
    variants=("rust_offload", "rust_liboffload", "cuda"),
    archs={"nvidia": ("sm_90",)},
    host_cpu="",
    passes=10,
    warmup=1,
    reps=Reps(20, {}, {}),
    tunings=Tunings(("safe", "unchecked"), ("strict",), (256,)),
    regions={"kernel": Region(), "launch_sync": Region()},
    check=Check((1, 1000), (1000,), (1,), (), 300, 1),
    emulator=None,
    timeout_s=60.0,
    baseline={},
    systems=(System("gpus", "slurm", {"nvidia": ("sm_90",)}, {}),),
    toolchain="",
    toolchain_dir="",
    defaults={},
)
COSTS = {"gpus": Costs()}


def cells(**changes: object) -> list[plan.Cell]:
    """Cells that run, of settings with some changes."""
    made = plan.make(dataclasses.replace(SETTINGS, **changes))  # type: ignore[arg-type]
    return [cell for cell in made.cells if cell.status_planned == "planned"]


def group(name: str, seconds: float, *variants: str, kernel: str = "K", start: float = 1.0, points: int = 2) -> Group:
    """A group of some points."""
    ids = tuple(f"{name}.{number}" for number in range(points))
    return Group(name, "gpus", "nvidia", kernel, (name,), ids, seconds, {(kernel, name): start for name in variants})


def some_groups(rng: random.Random, count: int, longest: float, start: float = 1.0) -> list[Group]:
    """Groups of up to so many seconds, of four kernels and three variants."""
    return [
        group(
            f"g{number:04d}",
            rng.uniform(0.01, longest),
            *rng.sample(["a", "b", "c"], rng.randint(1, 3)),
            kernel=f"K{rng.randrange(4)}",
            start=start,
        )
        for number in range(count)
    ]


def limits(capacity: float, lanes: int) -> Limits:
    """Limits that leave so many seconds to each lane."""
    return Limits(2.0 * (capacity + 5.0), lanes, safety=2.0, start_s=5.0)


def assert_sound(made: Packing, groups: list[Group], capacity: float, lanes: int) -> None:
    """Nothing is lost or twice, groups are whole, limits hold, and what is said about a packing is so."""
    points = [point for batch in made.batches for point in batch.points]
    assert Counter(points) == Counter(point for group in groups for point in group.points)
    by_point = {point: group for group in groups for point in group.points}
    for batch in made.batches:
        assert 1 <= len(batch.lanes) == len(batch.seconds) <= lanes
        for lane, seconds in zip(batch.lanes, batch.seconds, strict=True):
            inside = [next(run) for _, run in itertools.groupby(by_point[point] for point in lane)]
            assert [point for group in inside for point in group.points] == list(lane)
            # Milliseconds are rounded up.
            assert seconds == pytest.approx(load(inside), abs=2e-3 * (len(inside) + 12))
            assert seconds <= capacity
    assert made.bound <= len(made.batches)


def load(groups: list[Group]) -> float:
    """Seconds of a lane with these groups."""
    starts = {program: seconds for group in groups for program, seconds in group.starts.items()}
    return sum(group.seconds for group in groups) + sum(starts.values())


def fewest_allocations(groups: list[Group], capacity: float, lanes: int) -> int:
    """The least number of allocations, by trying everything."""

    def fits(rest: list[Group], filled: list[list[Group]], count: int) -> bool:
        if not rest:
            return True
        for lane in filled:
            if load([*lane, rest[0]]) <= capacity:
                lane.append(rest[0])
                if fits(rest[1:], filled, count):
                    return True
                lane.pop()
        return len(filled) < count and load(rest[:1]) <= capacity and fits(rest[1:], [*filled, rest[:1]], count)

    return next(count for count in itertools.count(1) if fits(groups, [], count * lanes))


# --- groups ---------------------------------------------------------------------------------------------------------


def test_every_cell_that_runs_is_in_one_group() -> None:
    there = cells()
    groups = grouped(there, COSTS, 1)
    twins = [group.pair[1] for group in groups if group.pair]
    assert Counter(point for group in groups for point in group.points) == Counter([c.id for c in there] + twins)
    assert len({group.name for group in groups}) == len(groups)


def test_what_is_compared_is_in_one_group_and_nothing_else() -> None:
    by_id = {cell.id: cell for cell in cells()}
    for made in grouped(by_id.values(), COSTS, 1):
        own = [by_id[point] for point in made.points if point in by_id]
        alike = {(c.system, c.device, c.arch, c.kernel, c.kind, c.size, c.data, c.region) for c in own}
        assert len(alike) == 1
        assert made.starts.keys() == {(cell.kernel, cell.variant) for cell in own}
        assert len(own) == sum(
            (c.system, c.device, c.arch, c.kernel, c.kind, c.size, c.data, c.region) in alike for c in by_id.values()
        )


def test_measurements_have_one_pair_and_checks_have_none() -> None:
    by_id = {cell.id: cell for cell in cells()}
    for made in grouped(by_id.values(), COSTS, 1):
        own = [point for point in made.points if point in by_id]
        if by_id[own[0]].kind != "measure" or len(own) == 1:
            assert made.pair is None and len(own) == len(made.points)
            continue
        assert made.pair is not None
        cell, second = made.pair
        assert cell in own and second == twin(cell) and made.points.count(second) == 1


def test_cells_that_do_not_run_are_in_no_group() -> None:
    cell = dataclasses.replace(cells()[0], status_planned="not_run")
    assert grouped([cell], COSTS, 1) == []


def test_order_comes_from_the_seed_and_not_from_the_input() -> None:
    there = cells()
    mixed = random.Random(1).sample(there, len(there))
    assert grouped(there, COSTS, 1) == grouped(mixed, COSTS, 1)
    assert [made.points for made in grouped(there, COSTS, 1)] != [made.points for made in grouped(there, COSTS, 2)]


def test_variants_are_interleaved() -> None:
    by_id = {cell.id: cell for cell in cells(tunings=Tunings(("safe", "unchecked"), ("strict", "contract"), (64, 256)))}
    mixed = 0
    groups = [made for made in grouped(by_id.values(), COSTS, 1) if made.pair]
    for made in groups:
        variants = [by_id[point].variant for point in made.points if point in by_id]
        mixed += len(list(itertools.groupby(variants))) > len(set(variants))
    assert mixed > 0.9 * len(groups)


def test_a_lane_measures_kernel_after_kernel_first_checks_then_size_after_size() -> None:
    there = cells()
    by_id = {cell.id: cell for cell in there}
    made = pack(grouped(there, COSTS, 1), limits(1e5, 1))
    (lane,) = made.batches[0].lanes
    own = [by_id[point] for point in lane if point in by_id]
    kernels = [kernel for kernel, _ in itertools.groupby(cell.kernel for cell in own)]
    assert len(kernels) == len(set(kernels)) == 4
    for kernel in kernels:
        kinds = [(cell.kind, cell.size, cell.data) for cell in own if cell.kernel == kernel]
        runs = [key for key, _ in itertools.groupby(kinds)]
        assert len(runs) == len(set(runs))
        assert [kind for kind, *_ in runs] == sorted(kind for kind, *_ in runs)


# --- packing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_lost_and_limits_hold(seed: int) -> None:
    rng = random.Random(seed)
    capacity, lanes = rng.choice([60.0, 200.0, 1500.0]), rng.choice([1, 2, 4, 8])
    groups = some_groups(rng, rng.choice([1, 2, 40, 700]), rng.choice([0.1, 10.0, 50.0]))
    made = pack(groups, limits(capacity, lanes))
    assert_sound(made, groups, capacity, lanes)
    assert made.gap <= 0.15
    if len(made.batches) > 20:
        assert made.gap <= 0.05


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_groups_does_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    groups = some_groups(rng, [5, 9, 30, 300][seed], 40.0)
    made = pack(groups, limits(60.0, 2))
    again = pack(rng.sample(groups, len(groups)), limits(60.0, 2))
    assert again == made
    assert [batch.seconds for batch in again.batches] == [batch.seconds for batch in made.batches]


@pytest.mark.parametrize("seed", range(12))
def test_few_groups_get_the_fewest_allocations(seed: int) -> None:
    rng = random.Random(seed)
    groups = some_groups(rng, rng.randint(3, 8), 50.0, start=rng.choice([0.0, 1.0, 8.0]))
    capacity, lanes = rng.choice([80.0, 100.0]), rng.choice([1, 2])
    made = pack(groups, limits(capacity, lanes))
    assert_sound(made, groups, capacity, lanes)
    fewest = fewest_allocations(groups, capacity - 0.05, lanes)  # milliseconds are rounded up
    assert made.bound <= len(made.batches) <= fewest


def test_the_integer_programme_finds_what_the_heuristic_does_not() -> None:
    # Best fit puts the fullest pair together, and three lanes are no longer enough.
    sizes = [44.0, 24.0, 24.0, 22.0, 21.0, 17.0, 8.0, 8.0, 6.0, 6.0]
    groups = [group(f"g{number}", size) for number, size in enumerate(sizes)]
    heuristic = packing._heuristic(packing._Problem.of(groups, limits(60.0, 1)))
    made = pack(groups, limits(60.0, 1))
    assert sum(1 for lane in heuristic if lane) == 4
    assert (len(made.batches), made.bound, made.method) == (3, 3, packing.INTEGER_PROGRAMME)


def test_a_proof_that_fewer_are_impossible_raises_the_bound() -> None:
    # Their 120 s would fit into two lanes of 60 s; of 24 s, two fit into a lane.
    groups = [group(f"g{number}", 24.0) for number in range(5)]
    made = pack(groups, limits(60.0, 1))
    assert (len(made.batches), made.bound, made.gap) == (3, 3, 0.0)


def test_groups_of_more_than_half_a_lane_have_one_each() -> None:
    groups = [group(f"g{number}", 31.0) for number in range(400)]
    made = pack(groups, limits(60.0, 4))
    assert (len(made.batches), made.bound) == (100, 100)


@pytest.mark.parametrize("seed", range(4))
def test_lanes_finish_together(seed: int) -> None:
    rng = random.Random(seed)
    groups = some_groups(rng, 800, 10.0, start=0.1)
    made = pack(groups, limits(300.0, 4))
    assert made.idle < 0.01
    for batch in made.batches[:-1]:
        assert min(batch.seconds) > 0.98 * max(batch.seconds)


def test_a_worker_starts_in_few_lanes() -> None:
    kernels = [f"K{number}" for number in range(40)]
    groups = [group(f"{k} {n}", 1.0, "a", "b", kernel=k, start=5.0) for k in kernels for n in range(20)]
    made = pack(groups, limits(200.0, 4))
    spent = sum(sum(batch.seconds) for batch in made.batches) - sum(group.seconds for group in groups)
    assert spent < 1.5 * len(kernels) * 2 * 5.0
    assert made.gap == 0.0


def test_nothing_needs_no_allocation() -> None:
    made = pack([], limits(60.0, 4))
    assert (made.batches, made.bound, made.gap, made.idle) == ((), 0, 0.0, 0.0)


@pytest.mark.parametrize("start", [0.0, 30.0])
def test_a_group_that_fits_exactly_fits(start: float) -> None:
    made = pack([group("g", 60.0 - start, "a", start=start)], limits(60.0, 4))
    assert made.batches[0].seconds == (60.0,)


def test_a_group_that_is_too_long_is_named_with_what_to_do() -> None:
    long = group("gpus nvidia sm_90 Apps_FIR measure 1000 elements", 59.5, "a", points=7)
    with pytest.raises(UserError) as caught:
        pack([group("other", 1.0), long], dataclasses.replace(limits(60.0, 4), where="config/systems/gpus.yaml"))
    text = str(caught.value)
    assert re.match(r"config/systems/gpus.yaml: gpus nvidia sm_90 Apps_FIR measure 1000 elements: its 7 points", text)
    assert "60 s for measurements" in text and "raise the walltime" in text and "\n" not in text


@pytest.mark.parametrize(
    "wrong", [Limits(30.0, 1, 1.5, 20.0), Limits(60.0, 0), Limits(60.0, 1, 0.9), Limits(60.0, 1, 1.0, -1.0)]
)
def test_limits_without_time_to_measure_are_refused(wrong: Limits) -> None:
    with pytest.raises(UserError, match="the system's description: "):
        pack([group("g", 1.0)], wrong)


def test_groups_that_do_not_belong_together_are_refused() -> None:
    one = group("g", 1.0)
    for other in (dataclasses.replace(one, system="x"), dataclasses.replace(one, device="host")):
        with pytest.raises(ValueError, match="several systems or devices"):
            pack([one, dataclasses.replace(other, name="h", points=("p",))], limits(60.0, 1))
    with pytest.raises(ValueError, match=r"point g\.0 is also in g"):
        pack([one, dataclasses.replace(one, name="h")], limits(60.0, 1))


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_what_is_no_duration_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="no duration"):
        pack([group("g", seconds)], limits(60.0, 1))


# --- batches ----------------------------------------------------------------------------------------------------------


def test_the_id_of_a_batch_comes_from_its_content_alone() -> None:
    batch = Batch("gpus", "nvidia", (("a", "b"), ("c",)), (1.0, 2.0))
    assert batch.id == dataclasses.replace(batch, seconds=(3.0, 4.0)).id
    others = [("x", "nvidia", batch.lanes), ("gpus", "host", batch.lanes), ("gpus", "nvidia", (("b", "a"), ("c",)))]
    others.append(("gpus", "nvidia", (("a",), ("b", "c"))))
    again = dataclasses.replace(batch, attempt=1)
    assert len({batch.id, again.id, *(Batch(*content, (1.0, 2.0)).id for content in others)}) == 6


def test_a_packing_says_how_good_it_is() -> None:
    made = Packing((Batch("s", "host", (("a",), ("b",)), (4.0, 2.0)),) * 2, 1, packing.HEURISTIC)
    assert (made.gap, made.idle) == (1.0, 0.25)
    assert made.describe() == "2 new (heuristic; at least 1 are needed, 100.0% above)"


def test_without_a_solver_the_heuristic_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(*_: object) -> None:
        raise pulp.PulpSolverError("no cbc here")

    monkeypatch.setattr(pulp.LpProblem, "solve", unavailable)
    groups = [group(f"g{number}", 24.0) for number in range(5)]
    made = pack(groups, limits(60.0, 1))
    assert_sound(made, groups, 60.0, 1)
    assert (len(made.batches), made.bound, made.method) == (3, 2, packing.HEURISTIC)
