"""What a point costs, in seconds of wall time: from the record of the same cell, else from a model.

The model knows what the runner and the workers do around the timed region, which takes longer than the region itself:
a worker starts, makes the initial data, copies them to the device, restores them before each pass and takes checksums
of results. Its constants are those of a device (`Speeds`), which a system's description may replace. What a kernel
moves and computes is known from records (`Traffic`) and assumed before there is one. What a model gets wrong by kernel
and variant is learnt: `error` compares an estimate with what a run took, and `Costs.corrected` takes the factors over.

Pure functions: the same records, in any order, give the same costs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import numpy as np

from ironsweep.errors import UserError
from ironsweep.plan import Cell
from ironsweep.records import Record, bytes_moved

REAL = 8
"""Bytes of a number (f64)."""

ARRAYS = 4
"""Arrays that a kernel's data are assumed to be, one of which is checked."""

LOOKED_AT_EACH_PASS = 64 << 20
"""Bytes of results up to which workers take a checksum after every pass; after two passes beyond (docs/protocol.md)."""

PRIOR_S = 1.0
"""Seconds of a correct estimate that are added to what a factor is learnt from: a few short points move it little."""


class Point(NamedTuple):
    """The parameters of a cell on which its costs depend; `Cell` has them too."""

    id: str
    kernel: str
    variant: str
    device: str
    size: int
    reps: int
    passes: int
    warmup: int
    region: str
    data: str


_BYTES = ("bytes_read", "bytes_written", "bytes_modified", "bytes_atomic")

NEEDED = frozenset((*Point._fields, *_BYTES, "flops", "status", "run", "order", "wall_s", "seconds_per_rep"))
"""What a record must have for costs to be learnt from it."""


class Traffic(NamedTuple):
    """What one repetition of a kernel does at a size (elements): bytes moved, floating-point operations, launches."""

    size: int
    moved: float
    flops: float
    launches: int


@dataclass(frozen=True)
class Speeds:
    """How fast a device and the host beside it are.

    Attributes:
        memory: bytes a second between the device and its memory.
        flops: f64 operations a second.
        launch_s: seconds of a launch.
        transfer: bytes a second between host and device.
        initial: bytes a second of initial data made on the host.
        fetch: bytes a second of results fetched and added up to a checksum.
        start_s: seconds until a worker of a kernel and variant answers, and until it has ended.
        pause_s: seconds between the points of two workers, in which the threads of the first go to sleep.
        point_s: seconds of a point apart from its passes.
        pass_s: seconds of a pass apart from its repetitions.
    """

    memory: float
    flops: float
    launch_s: float
    transfer: float
    initial: float
    fetch: float
    start_s: float
    pause_s: float = 0.042
    point_s: float = 0.7e-3
    pass_s: float = 0.22e-3


# Of `nvidia`, all but memory and flops (of an A100) follow from the records in examples/h200; those of `host` from
# runs on two cores of a virtual machine. `amd` (half an MI250X) was never measured: it is taken to be like `nvidia`
# apart from memory and flops. An emulated device interprets every operation.
DEFAULTS: Mapping[str, Speeds] = {
    "host": Speeds(2e10, 1e10, 5e-6, 1e10, 5e8, 6e8, start_s=0.05),
    "nvidia": Speeds(1.5e12, 9e12, 5e-6, 1e10, 9e9, 8.5e8, start_s=0.35),
    "amd": Speeds(1.3e12, 2e13, 5e-6, 1e10, 9e9, 8.5e8, start_s=0.35),
    "amd_emulated": Speeds(1e5, 1e5, 0.05, 1e9, 5e8, 6e8, start_s=2.0),
}


def speeds(device: str, stated: Mapping[str, float] | None = None, where: str = "the system") -> Speeds:
    """The speeds of a device: what a system's description states, else the defaults.

    Args:
        device: one of `DEFAULTS`.
        stated: values by the name of their attribute in `Speeds`.
        where: what messages call the description.

    Raises:
        UserError: if a name is unknown or a value is no positive number.
    """
    known = [item.name for item in fields(Speeds)]
    for name, value in (stated or {}).items():
        if name not in known:
            raise UserError(f"{where}: {device}: there is no speed {name}; known are {', '.join(known)}")
        if not (value > 0 and math.isfinite(value)):
            raise UserError(f"{where}: {device}: {name}: {value} is not possible; write a number above 0")
    return replace(DEFAULTS[device], **(stated or {}))


