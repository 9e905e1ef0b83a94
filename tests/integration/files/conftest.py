"""A server whose machine shows folders, and its command line."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.client.client import Client
from tests.parts.server import MusterServer, running_server


@dataclass(frozen=True)
class Cabinet:
    """`data` is the folder on the node; what is seen there is what the node has."""

    server: MusterServer
    data: Path
    scratch: Path

    @property
    def client(self) -> Client:
        return Client(self.server.url, self.server.token)


@pytest.fixture(scope="session")
def cabinet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cabinet]:
    base = tmp_path_factory.mktemp("cabinet")
    (base / "data").mkdir()
    scratch = _on_another_disk(base)
    (base / "home" / "clusters.d").mkdir(parents=True)
    folders = {"data": str(base / "data"), "scratch": {"path": str(scratch), "shared": False}}
    document = {"name": "local", "backend": "local", "folders": folders}
    (base / "home" / "clusters.d" / "local.yaml").write_text(json.dumps(document))
    with running_server(base / "home") as server:
        yield Cabinet(server, base / "data", scratch)
    shutil.rmtree(scratch)


def _on_another_disk(base: Path) -> Path:
    """Where the machine has one in memory; beside the other folder else."""
    memory = Path("/dev/shm")
    parent = memory if os.access(memory, os.W_OK) else base
    return Path(tempfile.mkdtemp(prefix="muster-scratch-", dir=parent))
