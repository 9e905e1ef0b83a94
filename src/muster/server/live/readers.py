"""One open stream: what it listens to, what it has been told, and what waits to be sent to it."""

import asyncio
from collections.abc import Hashable, Mapping, Sequence

from muster.engine.requests.accounts import Principal
from muster.server.live.log_growth import ToldLogs, WantedLogs
from muster.server.live.topics import Topics

MAX_WAITING_BYTES = 512 << 10
"""What may wait for a reader that does not keep up. Beyond it, the reader is told to ask for everything again."""


class Reader:
    """`since` is the number up to which it has been told everything, or None if it has to ask for everything again.
    `jobs` are the jobs that it listens to one by one, with their owners. `logs` are the logs whose growth it is told,
    and `told_logs` is what it has been told of them. `has_own_log` is whether it knows how far the server's log is."""

    def __init__(
        self,
        me: Principal,
        topics: Topics,
        jobs: Mapping[str, str],
        since: int | None,
        node_rights: Hashable = None,
        logs: Sequence[WantedLogs] = (),
    ) -> None:
        self.me = me
        self.topics = topics
        self.jobs = jobs
        self.since = since
        self.node_rights = node_rights
        self.logs = logs
        self.told_logs: dict[WantedLogs, ToldLogs] = {}
        self.has_own_log = False
        self.is_closed = False
        self._pieces: list[bytes] = []
        self._waiting_bytes = 0
        self._wake: asyncio.Future[None] | None = None

    def offer(self, piece: bytes) -> None:
        if self._pieces and self._waiting_bytes + len(piece) > MAX_WAITING_BYTES:
            self._pieces.clear()
            self._waiting_bytes = 0
            self.since = None
            return
        self._pieces.append(piece)
        self._waiting_bytes += len(piece)
        self._notify()

    async def next(self) -> bytes | None:
        """All that waits to be sent, or None at the end of the stream."""
        while not self._pieces and not self.is_closed:
            self._wake = asyncio.get_running_loop().create_future()
            try:
                await self._wake
            finally:
                self._wake = None
        pieces, self._pieces, self._waiting_bytes = self._pieces, [], 0
        if self.is_closed:
            return None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def close(self) -> None:
        self.is_closed = True
        self._notify()

    @property
    def is_idle(self) -> bool:
        """Whether everything that it was offered has been sent."""
        return self._wake is not None and not self._pieces

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
