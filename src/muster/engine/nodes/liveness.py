"""Node liveness: when a node has been unreachable for too long, its tasks are considered lost, and jobs continue
without it.

Until then nothing is concluded, because tasks survive the end of a connection, an agent or a server. A node that comes
back in time still has its tasks. One that comes back later has to stop what still runs there (`reconciling`).
"""

import asyncio

import structlog

from muster.domain.jobs import HOLDING
from muster.domain.nodes import NodeState
from muster.engine.context import Context
from muster.engine.lifecycle.observing import receive
from muster.lib.quantities import format_duration
from muster.ports.backend import Observation, Phase

_log = structlog.get_logger("engine.liveness")
NODE_LOST = "node-lost"
_SILENT = (NodeState.UNREACHABLE, NodeState.JOINING)
"""A joining node has not answered yet. After a restart of the server it may have tasks and be unreachable."""
CHECK_AGAIN_S = 10.0
"""How often a lost node is checked again: a start that was under way when it was lost may be written later."""


class NodeLiveness:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._began = context.clock()
        """The grace period begins again when the server restarts, as it could not receive anything before."""
        self._missing: dict[tuple[str, str], float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def check(self, cluster: str) -> None:
        """Declare nodes lost that have been silent for too long, and check again when the next one may be."""
        if self._context.is_held or cluster not in self._context.backends or self._context.engine(cluster) is not None:
            return  # an engine watches its nodes itself, and its answers say which tasks are gone
        lost_after_s = self._context.backends[cluster].settings.lost_after_s
        now = self._context.clock()
        silent = self._silent_since(cluster, now)
        self._context.unconfirmed_nodes.update((cluster, node) for node in silent)
        lost = frozenset(node for node, since in silent.items() if now - since >= lost_after_s)
        for node in lost - self._context.lost_nodes.get(cluster, frozenset()):
            _log.warning("node is lost", cluster=cluster, node=node, silent_s=round(now - silent[node], 1))
        self._context.lost_nodes[cluster] = lost
        for node in lost:
            self._declare_lost(cluster, node, lost_after_s)
        waits = [since + lost_after_s - now for node, since in silent.items() if node not in lost]
        self._arm(cluster, [*waits, CHECK_AGAIN_S] if lost else waits)

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()

    def _silent_since(self, cluster: str, now: float) -> dict[str, float]:
        nodes = self._context.backends[cluster].nodes()
        silent = {node.name: max(node.since or self._began, self._began) for node in nodes if node.state in _SILENT}
        return silent | self._missing_since(cluster, {node.name for node in nodes}, now)

    def _missing_since(self, cluster: str, listed: set[str], now: float) -> dict[str, float]:
        """Nodes that have tasks and are unknown to the backend, such as one that was removed from its file while the
        server was stopped. A backend without any node has not received its list of nodes yet."""
        used = {
            task.placement.node
            for entry in self._context.open_jobs.entries()
            if entry.job.cluster == cluster and isinstance(entry.job.state, HOLDING)
            for task in entry.tasks.values()
            if not task.has_ended
        }
        missing = {(cluster, node) for node in used - listed} if listed else set()
        for gone in [key for key in self._missing if key[0] == cluster and key not in missing]:
            del self._missing[gone]
        return {node: self._missing.setdefault((cluster, node), now) for _, node in missing}

    def _declare_lost(self, cluster: str, node: str, silent_s: float) -> None:
        why = f"node {node} has been silent for {format_duration(silent_s)}"
        for task in self._context.open_jobs.tasks_on(cluster, node):
            lost = Observation(task.id, Phase.LOST, node=node, error_code=NODE_LOST, error_message=why)
            receive(self._context, lost)

    def _arm(self, cluster: str, waits_s: list[float]) -> None:
        if (timer := self._timers.pop(cluster, None)) is not None:
            timer.cancel()
        if waits_s:
            loop = asyncio.get_running_loop()
            self._timers[cluster] = loop.call_later(max(0.0, min(waits_s)), self.check, cluster)
