"""Logs as they are read: every line once and in order, whoever reads and whenever."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from tests.integration.api.calling import Caller, Sse, ok, problem
from tests.integration.api.people import People, unique
from tests.parts.server import MusterServer, polls


@pytest.fixture
def me(people: People) -> Caller:
    return people.owner


def read(me: Caller, job: str, query: str = "", after: str | None = None) -> list[Sse]:
    with me.stream(f"/jobs/{job}/logs?{query}", after=after) as events:
        return list(events)


def text_of(events: list[Sse], task: str = "") -> str:
    return "".join(e.data["text"] for e in events if e.event == "log" and e.data["task"].endswith(task))


def wait_until_printed(me: Caller, job: str, text: str) -> None:
    for _ in polls(30):
        if text_of(read(me, job)) == text:
            return
    raise AssertionError(f"never printed: {text!r}")


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(count))


def printing(count: int) -> str:
    return f"i=0; while [ $i -lt {count} ]; do echo line $i; i=$((i+1)); done"


def ended(me: Caller, **spec: object) -> str:
    job = me.submit({"name": unique("log"), **spec})["id"]
    me.server.wait(job)
    return str(job)


def test_a_follower_from_before_the_start_gets_every_line_once_in_order(me: Caller) -> None:
    job = me.submit({"name": unique("log"), "command": printing(5000), "hold": True})["id"]
    with me.stream(f"/jobs/{job}/logs?follow=true") as events:
        ok(me.post(f"/jobs/{job}/resume"))
        heard = list(events)
    assert heard[-1].event == "end"
    assert text_of(heard) == lines(5000)


def test_a_reader_resumes_in_the_middle_from_any_event(me: Caller) -> None:
    command = "for k in 1 2 3 4; do head -c 100000 /dev/zero | tr '\\0' $k; echo; done"
    job = ended(me, command=command)
    whole = read(me, job)
    pieces = [event for event in whole if event.event == "log"]
    assert len(pieces) > 4
    for place, event in enumerate(pieces):
        assert text_of(read(me, job, after=event.id)) == text_of(pieces[place + 1 :])
        assert text_of(read(me, job, f"cursor={event.id}")) == text_of(pieces[place + 1 :])


def test_a_follower_that_comes_back_after_a_crash_misses_nothing(own_server: MusterServer, tmp_path: Path) -> None:
    me, gate = Caller(own_server, own_server.token), tmp_path / "gate"
    command = f"{printing(100)}; while [ ! -e {gate} ]; do sleep 0.05; done; echo last"
    job = me.submit({"name": "crash", "command": command})["id"]
    heard: list[Sse] = []
    with me.stream(f"/jobs/{job}/logs?follow=true") as events:
        while text_of(heard) != lines(100):
            heard.append(next(events))
        own_server.kill()
    gate.touch()
    own_server.start()
    heard += read(me, job, "follow=true", after=heard[-1].id)
    assert text_of(heard) == lines(100) + "last\n"


def test_several_tasks_come_together_and_each_alone(me: Caller) -> None:
    job = ended(me, command='echo "i am $MUSTER_ROLE_INDEX"', replicas=3)
    whole = read(me, job)
    assert [text_of(whole, f"worker-{k}") for k in range(3)] == [f"i am {k}\n" for k in range(3)]
    assert text_of(read(me, job, "task=worker-1")) == "i am 1\n"
    assert sorted(text_of(read(me, job, "task=worker-0&task=worker-2")).split("\n")) == ["", "i am 0", "i am 2"]


@pytest.mark.parametrize("query", ["task=worker-9", "task=nobody", "task=worker-0&task=worker-9"])
def test_a_worker_that_a_job_does_not_have_is_not_found(me: Caller, query: str) -> None:
    held = me.submit({"name": unique("log"), "command": "true", "hold": True})["id"]
    for job in (held, ended(me, command="true")):
        for follow in ("", "&follow=true"):
            assert "worker-0" in problem(me.get(f"/jobs/{job}/logs?{query}{follow}"), 404, "not-found")["hint"]
    problem(me.get(f"/jobs/{held}/logs/raw?task=nobody"), 404, "not-found")


def test_a_queued_job_has_an_empty_log(me: Caller) -> None:
    job = me.submit({"name": unique("log"), "command": "true", "hold": True})["id"]
    assert [event.event for event in read(me, job)] == ["end"]


def test_a_follower_stays_through_retries(me: Caller) -> None:
    spec = {"command": "echo attempt $MUSTER_ATTEMPT; test $MUSTER_ATTEMPT = 2", "retry": {"max": 2}, "hold": True}
    job = me.submit({"name": unique("log"), **spec})["id"]
    with me.stream(f"/jobs/{job}/logs?follow=true") as events:
        ok(me.post(f"/jobs/{job}/resume"))
        heard = list(events)
    assert text_of(heard) == "attempt 1\nattempt 2\n"
    assert text_of(read(me, job, "attempt=1")) == "attempt 1\n"
    assert text_of(read(me, job)) == "attempt 2\n"
    assert text_of(read(me, job, after=heard[0].id)) == "attempt 2\n"


def test_a_killed_job_keeps_what_it_printed_to_the_end(me: Caller) -> None:
    command = "trap 'echo stopped; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    job = me.submit({"name": unique("log"), "command": command})["id"]
    with me.stream(f"/jobs/{job}/logs?follow=true") as events:
        first = next(events)
        ok(me.post(f"/jobs/{job}/kill"), 202)
        heard = [first, *events]
    assert text_of(heard).startswith("ready\n")
    assert text_of(heard).endswith("stopped\n")
    assert me.server.wait(job)["state"] == "Cancelled"
    assert text_of(read(me, job)) == text_of(heard)


@pytest.mark.parametrize(("tail", "expected"), [(0, ""), (1, "c"), (2, "b\nc"), (99, "a\nb\nc")])
def test_tail_counts_lines_also_an_unfinished_one(me: Caller, tail: int, expected: str) -> None:
    job = ended(me, command="printf 'a\\nb\\nc'")
    assert text_of(read(me, job, f"tail={tail}")) == expected


def test_tail_of_a_running_task_goes_on_with_what_comes(me: Caller, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    command = f"{printing(100)}; while [ ! -e {gate} ]; do sleep 0.05; done; echo last"
    job = me.submit({"name": unique("log"), "command": command})["id"]
    wait_until_printed(me, job, lines(100))
    with me.stream(f"/jobs/{job}/logs?follow=true&tail=2") as events:
        heard = [next(events)]
        gate.touch()
        heard += events
    assert text_of(heard) == "line 98\nline 99\nlast\n"


def test_binary_output_is_text_with_replacements_and_raw_byte_for_byte(me: Caller) -> None:
    job = ended(me, command="printf '\\000\\377\\376abc\\n\\200\\n'")
    assert text_of(read(me, job)) == "\0\ufffd\ufffdabc\n\ufffd\n"
    raw = me.get(f"/jobs/{job}/logs/raw?task=worker-0")
    assert raw.headers["content-type"] == "application/octet-stream"
    assert raw.content == b"\0\xff\xfeabc\n\x80\n"


def test_letters_of_many_bytes_are_not_torn(me: Caller) -> None:
    """One line that is longer than a piece, of letters that no piece's length is a multiple of."""
    job = ended(me, command="yes 汉字 | head -n 40000 | tr -d '\\n'")
    assert text_of(read(me, job)) == "汉字" * 40000


