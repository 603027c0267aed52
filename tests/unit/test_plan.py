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

from ironsweep import contents, plan
from ironsweep.config import Check, Default, Region, Reps, Settings, System, Tunings
from ironsweep.kernels import Kernel
from ironsweep.rules import Rule, Selection

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
    tunings=Tunings(("safe", "unchecked"), ("strict", "contract"), (256,)),
    regions={"kernel": Region(), "launch_sync": Region(), "with_transfers": Region(("safe",), ("strict",), True, 2000)},
    check=Check((1, 1000), (1000, 2000), (1, "default"), (), 300, 1),
    emulator=None,
    timeout_s=60.0,
    baseline={},
    systems=(System("local", "local", {"host": ("host",)}, {}),),
    toolchain="t.yaml",
    toolchain_dir="t",
    defaults={"Apps_FIR": Default(1_000_000, 160)},
)


def with_check(**changes: object) -> Settings:
    """Settings with other checks."""
    return dataclasses.replace(SETTINGS, check=dataclasses.replace(SETTINGS.check, **changes))  # type: ignore[arg-type]


def with_blocks(*blocks: int, allowed: tuple[int, ...] | None = None) -> list[plan.Cell]:
    """Cells of a kernel for these blocks, of which it allows some."""
    kernel = SETTINGS.kernels[1]
    kernel = dataclasses.replace(kernel, blocks=allowed) if allowed else kernel
    tunings = dataclasses.replace(SETTINGS.tunings, blocks=blocks)
    made = plan.make(dataclasses.replace(SETTINGS, kernels=(kernel,), tunings=tunings))
    return [cell for cell in made.cells if cell.kernel == kernel.name]


def with_devices(**devices: tuple[str, ...]) -> plan.Plan:
    """The plan for a system with certain devices."""
    return plan.make(dataclasses.replace(SETTINGS, systems=(System("local", "local", devices, {}),)))


def test_every_declared_combination_is_a_cell() -> None:
    cells = plan.make(SETTINGS).cells
    measured = Counter((c.variant, c.device, c.arch) for c in cells if c.kind == "measure" and c.kernel == "Apps_FIR")
    # with_transfers: one size and one tuning; the other regions: two sizes, two contractions, in Rust two safeties.
    assert measured == {
        ("rust_offload", "host", "host"): 8 + 1,
        ("rust_offload", "nvidia", "sm_90"): 8 + 1,
        ("rust_offload", "amd", "gfx90a"): 8 + 1,
        ("rust_offload", "amd", "gfx942"): 8 + 1,
        ("rust_liboffload", "nvidia", "sm_90"): 16,
        ("rust_liboffload", "amd", "gfx90a"): 16,
        ("rust_liboffload", "amd", "gfx942"): 16,
        ("cpp_seq", "host", "host"): 4,
        ("cpp_openmp", "host", "host"): 4,
        ("cuda", "nvidia", "sm_90"): 8,
        ("hip", "amd", "gfx90a"): 8,
        ("hip", "amd", "gfx942"): 8,
    }


def test_tunings_have_names_and_parts() -> None:
    cells = [c for c in plan.make(SETTINGS).cells if c.kernel == "Apps_FIR"]
    assert {(c.tuning, c.part) for c in cells if c.variant == "rust_liboffload" and c.arch == "sm_90"} == {
        (f"{safety}_{contraction}_block_256", f"images/sm_90-{safety}-{contraction}.img")
        for safety in ("safe", "unchecked")
        for contraction in ("strict", "contract")
    }
    assert {(c.safety, c.contraction, c.tuning, c.part) for c in cells if c.variant == "cpp_seq"} == {
        ("none", "strict", "strict", "baselines/cpp_seq-strict.so"),
        ("none", "contract", "contract", "baselines/cpp_seq-contract.so"),
    }
    assert {(c.tuning, c.part) for c in cells if c.variant == "rust_offload" and c.safety == "unchecked"} == {
        *((f"unchecked_{c}_block_256", f"launch/unchecked-{c}.so") for c in ("strict", "contract")),
        *((f"unchecked_{c}", f"launch/unchecked-{c}.so") for c in ("strict", "contract")),
    }
    assert {c.tuning for c in cells if c.variant == "cuda"} == {"strict_block_256", "contract_block_256"}


def test_blocks_are_those_that_the_kernel_allows_and_the_host_has_none() -> None:
    assert {(c.block, c.tuning) for c in with_blocks(64, 1024) if c.variant == "hip" and c.contraction == "strict"} == {
        (64, "strict_block_64"),
        (1024, "strict_block_1024"),
    }
    assert {c.block for c in with_blocks(64, 1024) if c.device == "host"} == {64}
    assert {c.block for c in with_blocks(256, 1024, allowed=(64, 128))} == {64, 128}  # 64: where it is emulated
    assert {c.block for c in with_blocks(256, 1024, allowed=(64, 128)) if c.variant == "cuda"} == {128}
    transfers = [c for c in with_blocks(128, 256) if c.region == "with_transfers" and c.device == "nvidia"]
    assert {c.block for c in transfers} == {128}


