"""Which shapes are known not to fit, so that they are not tried again until something has become free."""

from muster.scheduling.capacity.shapes import Shape

_LOG_LIMIT = 4096
"""How many nodes that became freer are remembered one by one; beyond that a shape is simply tried again."""
_FEW = 64


class Misfits:
    def __init__(self) -> None:
        self._freed: list[str] = []
        """Nodes on which something became free, in order."""
        self._dropped = 0
        """How many entries of the log have been dropped."""
        self._noted: dict[int, int] = {}
        """The length of the log when a shape was last found not to fit, by the shape's number."""

    def freed(self, node: str) -> None:
        """Something became free on the node, or the node has joined."""
        self._freed.append(node)
        if len(self._freed) > _LOG_LIMIT:
            self._dropped += len(self._freed)
            self._freed.clear()

    def note(self, shape: Shape) -> None:
        """The shape fits nowhere now."""
        self._noted[shape.number] = self._dropped + len(self._freed)

    def forget(self) -> None:
        self._noted.clear()

    def worth_trying(self, shape: Shape) -> list[str] | bool:
        """Whether a placement may succeed: no, yes, or only on these nodes."""
        since = self._noted.get(shape.number)
        if since is None or since < self._dropped:
            return True
        since -= self._dropped
        new = len(self._freed) - since
        if not new:
            return False
        if shape.tasks > 1 or new > _FEW:
            return True
        return self._freed[since:]
