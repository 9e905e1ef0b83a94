"""The Store in SQL: reads run in a small thread pool, writes go through the group committer."""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DataError, DBAPIError, SQLAlchemyError

from muster.domain.accounts import Identity, Package, Token, User
from muster.domain.errors import Invalid, Unavailable
from muster.domain.events import Event
from muster.domain.jobs import Job
from muster.domain.nodes import NodeMark
from muster.domain.secrets import Secret
from muster.domain.tasks import Task
from muster.domain.templates import Template
from muster.domain.usage_report import JobRun, ReportWindow
from muster.ports.store import Change, JobFilter, Page, RequestKey, Spent
from muster.stores import (
    accounts,
    events,
    identities,
    job_listing,
    jobs,
    node_marks,
    packages,
    run_history,
    secrets,
    tasks,
    templates,
    usage_report,
)
from muster.stores.committing import Committer
from muster.stores.database_engines import READERS, unavailable

T = TypeVar("T")
_PING_AGAIN_S = 1.0


class SqlStore:
    """Implements `ports.store.Store`. `opening.open_store` creates it inside a running event loop."""

    def __init__(self, writing: Engine, reading: Engine, epoch: int | None = None) -> None:
        self._writing = writing
        self._reading = reading
        self._committer = Committer(writing, epoch)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="muster-store-reader")
        self._closed = False
        self._pinged_at = -math.inf

    async def apply(self, change: Change) -> list[Event]:
        return (await self._committer.commit((change,)))[0]

    async def apply_all(self, changes: Sequence[Change]) -> list[list[Event]]:
        return await self._committer.commit(tuple(changes))

    def listen(self, listener: Callable[[Sequence[Event]], None]) -> None:
        """The listener gets the commits of this store only. Those of other servers must be read by sequence number."""
        self._committer.listen(listener)

    async def job(self, job_id: str) -> Job:
        return await self._read(lambda connection: jobs.job_by_id(connection, job_id))

    async def find_job(self, owner: str | None, name: str) -> Job | None:
        return await self._read(lambda connection: jobs.find_job(connection, owner, name))

    async def job_by_request(self, key: RequestKey) -> Job | None:
        return await self._read(lambda connection: jobs.job_by_request(connection, key))

    async def jobs(self, where: JobFilter, *, limit: int, cursor: str | None = None) -> Page[Job]:
        return await self._read(
            lambda connection: job_listing.page_of_jobs(connection, where, limit=limit, cursor=cursor)
        )

    async def open_jobs(self) -> list[Job]:
        return await self._read(jobs.open_jobs)

    async def counts(self) -> dict[str, int]:
        return await self._read(jobs.count_by_state)

    async def ended_before(self, instant: float, *, limit: int) -> list[Job]:
        return await self._read(lambda connection: jobs.ended_before(connection, instant, limit))

    async def last_ended(self, *, limit: int) -> list[Job]:
        return await self._read(lambda connection: run_history.last_ended(connection, limit))

    async def spent_since(self, instant: float) -> list[Spent]:
        return await self._read(lambda connection: run_history.spent_since(connection, instant))

    async def each_job_run(self, window: ReportWindow, owner: str | None, take: Callable[[JobRun], None]) -> None:
        page = await self._read(lambda connection: usage_report.open_job_runs(connection, window, owner))
        still_open, after = page.ids, None
        for run in page.runs:
            take(run)
        while True:
            ended = partial(usage_report.ended_job_runs, window=window, owner=owner, after=after, but=still_open)
            page = await self._read(ended)
            for run in page.runs:
                take(run)
            if (after := page.last) is None:
                return

    async def tasks(self, job_id: str, attempt: int | None = None) -> list[Task]:
        return await self._read(lambda connection: tasks.tasks_of_job(connection, job_id, attempt))

    async def open_tasks(self) -> list[Task]:
        return await self._read(tasks.open_tasks)

    async def events(
        self, *, after: int = 0, job_id: str | None = None, prefix: str | None = None, limit: int = 500
    ) -> list[Event]:
        return await self._read(
            lambda connection: events.select_events(connection, after=after, job_id=job_id, prefix=prefix, limit=limit)
        )

    async def last_event(self) -> int:
        return await self._read(events.last_event)

    async def user(self, name: str) -> User | None:
        return await self._read(lambda connection: accounts.user_by_name(connection, name))

    async def users(self) -> list[User]:
        return await self._read(accounts.all_users)

    async def token_by_hash(self, secret_hash: str) -> Token | None:
        return await self._read(lambda connection: accounts.token_by_hash(connection, secret_hash))

    async def tokens(self, user: str | None) -> list[Token]:
        return await self._read(lambda connection: accounts.tokens_of(connection, user))

    async def identity(self, issuer: str, subject: str) -> Identity | None:
        return await self._read(lambda connection: identities.identity_of(connection, issuer, subject))

    async def identities(self, user: str | None) -> list[Identity]:
        return await self._read(lambda connection: identities.identities_of(connection, user))

    async def package(self, digest: str, owner: str | None) -> Package | None:
        return await self._read(lambda connection: packages.package_by_digest(connection, digest, owner))

    async def package_bytes(self, owner: str) -> int:
        return await self._read(lambda connection: packages.package_bytes(connection, owner))

    async def packages_in_use(self, ended_after: float | None = None) -> set[str]:
        return await self._read(lambda connection: packages.packages_in_use(connection, ended_after))

    async def node_marks(self) -> list[NodeMark]:
        return await self._read(node_marks.all_marks)

    async def secrets(self, owner_id: str | None) -> list[Secret]:
        return await self._read(lambda connection: secrets.listed_secrets(connection, owner_id))

    async def all_sealed_secrets(self) -> list[Secret]:
        return await self._read(secrets.all_sealed_secrets)

    async def templates(self) -> list[Template]:
        return await self._read(templates.listed_templates)

    async def template(self, name: str, version: int | None) -> Template | None:
        return await self._read(lambda connection: templates.template(connection, name, version))

    async def sealed_secrets(self, owner_id: str, names: Sequence[str]) -> list[Secret]:
        return await self._read(lambda connection: secrets.sealed_secrets(connection, owner_id, names))

    async def is_restored(self) -> bool:
        return await self._read(events.is_restored)

    async def ping(self) -> None:
        """Raises Unavailable if the database cannot be read and written. Calls within a second share one write."""
        if not self._closed and time.monotonic() - self._pinged_at < _PING_AGAIN_S:
            return
        await self.apply(Change())
        self._pinged_at = time.monotonic()

    async def close(self) -> None:
        """Finishes the submitted writes, then closes every connection. Calling it again does nothing."""
        self._closed = True
        await self._committer.close()
        await asyncio.to_thread(self._readers.shutdown)
        self._reading.dispose()
        self._writing.dispose()

    async def _read(self, query: Callable[[Connection], T]) -> T:
        if self._closed:
            raise Unavailable("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._run_query, query)

    def _run_query(self, query: Callable[[Connection], T]) -> T:
        try:
            try:
                return self._run_query_once(query)
            except DBAPIError as error:
                # A connection that broke while idle invalidates the whole pool, so the query runs again on a new one.
                if not error.connection_invalidated:
                    raise
                return self._run_query_once(query)
        except DataError as error:
            raise Invalid(f"the query contains a value that cannot be stored: {error.orig}") from error
        except SQLAlchemyError as error:
            raise unavailable(error) from error

    def _run_query_once(self, query: Callable[[Connection], T]) -> T:
        with self._reading.connect() as connection:
            return query(connection)
