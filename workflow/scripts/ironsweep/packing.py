"""Packs groups of points into batches: one Slurm allocation each, with a lane for every GPU of the node.

Points that will be compared form a group, which one lane measures without a break. Of all ways to share the groups out
one is looked for that needs the fewest allocations, each of which ends before its walltime over a safety factor, and
whose lanes finish together. A lane starts the worker of a kernel and variant once, which costs time too.

A heuristic packs first. Where it is not at the lower bound and the problem is small, an integer programme (PuLP with
CBC) goes on from there. The result says how far it is from the lower bound at most.

Everything is reckoned in whole milliseconds and in an order of its own: the same groups, in any order, give the same
batches on every machine. That is also why the integer programme ends after a number of nodes and not of seconds; the
limit in seconds is there for the case that these take unreasonably long, and then the heuristic's result is taken.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ironsweep.costs import Costs
from ironsweep.errors import UserError
from ironsweep.plan import Cell, digest

if TYPE_CHECKING:  # only who plans waits for it, and not each reading of the workflow
    import pulp

Program = tuple[str, str]
"""Kernel and variant: a worker that a lane starts once."""

NODES = 50
"""Nodes of the search tree after which an integer programme is given up; a few seconds."""

TIME_LIMIT_S = 20
"""Seconds after which it is given up all the same."""

VARIABLES = 300
"""Groups times lanes up to which an integer programme looks for fewer allocations."""

VARIABLES_OF_LANES = 100
"""Groups times lanes up to which it makes lanes finish together where the number of allocations is the least."""

CLOSE_ENOUGH = 0.01
"""How far the sum of the allocations' times may be above its lower bound."""

INTEGER_PROGRAMME = "integer programme"
HEURISTIC = "heuristic"

Lanes = list[list[int]]
"""For each lane the positions of its groups in a problem's list."""

_PIECES = (64, 16, 4)
"""Into how many pieces of one kernel each, at least, a lane is divided if its groups are small enough; tried in turn.

Small ones fill a lane better, large ones need fewer starts.
"""

_STEPS = 7
"""Halvings of the range in which the time is looked for after which all lanes have ended."""


@dataclass(frozen=True)
class Limits:
    """What an allocation of a system offers.

    Attributes:
        walltime_s: seconds that Slurm grants it.
        lanes: devices that measure side by side.
        safety: factor by which the walltime exceeds what is planned into it.
        start_s: seconds until its first worker starts.
        where: file, or name, of the system's description, for messages.
    """

    walltime_s: float
    lanes: int = 1
    safety: float = 1.5
    start_s: float = 10.0
    where: str = "the system's description"

    @property
    def capacity_s(self) -> float:
        """Seconds of measurements that may be planned into each lane.

        Raises:
            UserError: if there are none, or a value makes no sense.
        """
        if self.lanes < 1 or self.safety < 1 or self.start_s < 0:
            raise UserError(f"{self.where}: at least one lane and a safety factor of at least 1 are needed")
        capacity = self.walltime_s / self.safety - self.start_s
        if capacity <= 0:
            raise UserError(
                f"{self.where}: a walltime of {self.walltime_s:g} s leaves no time to measure: over the safety factor"
                f" of {self.safety:g} and without {self.start_s:g} s to start; raise it"
            )
        return capacity


@dataclass(frozen=True)
class Group:
    """Points that stay together, in the order in which they are measured.

    Attributes:
        name: what they have in common, for a person; no two groups of a plan have the same.
        system: the system that they are planned for.
        device: what they run on there.
        kernel: their kernel.
        order: by which the groups of a lane are sorted.
        points: ids of cells, and that of the A/A pair's second point.
        seconds: what they take, without the starts of workers.
        starts: seconds of the start of each worker that they need.
        pair: an id of a cell and the id under which the same is measured once more; None: there is no A/A pair.
    """

    name: str
    system: str
    device: str
    kernel: str
    order: tuple[str, ...]
    points: tuple[str, ...]
    seconds: float
    starts: Mapping[Program, float]
    pair: tuple[str, str] | None = None


