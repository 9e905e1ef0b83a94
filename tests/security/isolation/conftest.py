"""Two plain users on one server. Each test is an attack of one on the other, or on the server, that once succeeded."""

import gzip
import hashlib
import io
import json
import tarfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer, running_server


@dataclass(frozen=True, slots=True)
class Person:
    """A user who is not an admin."""

    server: MusterServer
    name: str
    token: str

    def submit(self, command: str, **more: Any) -> str:
        status, job = self.server.call(
            "POST", "/api/v1/jobs", {"spec": {"name": "attack", "command": command, **more}}, token=self.token
        )
        assert status == 201, json.dumps(job)
        return str(job["id"])

    def run(self, command: str, **more: Any) -> "Ended":
        """Runs a job to its end."""
        job_id = self.submit(command, **more)
        return Ended(self.server.wait(job_id)["state"], self.log(job_id), job_id)

    def upload(self, name: str, content: bytes) -> str:
        """Uploads an archive with one file and returns its digest."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        data = gzip.compress(buffer.getvalue(), mtime=0)  # the same file always has the same digest
        digest = hashlib.sha256(data).hexdigest()
        url = f"{self.server.url}/api/v1/packages/{digest}?size={len(data)}"
        headers = {"Authorization": f"Bearer {self.token}"}
        urllib.request.urlopen(urllib.request.Request(url, data, headers, method="PUT"), timeout=60).close()
        return digest

    def log(self, job_id: str) -> str:
        _, text = self.server.call("GET", f"/api/v1/jobs/{job_id}/logs/raw?task=worker-0", token=self.token)
        return str(text or "")


@dataclass(frozen=True, slots=True)
class Ended:
    state: str
    log: str
    job_id: str


def people(server: MusterServer, *names: str) -> list[Person]:
    return [_person(server, name) for name in names]


def _person(server: MusterServer, name: str) -> Person:
    status, problem = server.call("POST", "/api/v1/users", {"name": name})
    assert status == 201, problem
    _, token = server.call("POST", "/api/v1/tokens", {"name": "tests", "user": name})
    return Person(server, name, token["secret"])


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("security") / "home") as started:
        yield started


@pytest.fixture
def unique(tmp_path: Path) -> str:
    """A number of seconds that no other test sleeps for, by which a process is recognised."""
    return f"6{abs(hash(str(tmp_path))) % 10**8:08d}"
