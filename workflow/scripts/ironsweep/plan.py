"""The plan: every cell that a sweep declares, made when the workflow is parsed.

It is a pure function of configuration, systems and kernels, the same on every machine, so that no checkpoint stands
between the configuration and a measurement. A combination that a system cannot run is a cell too, `not_run` with its
reason.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from ironsweep.config import Settings, System
from ironsweep.kernels import Kernel

# Devices that a variant exists for.
DEVICES: Mapping[str, tuple[str, ...]] = {
    "rust_offload": ("host", "nvidia", "amd"),
    "rust_liboffload": ("nvidia", "amd"),
    "cpp_seq": ("host",),
    "cpp_openmp": ("host",),
    "cuda": ("nvidia",),
    "hip": ("amd",),
}

# What lies inside a variant's timed region. std::offload waits for every launch, so it has no `kernel` region.
REGIONS: Mapping[str, tuple[str, ...]] = {
    "rust_offload": ("launch_sync", "with_transfers"),
    "rust_liboffload": ("kernel", "launch_sync"),
    "cpp_seq": ("launch_sync",),
    "cpp_openmp": ("launch_sync",),
    "cuda": ("kernel", "launch_sync"),
    "hip": ("kernel", "launch_sync"),
}

# Variants whose device code is an image of its own, results/bin/{kernel}/images/{arch}.img.
IMAGE_VARIANTS = ("rust_offload", "rust_liboffload")

_VENDOR = {"host": "host device", "nvidia": "NVIDIA GPU", "amd": "AMD GPU"}
_CHECK_REGION = "launch_sync"  # the only region that every variant has
_CHECK_PASSES = 2  # the second one shows that data is restored between passes


@dataclass(frozen=True)
class Cell:
    """One row of the plan. ``size`` is RAJAPerf's target size in elements, ``arch`` that of the device."""

    id: str
    kernel: str
    group: str
    kind: str
    variant: str
    device: str
    arch: str
    tuning: str
    block: int
    size: int
    reps: int
    passes: int
    warmup: int
    region: str
    data: str
    seed: int
    system: str
    status_planned: str
    reason_planned: str

    def point(self) -> dict[str, Any]:
        """The cell as a line of a points file; ``dump`` is a file name, or None where nothing is dumped."""
        return {**asdict(self), "dump": f"{self.id}.f64" if self.data == "random" else None}


COLUMNS = tuple(field.name for field in fields(Cell))


@dataclass(frozen=True)
class Plan:
    """All cells of a sweep, in the order of systems, kernels and measurement."""

    cells: tuple[Cell, ...]

    @cached_property
    def by_job(self) -> Mapping[tuple[str, str], tuple[Cell, ...]]:
        """Cells by (system, kernel): what one job measures."""
        jobs: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            jobs.setdefault((cell.system, cell.kernel), []).append(cell)
        return {key: tuple(cells) for key, cells in jobs.items()}

    def workers(self, kernel: str) -> list[str]:
        """Variants of ``kernel`` that have a cell, sorted: the programs that its jobs need."""
        return sorted({cell.variant for cell in self.cells if cell.kernel == kernel})

    def images(self, kernel: str) -> list[str]:
        """Architectures for which ``kernel`` needs a device image, sorted."""
        return sorted({cell.arch for cell in self.cells if cell.kernel == kernel and cell.variant in IMAGE_VARIANTS})

    def csv(self) -> str:
        """The plan as a table with ``COLUMNS``."""
        text = io.StringIO()
        table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(cell) for cell in self.cells)
        return text.getvalue()

    def points(self, system: str, kernel: str) -> str:
        """Lines of the points file of one job."""
        return _lines(self.by_job[system, kernel])

    def all_points(self) -> str:
        """Lines of a points file with every cell."""
        return _lines(self.cells)


def _lines(cells: Iterable[Cell]) -> str:
    return "".join(f"{json.dumps(cell.point())}\n" for cell in cells)


def digest(text: str) -> str:
    """Short content hash, by which Snakemake sees that a part of the plan changed."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def cell_id(identity: Mapping[str, Any]) -> str:
    """First 16 hexadecimal digits of the SHA-256 of the identity parameters as canonical JSON."""
    return digest(json.dumps(identity, sort_keys=True, separators=(",", ":")))


def make(settings: Settings) -> Plan:
    """The plan of a sweep."""
    return Plan(
        tuple(
            cell
            for system in settings.systems
            for kernel in settings.all_kernels
            for cell in _in_order(list(_cells(settings, system, kernel)), settings.seed)
        )
    )


def only_runnable(plan: Plan) -> Plan:
    """The plan without the cells that its systems cannot run."""
    return Plan(tuple(cell for cell in plan.cells if cell.status_planned == "planned"))


def _cells(settings: Settings, system: System, kernel: Kernel) -> Iterator[Cell]:
    """Cells of one kernel on one system, in declared order."""
    for variant in settings.variants:
        for device in DEVICES[variant]:
            for arch in settings.archs.get(device, ()):
                reason = _why_not(system, device, arch)
                for parameters in _parameters(settings, kernel, variant):
                    identity = {
                        "kernel": kernel.name,
                        "variant": variant,
                        "device": device,
                        "arch": arch,
                        "tuning": f"block_{settings.block}",
                        "block": settings.block,
                        "warmup": settings.warmup,
                        "seed": settings.seed,
                        "system": system.name,
                        **parameters,
                    }
                    yield Cell(
                        id=cell_id(identity),
                        group=kernel.group,
                        status_planned="not_run" if reason else "planned",
                        reason_planned=reason,
                        **identity,
                    )


def _parameters(settings: Settings, kernel: Kernel, variant: str) -> Iterator[dict[str, Any]]:
    """What differs between the cells of one variant on one device: first what is checked, then what is measured."""
    # The planted mistakes show only where there are several elements.
    check_size = settings.check_elements if kernel.planted else min(settings.check_elements, *settings.sizes)
    for data in ("reference", "random"):
        yield {
            "kind": "planted" if kernel.planted else "check",
            "size": check_size,
            "reps": 1,
            "passes": _CHECK_PASSES,
            "region": _CHECK_REGION,
            "data": data,
        }
    if kernel.planted:
        return
    for size in settings.sizes:
        for region in REGIONS[variant]:
            yield {
                "kind": "measure",
                "size": size,
                "reps": settings.reps.of(kernel.name, region),
                "passes": settings.passes,
                "region": region,
                "data": "reference",
            }


def _why_not(system: System, device: str, arch: str) -> str:
    """Why a system cannot run code for a device and architecture; empty if it can, or if only a run can tell."""
    if device not in system.devices:
        return f"no {_VENDOR[device]} in system {system.name}"
    there = system.devices[device]
    if there and arch not in there:
        return f"the {_VENDOR[device]} in system {system.name} is {' and '.join(there)}, not {arch}"
    return ""


def _in_order(cells: list[Cell], seed: int) -> list[Cell]:
    """Cells in the order in which they are run: checks first, then size after size, variants interleaved at random.

    What will be compared (the variants at one size) is thereby measured close together and in no fixed order. The
    order comes from a hash of seed and cell, so that a further size moves nothing among the sizes that were there.
    """

    def shuffled(text: str) -> str:
        return hashlib.sha256(f"{seed}:{text}".encode()).hexdigest()

    return sorted(cells, key=lambda cell: (cell.kind == "measure", shuffled(str(cell.size)), shuffled(cell.id)))
