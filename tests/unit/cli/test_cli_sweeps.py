"""What `muster sweep` shows."""

from dataclasses import replace
from typing import Any, cast

import pytest

from muster.cli.submitted_sweeps import outcome_text
from muster.cli.sweep_metrics import reported_instead
from muster.cli.tables.output import table_lines
from muster.cli.tables.sweep_columns import sweep_columns
from muster.client.client import Client
from muster.client.sweep_views import MemberView, SweepView
from tests.unit.cli.calling import muster, with_job
from tests.unit.client.tiny_server import Answer, TinyServer, a_job

pytestmark = pytest.mark.fast


def a_sweep(state: str, members: int, made: int, **counts: int) -> SweepView:
    raw = {"id": "s1", "name": "search", "owner": "amy", "state": state, "members": members, "made": made}
    return SweepView.of(cast("Any", {**raw, "counts": counts}))


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        (a_sweep("Succeeded", 6, 6, Succeeded=3, Cancelled=3), "3 succeeded, 3 cancelled"),
        (a_sweep("Cancelled", 5, 3, Cancelled=3), "3 cancelled, 2 never made"),
        (a_sweep("Stopping", 5, 3, Stopping=1, Cancelled=2), "2 cancelled, 1 active, 2 never made"),
        (a_sweep("Running", 5, 3, Running=1, Held=1, Queued=1), "1 active, 4 waiting"),
        (a_sweep("Succeeded", 4, 4, Succeeded=3), "3 succeeded, 1 deleted"),
    ],
)
def test_the_numbers_of_members_add_up(sweep: SweepView, said: str) -> None:
    assert outcome_text(sweep) == said
    names, values = table_lines([sweep], sweep_columns([sweep]), "table")
    words = names.replace("NEVER MADE", "NEVER-MADE").split()
    row = dict(zip(words, values.split(), strict=False))
    parts = ("SUCC", "FAIL", "CANCELLED", "ACTIVE", "WAIT", "NEVER-MADE", "DELETED")
    assert int(row["MEMBERS"]) == sum(int(row.get(part, 0)) for part in parts)


class Reporting:
    """A client of a server whose jobs have all reported these metrics."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def metrics(self, _job: str, _query: object) -> dict[str, Any]:
        return {"metrics": [{"name": name} for name in self.names]}


def reported(metric: str, *names: str, **more: Any) -> str:
    raw = {"member": 1, "name": "search-1", "job": "j1", "state": "Running", "startedAt": "2026-01-01T00:00:00Z"}
    sweep = a_sweep("Running", 1, 1, Running=1)
    member = MemberView.of(cast("Any", {**raw, **more}))
    return reported_instead(cast("Client", Reporting(*names)), replace(sweep, metric=metric), [member])


def test_a_metric_that_no_member_reports_is_told_with_those_that_they_do_report() -> None:
    assert reported("acuracy", "loss", "accuracy") == "They have reported: accuracy, loss; did you mean accuracy?"
    assert reported("acuracy", "steps") == "They have reported: steps"


def test_nothing_is_said_while_nothing_is_wrong() -> None:
    assert not reported("", "loss")
    assert not reported("accuracy")
    assert not reported("accuracy", "accuracy", "loss")
    assert not reported("accuracy", "loss", value=0.5)
    assert not reported("accuracy", "loss", diverged=True)
    assert not reported("accuracy", "loss", startedAt=None)


def test_describe_of_a_member_names_its_sweep(server: TinyServer) -> None:
    job = with_job(server, sweep="s1", member=7)
    server.on("GET", "/sweeps/s1", Answer(200, dict(a_sweep("Running", 9, 9).raw)))
    server.on("GET", f"/jobs/{job['id']}/events", Answer(200, {"items": []}))
    server.on("GET", f"/jobs/{job['id']}/spec", Answer(200, {"spec": {}, "template": {}}))
    outcome = muster(server, "describe", job["name"])
    assert outcome.code == 0, outcome.err
    assert "search, member 7" in outcome.out


@pytest.mark.parametrize(("member", "is_said"), [({"sweep": "s1", "member": 7}, True), ({}, False)])
def test_retry_of_a_member_says_that_the_new_job_is_none(
    server: TinyServer, member: dict[str, Any], *, is_said: bool
) -> None:
    job = with_job(server, state="Failed", **member)
    server.on("POST", f"/jobs/{job['id']}/retry", Answer(201, a_job(id="new", name=job["name"])))
    outcome = muster(server, "retry", job["name"])
    assert outcome.code == 0, outcome.err
    assert ("no member of the sweep" in outcome.err) is is_said


def _known(server: TinyServer, state: str, **counts: int) -> None:
    sweep = {**a_sweep(state, 2, 2, **counts).raw, "params": ["lr"], "metric": None, "goal": None, "best": None}
    for path in ("/sweeps/search", "/sweeps/s1"):
        server.on("GET", path, Answer(200, sweep))
    member = {"member": 1, "name": "search-1", "job": "j1", "state": "Failed", "params": {"lr": 1}, "reason": ""}
    server.on("GET", "/sweeps/s1/members", Answer(200, {"items": [member], "nextMember": None}))


@pytest.mark.parametrize(("state", "code"), [("Succeeded", 0), ("Failed", 1)])
def test_waiting_for_a_sweep_ends_as_it_ended(server: TinyServer, state: str, code: int) -> None:
    _known(server, state, Succeeded=2)
    outcome = muster(server, "sweep", "wait", "search")
    assert (outcome.code, outcome.out) == (code, "search\n")
    assert f"sweep search is {state}: 2 succeeded" in outcome.err


def test_interrupted_waiting_says_that_the_sweep_continues(server: TinyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    _known(server, "Running", Running=2)
    monkeypatch.setattr("muster.cli.submitted_sweeps.time.sleep", interrupted)
    outcome = muster(server, "sweep", "wait", "search")
    assert (outcome.code, "sweep search continues" in outcome.err) == (130, True)


def test_failed_members_are_retried(server: TinyServer) -> None:
    _known(server, "Failed", Succeeded=1, Failed=1)
    server.on("GET", "/jobs/j1", Answer(200, a_job(id="j1", name="search-1", state="Failed")))
    server.on("POST", "/jobs/j1/retry", Answer(201, a_job(id="j2", name="search-1", state="Queued")))
    assert muster(server, "sweep", "retry", "search").out == "j2\n"
