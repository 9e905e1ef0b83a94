"""A server that answers OpenPAI's API, with people; one that keeps jobs private too."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.openpai_api.client import PaiClient
from tests.integration.api.calling import Caller
from tests.integration.api.people import People, make_people
from tests.parts.server import MusterServer, running_server

SETTINGS = "compatibility: [openpai]\n"


def compatible_server(home: Path, settings: str = SETTINGS) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(settings)
    return home


@pytest.fixture(scope="session")
def pai_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = compatible_server(tmp_path_factory.mktemp("openpai") / "home")
    with running_server(home, {"MUSTER_FAKE_GPUS": "2xA100"}) as server:
        yield server


@pytest.fixture
def own_pai_server(tmp_path: Path) -> Iterator[MusterServer]:
    """For one test alone."""
    with running_server(compatible_server(tmp_path / "home")) as server:
        yield server


@pytest.fixture(scope="session")
def pai_people(pai_server: MusterServer) -> People:
    return make_people(pai_server)


@pytest.fixture(scope="session")
def private_pai_people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    home = compatible_server(tmp_path_factory.mktemp("private") / "home", f"{SETTINGS}privateJobs: true\n")
    with running_server(home) as server:
        yield make_people(server)


@pytest.fixture
def owner(pai_people: People) -> PaiClient:
    return client_of(pai_people.owner)


@pytest.fixture
def other(pai_people: People) -> PaiClient:
    return client_of(pai_people.other)


@pytest.fixture
def admin(pai_people: People) -> PaiClient:
    return client_of(pai_people.admin)


def client_of(caller: Caller) -> PaiClient:
    name = caller.get("/whoami").json()["user"]
    return PaiClient(caller.server, name, caller.token)
