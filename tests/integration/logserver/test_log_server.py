"""A real log server: what it takes, what it refuses, and what is there after it was killed."""

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.parts.log_server import TOKEN, LogServer, record, running_log_server
from tests.parts.server import polls


@pytest.fixture
def log_server(tmp_path: Path) -> Iterator[LogServer]:
    with running_log_server(tmp_path / "log") as server:
        yield server


def test_records_are_lines_and_can_be_searched(log_server: LogServer) -> None:
    sent = [record(n, name="net", state="Running") for n in range(1, 31)]
    assert log_server.send(sent) == {"stored": 30, "repeated": 0, "conflicts": 0}
    assert log_server.lines() == sent
    status, page = log_server.call("GET", "/v1/jobs?owner=li&limit=2")
    assert (status, len(page["items"])) == (200, 2)
    _, one = log_server.call("GET", "/v1/jobs/r1/job1")
    assert one["records"] == sent[9:19]
    assert log_server.call("GET", "/v1/jobs/r1/nothing")[0] == 404
    _, about = log_server.call("GET", "/v1/status")
    assert (about["name"], about["receivers"][0]["records"]) == ("muster-logserver", 30)


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "é"])
def test_a_wrong_token_is_refused_everywhere(log_server: LogServer, token: str) -> None:
    body = json.dumps({"records": [record(1)]}).encode()
    calls = [("POST", "/v1/records", body), ("GET", "/v1/jobs", None), ("GET", "/v1/status", None)]
    for method, path, data in [*calls, ("GET", "/v1/jobs/r1/job0", None)]:
        status, answer = log_server.call(method, path, data, token=token.encode().decode("latin-1"))
        assert (status, answer["code"]) == (401, "not-authenticated")
    assert log_server.lines() == []
    assert log_server.call("GET", "/healthz", token="")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/v1/records", b"not json", 400),
        ("POST", "/v1/records", b"[" * 100_000, 400),
        ("POST", "/v1/records", b'{"records": "x"}', 400),
        ("POST", "/v1/records", b'{"records": [{"receiver": 3}]}', 400),
        ("POST", "/v1/records", b"x" * ((32 << 20) + 1), 413),
        ("GET", "/v1/jobs?limit=0", None, 400),
        ("GET", "/v1/jobs?limit=x", None, 400),
        ("GET", "/v1/jobs?colour=red", None, 400),
        ("GET", "/v1/jobs?cursor=x", None, 400),
        ("GET", "/v1/jobs?owner=%00%27%3B--", None, 200),
        ("GET", "/v1/records", None, 405),
        ("GET", "/nothing", None, 404),
    ],
)
def test_bad_requests_are_told_what_is_wrong(
    log_server: LogServer, method: str, path: str, body: bytes | None, expected: int
) -> None:
    try:
        status, answer = log_server.call(method, path, body)
    except OSError:
        assert expected == 413, "the answer to a request that is too large may come before all of it was sent"
    else:
        assert status == expected
        assert status == 200 or answer["detail"]
    assert log_server.send([record(1)])["stored"] == 1


def test_it_listens_beyond_this_machine_only_with_a_token(tmp_path: Path) -> None:
    server = LogServer(tmp_path / "jobs.log", "--host", "0.0.0.0", token="")
    with pytest.raises(AssertionError, match="without a token"):
        server.start()
    server.stop()
    with running_log_server(tmp_path, "--host", "0.0.0.0") as guarded:
        assert guarded.send([record(1)])["stored"] == 1


def test_a_second_one_on_the_same_file_or_port_is_refused(log_server: LogServer, tmp_path: Path) -> None:
    second = LogServer(log_server.file)
    with pytest.raises(AssertionError, match="another log server writes to"):
        second.start()
    second.stop()
    third = LogServer(tmp_path / "other.log")
    third.port = log_server.port
    with pytest.raises(AssertionError, match="cannot listen"):
        third.start()
    assert third.exit_code() == 2, "as a server whose port is in use"
    third.stop()


