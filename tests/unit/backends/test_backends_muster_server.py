"""What the other server says of a job that was handed on to it, as observations here."""

from typing import Any

import pytest

from muster.backends.muster_server.answers import ToldJob
from muster.backends.muster_server.observing import observations, read_jobs
from muster.ports.backend import Observation, Phase


def told(state: str, task_state: str, **more: Any) -> dict[str, Any]:
    task = {
        **{
            "role": "worker",
            "index": 0,
            "state": task_state,
            "node": "n1",
            "fault": None,
            "exitCode": 137,
            "signal": 9,
        },
        **{"startedAt": "2026-01-01T00:00:00Z", "endedAt": "2026-01-01T00:01:00Z"},
    }
    return {
        **{"id": "there", "job": "here", "attempt": 1, "attempts": 1, "roles": {"worker": 1}, "tasks": [task]},
        **{"state": state, "reason": "", "fault": None, "cancelledBy": None, "checkpointAt": None, "trackingUrl": ""},
        **more,
    }


def observed(document: dict[str, Any]) -> Observation:
    (job,) = read_jobs([ToldJob.model_validate(document)]).values()
    (found,) = observations(job, "handle", "far")
    return found


def test_a_task_that_was_stopped_goes_on_until_its_job_says_why() -> None:
    assert observed(told("Stopping", "Stopped")).phase is Phase.RUNNING
    ended = observed(told("Cancelled", "Stopped", cancelledBy="ann"))
    assert (ended.phase, ended.stopped, ended.cancelled) == (Phase.ENDED, True, "It was stopped on far by ann.")


@pytest.mark.parametrize("state", ["Running", "Stopping", "Failed"])
def test_a_task_that_failed_by_itself_has_ended_at_once(state: str) -> None:
    ended = observed(told(state, "Failed"))
    assert (ended.phase, ended.exit_code, ended.stopped, ended.cancelled) == (Phase.ENDED, 137, False, "")


def test_what_a_terminal_would_obey_is_not_passed_on() -> None:
    waits = observed(told("Queued", "Waiting", tasks=[], reason="no room\x1b]0;title\x07\x1b[2J\x9b"))
    assert waits.wait_reason == "no room?]0;title??[2J?"
