"""The cluster as its API server reports it: the nodes, the pods of Muster's tasks, and what the pods of others use."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from muster.backends.kubernetes.capacity import KubeNode, Usage, holds_resources, pod_usage, pool, read_node
from muster.backends.kubernetes.names import GANG, selector
from muster.backends.kubernetes.options import KubernetesOptions
from muster.domain.pools import Pool
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Denied
from muster.kubernetes.resources import NODES, PODS, Object, labels_of
from muster.kubernetes.watched import Change, Watched

_GATHER_S = 0.05
"""How long changes of capacity are gathered before they are reported."""

_BLIND = "the account may not list pods of all namespaces, so that what others use seems free"


class ClusterView:
    """`pod_changed` is called for pods of Muster's tasks, `changed` when nodes or the pooled capacity may differ."""

    def __init__(
        self,
        connection: Connection,
        namespace: str | None,
        options: KubernetesOptions,
        labels: Mapping[str, str],
        pod_changed: Callable[[Change], None],
        changed: Callable[[], None],
    ) -> None:
        self._options, self._labels = options, labels
        self._connection, self._namespace = connection, namespace
        self._pod_changed, self._changed = pod_changed, changed
        self._others: dict[str, Usage] = defaultdict(Usage)
        self._is_dirty = False
        self._sees_others = True
        self._nodes: dict[str, KubeNode] = {}
        self.pods = self._watched_pods(None)
        self.node_objects = Watched(connection, NODES, prune=_lean_node, changed=self._node_changed)

    async def run(self) -> NoReturn:
        """Watch nodes and pods for ever. An account without rights in other namespaces sees its own pods alone."""
        if not await self._may_list_all():
            self._sees_others = False
            self.pods = self._watched_pods(self._namespace)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.pods.run())
            group.create_task(self.node_objects.run())
            group.create_task(self._report_first())
        raise AssertionError("watches never end")

    @property
    def nodes(self) -> Iterable[KubeNode]:
        return self._nodes.values()

    def node(self, name: str) -> KubeNode | None:
        return self._nodes.get(name)

    def pool(self) -> Pool | None:
        if not (self.node_objects.synced.is_set() and self.pods.synced.is_set()):
            return None
        note = "" if self._sees_others else _BLIND
        return pool(self._nodes.values(), self._others, self._options.head_start, note)

    @property
    def problem(self) -> str:
        """Why there is no pool; empty if there is one, or will be soon."""
        return self.node_objects.problem or self.pods.problem

    def own_pods(self, gang: str) -> Iterable[Object]:
        return self.pods.of(gang)

    async def _may_list_all(self) -> bool:
        try:
            await self._connection.request("GET", PODS.path(), params={"limit": "1"})
        except Denied:
            return False
        return True

    async def _report_first(self) -> None:
        await self.pods.synced.wait()
        await self.node_objects.synced.wait()
        self._changed()

    def _watched_pods(self, namespace: str | None) -> Watched:
        labels = selector(self._labels) if namespace is not None else ""
        return Watched(
            self._connection,
            PODS,
            namespace=namespace,
            labels=labels,
            prune=self._lean_pod,
            group=lambda one: labels_of(one).get(GANG, ""),
            changed=self._one_pod_changed,
        )

    def is_own(self, pod: Object) -> bool:
        labels = labels_of(pod)
        return all(labels.get(name) == value for name, value in self._labels.items())

    def _lean_pod(self, pod: dict[str, Any]) -> Object:
        """Return the pod as it is kept: other people's pods only with what they use."""
        metadata = pod["metadata"]
        if self.is_own(pod):
            metadata.pop("managedFields", None)
            return pod
        kept = {key: metadata.get(key) for key in ("namespace", "name", "resourceVersion")}
        node = pod["spec"].get("nodeName")
        usage = pod_usage(pod, self._options) if node and holds_resources(pod) else Usage()
        return {"metadata": kept, "node": node, "usage": usage}

    def _one_pod_changed(self, change: Change) -> None:
        if self.is_own(change.object):
            self._pod_changed(change)
            return
        for pod, sign in ((change.before, -1), (change.after, 1)):
            if pod is not None and pod.get("node"):
                self._others[pod["node"]] += pod["usage"] if sign > 0 else -pod["usage"]
        self._gather()

    def _node_changed(self, change: Change) -> None:
        node = read_node(change.object, self._options)
        if change.after is None:
            self._nodes.pop(node.name, None)
        elif self._nodes.get(node.name) == node:
            return
        else:
            self._nodes[node.name] = node
        self._gather()

    def _gather(self) -> None:
        if not self._is_dirty:
            self._is_dirty = True
            asyncio.get_running_loop().call_later(_GATHER_S, self._report)

    def _report(self) -> None:
        self._is_dirty = False
        if self.pool() is not None:
            self._changed()


def _lean_node(node: dict[str, Any]) -> Object:
    node["metadata"].pop("managedFields", None)
    node.get("status", {}).pop("images", None)
    return node