@dataclass(frozen=True)
class Batch:
    """What one allocation measures.

    Attributes:
        system: where.
        device: on which of its devices.
        lanes: ids of points of each lane, in the order in which they are measured.
        seconds: what each lane is estimated to take, starts of workers included.
        attempt: which tells it from batches that measured the same before.
    """

    system: str
    device: str
    lanes: tuple[tuple[str, ...], ...]
    seconds: tuple[float, ...] = field(compare=False)
    attempt: int = 0

    @cached_property
    def id(self) -> str:
        """Hash of the content, never of estimates: first 16 hexadecimal digits of its SHA-256."""
        again = [self.attempt] if self.attempt else []
        return digest(json.dumps([self.system, self.device, self.lanes, *again], separators=(",", ":")))

    @property
    def points(self) -> tuple[str, ...]:
        """All its points."""
        return tuple(point for lane in self.lanes for point in lane)


@dataclass(frozen=True)
class Packing:
    """Batches, and how good they are.

    Attributes:
        batches: all.
        bound: the fewest allocations in which they could be done at best.
        method: `INTEGER_PROGRAMME` or `HEURISTIC`: what found them.
    """

    batches: tuple[Batch, ...]
    bound: int
    method: str

    @property
    def gap(self) -> float:
        """By what fraction there may be more allocations than necessary."""
        return len(self.batches) / self.bound - 1.0 if self.bound else 0.0

    @property
    def idle(self) -> float:
        """Which fraction of the allocations' time lanes spend waiting for the longest one beside them."""
        lasts = sum(max(batch.seconds) * len(batch.seconds) for batch in self.batches)
        return 1.0 - sum(sum(batch.seconds) for batch in self.batches) / lasts if lasts else 0.0

    def describe(self) -> str:
        """How good the batches are, in one line for a person."""
        return f"{len(self.batches)} new ({self.method}; at least {self.bound} are needed, {self.gap:.1%} above)"


# --- groups ---------------------------------------------------------------------------------------------------------


def grouped(cells: Iterable[Cell], costs: Mapping[str, Costs], seed: int) -> list[Group]:
    """Groups of cells that will be compared, sorted by name, each with an A/A pair if it has something to compare.

    Left out are cells that are not planned to run. In a group cells have the same system, device, kernel, kind, size,
    data and region; their order is random and comes from a hash of seed and cell, as in `plan.make`. In a lane groups
    of one kernel are neighbours, which keeps their workers running: first checks, then size after size.

    Args:
        cells: of any number of systems.
        costs: what points cost on each system, by its name.
        seed: of the order.
    """
    found: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        if cell.status_planned == "planned":
            found.setdefault(compared(cell), []).append(cell)
    return [_group(" ".join(key), found[key], costs[key[0]], seed) for key in sorted(found)]


def twin(cell_id: str) -> str:
    """The id under which a cell is measured once more."""
    return digest(f"{cell_id}:A/A")


def compared(cell: Cell) -> tuple[str, ...]:
    """What cells have in common that are compared."""
    place = (cell.system, cell.device, cell.arch, cell.kernel)
    return (*place, cell.kind, f"{cell.size} elements", f"{cell.data} data", cell.region)


def _group(name: str, cells: Sequence[Cell], costs: Costs, seed: int) -> Group:
    ids = [cell.id for cell in cells]
    measured = list(cells)
    pair = None
    if len(cells) > 1 and cells[0].kind == "measure":
        chosen = min(cells, key=lambda cell: _shuffled(seed, twin(cell.id)))
        pair = (chosen.id, twin(chosen.id))
        ids.append(pair[1])
        measured.append(chosen)
    return Group(
        name=name,
        system=cells[0].system,
        device=cells[0].device,
        kernel=cells[0].kernel,
        order=_order(cells[0], name, seed),
        points=tuple(sorted(ids, key=lambda point: _shuffled(seed, point))),
        seconds=costs.group(measured),
        starts={(cell.kernel, cell.variant): costs.start(cell) for cell in cells},
        pair=pair,
    )


def _order(cell: Cell, name: str, seed: int) -> tuple[str, ...]:
    """Kernels and sizes in random order; "check" comes before "measure"."""
    return (
        _shuffled(seed, cell.kernel),
        cell.kind,
        _shuffled(seed, f"{cell.size} {cell.data}"),
        _shuffled(seed, name),
    )


def _shuffled(seed: int, text: str) -> str:
    return hashlib.sha256(f"{seed}:{text}".encode()).hexdigest()


# --- packing --------------------------------------------------------------------------------------------------------


