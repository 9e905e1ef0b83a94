"""What random walks over a laboratory have in common: its loop, its folder, steps that settle, and the end."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from muster.domain.jobs import Job
from muster.ports.store import JobFilter
from tests.parts.fake_backend import FakeBackend
from tests.parts.laboratory import Laboratory


class LaboratoryMachine(RuleBasedStateMachine):
    """Subclasses open the laboratory, and say in `finish` what must be true at last."""

    template: Path

    def __init__(self, backend: FakeBackend | None = None) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="muster-walk-"))
        self.runner = asyncio.Runner()
        self.lab = Laboratory(self.folder, self.template, backend or FakeBackend())
        self.count = 0

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        async def step() -> Any:
            answer = await work
            await self.lab.settled()
            return answer

        return self.runner.run(step())

    def act(self, deed: Callable[[], None]) -> None:
        async def done() -> None:
            deed()

        self.run(done())

    def jobs(self) -> list[Job]:
        page = self.runner.run(self.lab.context.store.jobs(JobFilter(), limit=1000))
        found: list[Job] = page.items
        return found

    def running(self) -> list[str]:
        return [task_id for task_id, task in self.lab.backend.tasks.items() if task.runs]

    def teardown(self) -> None:
        try:
            if hasattr(self.lab, "context"):
                self.finish()
        finally:
            self.runner.run(self.lab.close())
            self.runner.close()
            shutil.rmtree(self.folder)

    def finish(self) -> None:
        """What must be true at last."""


def walk(machine: type[LaboratoryMachine], template: Path, examples: int) -> None:
    named = type(machine.__name__, (machine,), {"template": template})
    run_state_machine_as_test(
        named,
        settings=settings(
            max_examples=examples, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
