"""Only what is missing is sent, and a broken upload goes on where it stopped."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.client.packing import Package, pack
from muster.client.transport import Transport
from muster.client.uploading import upload
from tests.unit.client.tiny_server import DROP, Answer, Asked, TinyServer, problem

pytestmark = pytest.mark.fast
CHUNK = 4000


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Package]:
    """A package of several chunks."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code/noise").write_bytes(os.urandom(10_000))
    with pack(tmp_path / "code") as packed:
        yield packed


class Receiver:
    """The server's side of the contract."""

    def __init__(self, server: TinyServer, package: Package, received: int = 0) -> None:
        self.package, self.content = package, bytearray(received)
        package.file.seek(0)
        self.content[:] = package.file.read(received)
        server.on("GET", f"/packages/{package.digest}", lambda _: self.status() if self.content else self.missing())
        server.on("PUT", f"/packages/{package.digest}", self.put)

    def status(self) -> Answer:
        whole = len(self.content) == self.package.size
        received = len(self.content)
        return Answer(200, {"digest": "", "size": self.package.size, "received": received, "complete": whole})

    def missing(self) -> Answer:
        return problem(404, "not-found", "nothing of it")

    def put(self, asked: Asked) -> Answer:
        if int(asked.query["offset"][0]) != len(self.content):
            return problem(409, "conflict", "wrong offset", received=len(self.content))
        assert int(asked.query["size"][0]) == self.package.size
        self.content += asked.body
        return self.status()

    def has_all(self) -> bool:
        self.package.file.seek(0)
        return bytes(self.content) == self.package.file.read()


def puts(server: TinyServer, package: Package) -> list[Asked]:
    return server.requests("PUT", f"/packages/{package.digest}")


def test_new_package_is_sent_whole_in_chunks(server: TinyServer, package: Package) -> None:
    receiver = Receiver(server, package)
    told: list[tuple[int, int]] = []
    upload(Transport(server.url, None), package, lambda received, total: told.append((received, total)), CHUNK)
    assert receiver.has_all()
    assert len(puts(server, package)) == 3
    assert [received for received, _ in told] == [0, 4000, 8000, package.size]


def test_known_package_is_not_sent_again(server: TinyServer, package: Package) -> None:
    Receiver(server, package, received=package.size)
    upload(Transport(server.url, None), package, chunk_bytes=CHUNK)
    assert puts(server, package) == []


def test_upload_goes_on_where_it_stopped(server: TinyServer, package: Package) -> None:
    receiver = Receiver(server, package, received=4000)
    upload(Transport(server.url, None), package, chunk_bytes=CHUNK)
    assert receiver.has_all()
    assert [asked.query["offset"] for asked in puts(server, package)] == [["4000"], ["8000"]]


def test_chunk_whose_answer_was_lost_is_not_written_twice(server: TinyServer, package: Package) -> None:
    receiver = Receiver(server, package)

    def put_and_drop(asked: Asked) -> Answer:
        receiver.put(asked)
        return DROP

    server.on("PUT", f"/packages/{package.digest}", put_and_drop, receiver.put)
    upload(Transport(server.url, None), package, chunk_bytes=CHUNK)
    assert receiver.has_all()
