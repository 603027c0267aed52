"""What tests in several folders share: a Slurm cluster, of which a machine has room for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slurm_on_one_host import Cluster, running


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running cluster, until all tests have ended. One of another kind has to be stopped before: they are first."""
    with running(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster
