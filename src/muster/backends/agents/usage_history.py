"""The last usage samples of one node. They are kept compressed: a decoded sample takes ten times the memory."""

import json
import zlib
from collections import deque
from collections.abc import Sequence

from muster.ports.capabilities import NodeUsage

KEPT = 150
_FAST = 1


class UsageHistory:
    """The last samples of one node, without the usage of tasks, whose history is not needed."""

    def __init__(self, kept: int = KEPT) -> None:
        self._samples: deque[tuple[float, float, bytes]] = deque(maxlen=kept)

    def add(self, usage: NodeUsage) -> None:
        text = json.dumps(usage.metrics, separators=(",", ":"))
        self._samples.append((usage.at, usage.received_at, zlib.compress(text.encode(), _FAST)))

    def since(self, moment: float) -> Sequence[NodeUsage]:
        """The samples that arrived after this moment, the oldest first."""
        return [
            NodeUsage(at, json.loads(zlib.decompress(packed)), {}, received_at)
            for at, received_at, packed in self._samples
            if received_at > moment
        ]
