"""A started backend as a server has it: with a listener that remembers, and the polling that engines ask for."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from muster.domain.gangs import Gang, make_gang
from muster.domain.launch_requests import GangLaunch
from muster.domain.resources import Placement, Resources
from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task, TaskLaunching, task_id
from muster.launch.composing import compose, ports_needed
from muster.lib.ids import new_id
from muster.ports.backend import Backend, Observation, Observed, Phase
from muster.ports.capabilities import EngineQueue
from tests.contract.backends.harness import OWNER, Harness

DEADLINE_S = 60.0
LOOK_EVERY_S = 0.02


class Observer:
    """Implements `ports.backend.BackendListener`. Says what was observed, and waits for what will be."""

    def __init__(self) -> None:
        self.seen: dict[str, list[Observation]] = defaultdict(list)
        self.reconnects: list[str | None] = []
        self._changed = asyncio.Event()

    def task_observed(self, cluster: str, observation: Observation) -> None:
        if observation not in self.seen[observation.task_id][-1:]:
            self.seen[observation.task_id].append(observation)
        self._wake()

    def nodes_changed(self, cluster: str) -> None:
        self._wake()

    def reconnected(self, cluster: str, node: str | None) -> None:
        self.reconnects.append(node)
        self._wake()

    async def sees(self, task: Task, phase: Phase) -> Observation:
        """The first observation of the task in this phase."""
        await self.until(lambda: phase in (one.phase for one in self.seen[task.id]))
        return next(one for one in self.seen[task.id] if one.phase is phase)

    async def until(self, condition: Callable[[], object]) -> None:
        """Looked at whenever the backend calls."""
        async with asyncio.timeout(DEADLINE_S):
            while not condition():
                await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


@dataclass(slots=True)
class Site:
    harness: Harness
    backend: Backend
    observer: Observer = field(default_factory=Observer)

    async def launch_of(
        self, replicas: int = 1, *, ports: int = 0, env: Mapping[str, str] | None = None, **fields: object
    ) -> GangLaunch:
        """A gang as the engine hands it over: placed if Muster places it here, with addresses, and composed."""
        unassigned = self.gang(replicas, ports=ports, env=env, **fields)
        gang = replace(unassigned, tasks=await self.backend.assign(unassigned, ports_of(unassigned)))
        for task in gang.tasks:
            self.harness.tasks.expect(task)
        return compose(gang)

    def gang(
        self, replicas: int = 1, *, ports: int = 0, env: Mapping[str, str] | None = None, **fields: object
    ) -> Gang:
        """Before addresses are assigned. Fields are those of the spec."""
        job_id = new_id()
        role = Role("worker", replicas, self.harness.tasks.command(), Resources(100), ports=ports, env=env or {})
        spec = JobSpec(job_id, (role,), **fields)  # type: ignore[arg-type]
        nodes = {node.name: node.address for node in self.backend.nodes()}
        where = Placement(self.harness.node, nodes.get(self.harness.node, ""))
        tasks = [
            Task(task_id(job_id, 1, "worker", n), job_id, 1, f"{job_id}-{n}", "worker", n, n, where, TaskLaunching(0.0))
            for n in range(replicas)
        ]
        return make_gang(job_id, OWNER, self.backend.cluster, 1, spec, tasks)

    async def running(self, replicas: int = 1, **more: object) -> tuple[Task, ...]:
        """The tasks of a gang that was launched and is observed running, with what was observed filled in."""
        launch = await self.launch_of(replicas, **more)  # type: ignore[arg-type]
        await self.backend.launch(launch)
        return tuple([await self.observed(task) for task in launch.gang.tasks])

    async def observed(self, task: Task) -> Task:
        seen = await self.observer.sees(task, Phase.RUNNING)
        return replace(task, handle=seen.handle, placement=replace(task.placement, node=seen.node or ""))


def ports_of(gang: Gang) -> dict[str, int]:
    return {task.id: ports_needed(gang.spec, gang.spec.role(task.role), task.index) for task in gang.tasks}


def named(answer: Observed, task: Task) -> Observation | None:
    """What the answer says about the task."""
    return next((one for one in answer.observations if one.task_id == task.id), None)


@asynccontextmanager
async def opened(harness: Harness) -> AsyncIterator[Site]:
    """A new backend over the harness's state; it answers when this begins."""
    site = Site(harness, harness.backend())
    await site.backend.start(site.observer)
    engine = site.backend.capabilities.engine
    polling = asyncio.create_task(_poll(site, engine)) if engine is not None else None
    try:
        await site.observer.until(lambda: answers(site.backend))
        yield site
    finally:
        if polling is not None:
            polling.cancel()
            with suppress(asyncio.CancelledError):
                await polling
        await site.backend.close()


def answers(backend: Backend) -> bool:
    nodes, engine = backend.nodes(), backend.capabilities.engine
    return bool(nodes) and all(node.is_usable for node in nodes) and (engine is None or engine.pool() is not None)


async def _poll(site: Site, engine: EngineQueue) -> None:
    """An engine is asked; it need not call."""
    while True:
        for observation in (await site.backend.observe_all()).observations:
            site.observer.task_observed(site.backend.cluster, observation)
        await asyncio.sleep(engine.poll_s)


async def becomes(condition: Callable[[], object]) -> None:
    """For what nobody calls about: looks again and again until the deadline."""
    async with asyncio.timeout(DEADLINE_S):
        while not condition():
            await asyncio.sleep(LOOK_EVERY_S)