def pack(groups: Iterable[Group], limits: Limits) -> Packing:
    """Batches for groups of one device of a system.

    The host is a device of its own: only one lane can have it, whatever GPUs are there.

    Args:
        groups: in any order.
        limits: of an allocation there.

    Raises:
        UserError: if a group takes longer than an allocation may.
        ValueError: if groups have points in common or are of several systems or devices.
    """
    ordered = sorted(groups, key=lambda group: group.name)
    _check(ordered)
    if not ordered:
        return Packing((), 0, HEURISTIC)
    problem = _Problem.of(ordered, limits)
    found = _best(problem)
    made = tuple(_batch(problem, allocation) for allocation in _allocations(problem, found.lanes))
    return Packing(made, found.bound, found.method)


def _check(groups: Sequence[Group]) -> None:
    if len({(group.system, group.device) for group in groups}) > 1:
        raise ValueError("the groups are of several systems or devices")
    seen: dict[str, str] = {}
    for group in groups:
        for point in group.points:
            if point in seen:
                raise ValueError(f"{group.name}: point {point} is also in {seen[point]}")
            seen[point] = group.name


@dataclass(frozen=True)
class _Piece:
    """Groups of one kernel that are placed as one: positions in the problem's list, milliseconds, programs."""

    groups: tuple[int, ...]
    seconds: int
    programs: tuple[int, ...]


