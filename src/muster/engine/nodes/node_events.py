"""Records events of nodes: `node.<state>` when one becomes unreachable, comes back or leaves, and `node.alert`.

Nodes that join when the server starts are not recorded.
"""

from dataclasses import dataclass

from muster.domain.events import Event
from muster.domain.nodes import Node, NodeState
from muster.engine.context import Context
from muster.ports.store import Change


@dataclass(frozen=True, slots=True)
class _Known:
    state: NodeState
    alerts: frozenset[str]


class NodeHistory:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[str, dict[str, _Known]] = {}

    def record(self, cluster: str) -> None:
        """Record what has changed since the last call."""
        before = self._known.get(cluster, {})
        backend = self._context.backends.get(cluster)
        nodes = {node.name: node for node in backend.nodes()} if backend is not None else {}
        now = {name: _Known(node.state, frozenset(node.alerts)) for name, node in nodes.items()}
        self._known[cluster] = now
        events = [event for name, node in nodes.items() for event in self._changes(node, before.get(name), now[name])]
        events += [self._event(cluster, name, NodeState.RETIRED) for name in before.keys() - now.keys()]
        if events:
            self._context.spawn(self._context.apply(Change(events=events)), f"nodes of {cluster}")

    def _changes(self, node: Node, before: _Known | None, now: _Known) -> list[Event]:
        before = before or _Known(NodeState.JOINING, frozenset())
        events = []
        is_joining = NodeState.JOINING in (before.state, now.state) and now.state is not NodeState.UNREACHABLE
        if now.state is not before.state and not is_joining:
            events.append(self._event(node.cluster, node.name, now.state, node.note))
        events += [self._alert(node, alert, is_over=False) for alert in sorted(now.alerts - before.alerts)]
        events += [self._alert(node, alert, is_over=True) for alert in sorted(before.alerts - now.alerts)]
        return events

    def _event(self, cluster: str, name: str, state: NodeState, note: str = "") -> Event:
        data = {"name": name, "cluster": cluster, "state": str(state), "message": note}
        return Event(f"node.{state.lower()}", self._context.clock(), data=data)

    def _alert(self, node: Node, alert: str, *, is_over: bool) -> Event:
        data = {"name": node.name, "cluster": node.cluster, "state": "over" if is_over else "", "message": alert}
        return Event("node.alert", self._context.clock(), data=data)
