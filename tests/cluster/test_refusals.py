"""Jobs that the queue does not take, or takes and forgets."""

from __future__ import annotations

from typing import Any

from slurm_on_one_host import Cluster
from sweep_through_slurm import SLOW, Sweep, finished


def test_a_closed_partition_and_the_same_command(
    sweep: Sweep, cluster: Cluster, undisturbed: list[dict[str, Any]]
) -> None:
    partition = ("scontrol", "update", "partitionname=gpu")
    cluster.call(*partition, "state=drain")
    try:
        text = finished(sweep.start(), code=1)
    finally:
        cluster.call(*partition, "state=up")
    batch = sweep.index.batches[0]
    assert any(batch.id in line for line in text.splitlines() if line.startswith("ironsweep:")), text
    assert not sweep.asked()
    sweep.run()
    sweep.is_whole()
    assert sweep.table() == undisturbed
    assert set(sweep.asked().values()) == {1}


def test_a_closed_partition_reopens_before_the_last_try(
    sweep: Sweep, cluster: Cluster, undisturbed: list[dict[str, Any]]
) -> None:
    """A sweep whose job is cancelled while the partition is closed is refused, and goes on from the journal."""
    sweep.fake = SLOW
    process = sweep.start()
    job = sweep.wait_until_measuring()
    partition = ("scontrol", "update", "partitionname=gpu")
    cluster.call(*partition, "state=drain")
    try:
        cluster.cancel(job)
        finished(process, code=1)
    finally:
        cluster.call(*partition, "state=up")
    before = sweep.asked().total()
    assert before >= 4
    sweep.run()
    sweep.is_whole()
    assert sweep.table() == undisturbed
    assert sweep.asked().total() <= sum(entry.points for entry in sweep.index.batches) + 4
