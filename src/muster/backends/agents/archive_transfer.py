"""Brings archives to nodes over the agents' lines: once per node and content, from where an earlier try stopped.

One transfer a node at a time, at the node's pace, so that its other messages are never far behind; whoever wants the
same archive on the same node waits for the same transfer. What a node has is remembered until it is connected anew.
"""

import asyncio
import os
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from muster.agent.errors import PACKAGE
from muster.agent.system.frames import Message
from muster.backends.agents.flow_control import Pace
from muster.domain.errors import BackendError
from muster.lib.quantities import about_bytes
from muster.ports.backend import CONNECTION_LOST

_FUTILE_TRIES = 3
_WONDER_S = 2.0


class Ask(Protocol):
    def __call__(self, node: str, op: str, /, **arguments: object) -> Awaitable[Message]: ...


@dataclass(slots=True, eq=False)
class _Transfer:
    since: float
    sent: int = 0
    total: int = 0
    waiting: int = 0


class Shipping:
    def __init__(self, ask: Ask, pace: Callable[[str], Pace]) -> None:
        self._ask = ask
        self._pace = pace
        self._there: dict[str, set[str]] = defaultdict(set)
        self._under_way: dict[tuple[str, str], tuple[_Transfer, asyncio.Task[None]]] = {}
        self._turns: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def ensure(self, node: str, digest: str, path: Path) -> None:
        """Returns when the node has it. Raises BackendError with the agent's code, or CONNECTION_LOST. A transfer that
        nobody waits for any more stops; what has arrived stays."""
        if digest in self._there[node]:
            return
        key = (node, digest)
        if key not in self._under_way:
            transfer = _Transfer(time.monotonic())
            carrying = self._carry(node, digest, path, transfer)
            self._under_way[key] = transfer, asyncio.create_task(carrying, name=f"ship {digest[:8]} to {node}")
        transfer, task = self._under_way[key]
        transfer.waiting += 1
        try:
            await asyncio.shield(task)
        finally:
            transfer.waiting -= 1
            if not transfer.waiting:
                task.cancel()
                del self._under_way[key]

    def forget(self, node: str) -> None:
        """What it has may be another disk now."""
        self._there.pop(node, None)

    def told(self, digests: Collection[str]) -> str:
        """What of these takes long enough to wonder about: `sending 1.2 GiB of 4 GiB to gpu3`."""
        now = time.monotonic()
        slow = [
            (node, transfer)
            for (node, digest), (transfer, _) in self._under_way.items()
            if digest in digests and now - transfer.since >= _WONDER_S and transfer.total
        ]
        shown = [f"{about_bytes(one.sent)} of {about_bytes(one.total)} to {node}" for node, one in slow[:3]]
        more = f" and {len(slow) - 3} more nodes" if len(slow) > 3 else ""
        return f"sending {', '.join(shown)}{more}" if shown else ""

    async def close(self) -> None:
        tasks = [task for _, task in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry(self, node: str, digest: str, path: Path, transfer: _Transfer) -> None:
        async with self._turns[node]:
            furthest, futile = -1, 0
            while True:
                try:
                    await self._send(node, digest, path, transfer)
                except BackendError as error:
                    futile = 0 if transfer.sent > furthest else futile + 1
                    furthest = max(furthest, transfer.sent)
                    if error.reason != CONNECTION_LOST or futile >= _FUTILE_TRIES:
                        raise
                else:
                    break
            self._there[node].add(digest)

    async def _send(self, node: str, digest: str, path: Path, transfer: _Transfer) -> None:
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise BackendError(f"the package is not on the server any more: {error.strerror}", reason=PACKAGE) from None
        try:
            transfer.total = os.fstat(file).st_size
            found = await self._ask(node, "blob_stat", digest=digest, size=transfer.total)
            transfer.sent = int(found["have"])
            if found["complete"]:
                return
            while transfer.sent < transfer.total:
                await self._stream(node, digest, file, transfer)
            await self._ask(node, "blob_commit", digest=digest)
        finally:
            os.close(file)

    async def _stream(self, node: str, digest: str, file: int, transfer: _Transfer) -> None:
        """From where the node is to the end, or until it says that it is somewhere else."""
        pace = self._pace(node)
        position = transfer.sent
        pieces: deque[tuple[int, asyncio.Future[Message]]] = deque()
        try:
            while position < transfer.total or pieces:
                while position < transfer.total and position + pace.piece <= transfer.sent + pace.window:
                    data = await asyncio.to_thread(os.pread, file, pace.piece, position)
                    if not data:
                        raise BackendError("the package on the server has become shorter", reason=PACKAGE)
                    ask = partial(self._ask, node, "blob_write", digest=digest, offset=position, data=data)
                    position += len(data)
                    pieces.append((position, asyncio.ensure_future(pace.timed(len(data), ask))))
                end, answer = pieces.popleft()
                transfer.sent = int((await answer)["have"])
                if transfer.sent != end:
                    return
        finally:
            left = [answer for _, answer in pieces]
            for answer in left:
                answer.cancel()
            await asyncio.gather(*left, return_exceptions=True)
