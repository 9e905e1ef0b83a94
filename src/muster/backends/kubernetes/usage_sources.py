"""Where the usage of nodes and pods is read: the metrics API, and the kubelets where the account may ask them.

The metrics API (metrics.k8s.io) is what metrics-server and others offer. A kubelet answers at `/stats/summary`, by way
of the API server, with disk and network as well; the right for it (`nodes/proxy`) is a wide one.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from muster.backends.kubernetes.pod_state import MAIN
from muster.domain.errors import Unreachable
from muster.kubernetes.amounts import thousandths, whole
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Denied, Missing
from muster.kubernetes.resources import NODE_METRICS, NODES, POD_METRICS, Key, key_of
from muster.kubernetes.times import instant

_AT_ONCE = 16
_ANSWER_S = 10.0
_LEAST_RATE_S = 1.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What one node, or the container of one task, used at a moment."""

    at: float | None
    cpu_m: int
    memory_bytes: int
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further metrics of a node, as the agent names them."""
    processes: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    nodes: Mapping[str, Measured]
    pods: Mapping[Key, Measured]
    """The container of the task in each pod, by namespace and name."""


class UsageSource(Protocol):
    async def read(self) -> Reading:
        """Raises Refused if the cluster does not offer this, or not to this account, and Unreachable."""
        ...


@dataclass(frozen=True, slots=True)
class MetricsApi:
    connection: Connection
    namespace: str | None
    """The namespace in which tasks run; None if there are many."""
    labels: str
    """The selector of the pods of tasks."""

    async def read(self) -> Reading:
        try:
            nodes = await self.connection.list(NODE_METRICS)
            pods = await self.connection.list(POD_METRICS, self.namespace, labels=self.labels)
        except Missing as error:
            raise Missing("the cluster has no metrics API: install metrics-server", status=error.status) from None
        except Denied as error:
            words = "the account may not list nodes and pods of metrics.k8s.io"
            raise Denied(words, status=error.status) from None
        except Unreachable as error:
            raise Unreachable(f"the metrics API does not answer: {error}") from None
        return Reading(
            {key_of(one)[1]: _listed(one, one.get("usage")) for one in nodes},
            {key_of(one): _listed(one, usage) for one in pods if (usage := _of_task(one)) is not None},
        )


class Kubelets:
    """Rates of the network need two readings, so that this remembers the last one."""

    def __init__(self, connection: Connection, nodes: Callable[[], Iterable[str]]) -> None:
        self._connection, self._nodes = connection, nodes
        self._traffic: dict[str, dict[str, _Traffic]] = {}

    async def read(self) -> Reading:
        names = list(self._nodes())
        self._traffic = {name: known for name, known in self._traffic.items() if name in names}
        if names:
            await self._summary(names[0])  # raises if the account may not ask, before all others are asked
        turns = asyncio.Semaphore(_AT_ONCE)

        async def asked(name: str) -> Mapping[str, Any] | None:
            async with turns:
                try:
                    return await self._summary(name)
                except Unreachable:
                    return None  # the others do answer

        summaries = zip(names, await asyncio.gather(*map(asked, names)), strict=True)
        answered = {name: summary for name, summary in summaries if summary is not None}
        if names and not answered:
            raise Unreachable("no kubelet answers")
        nodes = {name: self._node(name, summary.get("node") or {}) for name, summary in answered.items()}
        pods: dict[Key, Measured] = {}
        for summary in answered.values():
            pods |= _pods(summary)
        return Reading(nodes, pods)

    async def _summary(self, node: str) -> Mapping[str, Any]:
        path = f"{NODES.path(name=node, subresource='proxy')}/stats/summary"
        try:
            async with asyncio.timeout(_ANSWER_S):
                told = await self._connection.request("GET", path)
        except TimeoutError:
            raise Unreachable(f"the kubelet of {node} does not answer") from None
        except Denied as error:
            raise Denied("the account may not get nodes/proxy, to ask the kubelets", status=error.status) from None
        return told if isinstance(told, Mapping) else {}

    def _node(self, name: str, told: Mapping[str, Any]) -> Measured:
        more: dict[str, Any] = {"net": self._network(name, told.get("network") or {})}
        disk = told.get("fs") or {}
        if disk.get("capacityBytes"):
            more |= {
                "disk_total_bytes": int(disk["capacityBytes"]),
                "disk_used_bytes": int(disk.get("usedBytes") or 0),
                "disk_free_bytes": int(disk.get("availableBytes") or 0),
            }
        return _summarised(told, more)

    def _network(self, node: str, told: Mapping[str, Any]) -> list[dict[str, Any]]:
        at = instant(told.get("time")) or 0.0
        before, now, found = self._traffic.get(node, {}), dict[str, _Traffic](), list[dict[str, Any]]()
        for link in told.get("interfaces") or ():
            name = str(link.get("name") or "")
            old = before.get(name)
            if old is not None and at < old.at + _LEAST_RATE_S:
                now[name] = old
            else:
                now[name] = _traffic(at, link, old)
            found.append({"name": name, "rx_bytes_s": now[name].received_s, "tx_bytes_s": now[name].sent_s})
        self._traffic[node] = now
        return [one for one in found if one["rx_bytes_s"] is not None]


@dataclass(frozen=True, slots=True)
class _Traffic:
    at: float
    received: int
    sent: int
    received_s: float | None = None
    sent_s: float | None = None


def _traffic(at: float, link: Mapping[str, Any], before: _Traffic | None) -> _Traffic:
    received, sent = int(link.get("rxBytes") or 0), int(link.get("txBytes") or 0)
    if before is None:
        return _Traffic(at, received, sent)
    passed_s = at - before.at
    rates = (max(0, new - old) / passed_s for new, old in ((received, before.received), (sent, before.sent)))
    return _Traffic(at, received, sent, *(round(rate, 1) for rate in rates))


def _pods(summary: Mapping[str, Any]) -> dict[Key, Measured]:
    found: dict[Key, Measured] = {}
    for pod in summary.get("pods") or ():
        container = next((one for one in pod.get("containers") or () if one.get("name") == MAIN), None)
        if container is None or not container.get("memory"):
            continue
        named = pod.get("podRef") or {}
        count = (pod.get("process_stats") or {}).get("process_count")
        is_alone = len(pod.get("containers") or ()) == 1
        key = str(named.get("namespace") or ""), str(named.get("name") or "")
        found[key] = _summarised(container, processes=int(count) if count and is_alone else None)
    return found


def _summarised(
    told: Mapping[str, Any], more: Mapping[str, Any] | None = None, processes: int | None = None
) -> Measured:
    cpu, memory = told.get("cpu") or {}, told.get("memory") or {}
    return Measured(
        instant(cpu.get("time") or memory.get("time")),
        int(cpu.get("usageNanoCores") or 0) // 1_000_000,
        int(memory.get("workingSetBytes") or 0),
        more or {},
        processes,
    )


def _listed(one: Mapping[str, Any], usage: Any) -> Measured:
    given = usage if isinstance(usage, Mapping) else {}
    at = instant(one.get("timestamp"))
    return Measured(at, thousandths(given.get("cpu", 0)), whole(given.get("memory", 0)))


def _of_task(pod: Mapping[str, Any]) -> Any:
    return next((one.get("usage") for one in pod.get("containers") or () if one.get("name") == MAIN), None)