def test_a_region_is_timed_for_what_the_configuration_says() -> None:
    cells = [c for c in plan.make(SETTINGS).cells if c.region == "with_transfers"]
    assert {(c.safety, c.contraction, c.size) for c in cells} == {("safe", "strict", 1000)}
    only = dataclasses.replace(SETTINGS, regions={"kernel": Region(contraction=("contract",))})
    measured = [c for c in plan.make(only).cells if c.kind == "measure"]
    assert {(c.region, c.contraction) for c in measured} == {("kernel", "contract")}
    assert {c.variant for c in measured} == {"rust_liboffload", "cuda", "hip"}


def test_what_a_system_lacks_is_not_run_with_the_reason() -> None:
    cells = plan.make(SETTINGS).cells
    assert {c.status_planned for c in cells if c.device == "host"} == {"planned"}
    assert {(c.status_planned, c.reason_planned) for c in cells if c.device == "nvidia"} == {
        ("not_run", "no NVIDIA GPU in system local")
    }
    other = with_devices(amd=("gfx942",)).cells
    assert {c.reason_planned for c in other if c.device == "amd" and c.arch == "gfx90a"} == {
        "the AMD GPU in system local is gfx942, not gfx90a"
    }
    assert {c.reason_planned for c in other if c.arch == "host"} == {"no host device in system local"}
    assert {c.status_planned for c in with_devices(amd=()).cells if c.device == "amd"} == {"planned"}


def checks(settings: Settings, kernel: str, tuning: str = "strict") -> set[tuple[int, int, int, str]]:
    """Size, repetitions, passes and data of one variant's checks."""
    cells = [c for c in plan.make(settings).cells if (c.kernel, c.kind, c.variant) == (kernel, "check", "cpp_seq")]
    return {(c.size, c.reps, c.passes, c.data) for c in cells if c.tuning == tuning}


def test_checks_are_of_both_kinds_of_data_and_none_is_there_twice() -> None:
    small = {(size, 1, 2, data) for size in (1, 1000) for data in ("reference", "random")}
    # Not one of RAJAPerf's kernels: its own repetitions are unknown.
    assert checks(SETTINGS, "Stream_TRIAD") == small | {(2000, 1, 1, "reference")}
    reference = {(size, reps, 1, "reference") for size, reps in ((2000, 1), (1000, 160), (2000, 160))}
    assert checks(SETTINGS, "Apps_FIR") == checks(SETTINGS, "Apps_FIR", "contract") == small | reference
    own = with_check(reference_sizes=("default",), reference_reps=("default",))
    assert checks(own, "Apps_FIR") == small | {(1_000_000, 160, 1, "reference")}


def test_large_checks_are_of_the_first_tuning() -> None:
    large = with_check(large=(10**8,))
    assert (10**8, 1, 1, "reference") in checks(large, "Apps_FIR")
    assert (10**8, 1, 1, "reference") not in checks(large, "Apps_FIR", "contract")
    rust = [c for c in plan.make(large).cells if c.size == 10**8 and c.variant == "rust_liboffload"]
    assert {(c.safety, c.contraction, c.warmup) for c in rust} == {("safe", "strict", 0)}


def test_an_emulated_device_checks_once_in_small() -> None:
    cells = [c for c in plan.make(SETTINGS).cells if c.device == "amd_emulated"]
    assert {(c.variant, c.size, c.passes, c.warmup, c.block) for c in cells} == {("rust_liboffload", 300, 1, 0, 64)}
    assert {c.arch for c in cells} == {"gfx90a", "gfx942"}
    assert {c.kind for c in cells} == {"check", "planted"}
    assert {c.status_planned for c in cells} == {"unsupported"}
    assert "tinygrad" in cells[0].reason_planned
    there = plan.make(dataclasses.replace(SETTINGS, emulator="/somewhere/tinygrad")).cells
    assert {c.status_planned for c in there if c.device == "amd_emulated"} == {"planned"}


def test_planted_kernels_are_always_there_and_never_measured() -> None:
    cells = [c for c in plan.make(SETTINGS).cells if c.group == "Planted"]
    assert {c.kind for c in cells} == {"planted"}
    assert {c.variant for c in cells} == set(SETTINGS.variants)
    assert {(c.size, c.data) for c in cells if c.status_planned == "planned"} == {(1000, "reference"), (1000, "random")}


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
    other = plan.make(with_check(seed=2)).cells
    assert [c.variant for c in other if c.kernel == "Apps_FIR"] != [c.variant for c in cells]


