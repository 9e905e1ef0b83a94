"""`muster history` and `muster tracking-url`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.calling import muster
from tests.unit.client.tiny_server import Answer, TinyServer, problem

pytestmark = pytest.mark.fast
JOB: dict[str, Any] = {
    "id": "1m7qd6byk43mjze2",
    "receiver": "322927ab8c4d",
    "server": "http://one:7070",
    "name": "digits",
    "owner": "ada",
    "cluster": "lab",
    "state": "Failed",
    "submittedAt": "2026-01-01T00:00:00Z",
    "lastAt": "2026-01-01T00:00:09Z",
    "params": {"lr": 0.1},
    "framework": "torch",
    "fault": {"kind": "user"},
}
RECORDS = [
    {"kind": "job.queued", "at": "2026-01-01T00:00:00Z", "config": {"runtime": {"image": "torch:2"}}},
    {"kind": "task.failed", "at": "2026-01-01T00:00:01Z", "task": {"name": "worker-0", "node": "gpu1"}},
]


def page(*items: dict[str, Any], cursor: str | None = None) -> Answer:
    return Answer(200, {"items": list(items), "nextCursor": cursor, "onlyOwn": False})


def test_a_table_says_on_which_server_a_job_ran(server: TinyServer) -> None:
    server.on("GET", "/history", page(JOB))
    lines = muster(server, "history", "list", "--all").out.splitlines()
    assert lines[0].split() == ["NAME", "ID", "SERVER", "OWNER", "CLUSTER", "STATE", "SUBMITTED", "ENDED", "PARAMS"]
    assert lines[1].split()[:6] == ["digits", JOB["id"], "one:7070", "ada", "lab", "Failed"]
    assert lines[1].endswith("lr=0.1")


def test_all_pages_are_read_up_to_the_limit(server: TinyServer) -> None:
    server.on("GET", "/history", page(JOB, JOB, cursor="next"))
    found = json.loads(muster(server, "history", "list", "--limit", "4", "-o", "json").out)
    assert len(found["items"]) == 4


def test_a_job_is_found_by_its_name_and_shown_with_its_records(server: TinyServer) -> None:
    server.on("GET", "/history", page({**JOB, "name": "digits-2", "id": "other"}, JOB))
    server.on("GET", f"/history/{JOB['receiver']}/{JOB['id']}", Answer(200, {"job": JOB, "records": RECORDS}))
    out = muster(server, "history", "show", "digits").out
    assert "Fault:        user" in out
    assert "Environment:  image=torch:2 framework=torch" in out
    assert out.endswith("  2026-01-01T00:00:01Z  task.failed       worker-0 on gpu1\n")


@pytest.mark.parametrize("code", ["not-found", "forbidden"])
def test_a_job_that_this_server_does_not_have_is_shown_without_metrics(server: TinyServer, code: str) -> None:
    server.on("GET", "/history", page(JOB))
    server.on("GET", f"/history/{JOB['receiver']}/{JOB['id']}", Answer(200, {"job": JOB, "records": RECORDS}))
    server.on("GET", "/experiments", problem(404, code, "there is no such job"))
    assert "Metrics:" not in muster(server, "history", "show", "digits").out
    assert json.loads(muster(server, "history", "show", "digits", "-o", "json").out)["run"] is None


def test_a_job_that_is_not_there_is_said(server: TinyServer) -> None:
    server.on("GET", "/history", page())
    outcome = muster(server, "history", "show", "digits")
    assert outcome.code == 1
    assert "the history has no job digits" in outcome.err


def test_a_server_without_a_log_server_says_what_to_do(server: TinyServer) -> None:
    server.on("GET", "/history", problem(404, "not-found", "this server has no log server"))
    outcome = muster(server, "history", "list")
    assert outcome.code != 0
    assert "this server has no log server" in outcome.err


def test_a_task_sets_its_address_by_a_file_and_without_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_TASK_DIR", str(tmp_path))
    assert muster(None, "tracking-url", "https://h/1").code == 0
    assert (tmp_path / "tracking-url").read_text() == "https://h/1\n"
    outcome = muster(None, "tracking-url", "javascript:alert(1)")
    assert outcome.code == 2
    assert "is not an address" in outcome.err
    assert (tmp_path / "tracking-url").read_text() == "https://h/1\n"
    monkeypatch.delenv("MUSTER_TASK_DIR")
    outcome = muster(None, "tracking-url", "https://h/1")
    assert "only works inside a task" in outcome.err


def test_numbers_in_tables_have_six_digits(server: TinyServer) -> None:
    best = {"name": "net-1", "id": "1m7q", "state": "Succeeded", "params": {}}
    one = {"group": 0.1, "value": 6.0874999999999995, "mean": 2 / 3, "runs": 3, "best": best}
    server.on("GET", "/experiments/best", Answer(200, {"metric": "loss", "by": "lr", "goal": "min", "items": [one]}))
    outcome = muster(server, "history", "best", "--metric", "loss", "--min", "--by", "lr")
    assert outcome.out.splitlines()[1].split()[:4] == ["0.1", "6.0875", "0.666667", "3"]
