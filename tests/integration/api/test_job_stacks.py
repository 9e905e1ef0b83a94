"""Stacks of real tasks: who may see them, what they show and what they must not, and that they harm no process."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, new_user, unique
from tests.parts.server import polls

_PROGRAM = """
import multiprocessing, shutil, subprocess, sys, time, muster
muster.allow_stacks()

def waits_for_a_batch():
    while True:
        time.sleep(1000)

def waits_for_its_peers():
    child = subprocess.Popen(["sleep", "1000"])
    subprocess.Popen(["sh", "-c", "password=hunter2; sleep 1000; true"])
    subprocess.Popen([sys.executable, "-c", "password='hunter2'; import time; time.sleep(1000)"])
    subprocess.Popen(["worker --password=hunter2", "1000"], executable=shutil.which("sleep"))
    multiprocessing.get_context("fork").Process(target=waits_for_a_batch, daemon=True).start()
    print("ready", flush=True)
    print("the child ended with", child.wait(), flush=True)

waits_for_its_peers()
"""
_COMMAND = f"cat > train.py <<'END'\n{_PROGRAM}\nEND\nexec python3 train.py --password=hunter2"


@pytest.fixture(scope="module")
def job(people: People) -> Iterator[str]:
    spec = {
        "name": unique("stacks"),
        "command": _COMMAND,
        "env": {"SECRET": "swordfish"},
        "replicas": 2,
        "resources": {"cpu": "50m"},
    }
    made = str(people.owner.submit(spec)["id"])
    for _ in polls(60):
        tasks = ok(people.owner.get(f"/jobs/{made}/tasks"))["items"]
        if len(tasks) == 2 and all(said(people.owner, made, task["name"]) for task in tasks):
            break
    else:
        raise AssertionError(tasks)
    yield made
    ok(people.owner.post(f"/jobs/{made}/kill", {"grace": "0s"}), 202)


def said(caller: Caller, job: str, task: str) -> bool:
    answer = caller.get(f"/jobs/{job}/logs/raw", params={"task": task})
    return answer.status_code == 200 and "ready" in answer.text


def collected(caller: Caller, job: str) -> Any:
    """A child that was just forked has perhaps not asked for the signal yet."""
    for _ in polls(60):
        found = ok(caller.post(f"/jobs/{job}/stacks"))
        if all("waits_for_a_batch" in task["text"] for task in found["tasks"]):
            return found
    raise AssertionError(found)


def test_the_lines_where_the_processes_of_all_tasks_stand_are_shown_and_kept(people: People, job: str) -> None:
    found = collected(people.owner, job)
    assert [task["problem"] for task in found["tasks"]] == ["", ""]
    for task in found["tasks"]:
        assert "in waits_for_its_peers" in task["text"]
        assert ": sleep" in task["text"], "a process that is no Python is shown too"
        assert re.search(r": python3\S* train\.py\n", task["text"])
        assert "hunter2" not in task["text"], "neither an argument, nor code, nor a title is shown"
        assert "swordfish" not in task["text"]
    assert ok(people.owner.get(f"/jobs/{job}/stacks"))["items"][0] == found
    (one,) = ok(people.owner.post(f"/jobs/{job}/stacks", params={"worker": "1"}))["tasks"]
    assert one["task"].endswith("worker-1")


def test_no_process_is_stopped_by_it(people: People, job: str) -> None:
    for _ in range(3):
        collected(people.owner, job)
    assert ok(people.owner.get(f"/jobs/{job}"))["state"] == "Running"
    for task in ok(people.owner.get(f"/jobs/{job}/tasks"))["items"]:
        log = people.owner.get(f"/jobs/{job}/logs/raw", params={"task": task["name"]}).text
        assert log == "ready\n", "neither a stack nor the end of a child is in the log of the task"


def test_only_the_owner_and_admins_may_collect_or_see_them(people: People, job: str) -> None:
    other = new_user(people.admin, "other")
    problem(other.post(f"/jobs/{job}/stacks"), 403, "forbidden")
    problem(other.get(f"/jobs/{job}/stacks"), 403, "forbidden")
    by = ok(people.admin.post(f"/jobs/{job}/stacks"))["by"]
    events = ok(people.admin.get("/audit", params={"kind": "job.stacks", "limit": 100}))["items"]
    asked = [event for event in events if event["jobId"] == job]
    assert by in {event["actor"] for event in asked}
    assert other.name not in {event["actor"] for event in asked}


def test_a_job_that_does_not_run_has_none(people: People) -> None:
    held = people.owner.submit({"name": unique("held"), "command": "true", "hold": True})["id"]
    assert "no running task" in problem(people.owner.post(f"/jobs/{held}/stacks"), 409, "conflict")["detail"]
    assert ok(people.owner.get(f"/jobs/{held}/stacks"))["items"] == []
