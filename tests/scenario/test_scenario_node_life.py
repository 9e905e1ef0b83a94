"""Nodes leave and come back at random moments around starts, ends, kills and drains: nothing runs twice, and every job
ends."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from muster.domain.errors import Conflict
from muster.domain.jobs import HOLDING, Job
from muster.engine.lifecycle.consistency import differences
from muster.engine.nodes import administration
from muster.engine.requests import commands
from tests.parts.building import a_node, a_role, a_spec
from tests.parts.fake_backend import FakeBackend
from tests.parts.laboratory_machine import LaboratoryMachine, walk

pytestmark = [pytest.mark.fast]
NAMES = ("n1", "n2", "n3")
STEPS_TO_THE_END = 60


class NodeLife(LaboratoryMachine):
    def __init__(self) -> None:
        self.backend = FakeBackend([a_node(name) for name in NAMES])
        super().__init__(self.backend)

    @initialize()
    def begin(self) -> None:
        self.run(self.lab.open())

    # What happens

    @rule(tasks=st.integers(1, 3), retry_max=st.integers(0, 1))
    def submit(self, tasks: int, retry_max: int) -> None:
        self.count += 1
        spec = a_spec(a_role(replicas=tasks, cpu=5), name=f"job-{self.count}", retry_max=retry_max)
        self.run(self.lab.submit(spec))

    @precondition(lambda self: self.count)
    @rule(which=st.integers(0, 20), command=st.sampled_from([commands.kill, commands.hold, commands.resume]))
    def ask(self, which: int, command: Callable[..., Coroutine[Any, Any, Job]]) -> None:
        jobs = self.jobs()

        async def asked() -> None:
            try:
                await command(self.lab.context, jobs[which % len(jobs)].id, "amy")
            except Conflict:
                pass  # the wrong moment

        self.run(asked())

    @precondition(lambda self: self.running())
    @rule(which=st.integers(0, 20), exit_code=st.sampled_from([0, 0, 0, 1]))
    def task_ends(self, which: int, exit_code: int) -> None:
        live = self.running()
        self.act(lambda: self.backend.end(live[which % len(live)], exit_code))

    @rule(name=st.sampled_from(NAMES))
    def node_leaves(self, name: str) -> None:
        if name not in self.backend.away:
            self.act(lambda: self.backend.leave(name))

    @rule(name=st.sampled_from(NAMES))
    def node_comes_back(self, name: str) -> None:
        if name in self.backend.away:
            self.act(lambda: self.backend.come_back(name))

    @rule(name=st.sampled_from(NAMES), now=st.booleans())
    def drain(self, name: str, now: bool) -> None:
        self.run(administration.drain(self.lab.context, "lab", name, "", "root", now=now))

    @rule(name=st.sampled_from(NAMES))
    def uncordon(self, name: str) -> None:
        self.run(administration.uncordon(self.lab.context, "lab", name, "root"))

    @rule(fault=st.sampled_from(["requests_lost", "answers_lost", "stop_errors"]))
    def something_will_go_wrong(self, fault: str) -> None:
        setattr(self.backend, fault, 1)

    @rule(seconds=st.sampled_from([1.0, 30.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.act(lambda: self._pass(seconds))

    @rule()
    def restart(self) -> None:
        self.run(self.lab.restart())

    def _end_all(self) -> None:
        for task_id in self.running():
            self.backend.end(task_id)

    def _pass(self, seconds: float) -> None:
        self.lab.pass_time(seconds)
        self.backend.tell_nodes()

    # What always holds

    @invariant()
    def nothing_runs_twice(self) -> None:
        if not hasattr(self.lab, "context"):
            return
        assert all(count == 1 for count in self.backend.starts.values()), "a task was started twice"
        assert self.backend.moved == [], "a task was launched on a second node"
        assert self.runner.run(differences(self.lab.context)) == []
        if not self.backend.stop_errors:
            self.check_that_only_open_attempts_run()

    def check_that_only_open_attempts_run(self) -> None:
        """On nodes that answer; of others nobody can tell."""
        jobs = {job.id: job for job in self.jobs()}
        for task_id in self.running():
            job_id, attempt, *_ = task_id.split(".")
            if self.backend.tasks[task_id].request.node not in self.backend.away:
                job = jobs[job_id]
                assert isinstance(job.state, HOLDING), f"{task_id} runs, and its job is {job.state_name}"
                assert job.attempt == int(attempt), f"{task_id} runs, and its job is at attempt {job.attempt}"

    def finish(self) -> None:
        """At last all nodes are there and tasks do their work: then every job ends, and nothing is left."""
        for name in NAMES:
            self.node_comes_back(name)
            self.uncordon(name)
        for job in self.jobs():
            if job.state_name == "Held":
                self.run(commands.resume(self.lab.context, job.id, "amy"))
        for _ in range(STEPS_TO_THE_END):
            if all(job.is_final for job in self.jobs()):
                break
            self.act(self._end_all)
            self.time_passes(400.0)
        assert [job for job in self.jobs() if not job.is_final] == []
        assert self.running() == []
        assert all(self.lab.context.clusters["lab"].used(name)[0] == 0 for name in NAMES)


def test_node_life_holds_together(database_template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.engine.lifecycle.launching.ASK_AGAIN_S", 0.01)
    walk(NodeLife, database_template, examples=15)
