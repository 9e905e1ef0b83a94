"""Logs by line over HTTP, also of very long ones."""

from pathlib import Path

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique
from tests.parts.server import MusterServer, polls


@pytest.fixture
def me(people: People) -> Caller:
    return people.owner


def ended(me: Caller, **spec: object) -> str:
    job = me.submit({"name": unique("lines"), **spec})["id"]
    me.server.wait(job)
    return str(job)


def test_lines_have_numbers_offsets_and_times(me: Caller) -> None:
    job = ended(me, command="printf 'one\\n\\033[31mtwo\\033[0m\\nthree'", replicas=2)
    page = ok(me.get(f"/jobs/{job}/logs/lines?worker=worker-1"))
    assert [(line["n"], line["offset"], line["text"]) for line in page["lines"]] == [
        (1, 0, "one"),
        (2, 4, "\x1b[31mtwo\x1b[0m"),
        (3, 17, "three"),
    ]
    assert all(line["at"].endswith("Z") for line in page["lines"])
    assert (page["total"], page["sizeBytes"], page["droppedBytes"], page["isComplete"]) == (3, 22, 0, True)
    assert (page["worker"], page["attempt"]) == ("worker-1", 1)
    last = ok(me.get(f"/jobs/{job}/logs/lines?worker=worker-1&from=-1"))
    assert [line["text"] for line in last["lines"]] == ["three"]


def test_attempts_have_lines_of_their_own(me: Caller) -> None:
    job = ended(me, command="echo attempt $MUSTER_ATTEMPT; test $MUSTER_ATTEMPT = 2", retry={"max": 1})
    for query, expected in (("&attempt=1", "attempt 1"), ("&attempt=2", "attempt 2"), ("", "attempt 2")):
        (line,) = ok(me.get(f"/jobs/{job}/logs/lines?worker=worker-0{query}"))["lines"]
        assert line["text"] == expected


def test_a_task_that_has_not_started_has_no_lines_and_a_worker_that_never_will_is_not_found(me: Caller) -> None:
    job = me.submit({"name": unique("lines"), "command": "true", "hold": True})["id"]
    page = ok(me.get(f"/jobs/{job}/logs/lines?worker=worker-0"))
    assert (page["lines"], page["total"], page["isComplete"]) == ([], 0, False)
    problem(me.get(f"/jobs/{job}/logs/lines?worker=worker-7"), 404, "not-found")
    problem(me.get(f"/jobs/{job}/logs/lines"), 400, "bad-request")
    problem(me.get(f"/jobs/{job}/logs/lines?worker=worker-0&count=9999"), 400, "bad-request")


def test_a_running_task_is_read_from_both_ends(me: Caller, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    command = f"seq 1 200000; while [ ! -e {gate} ]; do sleep 0.05; done; echo last"
    job = me.submit({"name": unique("lines"), "command": command})["id"]
    path = f"/jobs/{job}/logs/lines?worker=worker-0&count=2"
    for _ in polls(60):
        page = ok(me.get(f"{path}&from=-2"))
        if page["total"] == 200_000:
            break
    assert [line["text"] for line in page["lines"]] == ["199999", "200000"]
    assert not page["isComplete"]
    assert [line["text"] for line in ok(me.get(f"{path}&from=123456"))["lines"]] == ["123456", "123457"]
    gate.touch()
    me.server.wait(job)
    page = ok(me.get(f"{path}&from=-2"))
    assert [(line["n"], line["text"]) for line in page["lines"]] == [(200_000, "200000"), (200_001, "last")]
    assert page["isComplete"]


def test_a_million_lines_are_read_from_anywhere(own_server: MusterServer) -> None:
    me = Caller(own_server, own_server.token)
    job = me.submit({"name": "million", "command": "echo small"})["id"]
    own_server.wait(job)
    (log,) = (own_server.home / "logs" / job).glob("*.log")
    log.write_bytes(b"".join(b"%07d %s\n" % (number, b"x" * 91) for number in range(1, 1_000_001)))
    path = f"/jobs/{job}/logs/lines?worker=worker-0"
    for first, number in ((-500, 999_501), (1, 1), (500_000, 500_000)):
        page = ok(me.get(f"{path}&from={first}"))
        assert (page["total"], page["sizeBytes"]) == (1_000_000, 100_000_000)
        assert [line["n"] for line in page["lines"]] == list(range(number, number + 500))
        assert all(line["text"].startswith(f"{line['n']:07} x") for line in page["lines"])


def test_all_workers_are_searched(me: Caller) -> None:
    job = ended(me, command='echo "start"; echo "RuntimeError: of worker $MUSTER_ROLE_INDEX"', replicas=3)
    path = f"/jobs/{job}/logs/search?q=runtimeerror"
    found = ok(me.get(path))
    assert [(item["worker"], item["n"], item["text"], item["ranges"]) for item in found["items"]] == [
        (f"worker-{index}", 2, f"RuntimeError: of worker {index}", [[0, 12]]) for index in range(3)
    ]
    assert (found["total"], found["isCut"], found["nextCursor"]) == (3, False, None)
    assert ok(me.get(f"{path}&case=true"))["total"] == 0
    assert [item["worker"] for item in ok(me.get(f"{path}&worker=worker-1"))["items"]] == ["worker-1"]
    first = ok(me.get(f"{path}&limit=1"))
    rest = ok(me.get(f"{path}&cursor={first['nextCursor']}"))
    assert [item["worker"] for item in [*first["items"], *rest["items"]]] == ["worker-0", "worker-1", "worker-2"]
    problem(me.get(f"{path}&worker=nobody"), 404, "not-found")
    problem(me.get(f"{path}&cursor=mine"), 422, "invalid")
    problem(me.get(f"/jobs/{job}/logs/search?q=a%0Ab"), 422, "invalid")
