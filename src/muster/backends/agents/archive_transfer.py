"""Sends archives to nodes by `piece_transfer`, each of them once to each node.

A node gets one transfer at a time, at its own pace, so that its other messages are never far behind. Tasks that need
the same archive on the same node wait for the same transfer. What a node has is remembered until it reconnects.
"""

import asyncio
import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from muster.agent.errors import PACKAGE
from muster.backends.agents.flow_control import Pace, patiently
from muster.backends.agents.piece_transfer import AskNode, commit, send
from muster.domain.errors import BackendError
from muster.lib.quantities import about_bytes

SLOW_AFTER_S = 2.0
"""A transfer that takes longer is shown to the users who wait for it."""


@dataclass(slots=True, eq=False)
class _Transfer:
    since: float
    sent: int = 0
    total: int = 0
    waiting: int = 0


class ArchiveTransfer:
    def __init__(self, ask: AskNode, pace: Callable[[str], Pace], slow_after_s: float = SLOW_AFTER_S) -> None:
        self._ask = ask
        self._pace = pace
        self._slow_after_s = slow_after_s
        self._present: dict[str, set[str]] = defaultdict(set)
        self._under_way: dict[tuple[str, str], tuple[_Transfer, asyncio.Task[None]]] = {}
        self._turns: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def ensure(self, node: str, digest: str, path: Path) -> None:
        """Return when the node has the archive. Raises BackendError with the agent's code, or Unreachable. A
        transfer that nobody waits for any more stops; what has arrived stays on the node."""
        if digest in self._present[node]:
            return
        key = (node, digest)
        if key not in self._under_way:
            transfer = _Transfer(time.monotonic())
            sending = self._send_patiently(node, digest, path, transfer)
            self._under_way[key] = transfer, asyncio.create_task(sending, name=f"send {digest[:8]} to {node}")
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
        """Forget what the node has, as it may have another disk now."""
        self._present.pop(node, None)

    def progress(self, digests: Collection[str]) -> str:
        """How far the slow transfers of these archives are: `sending 1.2 GiB of 4 GiB to gpu3`."""
        now = time.monotonic()
        slow = [
            (node, transfer)
            for (node, digest), (transfer, _) in self._under_way.items()
            if digest in digests and now - transfer.since >= self._slow_after_s and transfer.total
        ]
        shown = [f"{about_bytes(one.sent)} of {about_bytes(one.total)} to {node}" for node, one in slow[:3]]
        more = f" and {len(slow) - 3} more nodes" if len(slow) > 3 else ""
        return f"sending {', '.join(shown)}{more}" if shown else ""

    async def close(self) -> None:
        tasks = [task for _, task in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_patiently(self, node: str, digest: str, path: Path, transfer: _Transfer) -> None:
        async with self._turns[node]:
            await patiently(lambda: self._send(node, digest, path, transfer), lambda: transfer.sent)
            self._present[node].add(digest)

    async def _send(self, node: str, digest: str, path: Path, transfer: _Transfer) -> None:
        def moved(size: int, _is_written: bool) -> None:
            transfer.sent = size

        with _opened(path) as file:
            transfer.total = os.fstat(file).st_size
            found = await self._ask(node, "blob_stat", digest=digest, size=transfer.total)
            transfer.sent = int(found["size"] or 0)
            if found["complete"]:
                return
            write = partial(self._ask, node, "blob_write", digest=digest)
            await send(write, partial(_read, file), transfer.sent, transfer.total, self._pace(node), moved)
            await commit(partial(self._ask, node, "blob_commit", digest=digest))


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise BackendError(f"the package is not on the server any more: {error.strerror}", reason=PACKAGE) from None
    try:
        yield file
    finally:
        os.close(file)


async def _read(file: int, offset: int, size: int) -> bytes:
    data = await asyncio.to_thread(os.pread, file, size, offset)
    if len(data) < size:
        raise BackendError("the package on the server has become shorter", reason=PACKAGE)
    return data
