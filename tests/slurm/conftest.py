"""A real Slurm cluster for the tests of this folder, and a server that has it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.server import MusterServer
from tests.parts.slurm import RealSlurm, slurm_unavailable
from tests.parts.slurm_server import serving_slurm


@pytest.fixture
def slurm_folder() -> Iterator[Path]:
    """A short path that other users reach, unlike pytest's `tmp_path`."""
    if missing := slurm_unavailable():
        pytest.skip(missing)
    with tempfile.TemporaryDirectory(prefix="muster-slurm-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def slurm(slurm_folder: Path) -> Iterator[RealSlurm]:
    """A cluster for one test alone, which may kill parts of it; it starts in about two seconds."""
    with RealSlurm(slurm_folder) as cluster:
        yield cluster


@pytest.fixture
def slurm_server(slurm: RealSlurm, tmp_path: Path) -> Iterator[MusterServer]:
    """A server with that cluster, for one test alone, which may kill it."""
    with serving_slurm(tmp_path / "home", slurm) as server:
        yield server
