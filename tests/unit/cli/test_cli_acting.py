"""Waiting for jobs, stopping them, and asking why."""

from typing import Any

import pytest

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


EXPLANATION: dict[str, Any] = {
    "job": "mnist",
    "state": "Failed",
    "summary": "worker-1 ran out of GPU memory",
    "reasons": [{"code": "no-gpu", "message": "needs 8 GPUs, 6 are free", "change": "job other ends"}],
    "fault": {
        "kind": "user",
        "code": "cuda-oom",
        "cause": "CUDA ran out of memory.",
        "advice": "Make the batch smaller.",
        "task": "mnist-worker-1",
        "exitCode": 1,
        "signal": None,
        "retryable": False,
    },
    "evidence": ["RuntimeError: CUDA out of memory"],
    "attempts": [{"attempt": 1, "verdict": "Failed", "reason": "x"}, {"attempt": 2, "verdict": "Failed"}],
    "next": "Change the batch size and `muster retry mnist`.",
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
        "1. Failed: x",
        "Next: Change the batch size",
    ):
        assert said in text
    assert muster(server, "explain", "mnist", "-o", "json").document == EXPLANATION
