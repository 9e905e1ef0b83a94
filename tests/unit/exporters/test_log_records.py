"""What the records of a job say, from its submission to its end."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from muster.domain.events import Event
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.jobs import Failed, Job, Queued
from muster.domain.used_resources import UsageSum
from muster.engine.state.event_builders import audit_event, job_event, task_event, tracking_event
from muster.exporters.log_server.masking import MASK, masked_spec
from muster.exporters.log_server.recording import recorder_of
from muster.ports.store import Change
from tests.contract.building import FULL_SPEC, a_job, a_task

pytestmark = pytest.mark.fast
ADDRESS = "https://muster.example.org"
record = recorder_of(ADDRESS)


def body(change: Change, event: Event) -> dict[str, Any]:
    text = record(change, event)
    assert text is not None
    found: dict[str, Any] = json.loads(text)
    return found


def submission(job: Job) -> Change:
    events = [audit_event("job.submit", "li", 1.0, job=job), job_event(job, 1.0, actor="li")]
    return Change(new_job=job, events=events)


def test_the_first_record_has_the_config_and_the_tracking_url() -> None:
    spec = replace(FULL_SPEC, name="net", params={"lr": 0.1, "most": math.inf})
    new = replace(a_job(name="net"), spec=spec, owner="li")
    change = submission(new)
    assert record(change, change.events[0]) is None, "an audit event is no record beside the event of the job"
    found = body(change, change.events[1])
    assert found["trackingUrl"] == f"{ADDRESS}/jobs/{new.id}"
    assert found["config"]["name"] == "net"
    assert found["params"] == {"lr": 0.1, "most": "Infinity"}
    assert (found["kind"], found["owner"], found["state"]) == ("job.queued", "li", "Queued")


def test_only_the_first_event_of_a_submission_has_the_config() -> None:
    new = a_job(name="net")
    events = [*submission(new).events, replace(job_event(new, 1.0), kind="job.starting")]
    change = replace(submission(new), events=events)
    assert "config" in body(change, change.events[1])
    assert "config" not in body(change, change.events[2])


def test_the_last_record_has_the_outcome_and_what_was_used() -> None:
    fault = Fault(FaultKind.USER, "exit-code", "x" * 10_000, "read its log")
    ended = replace(
        a_job(name="net"),
        state=Failed(9.0, fault),
        started_at=4.0,
        ended_at=9.0,
        ran_s=3600.0,
        used=UsageSum(tasks=1, cpu_s=5.0, peak_memory_bytes=1024),
        reason="y" * 10_000,
    )
    change = Change(job=ended, events=[job_event(ended, 9.0)])
    found = body(change, change.events[0])
    assert (found["fault"]["kind"], found["fault"]["code"]) == ("user", "exit-code")
    assert (len(found["fault"]["cause"]), len(found["reason"])) == (2048, 2048)
    assert found["used"]["peakMemoryBytes"] == 1024
    assert (found["startedAt"], found["endedAt"]) == ("1970-01-01T00:00:04.000Z", "1970-01-01T00:00:09.000Z")
    assert "config" not in found


def test_a_changed_spec_is_recorded_again() -> None:
    changed = replace(a_job(name="net"), state=Queued(1.0))
    change = Change(rewritten_job=changed, events=[job_event(changed, 2.0)])
    assert "config" in body(change, change.events[0])
    labelled = Change(rewritten_job=changed, events=[audit_event("job.label", "li", 2.0, job=changed)])
    assert body(labelled, labelled.events[0])["kind"] == "job.label"


def test_an_imported_job_is_one_record_with_its_outcome() -> None:
    fault = Fault(FaultKind.USER, "exit-code", "it failed")
    imported = replace(a_job(name="net"), state=Failed(9.0, fault), ended_at=9.0)
    change = Change(new_job=imported, events=[audit_event("job.import", "li", 2.0, job=imported)])
    found = body(change, change.events[0])
    assert (found["kind"], found["state"], found["fault"]["code"]) == ("job.import", "Failed", "exit-code")
    assert "config" in found


def test_an_address_that_a_task_set_is_the_tracking_url() -> None:
    told = replace(a_job(name="net"), tracking_url="http://x/1")
    change = Change(job=told, events=[tracking_event(told, 2.0)])
    found = body(change, change.events[0])
    assert (found["kind"], found["trackingUrl"]) == ("job.tracking", "http://x/1")


def test_a_record_of_a_task_says_which_one() -> None:
    owner = a_job(name="net")
    one = a_task(owner)
    change = Change(job=owner, tasks=[one], events=[task_event(one, "li", 3.0)])
    found = body(change, change.events[0])
    assert (found["jobId"], found["task"]["name"]) == (owner.id, one.name)
    assert "name" not in found


@pytest.mark.parametrize("kind", ["node.ready", "audit.user.add", "audit.job.kill"])
def test_other_events_have_no_record(kind: str) -> None:
    assert record(Change(), Event(kind, 1.0, "some-job")) is None


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ({"env": {"DB_PASSWORD": "x1", "EPOCHS": "3"}}, {"env": {"DB_PASSWORD": MASK, "EPOCHS": "3"}}),
        ({"w": {"env": {"AWS_SECRET_ACCESS_KEY": "x1"}}}, {"w": {"env": {"AWS_SECRET_ACCESS_KEY": MASK}}}),
        ({"params": {"token": "x1", "tokens": 5, "x": "b"}}, {"params": {"token": MASK, "tokens": 5, "x": "b"}}),
        ({"command": "train --password x1 --lr 2"}, {"command": f"train --password {MASK} --lr 2"}),
        ({"command": ["sh", "-c", "TOKEN=x1 run"]}, {"command": ["sh", "-c", f"TOKEN={MASK} run"]}),
        ({"env": {"DATA": "s3://me:x1@host/data"}}, {"env": {"DATA": f"s3://me:{MASK}@host/data"}}),
        ({"command": "curl -H 'Authorization: Bearer x1' u"}, None),
        ({"secrets": [{"name": "hf-token", "env": "T"}]}, {"secrets": [{"name": "hf-token", "env": "T"}]}),
        ({"priority": "normal", "retry": {"max": 3}}, {"priority": "normal", "retry": {"max": 3}}),
    ],
)
def test_what_looks_like_a_secret_is_hidden(written: dict[str, Any], shown: dict[str, Any] | None) -> None:
    found = masked_spec(written)
    assert "x1" not in json.dumps(found)
    if shown is not None:
        assert found == shown
