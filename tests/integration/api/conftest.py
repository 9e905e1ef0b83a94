"""A server with people; one that keeps jobs private too."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.api.people import People, make_people
from tests.parts.passable import open_to_all
from tests.parts.server import MusterServer, running_server


@pytest.fixture(autouse=True)
def folder_of_all(tmp_path: Path) -> None:
    """Tests steer the tasks of plain users by files, and these tasks run under accounts of their own."""
    open_to_all(tmp_path)


@pytest.fixture(scope="session")
def people(muster_server: MusterServer) -> People:
    return make_people(muster_server)


@pytest.fixture(scope="session")
def private_people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    environment = {"MUSTER_PRIVATE_JOBS": "true", "MUSTER_FAKE_GPUS": "2xA100", "MUSTER_LOG_FILE": "server.log"}
    with running_server(tmp_path_factory.mktemp("private"), environment) as server:
        yield make_people(server)
