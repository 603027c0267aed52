"""Sweeps that run on the cluster of these tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slurm_on_one_host import Cluster, why_not
from sweep_through_slurm import Sweep


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where no cluster can be started, its tests say so."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            if why_not():
                item.add_marker(pytest.mark.skip(reason=f"no Slurm can be started: {why_not()}"))


@pytest.fixture
def sweep(tmp_path: Path, cluster: Cluster) -> Sweep:
    """A sweep of two kernels on nodes with NVIDIA's GPUs."""
    return Sweep(tmp_path, cluster, "nvidia")


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> list[dict[str, Any]]:
    """The table of that sweep when nothing goes wrong."""
    quiet = Sweep(tmp_path_factory.mktemp("undisturbed"), cluster, "nvidia")
    quiet.run()
    return quiet.table()
