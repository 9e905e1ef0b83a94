"""Both ends of a gang's connection prove that they know its token, say it to nobody, and seal what they say."""

import os
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from muster.agent.batch.bootstrap import BOOTSTRAP, NO_LOGIN_NODE
from muster.agent.batch.link import ADDRESSES, Link, connected_to, listening
from muster.agent.batch.link import TOKEN as TOKEN_VARIABLE
from muster.agent.batch.relay import Relay
from muster.agent.batch.sealing import CLIENT, SERVER, Exchange, Sealing, nonce
from muster.agent.batch.spool import SEALED, Spool
from muster.agent.system.frames import FrameError, encode

pytestmark = pytest.mark.timeout(60)
KEY, TASK, TOKEN = "job.1", "job.1.worker.0", "0123456789abcdef"
Answer = Callable[[socket.socket], None]


def ends() -> tuple[Sealing, Sealing]:
    exchange = Exchange(TOKEN, KEY, nonce(), nonce())
    return exchange.sealing(CLIENT), exchange.sealing(SERVER)


def test_sealed_messages_come_as_they_were_said() -> None:
    client, server = ends()
    said: list[dict[str, Any]] = [{"what": "log", "data": os.urandom(1 << 20)}, {"what": "orders"}, {"n": 3}]
    wire = b"".join(client.encode(one) for one in said)
    assert [one for at in range(0, len(wire), 65_000) for one in server.feed(wire[at : at + 65_000])] == said
    assert client.feed(server.encode({"orders": {}})) == [{"orders": {}}]


def test_nothing_can_be_read_on_the_way() -> None:
    client, _ = ends()
    assert b"password" not in client.encode({"value": "password"}) + client.encode({"value": "password"})


@pytest.mark.parametrize("at", [0, 3, 4, 20, -1], ids=["length", "shorter", "begin", "middle", "seal"])
def test_a_frame_that_was_changed_is_refused(at: int) -> None:
    client, server = ends()
    wire = bytearray(client.encode({"what": "orders", "more": "x" * 100}))
    wire[at] ^= 1
    with pytest.raises(FrameError):
        assert server.feed(bytes(wire) + bytes(1 << 25))


def test_a_frame_that_is_said_again_or_sent_back_is_refused() -> None:
    client, server = ends()
    wire = client.encode({"what": "orders"})
    server.feed(wire)
    for end in (server, client):
        with pytest.raises(FrameError):
            end.feed(wire)


class Imposter:
    """Somebody who has taken the port of the relay, and answers as `answer` does."""

    def __init__(self, answer: Answer) -> None:
        self.heard = b""
        self._answer = answer
        self._server = listening()
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(30)
                self.heard += connection.recv(65_536)
                self._answer(connection)
                connection.shutdown(socket.SHUT_WR)
                while data := connection.recv(65_536):
                    self.heard += data

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


def planted(folder: Path) -> bytes:
    """An archive that would leave a file behind if anybody ran it."""
    path = folder / "planted.pyz"
    with zipfile.ZipFile(path, "w") as archive:
        for package in ("muster", "muster/agent", "muster/agent/batch"):
            archive.writestr(f"{package}/__init__.py", "")
        archive.writestr(
            "muster/agent/batch/coordinator.py", f"open({str(folder / 'run')!r}, 'w').close()\nmain = int\n"
        )
    return path.read_bytes()


ANSWERS: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "an archive": lambda archive: encode({"data": archive}),
    "a wrong proof": lambda archive: encode({"nonce": nonce(), "proof": "0" * 64}) + encode({"data": archive}),
    "no nonce": lambda archive: encode({"proof": 3}) + encode({"data": archive}),
    "nonsense": lambda _: b"HTTP/1.1 200 OK\r\n\r\n",
    "too much": lambda _: b"\xff" * 100_000,
}


@pytest.fixture(params=list(ANSWERS))
def imposter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Imposter]:
    said = ANSWERS[request.param](planted(tmp_path))
    found = Imposter(lambda connection: connection.sendall(said))
    yield found
    found.close()


def boot(port: int) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, ADDRESSES: f"127.0.0.1,{port}", TOKEN_VARIABLE: TOKEN}
    argv = [sys.executable, "-I", "-S", "-c", BOOTSTRAP, "coordinator", KEY]
    return subprocess.run(argv, env=env, input="", capture_output=True, text=True, check=False, timeout=50)


def test_a_job_runs_nothing_of_somebody_who_took_the_port_and_does_not_tell_its_token(
    imposter: Imposter, tmp_path: Path
) -> None:
    ended = boot(imposter.port)
    assert not (tmp_path / "run").exists()
    assert TOKEN.encode() not in imposter.heard
    assert ended.returncode == 1
    assert "whoever answers does not know this job" in ended.stderr


def test_a_coordinator_tells_nothing_to_somebody_who_took_the_port(imposter: Imposter) -> None:
    with pytest.raises(ConnectionError, match="does not know this job"):
        connected_to(f"127.0.0.1,{imposter.port}", TOKEN, KEY)
    assert TOKEN.encode() not in imposter.heard


@pytest.fixture
def relay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Relay:
    spool = Spool(str(tmp_path / "login"))
    spool.make()
    spool.gang(KEY).write_facts({"tasks": [TASK], "token": TOKEN, SEALED: True})
    planted(tmp_path)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "planted.pyz")])
    return Relay(spool)


def test_a_job_runs_the_archive_of_the_relay(relay: Relay, tmp_path: Path) -> None:
    assert boot(relay.port).stderr == ""
    assert (tmp_path / "run").exists()


def test_a_job_finds_the_relay_behind_an_address_of_somebody_else(relay: Relay) -> None:
    link = connected_to(f"no-such-host.invalid,127.0.0.1,{relay.port}", TOKEN, KEY)
    link.send({"what": "orders"})
    assert link.receive_one() == {"orders": {}}


def test_a_job_without_a_way_to_the_login_node_says_so() -> None:
    env = {**os.environ, ADDRESSES: "no-such-host.invalid,1", TOKEN_VARIABLE: TOKEN}
    argv = [sys.executable, "-I", "-S", "-c", BOOTSTRAP, "coordinator", KEY]
    assert subprocess.run(argv, env=env, check=False, timeout=50).returncode == NO_LOGIN_NODE


def test_whoever_has_heard_a_proof_cannot_use_it_again(relay: Relay) -> None:
    """Neither the proof of another connection nor the relay's own proof is one."""
    with socket.create_connection(("127.0.0.1", relay.port), 30) as connection:
        link = Link(connection)
        link.send({"what": "seal", "key": KEY, "nonce": nonce()})
        answer = link.receive_one()
        assert answer is not None
        link.send({"proof": answer["proof"]})
        assert link.receive_one() is None
