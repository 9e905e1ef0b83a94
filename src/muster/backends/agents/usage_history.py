"""The last samples of one node, in a ring. Packed: a decoded sample takes ten times the memory of a packed one."""

import json
import zlib
from collections import deque
from collections.abc import Sequence

from muster.ports.capabilities import NodeUsage

KEPT = 150
_FAST = 1


class UsageRing:
    """What tasks used is left out: it is for now, not for later."""

    def __init__(self, kept: int = KEPT) -> None:
        self._samples: deque[tuple[float, float, bytes]] = deque(maxlen=kept)

    def add(self, usage: NodeUsage) -> None:
        text = json.dumps(usage.figures, separators=(",", ":"))
        self._samples.append((usage.at, usage.heard_at, zlib.compress(text.encode(), _FAST)))

    def since(self, moment: float) -> Sequence[NodeUsage]:
        """Heard after this moment, the oldest first."""
        return [
            NodeUsage(at, json.loads(zlib.decompress(packed)), {}, heard_at)
            for at, heard_at, packed in self._samples
            if heard_at > moment
        ]