@dataclass(frozen=True)
class _Problem:
    """Groups with what they take in whole milliseconds, rounded up, and their programs as numbers."""

    groups: Sequence[Group]
    capacity: int
    lanes: int
    seconds: Sequence[int]
    programs: Sequence[tuple[int, ...]]
    starts: Sequence[int]

    @classmethod
    def of(cls, groups: Sequence[Group], limits: Limits) -> _Problem:
        """The problem of groups, sorted by name. Raises UserError if one is too long."""
        starts: dict[Program, int] = {}
        for group in groups:
            for program, seconds in group.starts.items():
                starts[program] = max(starts.get(program, 0), _milliseconds(seconds))
        numbers = {program: number for number, program in enumerate(sorted(starts))}
        problem = cls(
            groups,
            math.floor(limits.capacity_s * 1000),
            limits.lanes,
            [_milliseconds(group.seconds) for group in groups],
            [tuple(sorted(numbers[program] for program in group.starts)) for group in groups],
            [starts[program] for program in numbers],
        )
        for number, group in enumerate(groups):
            if (needed := problem.load([number])) > problem.capacity:
                raise UserError(_too_long(group, needed / 1000, limits))
        return problem

    def load(self, groups: Iterable[int]) -> int:
        """Milliseconds of a lane with these groups."""
        total, programs = 0, set[int]()
        for number in groups:
            total += self.seconds[number]
            programs.update(self.programs[number])
        return total + sum(self.starts[program] for program in programs)

    @cached_property
    def work(self) -> int:
        """The fewest milliseconds that all lanes together take: each program starts where its groups need it."""
        used = [0] * len(self.starts)
        for seconds, programs in zip(self.seconds, self.programs, strict=True):
            for program in programs:
                used[program] += seconds
        starts = sum(
            start * max(1, -(-seconds // max(1, self.capacity - start)))
            for start, seconds in zip(self.starts, used, strict=True)
        )
        return sum(self.seconds) + starts

    @cached_property
    def bound(self) -> int:
        """The fewest allocations: from the sum of all work, and from the groups of which a lane holds few."""
        fewest = max(-(-self.work // self.capacity), self._bound_of_large())
        return -(-fewest // self.lanes)

    def _bound_of_large(self) -> int:
        """Lanes that the groups need because few of them fit into one: Martello and Toth's bound.

        Groups of more than half the capacity have a lane each. For every threshold, those from it up to half the
        capacity fit only beside such ones that leave so much room, and need further lanes for the rest.
        """
        # In each lane there is a group, for which at least so much is started.
        capacity = self.capacity - min(sum(self.starts[program] for program in own) for own in self.programs)
        sizes = np.sort(np.array(self.seconds, np.int64))
        sums = np.concatenate([[0], np.cumsum(sizes)])
        half = int(np.searchsorted(sizes, capacity // 2, "right"))
        large = len(sizes) - half
        further = 0
        for threshold in np.unique(sizes[:half]).tolist():
            first = int(np.searchsorted(sizes, threshold, "left"))
            last = int(np.searchsorted(sizes, capacity - threshold, "right"))
            room = (last - half) * capacity - int(sums[last] - sums[half])
            further = max(further, -(-(int(sums[half] - sums[first]) - room) // max(1, capacity)))
        return large + further


def _milliseconds(seconds: float) -> int:
    if not (seconds >= 0 and math.isfinite(seconds)):
        raise ValueError(f"{seconds} is no duration")
    return math.ceil(seconds * 1000)


def _too_long(group: Group, needed: float, limits: Limits) -> str:
    return (
        f"{limits.where}: {group.name}: its {len(group.points)} points, which are compared and stay together, take an"
        f" estimated {needed:.0f} s, but an allocation has {limits.capacity_s:.0f} s for measurements"
        f" (walltime {limits.walltime_s:g} s, safety factor {limits.safety:g}): raise the walltime there, or lower"
        " reps, passes or the number of tunings"
    )


class _Solution(NamedTuple):
    """The groups of each lane, what found them, and the fewest allocations that there can be."""

    lanes: Lanes
    method: str
    bound: int


def _best(problem: _Problem) -> _Solution:
    lanes = _heuristic(problem)
    count = _count(problem, lanes)
    bound = problem.bound
    is_close = _total(problem, lanes) * problem.lanes <= (1 + CLOSE_ENOUGH) * problem.work
    most = VARIABLES if count > bound else VARIABLES_OF_LANES
    if (count > bound or not is_close) and len(problem.groups) * count * problem.lanes <= most:
        for allocations in range(bound, count + 1):
            better, is_impossible = _integer_programme(problem, allocations)
            if better and (allocations < count or _total(problem, better) < _total(problem, lanes)):
                return _Solution(better, INTEGER_PROGRAMME, bound)
            if is_impossible and bound == allocations:
                bound += 1
    return _Solution(lanes, HEURISTIC, bound)


def _count(problem: _Problem, lanes: Lanes) -> int:
    return -(-sum(1 for lane in lanes if lane) // problem.lanes)


def _total(problem: _Problem, lanes: Lanes) -> int:
    """Milliseconds of all allocations together: each lasts as long as its longest lane."""
    return sum(max(map(problem.load, allocation)) for allocation in _allocations(problem, lanes))


def _allocations(problem: _Problem, lanes: Lanes) -> list[Lanes]:
    """Lanes by allocation: those that take equally long side by side, the longest first."""
    used = sorted((lane for lane in lanes if lane), key=lambda lane: (-problem.load(lane), min(lane)))
    return [used[first : first + problem.lanes] for first in range(0, len(used), problem.lanes)]


def _batch(problem: _Problem, lanes: Lanes) -> Batch:
    in_order = [sorted((problem.groups[number] for number in lane), key=lambda group: group.order) for lane in lanes]
    return Batch(
        problem.groups[0].system,
        problem.groups[0].device,
        tuple(tuple(point for group in lane for point in group.points) for lane in in_order),
        tuple(problem.load(lane) / 1000 for lane in lanes),
    )


# --- the heuristic --------------------------------------------------------------------------------------------------


def _heuristic(problem: _Problem) -> Lanes:
    """Best-fit decreasing into the fewest allocations that it manages, with lanes that are equally full.

    Kernels are cut into pieces, so that a kernel's workers start in few lanes. The time after which all lanes have
    ended is looked for by halving, between the mean and the capacity.
    """
    allocations = problem.bound
    while (lanes := _fit(problem, allocations * problem.lanes, problem.capacity)) is None:
        allocations += 1
    count = allocations * problem.lanes
    low, high = -(-problem.work // count), max(map(problem.load, lanes))
    for _ in range(_STEPS):
        target = (low + high) // 2
        trial = _fit(problem, count, target)
        if trial is None:
            low = target + 1
        else:
            lanes, high = trial, max(map(problem.load, trial))
        if low >= high:
            break
    return lanes


def _fit(problem: _Problem, count: int, target: int) -> Lanes | None:
    """The groups in ``count`` lanes, none of which takes longer than ``target``; None if they do not fit."""
    tried: list[_Piece] = []
    for number in _PIECES:
        pieces = _pieces(problem, target // number)
        if pieces != tried and (lanes := _fill(pieces, problem.starts, count, target)) is not None:
            return lanes
        tried = pieces
    return None


def _fill(pieces: Iterable[_Piece], starts: Sequence[int], count: int, target: int) -> Lanes | None:
    """The same for pieces in their order. Each goes where it needs the fewest starts, then where it is fullest."""
    lanes: Lanes = [[] for _ in range(count)]
    loads: NDArray[np.int64] = np.zeros(count, np.int64)
    missing: NDArray[np.int64] = np.tile(np.array(starts, np.int64)[:, None], (1, count))
    for piece in pieces:
        programs = list(piece.programs)
        needed = missing[programs].sum(axis=0)
        after = loads + needed + piece.seconds
        # One number in place of two to compare: loads are at most the target.
        rank = np.where(after <= target, needed * (target + 1) - loads, np.iinfo(np.int64).max)
        lane = int(rank.argmin())
        if after[lane] > target:
            return None
        lanes[lane].extend(piece.groups)
        loads[lane] = after[lane]
        missing[programs, lane] = 0
    return lanes


def _pieces(problem: _Problem, small: int) -> list[_Piece]:
    """The groups as pieces: large ones alone and in descending order, then those that are ``small`` when together."""
    order = sorted(range(len(problem.groups)), key=lambda number: (-problem.seconds[number], number))
    pieces = [_piece(problem, [number]) for number in order if problem.seconds[number] > small]
    kernels: dict[str, list[int]] = {}
    for number in order:
        if problem.seconds[number] <= small:
            kernels.setdefault(problem.groups[number].kernel, []).append(number)
    parts = [part for numbers in kernels.values() for part in _cut(problem, numbers, small)]
    return pieces + sorted((_piece(problem, part) for part in parts), key=lambda piece: (-piece.seconds, piece.groups))


def _cut(problem: _Problem, numbers: Sequence[int], small: int) -> Lanes:
    """Groups of one kernel in parts that take ``small`` at most."""
    parts: Lanes = []
    room = 0
    for number in numbers:
        if not parts or problem.seconds[number] > room:
            parts.append([])
            room = small
        parts[-1].append(number)
        room -= problem.seconds[number]
    return parts


def _piece(problem: _Problem, numbers: Sequence[int]) -> _Piece:
    programs = {program for number in numbers for program in problem.programs[number]}
    return _Piece(tuple(numbers), sum(problem.seconds[number] for number in numbers), tuple(sorted(programs)))


# --- the integer programme ------------------------------------------------------------------------------------------


def _integer_programme(problem: _Problem, allocations: int) -> tuple[Lanes | None, bool]:
    """The groups in so many allocations, whose times together are the least, and whether there are none such.

    Without an answer in time it is (None, False).
    """
    import pulp

    model, placed = _model(problem, allocations)
    solver = pulp.PULP_CBC_CMD(
        msg=False,
        threads=1,
        timeLimit=TIME_LIMIT_S,
        maxNodes=NODES,
        gapRel=CLOSE_ENOUGH,
        options=["randomSeed 1", "randomCbcSeed 1"],
    )
    try:
        model.solve(solver)
    except pulp.PulpSolverError:  # there is no CBC for this machine
        return None, False
    # What is found in a limited time depends on the machine.
    if model.solutionTime >= TIME_LIMIT_S:
        return None, False
    if model.sol_status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        return None, model.status == pulp.LpStatusInfeasible
    found = [[group for group, at in placed.items() if at[lane].value() > 0.5] for lane in placed[0]]
    # The solver's tolerance must not make a lane too long.
    return (found if max(map(problem.load, found)) <= problem.capacity else None), False


def _model(problem: _Problem, allocations: int) -> tuple[pulp.LpProblem, dict[int, dict[int, pulp.LpVariable]]]:
    """The programme, and its variables by group and lane, which are 1 where a group is placed."""
    import pulp

    model = pulp.LpProblem("packing", pulp.LpMinimize)
    groups, programs = range(len(problem.groups)), range(len(problem.starts))
    lanes = range(allocations * problem.lanes)
    placed = model.add_variable_dicts("placed", (groups, lanes), cat=pulp.LpBinary)
    # Where a group is placed, its programs must be 1, which makes these whole numbers without saying so.
    started = model.add_variable_dicts("started", (programs, lanes), 0, 1)
    ends = model.add_variable_dicts("ends", range(allocations), 0, problem.capacity)
    model += pulp.lpSum(ends.values())
    model += pulp.lpSum(ends.values()) * problem.lanes >= problem.work
    for group in groups:
        model += pulp.lpSum(placed[group].values()) == 1
        for lane in lanes:
            for program in problem.programs[group]:
                model += started[program][lane] >= placed[group][lane]
    for lane in lanes:
        work = pulp.lpSum(problem.seconds[group] * placed[group][lane] for group in groups)
        starts = pulp.lpSum(problem.starts[program] * started[program][lane] for program in programs)
        model += work + starts <= ends[lane // problem.lanes]
    for one in range(allocations - 1):  # allocations are alike: the longest comes first
        model += ends[one] >= ends[one + 1]
    return model, placed
