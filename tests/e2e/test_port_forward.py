"""`muster port-forward` against a real server: transfers at the same time, half-closed connections, ports of others,
and what happens when a server or an agent is killed."""

import hashlib
import os
import secrets
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.parts.server import MusterServer, polls, running_server

_ECHO = """
import hashlib, os, socket, socketserver, sys
class Whole(socketserver.StreamRequestHandler):
    def handle(self):
        data = self.rfile.read()
        self.wfile.write(hashlib.sha256(data).hexdigest().encode() + data)
class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 50
server = Server(("127.0.0.1", 0), Whole)
print("listens", server.server_address[1], flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("forward") / "home") as made:
        yield made


def listening(server: MusterServer) -> tuple[str, int]:
    """A job that answers with the digest of all that it was sent and with that itself, and its port."""
    name = f"echo-{secrets.token_hex(4)}"
    program = server.home / "echo.py"
    program.write_text(_ECHO)
    server.submit({"name": name, "command": f"python3 {program}"})
    server.wait_for_state(name, "Running")
    for _ in polls(60):
        said = server.run("logs", name).stdout
        if "listens " in said:
            return name, int(said.split("listens ")[1].split()[0])
    raise AssertionError("the job does not listen")


@pytest.fixture(scope="module")
def job(server: MusterServer) -> tuple[str, int]:
    return listening(server)


@contextmanager
def forwarded(server: MusterServer, name: str, *words: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    process = server.popen("port-forward", name, *words)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Forwarding from 127.0.0.1:"), line + (process.stderr.read() if process.stderr else "")
        yield process, int(line.split("127.0.0.1:")[1].split()[0])
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def echoed(port: int, data: bytes) -> bytes:
    """Sends all, then ends its own side, and reads to the end. A connection that is refused or cut is nothing."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection, ThreadPoolExecutor(1) as pool:

        def send() -> None:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)

        sending = pool.submit(send)
        pieces = []
        try:
            while piece := connection.recv(1 << 16):
                pieces.append(piece)
            sending.result()
        except OSError:
            return b""
        return b"".join(pieces)


def is_cut(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_many_transfers_of_megabytes_at_the_same_time_arrive_whole(server: MusterServer, job: tuple[str, int]) -> None:
    name, remote = job
    sent = [os.urandom(2_000_000) for _ in range(8)]
    with forwarded(server, name, f"0:{remote}") as (_, port), ThreadPoolExecutor(8) as pool:
        came = list(pool.map(lambda data: echoed(port, data), sent))
    assert [hashlib.sha256(one).digest() for one in came] == [
        hashlib.sha256(hashlib.sha256(one).hexdigest().encode() + one).digest() for one in sent
    ]
    events = server.call("GET", f"/api/v1/jobs/{name}/events")[1]["items"]
    recorded = [event for event in events if event["kind"] == "audit.job.port-forward"]
    assert [event["data"]["port"] for event in recorded] == [remote], "eight connections are one event"


def test_only_ports_of_that_task_are_reached(server: MusterServer, job: tuple[str, int]) -> None:
    name, _ = job
    other, others_port = listening(server)
    with socket.create_server(("127.0.0.1", 0)) as mine:
        ours = mine.getsockname()[1]
        for port in (ours, server.port, others_port):
            with forwarded(server, name, f"0:{port}") as (process, local):
                assert echoed(local, b"let me in") == b""
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=60)
            assert f"nothing of the task listens on port {port}" in errors
        mine.setblocking(False)
        with pytest.raises(BlockingIOError):
            mine.accept()
    with forwarded(server, other, f"0:{others_port}") as (_, local):
        assert echoed(local, b"x").endswith(b"x")
    server.run("kill", other, check=True)


def test_who_may_not_connect_is_refused_before_anything_listens(server: MusterServer, job: tuple[str, int]) -> None:
    server.run("users", "add", "guest", "--no-password", check=True)
    token = server.run("tokens", "create", "here", "--user", "guest", check=True).stdout.strip()

    words = server.command("--server", server.url, "port-forward", job[0], "0:80")
    env = {**server.environment, "MUSTER_TOKEN": token}
    refused = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"You can't reach ports of {job[0]}'s tasks" in refused.stderr


def test_the_command_ends_with_the_job_and_says_so(server: MusterServer) -> None:
    name, remote = listening(server)
    with forwarded(server, name, f"0:{remote}") as (process, local):
        assert echoed(local, b"x").endswith(b"x")
        with socket.create_connection(("127.0.0.1", local), timeout=120) as left_open:
            left_open.sendall(b"half")
            server.run("kill", name, "--grace", "0s", check=True)
            assert is_cut(left_open)
        server.wait(name)
        assert echoed(local, b"x") == b""
        assert process.wait(60) == 1
        assert process.stderr is not None
        assert "has ended" in process.stderr.read()


def test_forwarding_goes_on_after_the_server_and_the_agent_were_killed(tmp_path: Path) -> None:
    with running_server(tmp_path / "home") as own:
        name, remote = listening(own)
        with forwarded(own, name, f"0:{remote}") as (_, local):
            with socket.create_connection(("127.0.0.1", local), timeout=120) as cut:
                cut.sendall(b"half")
                assert echoed(local, b"x").endswith(b"x")
                own.kill()
                assert is_cut(cut), "a broken connection is closed and not left hanging"
            own.start()
            for _ in polls(60):
                if echoed(local, b"again").endswith(b"again"):
                    break
            else:
                raise AssertionError("the task is not reached any more")


def test_wrong_ports_are_wrong_usage(server: MusterServer, job: tuple[str, int]) -> None:
    for wrong in ("80:", "a", "70000", "1:0", "1:2:3"):
        assert server.run("port-forward", job[0], wrong).returncode == 2, wrong
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = server.run("port-forward", job[0], f"{taken.getsockname()[1]}:80")
    assert refused.returncode == 1
    assert "cannot listen" in refused.stderr
