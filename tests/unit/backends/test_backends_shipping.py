"""Sending archives to nodes, against the agent's real store: once per node and content, from where it stopped."""

import asyncio
import hashlib
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from muster.agent.errors import AgentError
from muster.agent.files.blobs import BlobStore
from muster.backends.agents.archive_transfer import ArchiveTransfer
from muster.backends.agents.flow_control import LARGEST_BYTES, PIECE_BYTES, SMALLEST_BYTES, Pace
from muster.domain.errors import CONNECTION_LOST, BackendError, Unreachable

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Nodes:
    """Answers as agents do. `cut_after` so many messages the line breaks, once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: Counter[str] = Counter()
        self.bytes_asked = 0
        self.on_the_way = self.most_on_the_way = 0
        self.paces: defaultdict[str, Pace] = defaultdict(Pace)
        self.cut_after: list[int] = []
        self.error: AgentError | None = None
        self.may_write = asyncio.Event()
        self.may_write.set()

    def store(self, node: str) -> BlobStore:
        return BlobStore(str(self.root / node), set)

    async def ask(self, node: str, op: str, /, **arguments: Any) -> dict[str, Any]:
        self.asked[op] += 1
        self.bytes_asked += len(arguments.get("data", b""))
        if self.cut_after and self.asked.total() >= self.cut_after[0]:
            self.cut_after.pop(0)
            raise Unreachable("the line is gone")
        self.on_the_way += len(arguments.get("data", b""))
        self.most_on_the_way = max(self.most_on_the_way, self.on_the_way)
        try:
            if op == "blob_write":
                await self.may_write.wait()
                if self.error is not None:
                    raise self.error
            work = self.store(node).operations()[op](arguments)
            await asyncio.sleep(0)
            return work()
        except AgentError as error:
            raise BackendError(error.message, reason=error.code) from None
        finally:
            self.on_the_way -= len(arguments.get("data", b""))


def ships_to(nodes: Nodes) -> ArchiveTransfer:
    return ArchiveTransfer(nodes.ask, nodes.paces.__getitem__)


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    return Nodes(tmp_path / "nodes")


def archive(folder: Path, size: int = 5 * PIECE_BYTES + 77) -> tuple[str, Path]:
    path = folder / "archive"
    path.write_bytes(os.urandom(size))
    return hashlib.sha256(path.read_bytes()).hexdigest(), path


async def test_it_arrives_and_is_not_sent_again(nodes: Nodes, tmp_path: Path) -> None:
    digest, path = archive(tmp_path)
    ships = ships_to(nodes)
    await ships.ensure("n1", digest, path)
    assert (tmp_path / "nodes/n1/blobs" / digest).read_bytes() == path.read_bytes()
    before = nodes.asked.total()
    await ships.ensure("n1", digest, path)
    assert nodes.asked.total() == before
    ships.forget("n1")
    await ships.ensure("n1", digest, path)
    assert nodes.asked.total() == before + 1
    await ships.ensure("n2", digest, path)
    assert (tmp_path / "nodes/n2/blobs" / digest).exists()


@pytest.mark.parametrize("window", [SMALLEST_BYTES, LARGEST_BYTES])
async def test_as_much_is_on_its_way_as_the_pace_of_the_node_allows(nodes: Nodes, tmp_path: Path, window: int) -> None:
    digest, path = archive(tmp_path, 2 * LARGEST_BYTES)
    nodes.paces["n1"].window = window
    nodes.may_write.clear()
    waiting = asyncio.create_task(ships_to(nodes).ensure("n1", digest, path))
    while nodes.on_the_way < window:
        await asyncio.sleep(0)
    assert nodes.most_on_the_way == window
    nodes.may_write.set()
    await waiting
    assert nodes.most_on_the_way <= LARGEST_BYTES


async def test_whoever_wants_the_same_waits_for_the_same_transfer(nodes: Nodes, tmp_path: Path) -> None:
    digest, path = archive(tmp_path)
    ships = ships_to(nodes)
    await asyncio.gather(*(ships.ensure("n1", digest, path) for _ in range(5)))
    assert nodes.bytes_asked == path.stat().st_size


async def test_after_a_lost_connection_it_goes_on_from_what_the_node_has(nodes: Nodes, tmp_path: Path) -> None:
    digest, path = archive(tmp_path, 40 * PIECE_BYTES)
    nodes.cut_after = [12, 25, 26]
    await ships_to(nodes).ensure("n1", digest, path)
    assert (tmp_path / "nodes/n1/blobs" / digest).read_bytes() == path.read_bytes()
    assert nodes.bytes_asked <= path.stat().st_size + 3 * LARGEST_BYTES


async def test_a_node_that_never_answers_is_given_up(nodes: Nodes, tmp_path: Path) -> None:
    digest, path = archive(tmp_path)
    nodes.cut_after = [0] * 100
    with pytest.raises(BackendError) as failed:
        await ships_to(nodes).ensure("n1", digest, path)
    assert failed.value.reason == CONNECTION_LOST


async def test_a_full_disk_is_told_with_its_code(nodes: Nodes, tmp_path: Path) -> None:
    digest, path = archive(tmp_path)
    nodes.error = AgentError("disk-full", "no space is left")
    with pytest.raises(BackendError) as failed:
        await ships_to(nodes).ensure("n1", digest, path)
    assert failed.value.reason == "disk-full"


async def test_a_package_that_is_broken_or_gone_on_the_server_is_a_broken_package(nodes: Nodes, tmp_path: Path) -> None:
    _, path = archive(tmp_path)
    for digest, where in (("0" * 64, path), ("1" * 64, tmp_path / "gone")):
        with pytest.raises(BackendError) as failed:
            await ships_to(nodes).ensure("n1", digest, where)
        assert failed.value.reason == "package"


async def test_a_transfer_that_nobody_waits_for_stops_and_can_begin_anew(nodes: Nodes, tmp_path: Path) -> None:
    digest, path = archive(tmp_path)
    ships = ships_to(nodes)
    nodes.may_write.clear()
    waiting = [asyncio.create_task(ships.ensure("n1", digest, path)) for _ in range(2)]
    while not nodes.asked["blob_write"]:
        await asyncio.sleep(0)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    nodes.may_write.set()
    await ships.ensure("n1", digest, path)
    assert (tmp_path / "nodes/n1/blobs" / digest).exists()
    await ships.close()


@pytest.mark.parametrize("slow_after_s", [0.0, 600.0])
async def test_only_long_transfers_tell_how_far_they_are(nodes: Nodes, tmp_path: Path, slow_after_s: float) -> None:
    digest, path = archive(tmp_path, 4 * PIECE_BYTES)
    ships = ArchiveTransfer(nodes.ask, nodes.paces.__getitem__, slow_after_s)
    nodes.may_write.clear()
    waiting = asyncio.create_task(ships.ensure("n1", digest, path))
    while not nodes.asked["blob_write"]:
        await asyncio.sleep(0)
    is_slow = slow_after_s == 0.0
    assert ships.progress([digest]) == ("sending 0 B of 1.0 MiB to n1" if is_slow else "")
    assert ships.progress(["0" * 64]) == ""
    nodes.may_write.set()
    await waiting
    assert ships.progress([digest]) == ""
