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
from muster.domain.alerting.alert_records import AlertRecord, Silence
from muster.domain.alerting.notices import NoticeSettings, QueuedNotice
from muster.domain.errors import Invalid, Unavailable
from muster.domain.events import Event
from muster.domain.experiments.experiments import Experiment
from muster.domain.experiments.job_metrics import MetricPoint, MetricSeries
from muster.domain.experiments.models import Model
from muster.domain.experiments.past_jobs import PastJob
from muster.domain.experiments.runs import Run, RunValues
from muster.domain.experiments.sweeps import MemberCounts, MemberValue, Sweep
from muster.domain.job_notes import JobNote
from muster.domain.jobs import Job
from muster.domain.log_records import LogRecord
from muster.domain.nodes import NodeMark
from muster.domain.schedule import TaskSpan
from muster.domain.secrets import Secret
from muster.domain.tasks import Task
from muster.domain.templates import Template
from muster.domain.usage.usage_report import JobRun, ReportWindow
from muster.ports.store import (
    NEWEST_FIRST,
    AuditFilter,
    Change,
    JobFilter,
    JobOrder,
    Page,
    Reported,
    RequestKey,
    Spent,
    SweepFilter,
)
from muster.stores import (
    accounts,
    alerting,
    audit,
    events,
    experiments,
    identities,
    job_listing,
    job_metrics,
    job_notes,
    jobs,
    log_outbox,
    models,
    node_marks,
    packages,
    past_jobs,
    run_environments,
    run_history,
    runs,
    secrets,
    sweeps,
    task_spans,
    tasks,
    templates,
    usage_report,
)
from muster.stores.committing import Committer
from muster.stores.database_engines import READERS, unavailable
from muster.stores.store_identity import read_store_id

T = TypeVar("T")
_PING_AGAIN_S = 1.0


