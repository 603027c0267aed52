"""Kernels that `make run` built, through Slurm to the tables: what is disturbed gives the same as what is not."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest

from slurm_on_one_host import Cluster
from sweep_through_slurm import CHANCE, REPOSITORY, Sweep, finished

BUILT = REPOSITORY / "results"
TARGET = "results/tables/cells.csv"
RULES = ("--allowed-rules", "program", "run_batch", "golden", "aggregate")

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.skipif(
        not (BUILT / "tables/cells.csv").exists(), reason="there are no kernels to measure: make run builds them"
    ),
]


class RealSweep(Sweep):
    """A sweep with the repository's kernels, up to the tables."""

    def _pretend_to_build(self) -> None:
        """Take what is built: links to files in folders of its own, because the workflow writes beside them."""
        for name in ("bin", "codegen", "golden"):
            shutil.copytree(BUILT / name, self.folder / "results" / name, copy_function=_link)
        (self.folder / "results/toolchain").symlink_to(BUILT / "toolchain")

    def cells(self) -> list[dict[str, Any]]:
        """The rows of results/tables/cells.csv, without what is chance, but with what the cells are called."""
        with (self.folder / TARGET).open(newline="") as lines:
            return [
                {name: value for name, value in row.items() if name not in CHANCE - {"id", "system"}}
                for row in csv.DictReader(lines)
            ]

    def checksums(self) -> dict[str, list[float]]:
        """What the kernels computed, by cell."""
        return {record["id"]: record["checksums"] for record in self.records()}


def _link(source: str, target: str) -> None:
    """Golden results are written anew in place, so they are copied; programs are only read."""
    if source.endswith(".sha256"):
        return
    if f"{BUILT}/bin/" in source:
        Path(target).symlink_to(source)
    else:
        shutil.copy2(source, target)


def real(folder: Path, cluster: Cluster) -> RealSweep:
    """A sweep of two kernels that takes some seconds, on the system that comes with the repository."""
    sweep = RealSweep(folder, cluster, "test-cluster")
    sweep.settings += ["sizes=[1e4,1e6]", "passes=20"]
    return sweep


def test_tables_of_a_disturbed_sweep(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, cluster: Cluster
) -> None:
    quiet = real(tmp_path_factory.mktemp("quiet"), cluster)
    finished(quiet.start(*RULES, targets=[TARGET]))
    assert {row["verified"] for row in quiet.cells()} == {"True"}

    sweep = real(tmp_path, cluster)
    process = sweep.start(*RULES, targets=[TARGET])
    job = sweep.wait_until_measuring(2)
    cluster.cancel(job)
    sweep.wait_for(lambda: job not in cluster.jobs())
    sweep.wait_until_measuring(2)
    process.kill()
    finished(process, code=-9)
    assert not (tmp_path / TARGET).exists()
    finished(sweep.start(*RULES, targets=[TARGET]))
    sweep.is_whole()
    assert sweep.cells() == quiet.cells()
    assert sweep.checksums() == quiet.checksums()
