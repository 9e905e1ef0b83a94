"""Group commit: one thread stores all requests that wait, by one flush to the disk. While it does, the next ones
gather."""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muster.logserver.records import Record
from muster.logserver.storage import Storage, Stored

MAX_WAITING_BYTES = 128 << 20
MAX_AT_ONCE = 200
"""The most requests that are stored together."""


class Busy(Exception):
    """More waits already than may."""


@dataclass(frozen=True, slots=True)
class _Work:
    records: Sequence[Record]
    size: int
    done: asyncio.Future[Stored]


class Writer:
    """Belongs to the event loop that created it."""

    def __init__(self, storage: Storage, on_stored: Callable[[], None]) -> None:
        self._storage = storage
        self._on_stored = on_stored
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._waiting_bytes = 0
        self._thread = threading.Thread(target=self._run, name="logserver-writer", daemon=True)
        self._thread.start()

    async def store(self, records: Sequence[Record]) -> Stored:
        """Returns when the records are on the disk. Raises StorageRefuses or Busy if nothing was stored."""
        size = sum(len(one.line) for one in records)
        if self._waiting_bytes + size > MAX_WAITING_BYTES and self._waiting_bytes:
            raise Busy(f"{self._waiting_bytes} bytes wait to be written")
        self._waiting_bytes += size
        done: asyncio.Future[Stored] = self._loop.create_future()
        self._waiting.put(_Work(records, size, done))
        return await done

    async def close(self) -> None:
        """What was taken before is stored first."""
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch, is_open = self._take()
            if batch:
                self._loop.call_soon_threadsafe(self._resolve, batch, self._outcomes(batch))

    def _take(self) -> tuple[list[_Work], bool]:
        batch: list[_Work] = []
        work = self._waiting.get()
        while work is not None:
            batch.append(work)
            if len(batch) == MAX_AT_ONCE:
                return batch, True
            try:
                work = self._waiting.get_nowait()
            except queue.Empty:
                return batch, True
        return batch, False

    def _outcomes(self, batch: Sequence[_Work]) -> list[Stored] | Exception:
        try:
            return self._storage.store([work.records for work in batch])
        except Exception as error:  # the thread must survive, and those who wait must know
            return error

    def _resolve(self, batch: Sequence[_Work], outcomes: list[Stored] | Exception) -> None:
        self._waiting_bytes -= sum(work.size for work in batch)
        if not isinstance(outcomes, Exception):
            self._on_stored()
        for number, work in enumerate(batch):
            if work.done.done():
                continue
            if isinstance(outcomes, Exception):
                work.done.set_exception(outcomes)
            else:
                work.done.set_result(outcomes[number])
