"""Plans and records as a sweep makes them, without a sweep."""

from typing import Any

import numpy as np

from ironsweep.golden import Case, Golden, case_of, compute

KERNELS = ("Stream_TRIAD", "Basic_DAXPY", "Apps_FIR", "Lcals_PLANCKIAN", "Algorithm_REDUCE_SUM")
PLANTED = ("Planted_OFF_BY_ONE", "Planted_NOTHING")
REGIONS = {
    "rust_offload": ("launch_sync", "with_transfers"),
    "rust_liboffload": ("kernel", "launch_sync"),
    "cuda": ("kernel", "launch_sync"),
    "cpp_seq": ("launch_sync",),
    "cpp_openmp": ("launch_sync",),
}
HOST = ("rust_offload", "cpp_seq", "cpp_openmp")
NVIDIA = ("rust_offload", "rust_liboffload", "cuda")
_SPEED = {"rust_offload": 1.0, "rust_liboffload": 1.1, "cuda": 1.25, "cpp_seq": 0.6, "cpp_openmp": 1.15}

Row = dict[str, Any]


def planned_cell(**changes: Any) -> Row:
    """A measured TRIAD cell on the host, or what `changes` make of it."""
    cell: Row = {
        "system": "laptop",
        "id": "0000000000000001",
        "kernel": "Stream_TRIAD",
        "group": "Stream",
        "kind": "measure",
        "variant": "rust_offload",
        "device": "host",
        "arch": "host",
        "safety": "safe",
        "contraction": "strict",
        "tuning": "safe_strict",
        "block": 256,
        "part": "launch/safe-strict.so",
        "size": 1000,
        "reps": 20,
        "passes": 10,
        "warmup": 1,
        "region": "launch_sync",
        "data": "reference",
        "seed": 4793,
        "status_planned": "planned",
        "reason_planned": None,
    }
    return cell | changes


def golden_of(cell: Row) -> dict[Case, Golden]:
    """The golden result that a cell needs."""
    case = case_of(cell["kernel"], cell)
    return {case: compute(cell["kernel"], case)}


def record_of(cell: Row, checksum: float | None, seconds: float = 1e-3, **changes: Any) -> Row:
    """An `ok` record of a cell whose passes scatter by 1 % around `seconds`."""
    rng = np.random.default_rng(int(cell["id"], 16))
    passes = cell["passes"]
    size = cell["size"]
    record: Row = {key: value for key, value in cell.items() if not key.endswith("_planned")}
    record |= {
        "dump": None,
        "status": "ok",
        "message": "",
        "actual_size": size,
        "seconds_per_rep": (seconds * (1 + 0.01 * rng.standard_normal((passes,)))).tolist(),
        "checksums": [checksum] * passes,
        "bytes_read": 16 * size,
        "bytes_written": 8 * size,
        "bytes_modified": 0,
        "bytes_atomic": 0,
        "flops": 2 * size,
        "device_name": "NVIDIA H200" if cell["device"] == "nvidia" else "Some CPU",
        "device_uid": "uid-0",
        "device_vendor": cell["device"],
        "device_arch": cell["arch"],
        "driver": "1.0",
        "runtime": "libomptarget",
        "threads": 2,
        "multiprocessors": 2,
        "clock": "CLOCK_MONOTONIC",
        "clock_resolution_s": 1e-9,
        "binary_sha256": "b" * 64,
        "image_sha256": None,
        "toolchain_sha256": "c" * 64,
        "host": "node1",
        "run": "0123456789ab",
        "wall_s": 0.1,
        "order": 0,
        "started": "2026-01-01T00:00:00+00:00",
    }
    return record | changes


def sweep(
    system: str = "laptop",
    device: str = "host",
    arch: str = "host",
    variants: tuple[str, ...] = HOST,
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000),
) -> tuple[list[Row], dict[str, Row], dict[str, dict[Case, Golden]]]:
    """Plan, records by id and golden results of a whole sweep: only the planted kernels are wrong."""
    cells: list[Row] = []
    golden: dict[str, dict[Case, Golden]] = {}
    records: dict[str, Row] = {}
    for kernel in KERNELS + PLANTED:
        planted = kernel in PLANTED
        for variant in variants[:1] if planted else variants:
            for region in REGIONS[variant][:1] if planted else REGIONS[variant]:
                for size in sizes[:1] if planted else sizes:
                    cell = planned_cell(
                        system=system,
                        id=f"{len(cells) + 1:016x}",
                        kernel=kernel,
                        group=kernel.split("_")[0],
                        kind="planted" if planted else "measure",
                        variant=variant,
                        device=device,
                        arch=arch,
                        size=size,
                        region=region,
                    )
                    cells.append(cell)
                    golden.setdefault(kernel, {}).update(golden_of(cell))
                    right = golden[kernel][case_of(kernel, cell)].checksum
                    seconds = _seconds(kernel, variant, region, size)
                    records[cell["id"]] = record_of(cell, right * 1.1 if planted else right, seconds)
    return cells, records, golden


def _seconds(kernel: str, variant: str, region: str, size: int) -> float:
    work = 1 + (KERNELS + PLANTED).index(kernel)
    latency = {"kernel": 2e-6, "launch_sync": 8e-6, "with_transfers": 4e-5}[region]
    return (latency + 2e-10 * work * size) / _SPEED[variant]
