"""What the nodes and tasks of the cluster use, asked for while tasks run or somebody looks, and not otherwise."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from muster.backends.agents.usage_history import UsageHistory
from muster.backends.kubernetes.cluster_view import ClusterView
from muster.backends.kubernetes.pod_state import task_of
from muster.backends.kubernetes.usage_sources import Kubelets, Measured, MetricsApi, Reading, UsageSource
from muster.domain.errors import MusterError
from muster.domain.used_resources import UsedResources, with_sampled
from muster.kubernetes.amounts import thousandths, whole
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Refused
from muster.lib.clock import Clock
from muster.ports.capabilities import NodeUsage, TaskUsage

_log = structlog.get_logger("backends.kubernetes.usage")
EVERY_S = 15.0
"""How often the cluster is asked. The metrics API itself measures no more often."""
_LOOKED_S = 60.0
"""How long after somebody has looked the cluster is still asked."""
_OLD_S = 90.0
"""A sample that is older says nothing about now."""
_LOOK_WAIT_S = 3.0
_REFUSED_S = 300.0
"""How long a source that was refused is not asked again. A right may be granted, or metrics-server be installed."""
_KEPT = 40


class ClusterUsage:
    """Implements `ports.capabilities.Usage`."""

    def __init__(self, clock: Clock, every_s: float = EVERY_S) -> None:
        self._clock, self._every_s = clock, every_s
        self._latest: dict[str, NodeUsage] = {}
        self._history: dict[str, UsageHistory] = defaultdict(lambda: UsageHistory(_KEPT))
        self._used: dict[str, UsedResources] = {}
        self._used_at: dict[str, float] = {}
        self._why = ""
        self._is_connected = False
        self._looked_at = self._asked_at = self._taken_at = float("-inf")
        self._look = asyncio.Event()
        self._asked = asyncio.Event()

    def latest(self) -> Mapping[str, NodeUsage]:
        self._looked()
        return self._latest if self._clock() - self._taken_at < _OLD_S else {}

    def history(self, node: str, since: float = 0.0) -> Sequence[NodeUsage]:
        self._looked()
        return self._history[node].since(since) if node in self._history else ()

    def used(self, task: str) -> UsedResources | None:
        """The sum of all samples of the task since this server began to watch it."""
        return self._used.get(task)

    def forget(self, task: str) -> None:
        self._used.pop(task, None)
        self._used_at.pop(task, None)

    async def look(self) -> None:
        if not self._is_connected or not self._is_due():
            return
        self._asked.clear()
        self._looked()
        try:
            async with asyncio.timeout(_LOOK_WAIT_S):
                await self._asked.wait()
        except TimeoutError:
            return

    def unknown_why(self) -> str:
        return self._why

    async def run(self, connection: Connection, view: ClusterView, namespace: str | None, labels: str) -> None:
        """Ask for ever, whenever it is worth it."""
        sources = [
            _Tried(MetricsApi(connection, namespace, labels)),
            _Tried(Kubelets(connection, lambda: _ready(view))),
        ]
        await view.node_objects.synced.wait()
        self._is_connected = True
        try:
            while True:
                if self._clock() - self._looked_at < _LOOKED_S or _has_tasks(view):
                    await self._ask(sources, view)
                self._look.clear()
                await self._pause()
        finally:
            self._is_connected = False

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self._every_s):
                await self._look.wait()
        except TimeoutError:
            return

    def _is_due(self) -> bool:
        return self._clock() - self._asked_at >= self._every_s

    def _looked(self) -> None:
        self._looked_at = self._clock()
        if self._is_due():
            self._look.set()

    async def _ask(self, sources: Sequence["_Tried"], view: ClusterView) -> None:
        reading: Reading | None = None
        for source in sources:
            if (reading := await source.read(self._clock())) is not None:
                self._take(reading, view)
                break
        why = "" if reading is not None else "; ".join(source.why for source in sources)
        if why != self._why:
            _log.info("usage is known again" if not why else "usage is not known", why=why)
        self._why, self._asked_at = why, self._clock()
        self._asked.set()

    def _take(self, reading: Reading, view: ClusterView) -> None:
        now = self._clock()
        tasks = self._with_sums(_tasks(reading, view), now)
        self._taken_at = now
        known = {node.name for node in view.nodes}
        for name in self._history.keys() - known:
            self._history.pop(name)
        self._latest = {
            name: usage for name, usage in self._latest.items() if name in known and now - usage.received_at < _OLD_S
        }
        for name, measured in reading.nodes.items():
            if name not in known:
                continue
            at = measured.at or now
            sample = NodeUsage(at, _metrics(measured, view, name), tasks.get(name, {}), now)
            if name not in self._latest or self._latest[name].at != at:
                self._history[name].add(sample)
            self._latest[name] = sample

    def _with_sums(self, tasks: Mapping[str, Mapping[str, TaskUsage]], now: float) -> dict[str, dict[str, TaskUsage]]:
        """The samples, each with the sum of its task so far. A sample holds for the time since the one before, but for
        no longer than a few intervals; the first one for half of an interval."""
        found: dict[str, dict[str, TaskUsage]] = defaultdict(dict)
        for node, usages in tasks.items():
            for task, usage in usages.items():
                passed_s = min(now - self._used_at.get(task, now - self._every_s / 2), 4 * self._every_s)
                self._used[task] = with_sampled(self._used.get(task), usage.cpu_percent, usage.rss_bytes, passed_s)
                self._used_at[task] = now
                found[node][task] = replace(usage, used=self._used[task])
        return found


@dataclass(slots=True)
class _Tried:
    """A source, and how asking it went."""

    source: UsageSource
    why: str = ""
    not_before: float = float("-inf")

    async def read(self, now: float) -> Reading | None:
        if now < self.not_before:
            return None
        try:
            return await self.source.read()
        except Refused as error:
            self.why, self.not_before = error.message, now + _REFUSED_S
        except MusterError as error:
            self.why = error.message
        return None


def _ready(view: ClusterView) -> Iterator[str]:
    return (node.name for node in view.nodes if node.is_ours and node.is_ready)


def _has_tasks(view: ClusterView) -> bool:
    return any(view.is_own(pod) and (pod.get("status") or {}).get("phase") == "Running" for pod in view.pods)


def _tasks(reading: Reading, view: ClusterView) -> dict[str, dict[str, TaskUsage]]:
    """What tasks use, by node and task."""
    found: dict[str, dict[str, TaskUsage]] = defaultdict(dict)
    for key, measured in reading.pods.items():
        pod = view.pods.get(key)
        if pod is None or not view.is_own(pod) or not pod["spec"].get("nodeName"):
            continue
        usage = TaskUsage(measured.cpu_m / 10, measured.memory_bytes, measured.processes)
        found[pod["spec"]["nodeName"]][task_of(pod)] = usage
    return found


def _metrics(measured: Measured, view: ClusterView, name: str) -> dict[str, object]:
    """Return a node's metrics under the names that agents use. CPU is a share of the whole machine."""
    one = view.node_objects.get(("", name)) or {}
    capacity = (one.get("status") or {}).get("capacity") or {}
    cores_m, memory_bytes = thousandths(capacity.get("cpu", 0)), whole(capacity.get("memory", 0))
    found: dict[str, object] = {"memory_used_bytes": measured.memory_bytes, **measured.more}
    if cores_m:
        found["cpu_percent"] = round(min(100.0, 100.0 * measured.cpu_m / cores_m), 1)
    if memory_bytes:
        found["memory_total_bytes"] = memory_bytes
        found["memory_available_bytes"] = max(0, memory_bytes - measured.memory_bytes)
    return found
