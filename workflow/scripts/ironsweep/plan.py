"""The plan: every cell that a sweep declares, made when the workflow is parsed.

It is a pure function of configuration, systems and kernels, the same on every machine, so that no checkpoint stands
between the configuration and a measurement. A combination that a system cannot run is a cell too, `not_run` (or
`unsupported`) with its reason; so is one that a rule of the configuration removes, `excluded` with the rule's reason.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from ironsweep.config import DEFAULT, Region, Settings, System
from ironsweep.kernels import Kernel
from ironsweep.sizes import all_elements
from ironsweep.variants import DEVICES, EMULATED, EMULATED_ARCHS, REGIONS, RUST, part, program

EXCLUDED = "excluded"
"""The planned status of a cell that a rule of the configuration removes."""

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
    safety: str
    contraction: str
    tuning: str
    block: int
    part: str
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

    @property
    def program(self) -> str:
        """What runs it, as `KERNEL/VARIANT-ARCH`."""
        return f"{self.kernel}/{self.variant}-{self.arch}"

    @property
    def files(self) -> tuple[str, str]:
        """The worker below results/bin, and what it loads for this cell."""
        return f"{self.kernel}/{program(self.variant)}", f"{self.kernel}/{self.part}"

    def point(self) -> dict[str, Any]:
        """The cell as a line of a points file; ``dump`` is a file name, or None where nothing is dumped."""
        return {**vars(self), "dump": f"{self.id}.f64" if self.data == "random" else None}


COLUMNS = tuple(field.name for field in fields(Cell))


@dataclass(frozen=True)
class Plan:
    """All cells of a sweep, in the order of systems, kernels and measurement."""

    cells: tuple[Cell, ...]

    @cached_property
    def binaries(self) -> Mapping[str, Sequence[str]]:
        """The files below results/bin of which each `Cell.program` consists, sorted: workers and what they load."""
        found: dict[str, set[str]] = {}
        for cell in self.cells:
            if cell.status_planned != EXCLUDED:
                found.setdefault(cell.program, set()).update(cell.files)
        return {name: sorted(files) for name, files in sorted(found.items())}

    def archs(self, kernel: str) -> list[str]:
        """Architectures for which ``kernel`` needs device images, sorted."""
        own = [cell for cell in self.cells if cell.kernel == kernel and cell.status_planned != EXCLUDED]
        return sorted({cell.arch for cell in own if cell.variant in RUST})

    def describe(self) -> str:
        """How many cells there are, in words."""
        kinds = Counter(cell.kind for cell in self.cells)
        return (
            f"{len(self.cells)} cells: {kinds['measure']} to measure, {kinds['check']} checks,"
            f" {kinds['planted']} of planted wrong kernels"
        )

    def csv(self) -> str:
        """The plan as a table with ``COLUMNS``."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(vars(cell).values() for cell in self.cells)  # in the order of its fields
        return text.getvalue()

    def all_points(self) -> str:
        """Lines of a points file with every cell."""
        return "".join(f"{json.dumps(cell.point())}\n" for cell in self.cells)


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
            for cell in _in_order(list(_cells(settings, system, kernel)), settings.check.seed)
        )
    )


def only_runnable(plan: Plan) -> Plan:
    """The plan without the cells that its systems cannot run."""
    return Plan(tuple(cell for cell in plan.cells if cell.status_planned == "planned"))


@dataclass(frozen=True)
class _Tuning:
    """One way to build and launch a kernel; ``first``: of all tunings of its variant and device, the first."""

    safety: str
    contraction: str
    block: int
    name: str
    first_block: bool
    first: bool


def _cells(settings: Settings, system: System, kernel: Kernel) -> Iterator[Cell]:
    """Cells of one kernel on one system, in declared order."""
    for variant in settings.variants:
        for device in DEVICES[variant]:
            for arch in _archs(settings, device):
                status, reason = _why_not(settings, system, device, arch)
                for tuning in _tunings(settings, kernel, variant, device):
                    for parameters in _parameters(settings, system, kernel, variant, device, tuning):
                        identity = {
                            "kernel": kernel.name,
                            "variant": variant,
                            "device": device,
                            "arch": arch,
                            "safety": tuning.safety,
                            "contraction": tuning.contraction,
                            "tuning": tuning.name,
                            "block": tuning.block,
                            "part": part(variant, arch, tuning.safety, tuning.contraction),
                            "seed": settings.check.seed,
                            "system": system.name,
                            **parameters,
                        }
                        if _is_there(settings, system, kernel, identity):
                            planned = _removed(settings, system, kernel, identity) or (status, reason)
                            yield Cell(
                                id=cell_id(identity),
                                group=kernel.group,
                                status_planned=planned[0],
                                reason_planned=planned[1],
                                **identity,
                            )


def _is_there(settings: Settings, system: System, kernel: Kernel, identity: Mapping[str, Any]) -> bool:
    """Whether lists that are walked together leave a cell."""
    if kernel.planted or not settings.selection.zips:
        return True
    return settings.selection.has(_facts(identity), system.cache(identity["device"]))


def _facts(identity: Mapping[str, Any]) -> dict[str, Any]:
    """What rules can ask of a cell. A check's size is no value of the list of sizes that can be walked with others."""
    facts = {name: identity[name] for name in ("kernel", "variant", "contraction")}
    facts |= {"safety": identity["safety"]} if identity["safety"] != "none" else {}
    facts |= {"block": identity["block"]} if identity["device"] != "host" else {}
    return facts | ({"size": identity["size"]} if identity["kind"] == "measure" else {})


