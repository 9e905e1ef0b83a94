"""The epoch of the server that this node obeys. Epochs only rise; the highest one is kept in the agent's root.

Two servers may share an installation, and one of them acts. A server that was replaced, and does not know it yet, must
neither take the root from the agent of its successor nor give orders through an agent that it still has.
"""

from __future__ import annotations

import fcntl
import os

from muster.agent.errors import SUPERSEDED, AgentError

_BYTES = 40


class Epoch:
    """`enter` announces this agent's epoch, before the root is locked; from then on, agents of earlier epochs obey no
    order."""

    def __init__(self, root: str, epoch: int) -> None:
        self._epoch = epoch
        self._fd = os.open(os.path.join(root, "epoch"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def enter(self) -> None:
        """Raises AgentError if the node knows a later epoch."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            self.check()
            if self._epoch > self._highest():
                os.pwrite(self._fd, str(self._epoch).ljust(_BYTES).encode("ascii"), 0)
                os.fsync(self._fd)
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def check(self) -> None:
        highest = self._highest()
        if highest > self._epoch:
            raise AgentError(
                SUPERSEDED,
                "the node obeys a later server (epoch {}), not this one (epoch {})".format(highest, self._epoch),
            )

    def _highest(self) -> int:
        text = os.pread(self._fd, _BYTES, 0).strip()
        return int(text) if text.isdigit() else 0
