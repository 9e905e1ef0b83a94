"""Runs the health checks of a cluster on each of its nodes. A node that fails one is held: it gets no new tasks until
the check passes, and what runs there continues.

A node that was never checked is held until it has passed all checks once.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

import structlog

from muster.backends.agents.connection import AgentNode
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError
from muster.domain.node_scripts import HealthCheck

_log = structlog.get_logger("backends.health_checks")
SOURCE = "health"
NOT_CHECKED = "the health checks have not passed yet"


class HealthChecks:
    def __init__(self, settings: Callable[[], PhysicalCluster], agents: Callable[[], Iterable[AgentNode]]) -> None:
        self._settings = settings
        self._agents = agents
        self._problems: dict[str, dict[HealthCheck, str]] = {}
        """Why each check of each node failed, or an empty text if it passed."""
        self._loops: dict[str, asyncio.Task[None]] = {}

    def ready(self, agent: AgentNode) -> None:
        """The node is connected, for the first time or again: it is checked at once."""
        self._stop(agent.node.name)
        checks = self._checks
        known = self._problems.get(agent.node.name, {})
        self._problems[agent.node.name] = {check: known[check] for check in checks if check in known}
        self._note(agent)
        if checks:
            self._loops[agent.node.name] = asyncio.create_task(
                self._check_periodically(agent, checks), name=f"health of {agent.node.name}"
            )

    def settings_changed(self) -> None:
        for agent in self._agents():
            if agent.node.is_reachable:
                self.ready(agent)

    def forget(self, node: str) -> None:
        self._stop(node)
        self._problems.pop(node, None)

    async def close(self) -> None:
        loops = list(self._loops.values())
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)

    @property
    def _checks(self) -> Sequence[HealthCheck]:
        return self._settings().scripts.health_checks

    def _stop(self, node: str) -> None:
        if (loop := self._loops.pop(node, None)) is not None:
            loop.cancel()

    async def _check_periodically(self, agent: AgentNode, checks: Sequence[HealthCheck]) -> None:
        """One check after the other, so that checks that hang never take more than one thread of the agent."""
        now = asyncio.get_running_loop().time
        due = dict.fromkeys(checks, now())
        while True:
            check = min(due, key=lambda one: due[one])
            await asyncio.sleep(due[check] - now())
            await self._check(agent, check)
            due[check] = now() + check.every_s

    async def _check(self, agent: AgentNode, check: HealthCheck) -> None:
        try:
            answer = await agent.ask("health_check", argv=list(check.command), timeout_s=check.timeout_s)
        except BackendError as error:
            _log.info("health check not run", node=agent.node.name, check=check.name, error=str(error))
            return  # what was found before holds; a node that is away is checked when it is back
        problem = str(answer["problem"])
        if problem and not self._problems[agent.node.name].get(check):
            _log.warning("health check failed", node=agent.node.name, check=check.name, problem=problem)
        self._problems[agent.node.name][check] = problem
        self._note(agent)

    def _note(self, agent: AgentNode) -> None:
        problems = self._problems[agent.node.name]
        found = [f"health check {check.name}: {problem}" for check, problem in problems.items() if problem]
        agent.note_alerts(SOURCE, found)
        is_checked = all(check in problems for check in self._checks)
        agent.note_hold("; ".join(found) or ("" if is_checked else NOT_CHECKED))