class SqlStore:
    """Implements `ports.store.Store`. `opening.open_store` creates it inside a running event loop."""

    def __init__(
        self, writing: Engine, reading: Engine, epoch: int | None = None, outbox: log_outbox.Outbox | None = None
    ) -> None:
        self._writing = writing
        self._reading = reading
        self._committer = Committer(writing, epoch, outbox)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="muster-store-reader")
        self._closed = False
        self._store_id = ""
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

    async def jobs(
        self, where: JobFilter, *, limit: int, cursor: str | None = None, order: JobOrder = NEWEST_FIRST
    ) -> Page[Job]:
        return await self._read(
            lambda connection: job_listing.page_of_jobs(connection, where, order, limit=limit, cursor=cursor)
        )

    async def count_jobs(self, where: JobFilter, *, most: int) -> int:
        return await self._read(lambda connection: job_listing.count_jobs(connection, where, most))

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

    async def task_spans(self, window: ReportWindow, clusters: Sequence[str], *, limit: int) -> list[TaskSpan]:
        return await self._read(partial(task_spans.task_spans, window=window, clusters=clusters, limit=limit))

    async def past_jobs(self, window: ReportWindow, cluster: str, owner: str | None, *, limit: int) -> list[PastJob]:
        return await self._read(partial(past_jobs.past_jobs, window=window, cluster=cluster, owner=owner, limit=limit))

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

    async def audit(self, where: AuditFilter, *, limit: int, before: int | None = None) -> Page[Event]:
        return await self._read(partial(audit.page_of_audit, where=where, limit=limit, before=before))

    async def store_id(self) -> str:
        if not self._store_id:
            self._store_id = await self._read(read_store_id)
        return self._store_id

    async def last_event(self) -> int:
        return await self._read(events.last_event)

    async def metric_series(
        self, job_ids: Sequence[str], *, names: Sequence[str] = (), attempt: int | None = None
    ) -> list[MetricSeries]:
        return await self._read(partial(job_metrics.series_of, job_ids=job_ids, names=names, attempt=attempt))

    async def runs(self, where: JobFilter, *, limit: int, metrics: Sequence[str] = ()) -> list[Run]:
        return await self._read(partial(runs.runs, where=where, limit=limit, metrics=metrics))

    async def whole_runs(self, where: JobFilter, *, limit: int, metrics: Sequence[str] = ()) -> list[Run]:
        return await self._read(partial(runs.whole_runs, where=where, limit=limit, metrics=metrics))

    async def run_outlines(
        self, where: JobFilter, *, limit: int, metrics: Sequence[str], notes: Sequence[str]
    ) -> list[Run]:
        return await self._read(partial(runs.run_outlines, where=where, limit=limit, metrics=metrics, notes=notes))

    async def run_values(
        self, where: JobFilter, *, limit: int, metrics: Sequence[str], params: Sequence[str]
    ) -> list[RunValues]:
        return await self._read(partial(runs.run_values, where=where, limit=limit, metrics=metrics, params=params))

    async def run_bytes(
        self, job_ids: Sequence[str], *, metrics: Sequence[str] = (), with_specs: bool = False
    ) -> dict[str, int]:
        return await self._read(partial(runs.run_bytes, job_ids=job_ids, metrics=metrics, with_specs=with_specs))

    async def run_environments(self, job_ids: Sequence[str]) -> dict[str, dict[str, str]]:
        return await self._read(lambda connection: run_environments.run_environments(connection, job_ids))

    async def metric_points(
        self, job_id: str, attempt: int, name: str, *, first_step: int | None = None
    ) -> list[MetricPoint]:
        return await self._read(lambda connection: job_metrics.points_of(connection, job_id, attempt, name, first_step))

    async def metric_counts(self, job_ids: Sequence[str], *, attempt: int) -> dict[str, int]:
        return await self._read(lambda connection: job_metrics.point_counts(connection, job_ids, attempt))

    async def metric_cursor(self, job_id: str, source: str) -> int:
        return await self._read(lambda connection: job_metrics.position_of(connection, job_id, source))

    async def notes(self, job_ids: Sequence[str]) -> list[JobNote]:
        return await self._read(lambda connection: job_notes.notes_of(connection, job_ids))

    async def reported_by(self, owner: str) -> Reported:
        return await self._read(lambda connection: job_notes.reported_by(connection, owner))

    async def experiment(self, experiment_id: str) -> Experiment | None:
        return await self._read(lambda connection: experiments.experiment_by_id(connection, experiment_id))

    async def find_experiment(self, owner: str, name: str) -> Experiment | None:
        return await self._read(lambda connection: experiments.find_experiment(connection, owner, name))

    async def count_experiments(self, owner: str) -> int:
        return await self._read(lambda connection: experiments.count_experiments(connection, owner))

    async def experiments(self, owner: str | None, *, tags: Sequence[str] = ()) -> list[Experiment]:
        return await self._read(lambda connection: experiments.experiments_of(connection, owner, tags))

    async def experiments_by_ids(self, ids: Sequence[str]) -> list[Experiment]:
        return await self._read(lambda connection: experiments.experiments_by_ids(connection, ids))

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

    async def log_records(self, *, limit: int) -> list[LogRecord]:
        return await self._read(lambda connection: log_outbox.oldest_records(connection, limit))

    async def count_log_records(self) -> int:
        return await self._read(log_outbox.count_records)

    async def receiver(self) -> str:
        return await self._read(log_outbox.receiver_of)

    async def is_restored(self) -> bool:
        return await self._read(events.is_restored)

    async def sweep(self, sweep_id: str) -> Sweep:
        return await self._read(lambda connection: sweeps.sweep_by_id(connection, sweep_id))

    async def find_sweep(self, owner: str | None, name: str) -> Sweep | None:
        return await self._read(lambda connection: sweeps.find_sweep(connection, owner, name))

    async def sweep_by_request(self, key: RequestKey) -> Sweep | None:
        return await self._read(lambda connection: sweeps.sweep_by_request(connection, key))

    async def sweeps(self, where: SweepFilter, *, limit: int, cursor: str | None = None) -> Page[Sweep]:
        return await self._read(partial(sweeps.page_of_sweeps, where=where, limit=limit, cursor=cursor))

    async def open_sweeps(self) -> list[Sweep]:
        return await self._read(sweeps.open_sweeps)

    async def member_counts(self, sweep_ids: Sequence[str]) -> dict[str, MemberCounts]:
        return await self._read(lambda connection: sweeps.member_counts(connection, sweep_ids))

    async def members(self, sweep_id: str, states: Sequence[str] = (), *, after: int = 0, limit: int) -> list[Job]:
        return await self._read(
            lambda connection: sweeps.page_of_members(connection, sweep_id, states, after=after, limit=limit)
        )

    async def member_values(self, sweep: Sweep) -> list[MemberValue]:
        return await self._read(lambda connection: sweeps.member_values(connection, sweep))

    async def models(self, owner: str | None) -> list[Model]:
        return await self._read(lambda connection: models.newest_models(connection, owner))

    async def model_versions(self, owner: str | None, name: str) -> list[Model]:
        return await self._read(lambda connection: models.model_versions(connection, owner, name))

    async def model(self, owner: str, name: str, version: int | None) -> Model | None:
        return await self._read(lambda connection: models.found_model(connection, owner, name, version))

    async def model_by_id(self, model_id: str) -> Model | None:
        return await self._read(lambda connection: models.model_by_id(connection, model_id))

    async def last_model_version(self, owner: str, name: str) -> int:
        return await self._read(lambda connection: models.last_model_version(connection, owner, name))

    async def removed_models(self) -> list[str]:
        return await self._read(models.removed_models)

    async def model_bytes(self, owner: str) -> int:
        return await self._read(lambda connection: models.model_bytes(connection, owner))

    async def open_alerts(self) -> list[AlertRecord]:
        return await self._read(alerting.open_alerts)

    async def alert_history(
        self, *, owner: str | None, since: float, until: float, rule: str | None, limit: int
    ) -> list[AlertRecord]:
        return await self._read(
            partial(alerting.alert_history, owner=owner, since=since, until=until, rule=rule, limit=limit)
        )

    async def silences(self) -> list[Silence]:
        return await self._read(alerting.all_silences)

    async def due_notices(self, now: float, *, limit: int, each: int = 1) -> list[QueuedNotice]:
        return await self._read(partial(alerting.due_notices, now=now, limit=limit, each=each))

    async def next_notice_at(self) -> float | None:
        return await self._read(alerting.next_notice_at)

    async def notices_of(self, user_id: str, *, limit: int) -> list[QueuedNotice]:
        return await self._read(partial(alerting.notices_of, user_id=user_id, limit=limit))

    async def notice_settings(self) -> list[NoticeSettings]:
        return await self._read(alerting.all_settings)

    async def notice_settings_of(self, user_id: str) -> NoticeSettings | None:
        return await self._read(partial(alerting.settings_of, user_id=user_id))

    async def told_until(self) -> int | None:
        return await self._read(alerting.told_until)

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