@dataclass(frozen=True)
class Errors:
    """How an estimate compares with what a run took.

    Attributes:
        points: number of points that are compared.
        estimated_s: seconds that were estimated for all of them.
        actual_s: seconds that they took.
        median: median of the absolute log(actual / estimated) over the points; NaN if there are none.
        ninety: its 90th percentile.
        factors: actual over estimated seconds by (kernel, variant), which correct the next estimate.
    """

    points: int
    estimated_s: float
    actual_s: float
    median: float
    ninety: float
    factors: Mapping[tuple[str, str], float]

    def describe(self) -> str:
        """The error in one line for a person."""
        if not self.points:
            return "no point to compare the estimated time with"
        return (
            f"{self.points} points took {self.actual_s:.0f} s, estimated were {self.estimated_s:.0f} s;"
            f" half of the points are within a factor of {math.exp(self.median):.2f},"
            f" 90 % within {math.exp(self.ninety):.2f}"
        )


@dataclass(frozen=True)
class Costs:
    """What points cost on one system.

    Attributes:
        speeds: of each device; the defaults where a device is missing.
        traffic: what is known of each kernel, by ascending size.
        factors: correction of the model by (kernel, variant).
        measured: seconds of cells that ran, by their id, without what their worker did for several of them.
    """

    speeds: Mapping[str, Speeds] = field(default_factory=lambda: DEFAULTS)
    traffic: Mapping[str, Sequence[Traffic]] = field(default_factory=dict)
    factors: Mapping[tuple[str, str], float] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)

    def point(self, point: Cell | Point) -> float:
        """Seconds of a point for which the worker runs and has the initial data."""
        if (known := self.measured.get(point.id)) is not None:
            return known
        return self._factor(point) * self._modelled(point)

    def initial(self, point: Cell | Point) -> float:
        """Seconds that a worker takes to make a point's initial data, once for points of one size and kind of data."""
        return self._factor(point) * _data_bytes(point) / self._speeds(point).initial

    def start(self, point: Cell | Point) -> float:
        """Seconds that a start of the worker of a point's kernel and variant takes."""
        return self._speeds(point).start_s

    def pause(self, point: Cell | Point) -> float:
        """Seconds before a point if another worker had the one before."""
        return self._speeds(point).pause_s

    def group(self, points: Sequence[Cell | Point]) -> float:
        """Seconds of points of one kernel, size and kind of data, one after another in random order.

        The starts of their workers are not among them. The pauses are those that a random order has on average.
        """
        workers = Counter((point.kernel, point.variant, point.device) for point in points)
        one_of_each = {(point.kernel, point.variant, point.device): point for point in points}
        same_worker_twice = sum(count * (count - 1) for count in workers.values()) / len(points)
        return math.fsum(
            [
                *map(self.point, points),
                *map(self.initial, one_of_each.values()),
                max(map(self.pause, points)) * (len(points) - same_worker_twice),
            ]
        )

    def corrected(self, errors: Errors) -> Costs:
        """These costs with the factors of a run, which multiply those that the estimate had already."""
        found = {key: self.factors.get(key, 1.0) * factor for key, factor in errors.factors.items()}
        return replace(self, factors={**self.factors, **found})

    def _factor(self, point: Cell | Point) -> float:
        return self.factors.get((point.kernel, point.variant), 1.0)

    def _speeds(self, point: Cell | Point) -> Speeds:
        return self.speeds.get(point.device) or DEFAULTS[point.device]

    def _modelled(self, point: Cell | Point) -> float:
        speeds = self._speeds(point)
        results = REAL * point.size
        looks = point.passes if results <= LOOKED_AT_EACH_PASS else min(2, point.passes)
        passes = point.passes + point.warmup
        return (
            speeds.point_s
            + passes * (speeds.pass_s + point.reps * self._repetition(point, speeds))
            + _data_bytes(point) / speeds.transfer
            + looks * results / speeds.fetch
        )

    def _repetition(self, point: Cell | Point, speeds: Speeds) -> float:
        """Seconds of a repetition: whatever limits it, memory or arithmetic, and where they are timed the transfers."""
        does = self._traffic(point)
        seconds = does.launches * speeds.launch_s + max(does.moved / speeds.memory, does.flops / speeds.flops)
        return seconds + (_data_bytes(point) / speeds.transfer if point.region == "with_transfers" else 0.0)

    def _traffic(self, point: Cell | Point) -> Traffic:
        """What is known of the nearest size, in proportion to the elements; else three arrays, an operation on two."""
        known = self.traffic.get(point.kernel)
        if not known:
            return Traffic(point.size, 3.0 * REAL * point.size, 2.0 * point.size, 1)
        near = min(known, key=lambda traffic: abs(math.log(traffic.size / point.size)))
        scale = point.size / near.size
        return Traffic(point.size, scale * near.moved, scale * near.flops, near.launches)


