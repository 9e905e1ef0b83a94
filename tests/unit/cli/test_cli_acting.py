"""Waiting for jobs, stopping them, and asking why."""

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from muster.api.explanations import ExplainOut
from muster.cli.explaining import start_text
from muster.client.handles import JobHandle
from muster.client.views import JobView
from tests.unit.cli.calling import ID, muster, with_job
from tests.unit.client.tiny_server import Answer, TinyServer, a_job, problem

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(("states", "code"), [(["Succeeded"], 0), (["Succeeded", "Failed"], 1)])
def test_wait_exits_by_all_outcomes(server: TinyServer, states: list[str], code: int) -> None:
    for place, state in enumerate(states):
        job = a_job(id=f"id{place}", name=f"job{place}", state=state)
        server.on("GET", f"/jobs/job{place}", Answer(200, job))
        server.on("GET", f"/jobs/id{place}/wait", Answer(200, job))
    assert muster(server, "wait", *(f"job{place}" for place in range(len(states)))).code == code


def test_interrupted_wait_says_that_the_jobs_continue(server: TinyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, state in enumerate(["Succeeded", "Running", "Queued"]):
        job = a_job(name=f"job{place}", id=f"id{place}", state=state)
        server.on("GET", f"/jobs/job{place}", Answer(200, job))
    monkeypatch.setattr(JobHandle, "wait", _ended_or_interrupted)
    outcome = muster(server, "wait", "job0", "job1", "job2")
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err.endswith(
        "\nno longer waiting; jobs job1 and job2 continue\n"
        "  muster wait job1 job2    wait again\n"
        "  muster kill job1 job2    stop them\n"
    )


def test_interrupted_wait_for_one_job_names_it(server: TinyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with_job(server)
    monkeypatch.setattr(JobHandle, "wait", _ended_or_interrupted)
    outcome = muster(server, "wait", "mnist")
    assert outcome.code == 130
    assert outcome.err == (
        "\nno longer waiting; job mnist continues\n  muster wait mnist    wait again\n  muster kill mnist    stop it\n"
    )


def _ended_or_interrupted(handle: JobHandle, _timeout: float | None = None) -> JobView:
    if not handle.view.ended:
        raise KeyboardInterrupt
    return handle.view


def test_wait_that_times_out_exits_124(server: TinyServer) -> None:
    with_job(server)
    server.on("GET", f"/jobs/{ID}/wait", Answer(200, a_job()))
    assert muster(server, "wait", "mnist", "--timeout", "10ms").code == 124
    assert muster(server, "wait", "mnist", "--timeout", "soon").code == 2


@pytest.mark.parametrize("verb", ["kill", "cancel", "stop"])
def test_kill_goes_by_three_names(server: TinyServer, verb: str) -> None:
    with_job(server)
    server.on("POST", f"/jobs/{ID}/kill", Answer(202, a_job(state="Stopping")))
    outcome = muster(server, verb, "mnist", "--grace", "30s")
    assert (outcome.code, outcome.out) == (0, "mnist\n")
    assert server.asked[-1].json == {"grace": "30s"}


def test_retry_says_that_it_made_a_new_job(server: TinyServer) -> None:
    with_job(server, state="Failed")
    server.on("POST", f"/jobs/{ID}/retry", Answer(201, a_job(id="02newnewnewnew02", state="Queued")))
    outcome = muster(server, "retry", "@last")
    assert (outcome.code, outcome.out) == (0, "mnist\n")
    assert outcome.err == "submitted job mnist again, as the new job 02newnewnewnew02, which is Queued\n"


def test_one_failure_does_not_stop_the_others(server: TinyServer) -> None:
    with_job(server)
    server.on("GET", "/jobs/absent", problem(404, "not-found", "there is no job absent"))
    server.on("POST", f"/jobs/{ID}/hold", Answer(200, a_job(state="Held")))
    outcome = muster(server, "hold", "absent", "mnist")
    assert (outcome.code, outcome.out) == (1, "mnist\n")
    assert "1 of 2 failed" in outcome.err
    assert "there is no job absent" in outcome.err


def test_delete_asks_before_and_not_with_yes(server: TinyServer) -> None:
    with_job(server)
    server.on("DELETE", f"/jobs/{ID}", Answer(204, b""))
    assert muster(server, "delete", "mnist", stdin="").code == 2
    assert server.requests("DELETE", f"/jobs/{ID}") == []
    assert muster(server, "delete", "-y", "@last").code == 0
    assert len(server.requests("DELETE", f"/jobs/{ID}")) == 1


EXPLANATION: ExplainOut = {
    "job": "mnist",
    "state": "Failed",
    "summary": "worker-1 ran out of GPU memory",
    "reasons": [{"code": "no-gpu", "message": "needs 8 GPUs, 6 are free", "change": "job other ends", "numbers": {}}],
    "fault": {
        "kind": "user",
        "code": "cuda-oom",
        "cause": "CUDA ran out of memory.",
        "advice": "Make the batch smaller.",
        "task": "mnist-worker-1",
        "exitCode": 1,
        "signal": None,
        "retryable": False,
        "words": {},
    },
    "evidence": ["RuntimeError: CUDA out of memory"],
    "attempts": [
        {"attempt": 1, "startedAt": None, "endedAt": None, "outcome": "failed: x", "stoppedBecause": ""},
        {"attempt": 2, "startedAt": None, "endedAt": None, "outcome": "failed", "stoppedBecause": ""},
    ],
    "next": "Change the batch size and `muster retry mnist`.",
    "startsAt": None,
    "startsBy": None,
    "whatIf": None,
}


def test_explanation_reads_as_text(server: TinyServer) -> None:
    with_job(server)
    server.on("GET", f"/jobs/{ID}/explain", Answer(200, EXPLANATION))
    text = muster(server, "explain", "mnist").out
    for said in (
        "mnist is Failed",
        "needs 8 GPUs, 6 are free",
        "would change if: job other ends",
        "Fault: user in mnist-worker-1, exit code 1",
        "Cause:  CUDA ran out of memory.",
        "Advice: Make the batch smaller.",
        "  | RuntimeError: CUDA out of memory",
        "1. failed: x",
        "Next: Change the batch size",
    ):
        assert said in text
    assert muster(server, "explain", "mnist", "-o", "json").document == EXPLANATION


def test_what_if_is_asked_and_its_answer_read_out(server: TinyServer) -> None:
    with_job(server)
    waits = {"code": "share", "message": "vision has 4 of its 4 GPUs", "change": "", "numbers": {}}
    supposed = {"changes": {"gpus": 2, "vc": "vision"}, "reasons": [waits], "startsAt": "2020-01-02T03:04:05.678Z"}
    told = {**EXPLANATION, "fault": None, "startsAt": "2999-01-02T03:04:05.678Z", "whatIf": supposed}
    server.on("GET", f"/jobs/{ID}/explain", Answer(200, told))
    text = muster(server, "explain", "mnist", "--what-if", "gpus=2", "--what-if", "vc=vision").out
    assert server.asked[-1].query == {"what_if": ["gpus=2", "vc=vision"]}
    assert "Starts in more than 7 days, by what is known now." in text
    assert "With gpus=2, vc=vision: it would start at once\n  - vision has 4 of its 4 GPUs" in text


def test_a_start_today_is_told_by_the_clock_alone() -> None:
    noon = datetime(2026, 5, 4, 12).astimezone()
    soon, tomorrow = noon + timedelta(hours=2, minutes=20), noon + timedelta(hours=20)
    assert start_text(soon, None, noon) == "at about 14:20"
    assert start_text(tomorrow, None, noon) == "at about 08:00 on 2026-05-05"
    assert start_text(noon, None, noon) == "at once"
    assert start_text(noon + timedelta(days=365), None, noon) == "in more than 7 days, by what is known now"
    assert start_text(soon, tomorrow, noon) == "between 14:20 and 08:00 on 2026-05-05"
    assert start_text(soon, soon + timedelta(seconds=10), noon) == "at about 14:20"


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (["bump", "mnist"], {"priority": "urgent"}),
        (["bump", "mnist", "--priority", "low"], {"priority": "low"}),
        (["move", "mnist", "--to", "vision"], {"to": "vision"}),
        (["change", "mnist", "--set", "resources.gpu=2", "--set", "timeLimit=2h"],
         {"set": {"resources.gpu": 2, "timeLimit": "2h"}}),
    ],
)  # fmt: skip
def test_a_waiting_job_is_changed(server: TinyServer, words: list[str], sent: dict[str, Any]) -> None:
    with_job(server)
    server.on("POST", f"/jobs/{ID}/{words[0]}", Answer(200, a_job(state="Queued")))
    outcome = muster(server, *words)
    assert (outcome.code, outcome.out) == (0, "mnist\n")
    assert server.asked[-1].json == sent


def test_a_change_needs_something_to_change(server: TinyServer) -> None:
    assert muster(server, "change", "mnist").code == 2
    assert muster(server, "change", "mnist", "--set", "nothing").code == 2
    assert muster(server, "move", "mnist").code == 2


def test_a_checkpoint_is_said_by_a_file_and_without_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_TASK_DIR", str(tmp_path))
    assert muster(None, "checkpoint-done").code == 0
    os.utime(tmp_path / "checkpoint", (5, 5))
    assert muster(None, "checkpoint-done").code == 0
    assert (tmp_path / "checkpoint").stat().st_mtime > 5


def test_outside_a_task_there_is_no_checkpoint_to_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUSTER_TASK_DIR", raising=False)
    outcome = muster(None, "checkpoint-done")
    assert (outcome.code, "MUSTER_TASK_DIR is not set" in outcome.err) == (2, True)
    monkeypatch.setenv("MUSTER_TASK_DIR", str(tmp_path / "gone"))
    outcome = muster(None, "checkpoint-done")
    assert (outcome.code, "cannot write" in outcome.err) == (1, True)
