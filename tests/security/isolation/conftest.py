"""Attacks of tasks on what is not theirs. Each test is an attack that once succeeded."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.server import MusterServer, running_server


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("security") / "home") as started:
        yield started


@pytest.fixture
def unique(tmp_path: Path) -> str:
    """A number of seconds that no other test sleeps for, by which a process is recognised."""
    return f"6{abs(hash(str(tmp_path))) % 10**8:08d}"
