"""How well a device is used: against its measured roofs, over sizes, and over platforms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ironsweep.judge import Status
from ironsweep.variants import EMULATED

Row = dict[str, Any]
Key = tuple[Any, ...]

COPY = "Stream_COPY"
"""The kernel whose bandwidth is what others' is compared with."""
FMA = "Peak_FMA"
"""The kernel whose rate of operations is what others' is compared with."""
SATURATED = 0.95
"""Of the rate at the largest size."""


def is_measured(row: Mapping[str, Any]) -> bool:
    """Whether a judged cell has a time."""
    return bool(row["kind"] == "measure" and row["status"] == Status.OK and row["device"] != EMULATED)


def _key(row: Mapping[str, Any], *names: str) -> Key:
    return tuple(row.get(name) for name in names)


def add_roofs(rows: Sequence[Row]) -> None:
    """Set what depends on the roofs that were measured on the same device: rows are changed in place.

    ``bandwidth_of_copy``: over the fastest copy at the same size and region. ``bandwidth_of_peak``: over the fastest
    copy at the largest size (at smaller ones it may have stayed in a cache). ``gflop_of_peak``: over the fastest kernel
    of fused multiply-adds. ``roof_fraction`` and ``bound``: over the lower of both roofs, and which one that is.
    """
    measured = [row for row in rows if is_measured(row)]
    copies: dict[Key, float] = defaultdict(float)
    largest: dict[Key, tuple[int, float]] = {}
    rates: dict[Key, float] = defaultdict(float)
    for row in measured:
        device = _device(row)
        if row["kernel"] == COPY:
            place = (*device, row["region"], row["size"])
            copies[place] = max(copies[place], row["bandwidth_gib_per_s"])
            largest[device] = max(largest.get(device, (0, 0.0)), (row["size"], row["bandwidth_gib_per_s"]))
        elif row["kernel"] == FMA:
            rates[device] = max(rates[device], row["gflop_per_s"])
    for row in measured:
        device = _device(row)
        if copy := copies.get((*device, row["region"], row["size"])):
            row["bandwidth_of_copy"] = row["bandwidth_gib_per_s"] / copy
        if device in largest:
            row["bandwidth_of_peak"] = row["bandwidth_gib_per_s"] / largest[device][1]
        if device in rates:
            row["gflop_of_peak"] = row["gflop_per_s"] / rates[device]
        if device in largest and device in rates:
            # Of kernels that move nothing or compute nothing one roof is infinitely high.
            row["roof_fraction"] = max(row["bandwidth_of_peak"], row["gflop_of_peak"])
            row["bound"] = "memory" if row["bandwidth_of_peak"] >= row["gflop_of_peak"] else "compute"


def _device(row: Mapping[str, Any]) -> Key:
    return _key(row, "host", "device_name", "device", "arch")


def scaling(cells: Iterable[Row]) -> Iterator[Row]:
    """Over the sizes of each kernel, variant and tuning: the highest rate, and from which size on it is there.

    Args:
        cells: judged cells.
    """
    names = ("system", "kernel", "variant", "device", "arch", "tuning", "region", "data")
    groups: dict[Key, list[Row]] = defaultdict(list)
    for cell in cells:
        if cell["kind"] == "measure" and cell["device"] != EMULATED:
            groups[_key(cell, *names)].append(cell)
    for key, group in groups.items():
        found = sorted((cell for cell in group if is_measured(cell)), key=lambda cell: cell["size"])
        row: Row = dict(zip(names, key, strict=True)) | {"sizes": len(found)}
        if len(found) < 2:
            failed = next((cell for cell in group if not is_measured(cell)), None)
            row |= {"status": failed["status"] if failed else str(Status.NOT_RUN)}
            row |= {"reason": failed["reason"] if failed else "one size only"}
            yield row
            continue
        rates = [cell["actual_size"] / cell["median_s"] for cell in found]
        # From the largest size down, as long as the rate is kept.
        below = next((at for at in reversed(range(len(rates))) if rates[at] < SATURATED * rates[-1]), -1)
        yield row | {
            "status": str(Status.OK),
            "reason": "",
            "saturation_size": found[below + 1]["size"],
            "peak_elements_per_s": max(rates),
            "peak_bandwidth_gib_per_s": max(cell["bandwidth_gib_per_s"] for cell in found),
        }


def portability(cells: Iterable[Row]) -> Iterator[Row]:
    """Performance portability (Pennycook, Sewall and Lee 2016) with application efficiency, a row for each platform.

    A platform is a system's architecture on which anything was measured, and for which the problem was planned. Of each
    variant and safety the fastest block counts. Where a variant has no time its efficiency is 0, and so is its
    portability.

    Args:
        cells: judged cells.
    """
    common = ("kernel", "contraction", "region", "data", "size")
    problems: dict[Key, list[Row]] = defaultdict(list)
    platforms: dict[str, None] = {}
    for cell in cells:
        if cell["kind"] != "measure" or cell["device"] == EMULATED:
            continue
        problems[_key(cell, *common)].append(cell)
        if is_measured(cell):
            platforms[_platform(cell)] = None
    for key, group in problems.items():
        times: dict[tuple[str, str, str], float] = {}
        failures: dict[tuple[str, str, str], Row] = {}
        for cell in group:
            place = (cell["variant"], cell["safety"], _platform(cell))
            if is_measured(cell):
                times[place] = min(times.get(place, cell["median_s"]), cell["median_s"])
            else:
                failures[place] = cell
        planned = {_platform(cell) for cell in group}
        here = [name for name in platforms if name in planned]
        if not here:
            continue
        best = {name: min((time for place, time in times.items() if place[2] == name), default=0.0) for name in here}
        for variant, safety in dict.fromkeys(_key(cell, "variant", "safety") for cell in group):
            efficiencies = {
                name: best[name] / times[variant, safety, name] if (variant, safety, name) in times else 0.0
                for name in here
            }
            has_all = all(efficiencies.values())
            whole = len(here) / sum(1.0 / value for value in efficiencies.values()) if has_all else 0.0
            for name, efficiency in efficiencies.items():
                failed = failures.get((variant, safety, name))
                missing = {
                    "status": failed["status"] if failed else str(Status.UNSUPPORTED),
                    "reason": failed["reason"] if failed else f"{variant} has no cell for this platform",
                }
                yield {
                    **dict(zip(common, key, strict=True)),
                    "variant": variant,
                    "safety": safety,
                    "platform": name,
                    "efficiency": efficiency,
                    "portability": whole,
                    "platforms": len(here),
                    **({"status": str(Status.OK), "reason": ""} if efficiency else missing),
                }


def _platform(cell: Mapping[str, Any]) -> str:
    return f"{cell['system']} {cell['arch']}"
