"""A server that answers paddlecloud's API, with the storage of a data centre, and two people who use it."""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conformance.paddlecloud.go_client import GoClient
from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import PASSWORD
from tests.parts.passable import open_to_all
from tests.parts.server import MusterServer, running_server


@dataclass(frozen=True)
class Cloud:
    server: MusterServer
    home: Path
    public: Path

    def person(self, name: str = "") -> GoClient:
        """Somebody new; the name is an e-mail address, as paddlecloud's users have it."""
        name = name or f"u{secrets.token_hex(4)}@example.org"
        admin = Caller(self.server, self.server.token)
        ok(admin.post("/users", {"name": name, "password": PASSWORD}), 201)
        return GoClient(self.server, name, PASSWORD).log_in()

    def own(self, me: GoClient) -> Caller:
        """The same person, as they use Muster's own API."""
        return Caller(self.server, me.token, me.user)


@contextmanager
def running_cloud(base: Path, env: Mapping[str, str] | None = None) -> Iterator[Cloud]:
    for name in ("storage", "public"):
        (base / name).mkdir()
        open_to_all(base / name)
    home = base / "server"
    (home / "clusters.d").mkdir(parents=True)
    folders = {"home": str(base / "storage"), "public": {"path": str(base / "public"), "readOnly": True}}
    document = {"name": "local", "backend": "local", "folders": folders}
    (home / "clusters.d" / "local.yaml").write_text(json.dumps(document))
    (home / "config.yaml").write_text("compatibility: [paddlecloud]\n")
    with running_server(home, {"MUSTER_LOG_FILE": "server.log", **(env or {})}) as server:
        yield Cloud(server, base / "storage", base / "public")


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running_cloud(tmp_path_factory.mktemp("paddlecloud")) as cloud:
        yield cloud


@pytest.fixture
def me(cloud: Cloud) -> GoClient:
    return cloud.person()