def test_the_table_has_the_columns_of_a_cell() -> None:
    made = plan.make(SETTINGS)
    rows = list(csv.DictReader(io.StringIO(made.csv())))
    assert len(rows) == len(made.cells)
    assert tuple(rows[0]) == plan.COLUMNS
    assert ",".join(plan.COLUMNS) == (
        "id,kernel,group,kind,variant,device,arch,safety,contraction,tuning,block,part,size,reps,passes,warmup,region,"
        "data,seed,system,status_planned,reason_planned"
    )


def test_points_satisfy_their_schema() -> None:
    made = plan.make(SETTINGS)
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    for point in map(json.loads, made.all_points().splitlines()):
        validator.validate(point)
        assert point["dump"] == (f"{point['id']}.f64" if point["data"] == "random" else None)
    assert len(made.all_points().splitlines()) == len(made.cells)


def test_what_batches_need() -> None:
    made = plan.make(SETTINGS)
    needed = made.binaries
    assert {"Planted_NOTHING/rust_offload", "Planted_NOTHING/launch/safe-contract.so"} <= set(
        needed["Planted_NOTHING/rust_offload-gfx90a"]
    )
    assert needed["Apps_FIR/hip-gfx942"] == [
        *("Apps_FIR/baselines/hip-contract.so", "Apps_FIR/baselines/hip-strict.so", "Apps_FIR/native"),
    ]
    assert "Planted_NOTHING/images/gfx942-unchecked-strict.img" in needed["Planted_NOTHING/rust_liboffload-gfx942"]
    assert {cell.program for cell in made.cells} == set(needed)
    assert made.archs("Apps_FIR") == ["gfx90a", "gfx942", "host", "sm_90"]
    runnable = plan.only_runnable(made)
    assert {name for name in runnable.binaries if name.startswith("Apps_FIR/")} == {
        f"Apps_FIR/{variant}-host" for variant in ("rust_offload", "cpp_openmp", "cpp_seq")
    }
    assert runnable.archs("Apps_FIR") == ["host"]


def test_it_says_how_many_cells_there_are() -> None:
    words = plan.only_runnable(plan.make(SETTINGS)).describe()
    assert words == "146 cells: 34 to measure, 96 checks, 16 of planted wrong kernels"


def test_every_system_has_every_kernel() -> None:
    systems = (SETTINGS.systems[0], System("other", "local", {"nvidia": ("sm_90",)}, {}))
    made = plan.make(dataclasses.replace(SETTINGS, systems=systems))
    names = {kernel.name for kernel in SETTINGS.all_kernels}
    assert {(c.system, c.kernel) for c in made.cells} == {(s, name) for s in ("local", "other") for name in names}
    assert len({c.id for c in made.cells}) == len(made.cells)


def test_nothing_is_built_for_what_is_excluded() -> None:
    rule = Rule(False, "no AMD this time", "config.yaml:1: exclude[0]", asked={"device": frozenset({"amd"})})
    made = plan.make(dataclasses.replace(SETTINGS, selection=Selection((rule,))))
    assert {c.status_planned for c in made.cells if c.device == "amd" and c.kind != "planted"} == {"excluded"}
    assert len(made.cells) == len(plan.make(SETTINGS).cells)
    assert made.archs("Apps_FIR") == ["gfx90a", "gfx942", "host", "sm_90"]  # those of AMD for the emulator
    assert "Apps_FIR/hip-gfx90a" not in made.binaries
    assert "Planted_NOTHING/hip-gfx90a" in made.binaries


def test_the_plans_contents_are_told_by_system_kernel_and_variant() -> None:
    rules = (
        Rule(False, "one thread is slow", "x.yaml:3: exclude[0]", asked={"variant": frozenset({"cpp_seq"})}),
        Rule(False, "never", "x.yaml:4: exclude[1]", asked={"system": frozenset({"elsewhere"})}),
    )
    settings = dataclasses.replace(SETTINGS, selection=Selection(rules))
    lines = contents.report(plan.make(settings), settings).splitlines()
    assert lines[0] == "system local"
    assert lines[1].split("  ")[1] == "kernel"
    fir = [line.split() for line in lines if line.startswith("  Apps_FIR")]
    assert fir == [["Apps_FIR", "cpp_openmp", "18", "1,000", "5,000"]]
    assert next(line.split() for line in lines if line.split()[:1] == ["cpp_seq"]) == ["cpp_seq", "18"]
    assert "  32 excluded: one thread is slow" in lines
    assert "x.yaml:4: exclude[1]: no cell is excluded by this rule" in lines
    assert not any(line.startswith("x.yaml:3") for line in lines)
    assert any(line.startswith("  to run: ") and "timed samples" in line for line in lines)
    assert lines[-1] == plan.make(settings).describe()


def test_many_sizes_are_shown_by_the_first_and_the_last() -> None:
    settings = dataclasses.replace(SETTINGS, sizes=tuple(range(1000, 1010)))
    text = contents.report(plan.make(settings), settings)
    assert "1,000  1,001  1,002  1,003  1,004  … (10 sizes)  1,009" in text
