"""The metrics that the nodes of a pool push: the newest sample of each, and the last few minutes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from muster.agent.system.frames import Message
from muster.backends.agents.usage_history import UsageHistory
from muster.backends.agents.usage_rates import UsageMeter
from muster.ports.capabilities import NodeUsage


class PoolUsage:
    """Implements `ports.capabilities.Usage`."""

    def __init__(self) -> None:
        self._latest: dict[str, NodeUsage] = {}
        self._meters: dict[str, UsageMeter] = defaultdict(UsageMeter)
        self._history: dict[str, UsageHistory] = defaultdict(UsageHistory)

    def latest(self) -> Mapping[str, NodeUsage]:
        return self._latest

    def history(self, node: str, since: float = 0.0) -> Sequence[NodeUsage]:
        return self._history[node].since(since) if node in self._history else ()

    async def look(self) -> None:
        """Nodes push samples by themselves."""

    def unknown_why(self) -> str:
        return ""

    def add(self, node: str, message: Message) -> NodeUsage:
        usage = self._latest[node] = self._meters[node].read(message)
        self._history[node].add(usage)
        return usage

    def forget(self, node: str) -> None:
        self._latest.pop(node, None)
        self._meters.pop(node, None)
        self._history.pop(node, None)