def _removed(settings: Settings, system: System, kernel: Kernel, identity: Mapping[str, Any]) -> tuple[str, str] | None:
    """Planned status and reason of a cell that a rule removes; None if none does."""
    if kernel.planted or not settings.selection.rules:
        return None  # without the planted ones a run is unverified
    more = {name: identity[name] for name in ("device", "arch", "region", "kind", "system", "size")}
    facts = {**_facts(identity), **more, "group": kernel.group}
    rule = settings.selection.removed_by(facts, system.cache(identity["device"]))
    return (EXCLUDED, rule.reason) if rule else None


def _archs(settings: Settings, device: str) -> tuple[str, ...]:
    """The architectures of a device that are asked for."""
    if device == EMULATED:
        return tuple(arch for arch in settings.archs.get("amd", ()) if arch in EMULATED_ARCHS)
    return tuple(settings.archs.get(device, ()))


def _tunings(settings: Settings, kernel: Kernel, variant: str, device: str) -> Iterator[_Tuning]:
    """The tunings of a variant on a device. The host shares items out over its cores: it has no blocks."""
    if device == EMULATED:
        blocks = [kernel.blocks[0]]
    else:
        blocks = list(dict.fromkeys(kernel.block(block) for block in settings.tunings.blocks))
    if device == "host":
        del blocks[1:]
    safeties = settings.tunings.safety if variant in RUST else ("none",)
    first = True
    for safety, contraction, block in itertools.product(safeties, settings.tunings.contraction, blocks):
        words = [safety] if safety != "none" else []
        words += [contraction, *([f"block_{block}"] if device != "host" else [])]
        yield _Tuning(safety, contraction, block, "_".join(words), block == blocks[0], first)
        first = False


def _parameters(
    settings: Settings, system: System, kernel: Kernel, variant: str, device: str, tuning: _Tuning
) -> Iterator[dict[str, Any]]:
    """What differs between the cells of one tuning on one device: first what is checked, then what is measured."""
    checks = list(_checks(settings, kernel, device, tuning))
    for size, reps, passes, data in checks:
        yield {
            "kind": "planted" if kernel.planted else "check",
            "size": size,
            "reps": reps,
            "passes": passes,
            "warmup": 0 if passes == 1 else settings.warmup,
            "region": _CHECK_REGION,
            "data": data,
        }
    if kernel.planted or device == EMULATED:
        return
    for region, wanted in settings.regions.items():
        if region not in REGIONS[variant] or not _is_timed(wanted, tuning):
            continue
        for size in all_elements(settings.sizes, system.cache(device)):
            if wanted.max_size is None or size <= wanted.max_size:
                yield {
                    "kind": "measure",
                    "size": size,
                    "reps": settings.reps.of(kernel.name, region),
                    "passes": settings.passes,
                    "warmup": settings.warmup,
                    "region": region,
                    "data": "reference",
                }


def _checks(settings: Settings, kernel: Kernel, device: str, tuning: _Tuning) -> Iterator[tuple[int, int, int, str]]:
    """Size, repetitions, passes and data of each check, none twice."""
    check = settings.check
    if device == EMULATED:
        yield from ((check.emulated, 1, 1, data) for data in ("reference", "random"))
        return
    # The planted mistakes show only where there are several elements.
    sizes = check.sizes[-1:] if kernel.planted else check.sizes
    yield from ((size, 1, _CHECK_PASSES, data) for size in sizes for data in ("reference", "random"))
    if kernel.planted:
        return
    done = {(size, 1) for size in sizes}
    known = settings.defaults.get(kernel.name)
    for size, reps in itertools.product(check.reference_sizes, check.reference_reps):
        if known is None and DEFAULT in (size, reps):
            continue  # not one of RAJAPerf's
        own_size = known.size if known and size == DEFAULT else int(size)
        own_reps = known.reps if known and reps == DEFAULT else int(reps)
        if (own_size, own_reps) not in done:
            done.add((own_size, own_reps))
            yield own_size, own_reps, 1, "reference"
    if tuning.first:
        yield from ((size, 1, 1, "reference") for size in check.large if (size, 1) not in done)


def _is_timed(region: Region, tuning: _Tuning) -> bool:
    """Whether a region is timed for a tuning."""
    return (
        (tuning.safety == "none" or region.safety is None or tuning.safety in region.safety)
        and (region.contraction is None or tuning.contraction in region.contraction)
        and (tuning.first_block or not region.first_block)
    )


def _why_not(settings: Settings, system: System, device: str, arch: str) -> tuple[str, str]:
    """Planned status and reason: why a system cannot run code for a device, if it cannot and a run would not tell."""
    if device == EMULATED:
        if settings.emulator is None:
            return "unsupported", "the configuration names no checkout of tinygrad (emulator: {tinygrad: FOLDER})"
        return "planned", ""
    if device not in system.devices:
        return "not_run", f"no {_VENDOR[device]} in system {system.name}"
    there = system.devices[device]
    if there and arch not in there:
        return "not_run", f"the {_VENDOR[device]} in system {system.name} is {' and '.join(there)}, not {arch}"
    return "planned", ""


def _in_order(cells: list[Cell], seed: int) -> list[Cell]:
    """Cells in the order in which they are run: checks first, then size after size, variants interleaved at random.

    What will be compared (the variants at one size) is thereby measured close together and in no fixed order. The
    order comes from a hash of seed and cell, so that a further size moves nothing among the sizes that were there.
    """

    def shuffled(text: str) -> str:
        return hashlib.sha256(f"{seed}:{text}".encode()).hexdigest()

    return sorted(cells, key=lambda cell: (cell.kind == "measure", shuffled(str(cell.size)), shuffled(cell.id)))
