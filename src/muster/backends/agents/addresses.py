"""Assigns addresses to the tasks of a gang: free ports are reserved on the nodes before anything is launched."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice

from muster.backends.agents.connection import AgentNode
from muster.domain.gangs import Gang
from muster.domain.specs import Framework
from muster.domain.tasks import Task


class Addresses:
    """Implements `ports.capabilities.PortReservations`, and `assign` for the pool."""

    def __init__(self, agent: Callable[[str], AgentNode]) -> None:
        self._agent = agent

    async def assign(self, gang: Gang, ports: Mapping[str, int]) -> tuple[Task, ...]:
        """Reserve ports on all nodes at once. If one node refuses, the answers of the others are awaited too, so that
        what they reserved can be released."""
        by_node: dict[str, list[Task]] = defaultdict(list)
        for task in gang.tasks:
            if ports.get(task.id):
                by_node[task.placement.node].append(task)
        if not by_node:
            return gang.tasks
        counts = {node: sum(ports[task.id] for task in tasks) for node, tasks in by_node.items()}
        first = await self._port_of_job(gang, counts) if _wants_one_port(gang) else None
        answers = await asyncio.gather(
            *(self._reserve(node, gang.key, count, first) for node, count in counts.items()), return_exceptions=True
        )
        reserved: dict[str, tuple[int, ...]] = {}
        for tasks, found in zip(by_node.values(), answers, strict=True):
            if isinstance(found, BaseException):
                raise found
            left = iter(found)
            reserved |= {task.id: tuple(islice(left, ports[task.id])) for task in tasks}
        return tuple(_with_ports(task, reserved.get(task.id)) for task in gang.tasks)

    async def release(self, gang: Gang) -> None:
        nodes = {task.placement.node for task in gang.tasks}
        answers = await asyncio.gather(
            *(self._agent(node).ask("release_ports", owner=gang.key) for node in nodes), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def _port_of_job(self, gang: Gang, counts: Mapping[str, int]) -> int:
        """The port that the node of the first task gives, for which the others are then asked. Where it is taken, a
        task gets another one."""
        node = next(iter(counts))
        return (await self._reserve(node, gang.key, counts[node]))[0]

    async def _reserve(self, node: str, owner: str, count: int, first: int | None = None) -> tuple[int, ...]:
        asked = {} if first is None else {"first": first}
        answer = await self._agent(node).ask("reserve_ports", owner=owner, count=count, **asked)
        return tuple(answer["ports"])


def _wants_one_port(gang: Gang) -> bool:
    """Paddle's older launcher expects the processes of every task at the same ports, which tasks that share an address
    cannot have."""
    return gang.spec.framework is Framework.PADDLE and 1 < len(gang.tasks) == len(gang.hosts)


def _with_ports(task: Task, ports: tuple[int, ...] | None) -> Task:
    return task if ports is None else replace(task, placement=replace(task.placement, ports=ports))
