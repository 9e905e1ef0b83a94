"""Random commands, observations, silences and restarts on a real store; after each step everything fits together."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from muster.domain import tasks as task_rules
from muster.domain.elastic import spec_of_attempt
from muster.domain.errors import Conflict, Invalid
from muster.domain.events import Event
from muster.domain.jobs import HOLDING, Job
from muster.domain.reasons import Reason
from muster.domain.resources import Resources
from muster.domain.specs import Dependency, JobSpec, Priority
from muster.engine.lifecycle.consistency import differences
from muster.engine.lifecycle.cycling import carry_out
from muster.engine.requests import changing, commands
from muster.scheduling.plan import Plan, Preemption
from tests.parts.building import a_ps_spec, a_role, a_spec
from tests.parts.laboratory_machine import LaboratoryMachine, walk

pytestmark = [pytest.mark.fast]
FINAL_EVENTS = ("job.succeeded", "job.failed", "job.cancelled")
MADE_WAY = Reason("preempted", "made way for another")
SPECS: dict[str, Callable[..., JobSpec]] = {
    "single": lambda **fields: a_spec(a_role(cpu=3), **fields),
    "collective": lambda **fields: a_spec(a_role(replicas=2, cpu=2), **fields),
    "ps": lambda **fields: a_ps_spec(ps=1, workers=2, **fields),
    "elastic": lambda **fields: a_spec(a_role(replicas=2, cpu=2, least=1, most=3), **fields),
}


class Lifecycles(LaboratoryMachine):
    def __init__(self) -> None:
        super().__init__()
        self.versions: dict[str, int] = {}

    @initialize()
    def begin(self) -> None:
        self.lab.clusters.mkdir()
        (self.lab.clusters / "vcs.yaml").write_text("name: vision\n---\nname: speech\n")
        self.run(self.lab.open())

    # What happens

    @rule(
        kind=st.sampled_from(sorted(SPECS)),
        cluster=st.sampled_from([None, "vision", "speech"]),
        retry_max=st.integers(0, 1),
        held=st.booleans(),
        follows=st.booleans(),
    )
    def submit(self, kind: str, cluster: str | None, retry_max: int, held: bool, follows: bool) -> None:
        after = (Dependency(f"job-{self.count}"),) if follows and self.count else ()
        fields = {"cluster": cluster, "retry_max": retry_max, "held": held, "after": after}
        spec = SPECS[kind](name=f"job-{self.count + 1}", **fields)

        async def submitted() -> None:
            try:
                await self.lab.submit(spec)
                self.count += 1
            except Invalid:
                assert after, "only a job after one that failed can be refused here"

        self.run(submitted())

    @precondition(lambda self: self.count)
    @rule(which=st.integers(0, 20), command=st.sampled_from([commands.kill, commands.hold, commands.resume]))
    def ask(self, which: int, command: Callable[..., Coroutine[Any, Any, Job]]) -> None:
        jobs = self.jobs()

        async def asked() -> None:
            try:
                await command(self.lab.context, jobs[which % len(jobs)].id, "amy")
            except Conflict:
                pass  # the wrong moment: nothing may have changed, which the invariants see

        self.run(asked())

    @precondition(lambda self: self.count)
    @rule(
        which=st.integers(0, 20),
        what=st.sampled_from(
            [
                lambda context, job: changing.bump(context, job, "amy", Priority.HIGH, is_admin=False),
                lambda context, job: changing.move_to(context, job, "amy", "speech"),
                lambda context, job: changing.change(context, job, "amy", _smaller),
            ]
        ),
    )
    def change(self, which: int, what: Callable[..., Coroutine[Any, Any, Job]]) -> None:
        jobs = self.jobs()

        async def asked() -> None:
            try:
                await what(self.lab.context, jobs[which % len(jobs)].id)
            except (Conflict, Invalid):
                pass  # it runs, or the job it waits for has failed meanwhile

        self.run(asked())

    @precondition(lambda self: self.running())
    @rule(which=st.integers(0, 20))
    def make_way(self, which: int) -> None:
        running = self.running()
        job_id = running[which % len(running)].split(".")[0]
        cluster = self.lab.context.clusters["lab"]
        self.act(lambda: carry_out(self.lab.context, cluster, Plan(preemptions=(Preemption(job_id, MADE_WAY),))))

    @precondition(lambda self: self.running() and not self.lab.backend.is_away)
    @rule(which=st.integers(0, 20))
    def checkpoint(self, which: int) -> None:
        running = self.running()
        self.act(lambda: self.lab.backend.checkpoint(running[which % len(running)]))

    @precondition(lambda self: self.running())
    @rule(which=st.integers(0, 20), exit_code=st.sampled_from([0, 0, 0, 1, 127]))
    def task_ends(self, which: int, exit_code: int) -> None:
        running = self.running()
        self.act(lambda: self.lab.backend.end(running[which % len(running)], exit_code))

    @precondition(lambda self: self.lab.backend.is_away and self.running())
    @rule(which=st.integers(0, 20))
    def task_is_given_up(self, which: int) -> None:
        running = self.running()
        self.act(lambda: self.lab.backend.lose(running[which % len(running)]))

    @precondition(lambda self: not self.lab.backend.is_away)
    @rule()
    def node_leaves(self) -> None:
        self.act(self.lab.backend.leave)

    @precondition(lambda self: self.lab.backend.is_away)
    @rule()
    def node_comes_back(self) -> None:
        self.act(self.lab.backend.come_back)

    @rule(fault=st.sampled_from(["requests_lost", "answers_lost", "stop_errors"]))
    def something_will_go_wrong(self, fault: str) -> None:
        setattr(self.lab.backend, fault, 1)

    @rule(seconds=st.sampled_from([1.0, 400.0]))
    def time_passes(self, seconds: float) -> None:
        self.act(lambda: self.lab.pass_time(seconds))

    @rule()
    def restart(self) -> None:
        self.run(self.lab.restart())

    # What always holds

    @invariant()
    def everything_fits_together(self) -> None:
        if not hasattr(self.lab, "context"):
            return
        jobs, events = self.jobs(), self.runner.run(self.lab.events())
        told: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            if event.job_id and not event.kind.startswith("audit."):
                told[event.job_id].append(event)
        for job in jobs:
            self.check_story(job, told[job.id])
            assert job.version >= self.versions.get(job.id, 0)
            self.versions[job.id] = job.version
            self.check_memory(job)
        self.check_places(jobs)
        assert self.runner.run(differences(self.lab.context)) == []
        assert all(count == 1 for count in self.lab.backend.starts.values()), "a task was started twice"

    def check_story(self, job: Job, events: list[Event]) -> None:
        moves = [event.kind for event in events if event.kind.startswith("job.") and event.kind != "job.checkpointed"]
        assert moves[-1] == f"job.{job.state_name.lower()}", "the last event is the state"
        assert sum(kind in FINAL_EVENTS for kind in moves) == int(job.is_final), "one end at most"
        paths: dict[str, list[str]] = defaultdict(lambda: ["Launching"])
        for event in events:
            if event.kind.startswith("task."):
                paths[f"{event.data['name']} {event.data['attempt']}"].append(event.data["state"])
        for path in paths.values():
            states = [task_rules.TASK_STATES[name] for name in path]
            assert all(after in task_rules.LEGAL[before] for before, after in itertools.pairwise(states)), path

    def check_memory(self, job: Job) -> None:
        entry = self.lab.context.open_jobs.get(job.id)
        assert (entry is None) == job.is_final
        assert entry is None or entry.job == job, "memory shows what is committed"

    def check_places(self, jobs: list[Job]) -> None:
        holding = [job for job in jobs if isinstance(job.state, HOLDING)]
        taken = sum(role.replicas * role.resources.cpu_m for job in holding for role in spec_of_attempt(job).roles)
        cluster = self.lab.context.clusters["lab"]
        assert cluster.used("n1")[0] == taken <= 8000
        assert cluster.waiting == sum(job.state_name == "Queued" for job in jobs)

    def finish(self) -> None:
        """At last the node is there and everything is killed: then nothing is left of anything."""
        if self.lab.backend.is_away:
            self.act(self.lab.backend.come_back)
        for job in self.jobs():
            if not job.is_final:
                self.run(commands.kill(self.lab.context, job.id, "amy"))
        assert all(job.is_final for job in self.jobs())
        assert self.running() == [], "tasks were left running"
        assert self.lab.context.clusters["lab"].used("n1")[0] == 0


def _smaller(spec: JobSpec) -> JobSpec:
    return replace(spec, roles=tuple(replace(role, resources=Resources(1000)) for role in spec.roles))


def test_lifecycles_hold_together(database_template: Path) -> None:
    walk(Lifecycles, database_template, examples=25)
