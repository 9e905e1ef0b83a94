"""Another Muster server that is in the hands of somebody else: what it answers costs neither memory, disk nor time, and
is not believed."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from muster.backends.muster_server import connection
from muster.backends.muster_server.backend import OtherServerBackend
from muster.backends.muster_server.connection import OtherServer
from muster.backends.muster_server.logs import OtherLogs
from muster.backends.muster_server.options import OtherServerOptions
from muster.backends.muster_server.outputs import OtherOutputs
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, MusterError, Unreachable
from muster.ports.capabilities import TaskRef
from tests.contract.backends.harness import FolderArchives

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
TASK = TaskRef("job1.1.worker.0", "there:job9", "n1")
LISTED = {"installation": "0" * 16, "reaches": [], "user": "amy", "tag": "t", "items": []}
JOB = {"id": "job9", "job": "job1", "attempt": 1, "attempts": 1, "state": "Running", "roles": {"worker": 1}}
Say = Callable[[str, asyncio.StreamWriter], Awaitable[None]]
"""Answers the request with this path."""


@asynccontextmanager
async def hostile(say: Say, folder: Path) -> AsyncIterator[OtherServerOptions]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            await say(request.split()[1].decode(), writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    token = folder / "token"
    token.write_text("secret-token")
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield OtherServerOptions((f"http://127.0.0.1:{port}",), token, "local")


def answering(content: bytes, *headers: str) -> Say:
    async def say(path: str, writer: asyncio.StreamWriter) -> None:
        lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(content)}", "Connection: close", *headers]
        writer.write("\r\n".join([*lines, "", ""]).encode() + content)
        await writer.drain()

    return say


def told(document: Any) -> Say:
    return answering(json.dumps(document).encode())


async def without_end(path: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while True:
        writer.write(b" " * 65536)
        await writer.drain()


async def drip(path: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def test_an_answer_without_end_is_none(tmp_path: Path) -> None:
    async with hostile(without_end, tmp_path) as options:
        server = OtherServer(options)
        with pytest.raises(Unreachable, match="longer than"):
            await server.request("GET", "/nodes")
        await server.close()


async def test_an_answer_that_drips_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_CONNECT_S", 0.5)
    async with hostile(drip, tmp_path) as options, asyncio.timeout(30):
        server = OtherServer(options)
        with pytest.raises(Unreachable):
            await server.request("GET", "/nodes", within_s=0.2)
        await server.close()


@pytest.mark.parametrize(
    "document",
    [
        [],
        "text",
        LISTED | {"items": 5},
        LISTED | {"items": [5]},
        LISTED | {"installation": "../../etc"},
        LISTED | {"items": [JOB | {"roles": {"worker": 10**12}}]},
        LISTED | {"items": [JOB | {"roles": {f"r{i}": 100_000 for i in range(100)}}]},
        LISTED | {"items": [JOB | {"roles": {"a.b": 1}}]},
        LISTED | {"items": [JOB | {"roles": {"worker": True}}]},
        LISTED | {"items": [JOB | {"job": "job1.1.worker.0/.."}]},
        LISTED | {"items": [JOB | {"state": "Exploded"}]},
        LISTED | {"items": [JOB | {"fault": "text"}]},
        LISTED | {"items": [JOB | {"checkpointAt": 5}]},
        LISTED | {"items": [JOB | {"tasks": [{"role": "worker", "index": -1, "state": "Running"}]}]},
    ],
    ids=lambda document: json.dumps(document)[-60:],
)
async def test_a_list_of_jobs_that_makes_no_sense_is_none(document: Any, tmp_path: Path) -> None:
    async with hostile(told(document), tmp_path) as options:
        backend = OtherServerBackend(
            PhysicalCluster("far", "muster", options=options), FolderArchives(tmp_path), installation="1" * 16
        )
        observed = await backend.observe_all()
        await backend.close()
    assert observed.observations == ()
    assert not observed.scope.everything
    assert "cannot be read" in backend.unknown_why()


async def test_a_deeply_nested_answer_is_none(tmp_path: Path) -> None:
    async with hostile(answering(b"[" * 1_000_000), tmp_path) as options:
        backend = OtherServerBackend(
            PhysicalCluster("far", "muster", options=options), FolderArchives(tmp_path), installation="1" * 16
        )
        assert (await backend.observe_all()).observations == ()
        await backend.close()


async def job_there(task: TaskRef) -> str:
    return "job9"


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ("Muster-Log-Offset: 0", "Muster-Log-Size: 99999999999"),
        ("Muster-Log-Offset: 0", "Muster-Log-Size: x"),
        ("Muster-Log-Offset: 0", "Muster-Log-Size: 100", "Muster-Log-Dropped: 90-10"),
        ("Muster-Log-Offset: 0", "Muster-Log-Size: 100", "Muster-Log-Dropped: 1"),
    ],
)
async def test_a_log_that_never_ends_is_not_kept(headers: tuple[str, ...], tmp_path: Path) -> None:
    """It has the same first bytes whatever is asked for."""
    async with hostile(answering(b"again\n", *headers), tmp_path) as options, asyncio.timeout(30):
        server = OtherServer(options)
        with pytest.raises(MusterError):
            await OtherLogs(server, job_there, limit=1 << 20).collect(TASK, tmp_path / "logs" / "log")
        await server.close()
    assert not [path for path in (tmp_path / "logs").glob("*") if path.stat().st_size]


async def test_no_more_of_a_log_is_kept_than_of_any_other(tmp_path: Path) -> None:
    size = 1 << 40

    async def say(path: str, writer: asyncio.StreamWriter) -> None:
        asked = dict(part.split("=") for part in path.partition("?")[2].split("&"))
        content = b"x" * int(asked["limit"])
        await answering(content, f"Muster-Log-Offset: {asked['offset']}", f"Muster-Log-Size: {size}")(path, writer)

    target = tmp_path / "logs" / "log"
    async with hostile(say, tmp_path) as options:
        server = OtherServer(options)
        dropped = await OtherLogs(server, job_there, limit=1 << 20).collect(TASK, target)
        await server.close()
    assert dropped is not None
    assert target.stat().st_size == size - dropped.length <= 2 << 20


@pytest.mark.parametrize("path", ["../escape", "/etc/passwd", "a/../../b", "a"])
async def test_an_output_is_not_larger_than_listed_and_stays_in_its_folder(path: str, tmp_path: Path) -> None:
    item = {"path": path, "size": 3, "sha256": "0" * 64, "modifiedAt": "2026-01-01T00:00:00Z"}
    listing = {"items": [item], "complete": True, "leftOut": [], "problems": [], "tasks": 1}

    async def say(asked: str, writer: asyncio.StreamWriter) -> None:
        if "/outputs/" in asked:
            await without_end(asked, writer)
        await told(listing)(asked, writer)

    target = tmp_path / "outputs"
    target.mkdir()
    async with hostile(say, tmp_path) as options, asyncio.timeout(30):
        server = OtherServer(options)
        with pytest.raises(BackendError):
            await OtherOutputs(server, job_there).collect(TASK, ["**"], target, lambda size: True)
        await server.close()
    assert not list(target.iterdir())
    assert {one.name for one in tmp_path.iterdir()} == {"outputs", "token"}
