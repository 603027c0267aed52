"""Plans a study of 100 000 points on one core: prints time, memory, and how many allocations there are at best.

    python benchmarks/planning.py                    100 000 points of a node with 4 GPUs
    python benchmarks/planning.py --points 20000     fewer
    python benchmarks/planning.py --check            exit code 1 if a target is missed

The study is made up: kernels, sizes and tunings as in a full one, on a system with NVIDIA GPUs. What points cost is
learnt from the records in examples/h200, which is not counted, nor is making the cells.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))
# Before NumPy is loaded: one core.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

from ironsweep import plan  # noqa: E402
from ironsweep.config import Check, Region, Reps, Settings, System, Tunings  # noqa: E402
from ironsweep.costs import Costs, learn  # noqa: E402
from ironsweep.errors import UserError, run_main  # noqa: E402
from ironsweep.kernels import BLOCKS, Kernel  # noqa: E402
from ironsweep.packing import Limits, Packing, grouped, pack  # noqa: E402
from ironsweep.records import read_records  # noqa: E402

RECORDS = ROOT / "examples/h200/h200.jsonl.xz"
SYSTEM = "gpus"
SEED = 4793


@dataclass(frozen=True)
class Targets:
    """What planning may take on one core: seconds, bytes, and allocations above the lower bound as a fraction."""

    seconds: float = 20.0
    memory: float = 1e9
    gap: float = 0.05


def cells(count: int, kernels: list[str]) -> list[plan.Cell]:
    """The first ``count`` cells of a study; its kernels have the given names, and further ones numbers behind them."""
    names = [name if turn == 0 else f"{name}_{turn}" for turn in range(1 + count // 10_000) for name in kernels]
    settings = Settings(
        kernels=tuple(Kernel(name, name.partition("_")[0], "") for name in names),
        planted=(),
        sizes=tuple(4**exponent * 1000 for exponent in range(9)),
        variants=("rust_offload", "rust_liboffload", "cuda"),
        archs={"nvidia": ("sm_90",)},
        host_cpu="",
        passes=20,
        warmup=1,
        reps=Reps(10, {}, {"with_transfers": 2}),
        tunings=Tunings(("safe", "unchecked"), ("strict", "contract"), BLOCKS),
        regions={"kernel": Region(), "launch_sync": Region(), "with_transfers": Region(first_block=True)},
        check=Check((1, 2, 997, 1023, 1025), (10_000,), (1,), (), 300, SEED),
        emulator=None,
        timeout_s=60.0,
        baseline={},
        systems=(System(SYSTEM, "slurm", {"nvidia": ("sm_90",)}, {}),),
        toolchain="",
        toolchain_dir="",
        defaults={},
    )
    found = [cell for cell in plan.make(settings).cells if cell.status_planned == "planned"]
    if len(found) < count:
        raise UserError(f"the study has {len(found)} points, {count} were asked for")
    return found[:count]


def known_costs() -> tuple[Costs, list[str]]:
    """Costs as records give them, without the cells themselves, and the kernels that they know."""
    records, _ = read_records(RECORDS)
    return learn(records), sorted({record["kernel"] for record in records})


def report(packing: Packing, groups: int, seconds: float, memory: float) -> str:
    """What came out, as lines of text."""
    points = sum(len(batch.points) for batch in packing.batches)
    work = sum(sum(batch.seconds) for batch in packing.batches) / 3600
    return "\n".join(
        [
            f"points            {points} with A/A pairs, {groups} groups, {work:.1f} GPU-hours",
            f"planning          {seconds:.1f} s",
            f"peak memory       {memory / 1e6:.0f} MB",
            f"allocations       {len(packing.batches)} ({packing.method})",
            f"lower bound       {packing.bound}",
            f"gap               {packing.gap:.1%}",
            f"idle lanes        {packing.idle:.2%} of the time",
        ]
    )


def missed(packing: Packing, seconds: float, memory: float, targets: Targets) -> list[str]:
    """The targets that are missed, in words."""
    found = [
        (seconds > targets.seconds, f"{seconds:.1f} s, at most {targets.seconds:g} s are wanted"),
        (memory > targets.memory, f"{memory / 1e6:.0f} MB, at most {targets.memory / 1e6:g} MB are wanted"),
        (packing.gap > targets.gap, f"{packing.gap:.1%} above the bound, at most {targets.gap:.0%} are wanted"),
    ]
    return [words for is_missed, words in found if is_missed]


def main() -> None:
    """Plan, print, and judge if that is asked for."""
    parser = argparse.ArgumentParser(description="Plan a large study and print what that takes.")
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--lanes", type=int, default=4, help="GPUs of a node")
    parser.add_argument("--walltime", type=float, default=3600.0, help="seconds of an allocation")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    costs, kernels = known_costs()
    study = cells(options.points, kernels)

    start = time.perf_counter()
    groups = grouped(study, {SYSTEM: costs}, SEED)
    packing = pack(groups, Limits(options.walltime, options.lanes))
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    print(report(packing, len(groups), seconds, memory))
    misses = missed(packing, seconds, memory, Targets())
    for words in misses:
        print(f"missed: {words}")
    if options.check and misses:
        raise SystemExit(1)


if __name__ == "__main__":
    run_main(main)