def test_a_look_at_an_unfinished_line_does_not_tear_it_for_a_follower(me: Caller, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    command = f"printf 'half \\346\\261'; while [ ! -e {gate} ]; do sleep 0.05; done; printf '\\211 whole\\n'"
    job = me.submit({"name": unique("log"), "command": command})["id"]
    wait_until_printed(me, job, "half ")
    with me.stream(f"/jobs/{job}/logs?follow=true") as events:
        gate.touch()
        heard = list(events)
    texts = [event.data["text"] for event in heard if event.event == "log"]
    assert "".join(texts) == "half 汉 whole\n"


@pytest.mark.parametrize("is_running", [False, True])
def test_raw_answers_ranges(me: Caller, tmp_path: Path, is_running: bool) -> None:
    gate = tmp_path / "gate"
    waiting = f"; while [ ! -e {gate} ]; do sleep 0.05; done" if is_running else ""
    job = me.submit({"name": unique("log"), "command": f"printf 0123456789{waiting}"})["id"]
    if not is_running:
        me.server.wait(job)
    wait_until_printed(me, job, "0123456789")
    path = f"/jobs/{job}/logs/raw?task=worker-0"
    for asked, content in (("2-4", b"234"), ("7-", b"789"), ("-2", b"89"), ("8-100", b"89")):
        answer = me.get(path, headers={"Range": f"bytes={asked}"})
        assert (answer.status_code, answer.content) == (206, content)
        assert answer.headers["content-range"].endswith("/10")
    assert me.get(path).content == b"0123456789"
    assert me.get(path, headers={"Range": "bytes=50-"}).status_code == 416
    gate.touch()


@pytest.mark.parametrize(
    "cursor", ["x", "1;", "1;a", "1;a=b", "²", "1;a=²", "9" * 5000, "1;a=" + "9" * 30, "1;" + "a=1;" * 5, "-1"]
)
def test_a_cursor_that_is_none_of_ours_is_refused(me: Caller, cursor: str) -> None:
    job = ended(me, command="true")
    problem(me.get(f"/jobs/{job}/logs", params={"cursor": cursor}), 422, "invalid")


def test_readers_that_leave_in_the_middle_leave_nothing_behind(own_server: MusterServer) -> None:
    me = Caller(own_server, own_server.token)
    job = me.submit({"name": "endless", "command": "while :; do echo $((i+=1)) some words to fill the line; done"})[
        "id"
    ]
    for _ in range(10):
        with me.stream(f"/jobs/{job}/logs?follow=true") as events:
            next(events)
    threads = [threading.Thread(target=lambda: _leave(me, job)) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    ok(me.post(f"/jobs/{job}/kill", {"grace": "0s"}), 202)
    own_server.wait(job)
    assert ok(me.get("/whoami"))
    errors = (own_server.home / "stderr.log").read_text()
    assert "Traceback" not in errors, errors[-3000:]
    assert '"error"' not in errors, errors[-3000:]


def _leave(me: Caller, job: str) -> None:
    with me.stream(f"/jobs/{job}/logs?follow=true") as events:
        for _ in range(20):
            next(events)


def test_a_large_log_is_tailed_and_ranged_without_being_loaded(own_server: MusterServer) -> None:
    me = Caller(own_server, own_server.token)
    job = me.submit({"name": "huge", "command": "echo small"})["id"]
    own_server.wait(job)
    (log,) = (own_server.home / "logs" / job).glob("*.log")
    ending = b"".join(b"line %d\n" % number for number in range(1000))
    with log.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        for _ in range(256):
            file.write((b"x" * 1023 + b"\n") * 1024)
        file.write(ending)
    before = _resident_bytes(own_server.pid)
    assert text_of(read(me, job, "tail=3")) == "line 997\nline 998\nline 999\n"
    path = f"/jobs/{job}/logs/raw?task=worker-0"
    assert me.get(path, headers={"Range": f"bytes=-{len(ending)}"}).content == ending
    with me.stream(f"/jobs/{job}/logs") as events:
        for _ in range(50):
            next(events)
    assert _resident_bytes(own_server.pid) - before < 50 << 20


def _resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS"))


def test_a_long_log_is_the_same_by_stream_and_raw(me: Caller) -> None:
    job = ended(me, command="seq 1 200000")
    raw = me.get(f"/jobs/{job}/logs/raw?task=worker-0").content
    streamed = text_of(read(me, job)).encode()
    assert hashlib.sha256(raw).hexdigest() == hashlib.sha256(streamed).hexdigest()
    assert raw.endswith(b"199999\n200000\n")
