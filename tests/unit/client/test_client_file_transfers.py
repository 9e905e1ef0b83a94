"""Putting a file: a server that is away for a moment is waited for, and what is refused is not sent again."""

import time
from pathlib import Path

import pytest

from muster import Client
from muster.client.errors import MusterError
from muster.client.file_transfers import put
from muster.client.files import RemotePath
from muster.client.retry_window import TRIES
from tests.unit.client.tiny_server import Answer, TinyServer, problem

pytestmark = pytest.mark.fast
CONTENT = "/clusters/lab/files/content"
AWAY = problem(503, "node-away", "the node does not answer")
DONE = Answer(200, {"path": "data/x", "size": 4, "received": 4, "complete": True, "sha256": None})


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    (tmp_path / "x").write_bytes(b"data")
    return tmp_path / "x"


def test_a_node_that_is_away_for_a_moment_is_waited_for(server: TinyServer, local: Path) -> None:
    server.on("PUT", CONTENT, AWAY, AWAY, DONE)
    put(Client(server.url, "t").files, local, RemotePath("lab", "data/x"))
    assert [asked.body for asked in server.requests("PUT", CONTENT)] == [b"data"] * 3


def test_waiting_has_an_end(server: TinyServer, local: Path) -> None:
    server.on("PUT", CONTENT, AWAY)
    with pytest.raises(MusterError, match="does not answer"):
        put(Client(server.url, "t").files, local, RemotePath("lab", "data/x"))
    assert len(server.requests("PUT", CONTENT)) == TRIES + 1


def test_what_is_refused_is_not_sent_again(server: TinyServer, local: Path) -> None:
    server.on("PUT", CONTENT, problem(409, "exists", "it exists already"))
    with pytest.raises(MusterError, match="exists already"):
        put(Client(server.url, "t").files, local, RemotePath("lab", "data/x"))
    assert len(server.requests("PUT", CONTENT)) == 1
