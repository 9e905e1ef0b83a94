"""The ports of a gang on agents: one for the whole job where Paddle's launcher can have it."""

from dataclasses import replace
from typing import Any

import pytest

from muster.backends.agents.addresses import Addresses
from muster.domain.gangs import Gang, make_gang
from muster.domain.specs import Framework
from muster.launch.composing import ports_needed
from tests.unit.launch.gangs import placed, role, spec

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
APART = (("n1", "10.0.0.1"), ("n2", "10.0.0.2"), ("n3", "10.0.0.3"))


class FakeAgent:
    """Gives the port that is asked for, unless it is taken, and else the next of its own."""

    def __init__(self, first: int, taken: tuple[int, ...] = ()) -> None:
        self._next = first
        self._taken = taken
        self._given: list[int] = []

    async def ask(self, _: str, *, owner: str, count: int, first: int | None = None) -> Any:
        del owner
        if first is not None and first not in (*self._taken, *self._given) and len(self._given) < count:
            self._given.append(first)
        while len(self._given) < count:
            self._given.append(self._next)
            self._next += 1
        return {"ports": sorted(self._given, key=lambda port: (port != first, port))[:count]}


async def ports_of(framework: Framework, agents: dict[str, FakeAgent], nodes: tuple[tuple[str, str], ...]) -> list[int]:
    """The first port of each task."""
    job = spec(role("worker", 3), framework=framework, gloo=0)
    tasks = [replace(task, placement=replace(task.placement, ports=())) for task in placed(job, nodes)]
    gang: Gang = make_gang("j1", "ada", "lab", 1, job, tasks)
    counts = {task.id: ports_needed(job, job.role(task.role), task.index) for task in tasks}
    assigned = await Addresses(lambda node: agents[node]).assign(gang, counts)  # type: ignore[arg-type,return-value]
    assert [len(task.placement.ports) for task in assigned] == [counts[task.id] for task in assigned]
    return [task.placement.ports[0] for task in assigned]


def an_agent_each(**taken: tuple[int, ...]) -> dict[str, FakeAgent]:
    return {name: FakeAgent(1000 * place, taken.get(name, ())) for place, name in enumerate(("n1", "n2", "n3"), 21)}


async def test_tasks_of_paddle_on_nodes_of_their_own_have_one_port() -> None:
    assert set(await ports_of(Framework.PADDLE, an_agent_each(), APART)) == {21000}


async def test_task_gets_another_port_where_that_of_the_job_is_taken() -> None:
    assert await ports_of(Framework.PADDLE, an_agent_each(n2=(21000,)), APART) == [21000, 22000, 21000]


async def test_tasks_that_share_a_node_and_those_of_other_frameworks_have_ports_of_their_own() -> None:
    together = (APART[0],)
    assert len(set(await ports_of(Framework.PADDLE, an_agent_each(), together))) == 3
    assert await ports_of(Framework.TENSORFLOW, an_agent_each(), APART) == [21000, 22000, 23000]
