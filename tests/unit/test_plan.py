"""The plan: which cells there are, in which order, and what they are called."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from ironsweep import plan
from ironsweep.config import Reps, Settings, System
from ironsweep.kernels import Kernel

SCHEMA = Path(__file__).parents[2] / "workflow/schemas/point.schema.json"
SETTINGS = Settings(
    kernels=(Kernel("Stream_TRIAD", "Stream", "a.rs"), Kernel("Apps_FIR", "Apps", "b.rs")),
    planted=(Kernel("Planted_NOTHING", "Planted", "c.rs", planted=True),),
    sizes=(1000, 5000),
    variants=("rust_offload", "rust_liboffload", "cpp_seq", "cpp_openmp", "cuda", "hip"),
    archs={"host": ("host",), "nvidia": ("sm_90",), "amd": ("gfx90a", "gfx942")},
    host_cpu="x86-64-v3",
    passes=10,
    warmup=1,
    reps=Reps(20, {}, {"with_transfers": 5}),
    block=256,
    check_elements=2000,
    seed=1,
    timeout_s=60.0,
    baseline={},
    systems=(System("local", "local", {"host": ("host",)}, {}),),
    toolchain="t.yaml",
    toolchain_dir="t",
)


def with_devices(**devices: tuple[str, ...]) -> plan.Plan:
    """The plan for a system with certain devices."""
    return plan.make(dataclasses.replace(SETTINGS, systems=(System("local", "local", devices, {}),)))


def test_every_declared_combination_is_a_cell() -> None:
    cells = plan.make(SETTINGS).cells
    measured = Counter((c.variant, c.device, c.arch) for c in cells if c.kind == "measure" and c.kernel == "Apps_FIR")
    assert measured == {
        ("rust_offload", "host", "host"): 4,
        ("rust_offload", "nvidia", "sm_90"): 4,
        ("rust_offload", "amd", "gfx90a"): 4,
        ("rust_offload", "amd", "gfx942"): 4,
        ("rust_liboffload", "nvidia", "sm_90"): 4,
        ("rust_liboffload", "amd", "gfx90a"): 4,
        ("rust_liboffload", "amd", "gfx942"): 4,
        ("cpp_seq", "host", "host"): 2,
        ("cpp_openmp", "host", "host"): 2,
        ("cuda", "nvidia", "sm_90"): 4,
        ("hip", "amd", "gfx90a"): 4,
        ("hip", "amd", "gfx942"): 4,
    }


def test_what_a_system_lacks_is_not_run_with_the_reason() -> None:
    cells = plan.make(SETTINGS).cells
    assert {c.status_planned for c in cells if c.device == "host"} == {"planned"}
    assert {(c.status_planned, c.reason_planned) for c in cells if c.device == "nvidia"} == {
        ("not_run", "no NVIDIA GPU in system local")
    }
    other = with_devices(amd=("gfx942",)).cells
    assert {c.reason_planned for c in other if c.arch == "gfx90a"} == {
        "the AMD GPU in system local is gfx942, not gfx90a"
    }
    assert {c.reason_planned for c in other if c.arch == "host"} == {"no host device in system local"}
    assert {c.status_planned for c in with_devices(amd=()).cells if c.device == "amd"} == {"planned"}


def test_checks_are_small_and_single() -> None:
    checks = [c for c in plan.make(SETTINGS).cells if c.kind == "check" and c.variant == "cpp_seq"]
    assert {(c.size, c.reps, c.data) for c in checks} == {(1000, 1, "reference"), (1000, 1, "random")}
    large = plan.make(dataclasses.replace(SETTINGS, sizes=(5000,))).cells
    assert {c.size for c in large if c.kind != "measure"} == {2000}


def test_planted_kernels_are_always_there_and_never_measured() -> None:
    cells = [c for c in plan.make(SETTINGS).cells if c.group == "Planted"]
    assert {c.kind for c in cells} == {"planted"}
    assert {c.variant for c in cells} == set(SETTINGS.variants)
    assert {c.data for c in cells if c.status_planned == "planned"} == {"reference", "random"}


def test_reps_depend_on_the_region() -> None:
    reps = {(c.region, c.reps) for c in plan.make(SETTINGS).cells if c.kind == "measure"}
    assert reps == {("kernel", 20), ("launch_sync", 20), ("with_transfers", 5)}


def test_identities_are_unique_and_stable() -> None:
    cells = plan.make(SETTINGS).cells
    assert len({c.id for c in cells}) == len(cells)
    assert all(len(c.id) == 16 and int(c.id, 16) >= 0 for c in cells)
    assert plan.make(SETTINGS) == plan.make(SETTINGS)
    assert plan.cell_id({"b": 1, "a": "x"}) == plan.cell_id({"a": "x", "b": 1}) == "cdab067e9f3beb32"


def test_a_further_size_moves_nothing() -> None:
    before = [c for c in plan.make(SETTINGS).cells if c.kernel == "Apps_FIR"]
    more = plan.make(dataclasses.replace(SETTINGS, sizes=(1000, 5000, 9000))).cells
    after = [c for c in more if c.kernel == "Apps_FIR" and c.size != 9000]
    assert after == before


def test_order_is_checks_then_sizes_with_variants_interleaved() -> None:
    cells = [c for c in plan.make(SETTINGS).cells if c.kernel == "Apps_FIR"]
    kinds = [c.kind for c in cells]
    assert kinds == sorted(kinds)  # check before measure
    sizes = [c.size for c in cells if c.kind == "measure"]
    assert sum(a != b for a, b in itertools.pairwise(sizes)) == 1
    variants = [c.variant for c in cells if c.kind == "measure"]
    assert sum(a != b for a, b in itertools.pairwise(variants)) > len(set(variants))
    other = plan.make(dataclasses.replace(SETTINGS, seed=2)).cells
    assert [c.variant for c in other if c.kernel == "Apps_FIR"] != [c.variant for c in cells]


def test_the_table_has_the_columns_of_a_cell() -> None:
    made = plan.make(SETTINGS)
    rows = list(csv.DictReader(io.StringIO(made.csv())))
    assert len(rows) == len(made.cells)
    assert tuple(rows[0]) == plan.COLUMNS
    assert ",".join(plan.COLUMNS) == (
        "id,kernel,group,kind,variant,device,arch,tuning,block,size,reps,passes,warmup,region,data,seed,system,"
        "status_planned,reason_planned"
    )


def test_points_satisfy_their_schema() -> None:
    made = plan.make(SETTINGS)
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    lines = made.points("local", "Stream_TRIAD").splitlines()
    points = [json.loads(line) for line in lines]
    for point in points:
        validator.validate(point)
        assert point["dump"] == (f"{point['id']}.f64" if point["data"] == "random" else None)
    assert len(made.all_points().splitlines()) == len(made.cells)


def test_what_jobs_need() -> None:
    made = plan.make(SETTINGS)
    assert made.workers("Planted_NOTHING") == sorted(SETTINGS.variants)
    assert made.images("Apps_FIR") == ["gfx90a", "gfx942", "host", "sm_90"]
    runnable = plan.only_runnable(made)
    assert runnable.workers("Apps_FIR") == ["cpp_openmp", "cpp_seq", "rust_offload"]
    assert runnable.images("Apps_FIR") == ["host"]


@pytest.mark.parametrize("name", ["Stream_TRIAD", "Planted_NOTHING"])
def test_every_system_has_a_job_for_every_kernel(name: str) -> None:
    systems = (SETTINGS.systems[0], System("other", "local", {"nvidia": ("sm_90",)}, {}))
    made = plan.make(dataclasses.replace(SETTINGS, systems=systems))
    assert {key for key in made.by_job if key[1] == name} == {("local", name), ("other", name)}
    assert len({c.id for c in made.cells}) == len(made.cells)
