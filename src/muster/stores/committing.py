"""Group commit: one writer thread puts all waiting changes into one transaction with one fsync.

While a batch is being committed, the next one accumulates, so throughput rises with load, and a single change does not
have to wait. A batch first runs without savepoints. If a change in it is refused, the batch is rolled back and run
again with a savepoint around each piece of work, so that only the refused one fails.
"""

import asyncio
import itertools
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError

from muster.domain.errors import Invalid, MusterError, Superseded, Unavailable
from muster.domain.events import Event
from muster.ports.store import Change
from muster.stores.database_engines import unavailable
from muster.stores.events import insert_events, reserve_numbers
from muster.stores.log_outbox import Outbox
from muster.stores.writing import explain, perform

MAX_BATCH = 500
"""The most pieces of work in one transaction, which bounds how long the first of them waits for the last."""

Answer = list[list[Event]]
Outcome = Answer | Exception
Listener = Callable[[Sequence[Event]], None]

_Batch = Sequence[Sequence[Change]]
_Attempt = Callable[[Connection, _Batch, Iterator[int], Outbox | None], list[Outcome]]

# Errors that a change itself causes. Any other error of SQLAlchemy comes from the database and fails the whole batch.
# ValueError: text that cannot be encoded (a lone surrogate) or data that is not JSON.
_REFUSED = (MusterError, IntegrityError, DataError, ValueError, TypeError)


@dataclass(frozen=True, slots=True)
class _Work:
    changes: Sequence[Change]
    done: asyncio.Future[Answer]


class Committer:
    """Belongs to the event loop that created it. `close` finishes the work that was submitted before.

    `epoch` is the term in which the server may write. Without one, writes are not bound to the lease.
    """

    def __init__(self, engine: Engine, epoch: int | None = None, outbox: Outbox | None = None) -> None:
        self._engine = engine
        self._epoch = epoch
        self._outbox = outbox
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._closed = False
        self._listeners: list[Listener] = []
        self._thread = threading.Thread(target=self._run, name="muster-store-writer", daemon=True)
        self._thread.start()

    async def commit(self, changes: Sequence[Change]) -> Answer:
        """Commits all changes in one transaction, or none. They are committed even if the caller is cancelled."""
        if self._closed:
            raise Unavailable("the store is closed")
        done: asyncio.Future[Answer] = self._loop.create_future()
        self._waiting.put(_Work(changes, done))
        return await done

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        more_to_come = True
        while more_to_come:
            batch, more_to_come = self._take()
            if batch:
                outcomes = commit_batch(self._engine, [work.changes for work in batch], self._epoch, self._outbox)
                self._deliver(batch, outcomes)

    def _take(self) -> tuple[list[_Work], bool]:
        """Waits for the first piece of work, then takes all that are queued. Returns False if no more will come."""
        batch: list[_Work] = []
        work = self._waiting.get()
        while work is not None:
            batch.append(work)
            if len(batch) == MAX_BATCH:
                return batch, True
            try:
                work = self._waiting.get_nowait()
            except queue.Empty:
                return batch, True
        return batch, False

    def _deliver(self, batch: list[_Work], outcomes: list[Outcome]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._resolve, batch, outcomes)
        except RuntimeError:
            # The event loop has ended, and with it all callers; what was committed stays committed.
            self._closed = True

    def _resolve(self, batch: list[_Work], outcomes: list[Outcome]) -> None:
        self._notify_listeners(outcomes)
        for work, outcome in zip(batch, outcomes, strict=True):
            if work.done.done():
                continue
            if isinstance(outcome, Exception):
                work.done.set_exception(outcome)
            else:
                work.done.set_result(outcome)

    def _notify_listeners(self, outcomes: list[Outcome]) -> None:
        """Runs before the futures are resolved, so that the listeners know of a change before its caller continues."""
        answers = [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
        events = [event for answer in answers for numbered in answer for event in numbered]
        if not events:
            return
        for listener in self._listeners:
            try:
                listener(events)
            except Exception as error:
                # An error in a listener must not leave the callers of a committed batch waiting.
                self._loop.call_exception_handler({"message": "a store listener failed", "exception": error})


def commit_batch(
    engine: Engine, batch: _Batch, epoch: int | None = None, outbox: Outbox | None = None
) -> list[Outcome]:
    try:
        try:
            return _transaction(engine, batch, _straight, epoch, outbox)
        except Superseded:
            raise
        except _REFUSED:
            return _transaction(engine, batch, _guarded, epoch, outbox)
    except SQLAlchemyError as error:
        return [unavailable(error) for _ in batch]
    except Exception as error:
        # The writer thread must survive any error, and its callers must get the error.
        return [error for _ in batch]


def _transaction(
    engine: Engine, batch: _Batch, attempt: _Attempt, epoch: int | None, outbox: Outbox | None
) -> list[Outcome]:
    amount = sum(len(change.events) for changes in batch for change in changes)
    with engine.begin() as connection:
        numbers = itertools.count(reserve_numbers(connection, amount, epoch))
        return attempt(connection, batch, numbers, outbox)


def _straight(connection: Connection, batch: _Batch, numbers: Iterator[int], outbox: Outbox | None) -> list[Outcome]:
    perform(connection, [change for changes in batch for change in changes])
    answers = [[_numbered(change, numbers) for change in changes] for changes in batch]
    insert_events(connection, [event for answer in answers for events in answer for event in events])
    if outbox is not None:
        for changes, answer in zip(batch, answers, strict=True):
            outbox.write(connection, changes, answer)
    return list(answers)


def _guarded(connection: Connection, batch: _Batch, numbers: Iterator[int], outbox: Outbox | None) -> list[Outcome]:
    return [_guard(connection, changes, numbers, outbox) for changes in batch]


def _guard(connection: Connection, changes: Sequence[Change], numbers: Iterator[int], outbox: Outbox | None) -> Outcome:
    connection.exec_driver_sql("SAVEPOINT work")
    answer: Answer = []
    for change in changes:
        try:
            perform(connection, [change])
            answer.append(_numbered(change, numbers))
            insert_events(connection, answer[-1])
            if outbox is not None:
                outbox.write(connection, [change], answer[-1:])
        except _REFUSED as error:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT work")
            return _reason(connection, change, error)
    connection.exec_driver_sql("RELEASE SAVEPOINT work")
    return answer


def _numbered(change: Change, numbers: Iterator[int]) -> list[Event]:
    return [replace(event, seq=next(numbers)) for event in change.events]


def _reason(connection: Connection, change: Change, error: Exception) -> Exception:
    if isinstance(error, IntegrityError):
        return explain(connection, change, error)
    if isinstance(error, DataError | ValueError | TypeError):
        detail = error.orig if isinstance(error, DataError) else error
        return Invalid(f"the change contains a value that cannot be stored: {detail}")
    return error
