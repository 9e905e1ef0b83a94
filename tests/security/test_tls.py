"""A server with a certificate of its own, and clients that trust it once: like the host keys of SSH."""

import json
import os
import pty
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.server import MusterServer

MUSTER = Path(sys.executable).parent / "muster"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("tls") / "home"
    home.mkdir()
    (home / "config.yaml").write_text("tlsSelfSigned: true\n")
    server = MusterServer(home)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def address(server: MusterServer) -> str:
    return f"https://127.0.0.1:{server.port}"


@pytest.fixture
def fingerprint(server: MusterServer) -> str:
    return str(_context(server.home, "local")["fingerprint"])


def _context(home: Path, name: str) -> dict[str, str]:
    contexts: dict[str, dict[str, str]] = json.loads((home / "context.json").read_text())["contexts"]
    return contexts[name]


def login(home: Path, *arguments: str, token: str) -> "subprocess.CompletedProcess[str]":
    """As a script does it: without a terminal."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    return subprocess.run(
        [str(MUSTER), "login", *arguments, "--token-stdin"],
        env=environment | {"MUSTER_HOME": str(home)},
        input=f"{token}\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_command_works_on_the_servers_machine_without_a_login(server: MusterServer) -> None:
    assert server.run("run", "--", "echo", "encrypted", check=True, cwd=server.home / "clusters.d").returncode == 0


def test_plain_http_gets_nothing(server: MusterServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            assert b"HTTP/1.1" not in plain.recv(4096)
        except ConnectionResetError:
            pass


def test_an_unknown_certificate_is_refused_where_nobody_can_be_asked(
    address: str, fingerprint: str, server: MusterServer, tmp_path: Path
) -> None:
    refused = login(tmp_path, address, token=server.token)
    assert refused.returncode == 1
    assert f"--fingerprint {fingerprint}" in refused.stderr
    assert not (tmp_path / "context.json").exists()


def test_a_given_fingerprint_is_remembered_and_held_to(
    address: str, fingerprint: str, server: MusterServer, tmp_path: Path
) -> None:
    colons = ":".join(re.findall("..", fingerprint.removeprefix("SHA256:").upper()))
    assert login(tmp_path, address, "--fingerprint", colons, token=server.token).returncode == 0
    assert _context(tmp_path, "127.0.0.1")["fingerprint"] == fingerprint
    again = login(tmp_path, address, token=server.token)
    assert again.returncode == 0, again.stderr
    wrong = "SHA256:" + 64 * "0"
    refused = login(tmp_path, address, "--fingerprint", wrong, token=server.token)
    assert refused.returncode == 1
    assert "is not the one that you trusted" in refused.stderr


def test_a_person_is_asked_once(address: str, fingerprint: str, server: MusterServer, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    asked = subprocess.Popen(
        [str(MUSTER), "login", address, "--token", server.token],
        env=environment | {"MUSTER_HOME": str(tmp_path)},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, b"y\n")
    shown = _read_all(ours)
    os.close(ours)
    assert asked.wait(120) == 0, shown
    assert fingerprint in shown
    assert _context(tmp_path, "127.0.0.1")["fingerprint"] == fingerprint


def _read_all(terminal: int) -> str:
    shown = b""
    while True:
        try:
            more = os.read(terminal, 4096)
        except OSError:  # the other side has closed it
            more = b""
        if not more:
            return shown.decode()
        shown += more


def test_plain_http_to_another_machine_is_warned_of(tmp_path: Path) -> None:
    warned = login(tmp_path, "http://muster.invalid:7070", token="x")
    assert "not encrypted" in warned.stderr
    assert "not encrypted" not in login(tmp_path, "http://127.0.0.1:1", token="x").stderr
