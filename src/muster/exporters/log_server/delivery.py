"""Sends records from the outbox to the log server, in order and in batches, and removes what has arrived.

A log server that is away blocks nothing: records wait in the database, and are sent when it answers again. Each record
arrives at least once; the log server knows those that it has.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import structlog

from muster.domain.errors import MusterError
from muster.domain.events import Event
from muster.domain.log_records import LogRecord
from muster.exporters.log_server.connection import LogServerAway, LogServerConnection, RecordsRefused
from muster.lib.backoff import exponential
from muster.lib.clock import Clock, wall_clock
from muster.lib.daemon_threads import on_daemon_thread
from muster.ports.log_records import LogDelivery
from muster.ports.store import Change, Store
from muster.settings.log_server import LogServerSettings

_log = structlog.get_logger("exporters.log_server")
BATCH_RECORDS = 2_000
BATCH_BYTES = 8 << 20
_LOOK_AGAIN_S = 30.0
_LONGEST_PAUSE_S = 30.0
_WARN_EVERY_S = 300.0


@asynccontextmanager
async def delivering(
    settings: LogServerSettings | None, token: str, store: Store, status: LogDelivery
) -> AsyncIterator[None]:
    """Send while the context is open. What is not sent at its end waits for the next time."""
    if settings is None:
        yield
        return
    delivery = Delivery(settings, token, store, status)
    task = asyncio.create_task(delivery.run(), name="log server")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Delivery:
    def __init__(
        self, settings: LogServerSettings, token: str, store: Store, status: LogDelivery, clock: Clock = wall_clock
    ) -> None:
        self._connection = LogServerConnection(settings, token)
        self._store = store
        self._status = status
        self._max_backlog = settings.max_backlog
        self._clock = clock
        self._new = asyncio.Event()
        self._failures = 0
        self._warned_at = 0.0
        status.address = settings.url
        status.alert_after_s = settings.alert_after
        store.listen(self._note)

    async def run(self) -> None:
        await self._check()
        while True:
            self._new.clear()
            try:
                is_empty = await self._send_some()
            except LogServerAway as error:
                self._failed(str(error))
                await self._limit_backlog()
            except MusterError as error:
                self._failed(f"cannot get records: the outbox cannot be read or written: {error.message}")
            except Exception as error:
                _log.exception("sending records failed")
                self._failed(f"cannot get records: {error}")
            else:
                if is_empty:
                    await self._wait_for_more()
                continue
            await asyncio.sleep(exponential(self._failures, first_s=0.5, limit_s=_LONGEST_PAUSE_S))

    def _note(self, events: Sequence[Event]) -> None:
        self._status.waiting += sum(event.kind.startswith(("job.", "task.")) for event in events)
        self._new.set()

    async def _check(self) -> None:
        """Say at the start if the address or the token is wrong, also if there is nothing to send yet."""
        try:
            await on_daemon_thread(self._connection.check, "log server")
        except LogServerAway as error:
            self._failed(str(error))
        else:
            _log.info("records of jobs are sent to the log server", address=self._status.address)

    async def _send_some(self) -> bool:
        """Send one batch. Returns whether nothing is left."""
        records = await self._store.log_records(limit=BATCH_RECORDS)
        self._status.oldest_at = records[0].at if records else None
        if not records:
            self._status.waiting = 0
            if self._failures:
                await on_daemon_thread(self._connection.check, "log server")
                self._succeeded()
            return True
        batch = _within_bytes(records)
        await self._send(batch)
        await self._store.apply(Change(delivered=batch[-1].seq))
        self._status.sent += len(batch)
        self._succeeded()
        self._status.waiting = len(records) - len(batch) if len(records) < BATCH_RECORDS else await self._count()
        return False

    async def _send(self, batch: Sequence[LogRecord]) -> None:
        """A batch that is refused is sent one by one, so that only the wrong ones are left out."""
        try:
            taken = await on_daemon_thread(partial(self._connection.send, batch), "log server")
        except RecordsRefused as error:
            if len(batch) > 1:
                for record in batch:
                    await self._send([record])
                return
            self._status.refused += 1
            _log.error("the log server refuses a record, which is left out", number=batch[0].seq, error=str(error))
            return
        if taken.conflicts:
            _log.error(
                "the log server has other records under the same numbers: another server sends under the same name",
                count=taken.conflicts,
                receiver=batch[0].receiver,
            )

    async def _limit_backlog(self) -> None:
        try:
            self._status.waiting = await self._count()
            surplus = self._status.waiting - self._max_backlog - 1  # the notice of what is missing
            if surplus > 0:
                await self._store.apply(Change(kept_records=self._max_backlog))
                self._status.dropped += surplus
                self._status.waiting -= surplus
                _log.error("the oldest records are dropped, because too many wait for the log server", count=surplus)
            oldest = await self._store.log_records(limit=1)
            self._status.oldest_at = oldest[0].at if oldest else None
        except MusterError as error:
            _log.warning("the outbox cannot be read or written", error=error.message)

    async def _count(self) -> int:
        return await self._store.count_log_records()

    async def _wait_for_more(self) -> None:
        """Waits for news, and looks now and then without any: the rows of another server's term may have been left."""
        try:
            async with asyncio.timeout(_LOOK_AGAIN_S):
                await self._new.wait()
        except TimeoutError:
            pass

    def _failed(self, why: str) -> None:
        now = self._clock()
        self._failures += 1
        self._status.problem = why
        if self._status.failing_since is None:
            self._status.failing_since = now
        if not self._warned_at or now - self._warned_at >= _WARN_EVERY_S:
            self._warned_at = now
            hint = "the server works on and sends the records later; check logServer in its settings"
            _log.warning("records cannot be sent to the log server", address=self._status.address, error=why, hint=hint)

    def _succeeded(self) -> None:
        if self._failures:
            _log.info("records are sent to the log server again", waiting=self._status.waiting)
        self._failures = 0
        self._warned_at = 0.0
        self._status.problem = ""
        self._status.failing_since = None


def _within_bytes(records: Sequence[LogRecord]) -> Sequence[LogRecord]:
    """Return the first records that fit into a request, and at least one."""
    size = 0
    for number, record in enumerate(records):
        size += len(record.body) + 100
        if size > BATCH_BYTES and number:
            return records[:number]
    return records