def test_a_token_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret\n")
    file.chmod(0o644)
    server = LogServer(tmp_path / "jobs.log", "--token-file", str(file))
    with pytest.raises(AssertionError, match="chmod 600"):
        server.start()
    server.stop()


def test_nothing_acknowledged_is_lost_and_nothing_is_doubled_when_it_is_killed(tmp_path: Path) -> None:
    """Four senders send in batches, and send again what was not acknowledged, while it is killed again and again."""
    with running_log_server(tmp_path, "--max-size", "100Ki") as server:
        acknowledged: dict[str, int] = {}
        has_ended = threading.Event()

        def send(receiver: str) -> None:
            last = 0
            while not has_ended.is_set():
                batch = [record(last + n, receiver) for n in range(1, 26)]
                try:
                    server.send(batch)
                except (OSError, HTTPException):
                    continue
                last += 25
                acknowledged[receiver] = last

        senders = [threading.Thread(target=send, args=(f"r{n}",)) for n in range(4)]
        for sender in senders:
            sender.start()
        try:
            for _ in range(5):
                before = sum(acknowledged.values())
                for _ in polls(60, 0.01):
                    if sum(acknowledged.values()) > before + 1000:
                        break
                server.kill()
                server.start()
        finally:
            has_ended.set()
            for sender in senders:
                sender.join(60)
        found = [(one["receiver"], one["seq"]) for one in server.lines()]
        assert len(found) == len(set(found))
        assert sum(acknowledged.values()) > 5000
        wanted = {(receiver, n) for receiver, last in acknowledged.items() for n in range(1, last + 1)}
        assert wanted <= set(found)
        for receiver, last in acknowledged.items():
            assert server.send([record(n, receiver) for n in range(1, last + 1)])["stored"] == 0


def test_what_was_sent_by_a_connection_that_broke_can_be_sent_again(log_server: LogServer) -> None:
    body = json.dumps({"records": [record(n) for n in range(1, 500)]}).encode()
    head = f"POST /v1/records HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    for part in (len(body) // 2, len(body)):
        with socket.create_connection(("127.0.0.1", log_server.port)) as broken:
            broken.sendall(head.encode() + body[:part])
    assert sum(log_server.send([record(n) for n in range(1, 500)]).values()) == 499
    assert [one["seq"] for one in log_server.lines()] == list(range(1, 500))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_refuses_clearly_and_breaks_nothing(small_disk: Path) -> None:
    with running_log_server(small_disk) as server:
        stored = 0
        while True:
            batch = [record(stored + n, text="x" * 1000) for n in range(1, 101)]
            status, answer = server.call("POST", "/v1/records", json.dumps({"records": batch}).encode())
            if status != 200:
                break
            stored += 100
        assert (status, answer["code"]) == (507, "disk-full"), answer
        assert "nothing of the request was stored" in answer["hint"]
        assert [one["seq"] for one in server.lines()] == list(range(1, stored + 1))
        assert server.call("GET", "/v1/jobs?limit=1000")[0] == 200
        server.kill()
        subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
        server.start()
        assert server.send(batch)["stored"] == 100
        assert [one["seq"] for one in server.lines()] == list(range(1, stored + 101))


def test_rotation_keeps_what_was_asked_for(tmp_path: Path) -> None:
    with running_log_server(tmp_path, "--max-size", "20Ki", "--keep", "2") as server:
        for first in range(1, 2001, 50):
            server.send([record(n) for n in range(first, first + 50)])
        full = list(tmp_path.glob("jobs.log.0*"))
        assert len(full) == 2
        numbers = [one["seq"] for one in server.lines()]
        assert numbers == list(range(numbers[0], 2001))
        assert numbers[0] > 1
        assert server.send([record(n) for n in range(1, 2001)])["stored"] == 0
