"""What batches save: the same points through a real Slurm on this machine, in batches and with one job a point.

    python benchmarks/one_job_a_point.py                  150 points
    python benchmarks/one_job_a_point.py --check          exit code 1 if a target is missed

Workers are those that `make run` built, on the host device. Both ways use the repository's own workflow and profile;
for the second each point is a batch. Needs root and Debian's slurmctld, slurmd, slurm-client and munge.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("workflow/scripts", "tests/unit", "tests/cluster")]

from ironsweep.errors import UserError, run_main  # noqa: E402
from slurm_on_one_host import Cluster, running, why_not  # noqa: E402
from sweep_through_slurm import Sweep, finished  # noqa: E402

FEWER_ALLOCATIONS = 20.0
FASTER = 10.0


def take(sweep: Sweep, cluster: Cluster) -> tuple[int, float]:
    """Number of allocations and seconds of wall time until all records are there."""
    before = len(cluster.ended())
    start = time.monotonic()
    targets = [str(entry.records) for entry in sweep.index.batches]
    finished(sweep.start(targets=targets), seconds=3000)
    seconds = time.monotonic() - start
    sweep.wait_for(lambda: not cluster.jobs("RUNNING", "COMPLETING"))
    return len(cluster.ended()) - before, seconds


def split(sweep: Sweep) -> None:
    """Make a batch of each point."""
    plan = sweep.folder / "results/plan"
    index = json.loads((plan / "index.json").read_text())
    entries = []
    for entry in sweep.index.batches:
        header, *points = [json.loads(line) for line in (sweep.folder / entry.file).read_text().splitlines()]
        for point in points:
            name = point["id"]
            one = dataclasses.replace(
                entry,
                id=name,
                points=1,
                pairs=0,
                seconds=1.0,
                programs=(f"{point['kernel']}/{point['variant']}-{point['arch']}",),
            )
            header |= {"batch": name, "points": 1, "pairs": 0, "programs": one.programs, "lanes": 1}
            (plan / "batches" / f"{name}.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(point)}\n")
            entries.append(dataclasses.asdict(one))
    (plan / "index.json").write_text(json.dumps({**index, "entries": entries}))


def main() -> None:
    """Measure both ways and print the ratios."""
    parser = argparse.ArgumentParser(description="The same points in batches and with one Slurm job each.")
    parser.add_argument("--points", type=int, default=150, help="at least; whole kernels are taken")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    if why_not():
        raise UserError(f"no Slurm can be started here: {why_not()}")
    if not (ROOT / "results/toolchain/runtime/run").exists():
        raise UserError("the kernels are not built: make run")
    folder = Path(tempfile.mkdtemp(prefix="one-job-"))
    for name in ("slurm", "batches", "points"):
        (folder / name).mkdir()
    found = {}
    with running(folder / "slurm") as cluster:
        for name in ("batches", "points"):
            sweep = Sweep(folder / name, cluster, "nvidia", built=ROOT / "results")
            sizes = max(1, (options.points - 140) // 10)
            sweep.settings = [
                "kernels=[Stream_TRIAD]",
                f"sizes=[{','.join(str(1000 * n) for n in range(1, 1 + sizes))}]",
            ]
            sweep.plan()
            if name == "points":
                split(sweep)
            found[name] = take(sweep, cluster)
            points = sum(entry.points for entry in sweep.index.batches)
            print(f"{name:8} {points} points, {found[name][0]} allocations, {found[name][1]:.0f} s", flush=True)
    allocations, seconds = (found["points"][which] / found["batches"][which] for which in (0, 1))
    print(f"{allocations:.0f} times fewer allocations, {seconds:.1f} times less wall time")
    if options.check and (allocations < FEWER_ALLOCATIONS or seconds < FASTER):
        sys.exit(1)


if __name__ == "__main__":
    run_main(main)
