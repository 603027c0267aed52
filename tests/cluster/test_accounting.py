"""The same through a Slurm with an accounting database: what `sacct` says, and the limits that only it can have.

There can be one cluster on a machine at a time. This one ends with this file, and that of the other tests is started
where it is first asked for, so this file has to be the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurm_on_one_host import Cluster, running, why_not
from sweep_through_slurm import SLOW, Sweep, finished

pytestmark = pytest.mark.skipif(bool(why_not(accounting=True)), reason=f"no accounting: {why_not(accounting=True)}")

BY_SACCT = ("--slurm-status-command", "sacct")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running cluster with accounting, in place of that of the other tests."""
    with running(tmp_path_factory.mktemp("accounting"), accounting=True) as cluster:
        yield cluster


def accounted(cluster: Cluster, folder: Path) -> dict[str, dict[str, str]]:
    """What the database has of the jobs that were submitted in a folder, by their numbers."""
    names = ("JobIDRaw", "State", "AllocTRES", "NodeList", "WorkDir")
    text = cluster.call("sacct", "--allocations", "--noheader", "--parsable2", f"--format={','.join(names)}")
    rows = [dict(zip(names, line.split("|"), strict=True)) for line in text.splitlines()]
    return {row["JobIDRaw"]: row for row in rows if row["WorkDir"] == str(folder)}


def test_a_sweep_is_accounted_for(tmp_path: Path, cluster: Cluster) -> None:
    sweep = Sweep(tmp_path, cluster, "nvidia", "amd")
    sweep.run(*BY_SACCT)
    sweep.is_whole()
    sweep.wait_for(lambda: {job["State"] for job in accounted(cluster, tmp_path).values()} == {"COMPLETED"})
    jobs = accounted(cluster, tmp_path).values()
    assert len(jobs) == len(sweep.index.batches) == 2
    assert all("gres/gpu=1" in job["AllocTRES"] for job in jobs)
    assert {job["NodeList"][:2] for job in jobs} == {"nv", "am"}


def test_a_lost_node_is_not_used_again(tmp_path: Path, cluster: Cluster) -> None:
    sweep = Sweep(tmp_path, cluster, "nvidia")
    sweep.fake = SLOW
    process = sweep.start(*BY_SACCT)
    job = sweep.wait_until_measuring()
    lost = cluster.node_of(job)
    cluster.node_down(lost)
    try:
        finished(process)
    finally:
        cluster.node_up(lost)
    sweep.is_whole()
    jobs = accounted(cluster, tmp_path)
    assert jobs.pop(job)["State"] == "NODE_FAIL"
    assert [other["NodeList"] for other in jobs.values()] == [{"nv1": "nv2", "nv2": "nv1"}[lost]]


def test_a_limit_on_jobs_in_the_queue(tmp_path: Path, cluster: Cluster) -> None:
    """What is refused is missing and is said; the same command, when there is room again, measures only that."""
    sweep = Sweep(tmp_path, cluster, "quiet", "nvidia", "amd")
    limit = ("sacctmgr", "--immediate", "modify", "user", "root", "set")
    cluster.call(*limit, "MaxSubmitJobs=1")
    try:
        text = finished(sweep.start(), code=1)
    finally:
        cluster.call(*limit, "MaxSubmitJobs=-1")
    assert "AssocMaxSubmitJobLimit" in text
    missing = [entry for entry in sweep.index.batches if not (tmp_path / entry.records).exists()]
    assert 1 <= len(missing) < len(sweep.index.batches)
    for entry in missing:
        assert any(entry.id in line for line in text.splitlines() if line.startswith("ironsweep:")), text
    sweep.run()
    sweep.is_whole()
    assert set(sweep.asked().values()) == {1}
    assert Counter(job["State"] for job in accounted(cluster, tmp_path).values()) == {"COMPLETED": 3}