def _data_bytes(point: Cell | Point) -> float:
    return float(ARRAYS * REAL * point.size)


def learn(records: Iterable[Record], speeds: Mapping[str, Speeds] | None = None) -> Costs:
    """Costs from the records of one system. Those that are not `ok` say nothing about the next run and are left out."""
    steps = list(_steps(records))
    model = Costs(speeds=speeds or DEFAULTS, traffic=_traffic(step.record for step in steps))
    costs = model.corrected(_error(model, steps))
    return replace(costs, measured={step.point.id: _own(costs, step) for step in steps})


def error(costs: Costs, records: Iterable[Record], ids: Container[str] | None = None) -> Errors:
    """How costs, which a plan was made with, compare with what a run took.

    Args:
        costs: the estimate.
        records: all of the run, or of several.
        ids: the cells to compare; None: all. Others only tell which workers ran already.
    """
    return _error(costs, [step for step in _steps(records) if ids is None or step.point.id in ids])


class _Step(NamedTuple):
    """A record, and what was done for it that other points need not do again."""

    record: Record
    point: Point
    started: bool
    paused: bool
    made_data: bool


def _steps(records: Iterable[Record]) -> Iterator[_Step]:
    """The records that are `ok`, run after run, in the order in which they were measured."""
    before: tuple[str, ...] = ()
    data: dict[tuple[str, ...], tuple[int, str]] = {}
    for record in sorted(records, key=lambda record: (record["run"], record["order"], record["id"])):
        if record["status"] != "ok":
            continue
        point = Point(*(record[name] for name in Point._fields))
        worker = (record["run"], point.kernel, point.variant, point.device)
        has = (point.size, point.data)
        yield _Step(record, point, worker not in data, worker != before, data.get(worker) != has)
        before, data[worker] = worker, has


def _traffic(records: Iterable[Record]) -> dict[str, tuple[Traffic, ...]]:
    """What each kernel does at each size; variants and devices count it alike."""
    found: dict[str, set[Traffic]] = {}
    for record in records:
        does = Traffic(record["size"], bytes_moved(record), record["flops"], record.get("launches_per_rep", 1))
        found.setdefault(record["kernel"], set()).add(does)
    return {kernel: tuple(sorted(known)) for kernel, known in found.items()}


def _shared(costs: Costs, step: _Step) -> float:
    """Estimated seconds of what was done for a record and others."""
    return (
        step.started * costs.start(step.point)
        + step.paused * costs.pause(step.point)
        + step.made_data * costs.initial(step.point)
    )


def _own(costs: Costs, step: _Step) -> float:
    """Measured seconds of a record without what was done for others too; at least those that the worker timed."""
    point = step.point
    timed = [seconds * point.reps for seconds in step.record["seconds_per_rep"]]
    timed_s = math.fsum(timed) * (point.passes + point.warmup) / len(timed) if timed else 0.0
    own_s = float(step.record["wall_s"]) - _shared(costs, step)
    return max(own_s, timed_s, DEFAULTS[point.device].point_s)


def _error(costs: Costs, steps: Sequence[_Step]) -> Errors:
    estimated = [costs.point(step.point) + _shared(costs, step) for step in steps]
    actual = [float(step.record["wall_s"]) for step in steps]
    # A point without a duration took less than the microsecond to which it is kept.
    logs = [abs(math.log(max(took, 1e-6) / guess)) for took, guess in zip(actual, estimated, strict=True)]
    median, ninety = np.quantile(logs, (0.5, 0.9)).tolist() if logs else (math.nan, math.nan)
    return Errors(len(steps), math.fsum(estimated), math.fsum(actual), median, ninety, _factors(costs, steps))


def _factors(costs: Costs, steps: Sequence[_Step]) -> dict[tuple[str, str], float]:
    """Actual over estimated seconds by (kernel, variant); starts and pauses, which are nobody's, are in neither."""
    sums: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for step in steps:
        apart = step.started * costs.start(step.point) + step.paused * costs.pause(step.point)
        own = costs.point(step.point) + step.made_data * costs.initial(step.point)
        actual = max(step.record["wall_s"] - apart, 0.0)
        sums.setdefault((step.point.kernel, step.point.variant), []).append((actual, own))
    return {
        key: (PRIOR_S + math.fsum(a for a, _ in pairs)) / (PRIOR_S + math.fsum(e for _, e in pairs))
        for key, pairs in sums.items()
    }
