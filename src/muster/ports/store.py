"""The interface to the store, which keeps everything that must be durable.

Every write is one `Change` with state and events together, committed as a whole or not at all. Writes are
group-committed: one fsync may serve many changes, and `apply` returns only after it. Reads see what is committed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from muster.domain.accounts import Identity, Package, Token, User
from muster.domain.alerting.alert_records import AlertRecord, Silence
from muster.domain.alerting.notices import NoticeSettings, QueuedNotice
from muster.domain.events import Event
from muster.domain.experiments.experiments import Experiment
from muster.domain.experiments.job_metrics import MetricBatch, MetricPoint, MetricSeries
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

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Makes a repeated POST harmless: the second one with the same user and key finds the first one's job. `digest` is
    that of the request, so that a key that is used again for another request is noticed; if it is empty, it is not
    compared."""

    user: str
    key: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class AlertingChange:
    """`alerts` are inserted or replaced by id. `dropped_alerts` need not exist. `removed_silence` is an id, else
    NotFound. `notices` are inserted unless their key is known. `tried_notices` replace what is known of them; one that
    was sent, or given up, has no `due_at` any more. `settings` replace those of the user; `removed_settings` need not
    exist. `told_until` is the number of the last event of which users were told. Alerts that resolved, silences that
    ended, and notices that were sent before `forget_before` are removed. The clock was set by `clock_set_by_s`: notices
    that wait keep their order and the rest of their time, unless they wait for the end of quiet hours."""

    alerts: Sequence[AlertRecord] = ()
    dropped_alerts: Sequence[str] = ()
    silence: Silence | None = None
    removed_silence: str | None = None
    notices: Sequence[QueuedNotice] = ()
    tried_notices: "Sequence[TriedNotice]" = ()
    settings: NoticeSettings | None = None
    removed_settings: str | None = None
    told_until: int | None = None
    forget_before: float | None = None
    clock_set_by_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TriedNotice:
    """`due_at` is when it is tried again; None if it is not."""

    notice: QueuedNotice
    due_at: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """What one step writes.

    `new_job` is inserted; its name must not belong to another job of the same owner that has not ended, else Conflict.
    `job` is updated where the stored version is `job.version - steps`, else StaleWrite (`steps` is the number of
    moves since it was loaded); all but its spec is written. `rewritten_job` is the same with its spec and labels; the
    name stays. `tasks` are inserted or replaced whole by id. `removed_job` deletes a finished job with its tasks,
    keys, own secrets and job and task events (audit events stay). `used_token` records when a token was last used; it
    need not exist any more. `removed_package` removes a digest for all its owners. `node_mark` replaces the mark that
    the node had before. `unmarked_node` is a cluster and a node, which need not have a mark. `new_identity` links a
    person to a user; Conflict if the person is linked already. The end of a user ends their identities. `secret`
    replaces the one of the same owner and name, and so do `secrets`. `removed_secret` is the id of an owner and a
    name, else NotFound. The end of a user removes their secrets. `template` is a new version of a template, else
    Conflict; of the older ones, so many stay that there are `kept_versions` of it. `removed_template` removes all
    versions, else NotFound. `delivered` is the number of the last record that the log server has: it and those
    before it are removed from the outbox. `kept_records` removes the oldest records but so many. `metrics` adds the
    points that are not there yet, as far as the limits allow; a batch whose cursor has moved already adds nothing, and
    one for a job that does not exist is NotFound. `notes` replace those of the same job, kind and key. `removed_notes`
    need not exist, and their values do not count. `experiment` replaces the one with its id; its name must not
    belong to another one of its owner, else Conflict. `new_sweep` is inserted with `sweep_key`; its name must not
    belong to another open sweep of the same owner, else Conflict. `sweep` is updated where the stored version is one
    less, else StaleWrite. `emptied_sweeps_before` removes the sweeps that ended before the instant and whose members
    were all deleted. `new_model` is a new version of a model, else Conflict. `removed_models` are ids of versions,
    else NotFound; their numbers are not given again. `alerting` is what alerts and notices write.
    """

    new_job: Job | None = None
    request_key: RequestKey | None = None
    job: Job | None = None
    rewritten_job: Job | None = None
    steps: int = 1
    tasks: Sequence[Task] = ()
    events: Sequence[Event] = ()
    removed_job: str | None = None
    new_user: User | None = None
    user: User | None = None
    removed_user: str | None = None
    new_token: Token | None = None
    removed_token: str | None = None
    used_token: tuple[str, float] | None = None
    new_identity: Identity | None = None
    removed_identity: Identity | None = None
    new_package: Package | None = None
    removed_package: str | None = None
    node_mark: NodeMark | None = None
    unmarked_node: tuple[str, str] | None = None
    secret: Secret | None = None
    secrets: Sequence[Secret] = ()
    removed_secret: tuple[str, str] | None = None
    template: Template | None = None
    kept_versions: int = 1
    removed_template: str | None = None
    delivered: int | None = None
    kept_records: int | None = None
    metrics: MetricBatch | None = None
    notes: Sequence[JobNote] = ()
    removed_notes: Sequence[JobNote] = ()
    experiment: Experiment | None = None
    new_sweep: Sweep | None = None
    sweep_key: RequestKey | None = None
    sweep: Sweep | None = None
    emptied_sweeps_before: float | None = None
    new_model: Model | None = None
    removed_models: Sequence[str] = ()
    alerting: AlertingChange | None = None


class Members(StrEnum):
    """Which jobs are asked for, where members of sweeps are concerned."""

    ALL = "all"
    """Members and other jobs."""
    NONE = "none"
    """Only jobs that are members of no sweep."""
    ONLY = "only"


@dataclass(frozen=True, slots=True)
class JobFilter:
    states: tuple[str, ...] = ()
    owner: str | None = None
    cluster: str | None = None
    name: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    """A part of the name, the owner or the id; case does not matter."""
    created_after: float | None = None
    created_before: float | None = None
    vc: str | None = None
    reason: str | None = None
    """A part of the reason of an ended job; case does not matter. Reasons of open jobs change without being stored, so
    that only those open jobs match which `open_with_reason` names."""
    open_with_reason: tuple[str, ...] = ()
    sweep: str | None = None
    """The id of a sweep: only its members."""
    members: Members = Members.ALL
    ids: tuple[str, ...] = ()
    """Only these jobs, if there are any."""
    leaves_out_deleted: bool = False
    """Whether to leave out the runs outside of Muster that their owners have deleted with MLflow's client, by
    themselves or with their experiment."""


@dataclass(frozen=True, slots=True)
class SweepFilter:
    owner: str | None = None
    is_open: bool | None = None


class JobSort(StrEnum):
    CREATED = "created"
    STARTED = "started"
    """Jobs that have not started come as if they started later than all others."""
    ENDED = "ended"
    """Likewise for jobs that have not ended."""
    NAME = "name"
    OWNER = "owner"
    CLUSTER = "cluster"
    VC = "vc"
    STATE = "state"
    PRIORITY = "priority"
    GPUS = "gpus"

    @property
    def is_text(self) -> bool:
        return self in (JobSort.NAME, JobSort.OWNER, JobSort.CLUSTER, JobSort.VC, JobSort.STATE)


@dataclass(frozen=True, slots=True)
class JobOrder:
    """Jobs that are equal in it are in the order of their creation, in the same direction."""

    by: JobSort = JobSort.CREATED
    is_descending: bool = True


NEWEST_FIRST = JobOrder()


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which audit events are asked for."""

    about: str | None = None
    """Only acts of this user, and acts on what belongs to this user."""
    actor: str | None = None
    prefix: str = ""
    """The beginning of the operation, such as `job.` or `node.cordon`."""
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """The GPU time that one attempt of a job used."""

    cluster: str
    vc: str
    owner: str
    gpu_s: float
    ended_at: float


@dataclass(frozen=True, slots=True)
class Reported:
    """What programs have reported for one owner: how many runs outside of Muster there are, and the bytes of the params
    and tags of all runs."""

    runs: int
    note_bytes: int


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: list[T] = field(default_factory=list)
    next_cursor: str | None = None


class Store(Protocol):
    """It is safe to call from many asyncio tasks of one loop. Methods raise Conflict and StaleWrite as described at
    Change, NotFound if there is nothing with the given id, and Unavailable if the database does not answer."""

    async def apply(self, change: Change) -> list[Event]:
        """Commit the change. Returns its events with their sequence numbers."""
        ...

    async def apply_all(self, changes: Sequence[Change]) -> list[list[Event]]:
        """Commit all changes in one transaction, or none."""
        ...

    def listen(self, listener: Callable[[Sequence[Event]], None]) -> None:
        """Call `listener` on the loop with the events of every commit, in the order of their numbers, before the
        `apply` that wrote them returns."""
        ...

    async def job(self, job_id: str) -> Job: ...

    async def find_job(self, owner: str | None, name: str) -> Job | None:
        """The newest job of that name, of that owner or of any."""
        ...

    async def job_by_request(self, key: RequestKey) -> Job | None:
        """The job that a request with this key made. Raises Conflict if that was another request."""
        ...

    async def jobs(
        self, where: JobFilter, *, limit: int, cursor: str | None = None, order: JobOrder = NEWEST_FIRST
    ) -> Page[Job]:
        """One page of jobs. Newest first, its cost does not grow with the number of stored jobs; nor in another order,
        unless it is filtered. Raises Invalid for a bad cursor, and for one of a page in another order."""
        ...

    async def count_jobs(self, where: JobFilter, *, most: int) -> int:
        """How many jobs match; `most` if there are more."""
        ...

    async def open_jobs(self) -> list[Job]:
        """All jobs that have not ended, oldest first. The engine loads them when it starts."""
        ...

    async def counts(self) -> dict[str, int]:
        """The number of jobs in each state."""
        ...

    async def tasks(self, job_id: str, attempt: int | None = None) -> list[Task]:
        """The tasks of a job, in order of attempt and rank."""
        ...

    async def open_tasks(self) -> list[Task]:
        """The tasks of the current attempts of all open jobs."""
        ...

    async def events(
        self, *, after: int = 0, job_id: str | None = None, prefix: str | None = None, limit: int = 500
    ) -> list[Event]:
        """The events with sequence numbers greater than `after`, in ascending order."""
        ...

    async def audit(self, where: AuditFilter, *, limit: int, before: int | None = None) -> Page[Event]:
        """Audit events with sequence numbers below `before`, newest first. The work is bounded: a page may have fewer
        than `limit` events, or none, and a cursor nevertheless."""
        ...

    async def store_id(self) -> str:
        """An opaque id, which is the same for all servers on this store, and for no other store."""
        ...

    async def last_event(self) -> int: ...

    async def log_records(self, *, limit: int) -> list[LogRecord]:
        """The oldest records that wait for the log server, in order."""
        ...

    async def count_log_records(self) -> int: ...

    async def receiver(self) -> str:
        """The name under which the log server knows this store; empty if it has none, because nothing was sent yet."""
        ...

    async def is_restored(self) -> bool:
        """Whether the rows come from a backup, and nobody has released the server since."""
        ...

    async def ended_before(self, instant: float, *, limit: int) -> list[Job]: ...

    async def last_ended(self, *, limit: int) -> list[Job]:
        """The jobs that ended last, newest last. Run times are predicted from them."""
        ...

    async def spent_since(self, instant: float) -> list[Spent]:
        """The GPU time of attempts that ended after the instant, with one entry for each attempt. Time before the
        instant is left out, and so are jobs that were deleted from the history."""
        ...

    async def each_job_run(self, window: ReportWindow, owner: str | None, take: Callable[[JobRun], None]) -> None:
        """Call `take` with each job of the owner, or of all, that was open at any time in the window. Few jobs are in
        memory at a time."""
        ...

    async def task_spans(self, window: ReportWindow, clusters: Sequence[str], *, limit: int) -> list[TaskSpan]:
        """Which tasks ran where in the window, those that began last first. The work is bounded by `limit`: of a longer
        history, it answers the tasks of the jobs that ended last."""
        ...

    async def past_jobs(self, window: ReportWindow, cluster: str, owner: str | None, *, limit: int) -> list[PastJob]:
        """The jobs of a cluster, of one owner or of all, that were created in the window, have run and have ended.
        Those that ended last come first."""
        ...

    async def metric_series(
        self, job_ids: Sequence[str], *, names: Sequence[str] = (), attempt: int | None = None
    ) -> list[MetricSeries]:
        """The summaries of the metrics of these jobs, in order of job, attempt and name: all of them, or those with
        these names, or of this attempt."""
        ...

    async def runs(self, where: JobFilter, *, limit: int, metrics: Sequence[str] = ()) -> list[Run]:
        """Jobs with their parameters and the summaries of their metrics, newest first. Of the metrics all, or those
        with these names. It is made for many thousands of jobs."""
        ...

    async def whole_runs(self, where: JobFilter, *, limit: int, metrics: Sequence[str] = ()) -> list[Run]:
        """The same for few jobs, with what is only in their specs: their variables and all labels."""
        ...

    async def run_outlines(
        self, where: JobFilter, *, limit: int, metrics: Sequence[str], notes: Sequence[str]
    ) -> list[Run]:
        """The same jobs in the same order, with these metrics only, and with the parameters and tags of these names."""
        ...

    async def run_values(
        self, where: JobFilter, *, limit: int, metrics: Sequence[str], params: Sequence[str]
    ) -> list[RunValues]:
        """The same jobs in the same order, with these parameters and metrics only."""
        ...

    async def run_bytes(
        self, job_ids: Sequence[str], *, metrics: Sequence[str] = (), with_specs: bool = False
    ) -> dict[str, int]:
        """About how large these runs are in an answer, with all metrics or those with these names."""
        ...

    async def run_environments(self, job_ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """What these runs ran in, by job: `image`, `conda` or `venv`, `framework`, and `gpu`, the models of its GPUs;
        each if it is known."""
        ...

    async def metric_points(
        self, job_id: str, attempt: int, name: str, *, first_step: int | None = None
    ) -> list[MetricPoint]:
        """One curve, in order of step and time: all of it, or from this step on."""
        ...

    async def metric_counts(self, job_ids: Sequence[str], *, attempt: int) -> dict[str, int]:
        """How many points this attempt of each job has in all its curves. Jobs without metrics are left out."""
        ...

    async def metric_cursor(self, job_id: str, source: str) -> int:
        """How far this source was read; 0 if never."""
        ...

    async def notes(self, job_ids: Sequence[str]) -> list[JobNote]:
        """What programs noted about these jobs, in order of job, kind and key."""
        ...

    async def reported_by(self, owner: str) -> Reported: ...

    async def experiment(self, experiment_id: str) -> Experiment | None: ...

    async def find_experiment(self, owner: str, name: str) -> Experiment | None: ...

    async def count_experiments(self, owner: str) -> int: ...

    async def experiments(self, owner: str | None, *, tags: Sequence[str] = ()) -> list[Experiment]:
        """Those of one owner or of all, newest first, those that were deleted among them. They have only the tags of
        these names."""
        ...

    async def experiments_by_ids(self, ids: Sequence[str]) -> list[Experiment]:
        """Those that there are, whole and in this order."""
        ...

    async def user(self, name: str) -> User | None: ...

    async def users(self) -> list[User]: ...

    async def token_by_hash(self, secret_hash: str) -> Token | None: ...

    async def tokens(self, user: str | None) -> list[Token]: ...

    async def identity(self, issuer: str, subject: str) -> Identity | None: ...

    async def identities(self, user: str | None) -> list[Identity]:
        """The identities of a user, or of all users."""
        ...

    async def package(self, digest: str, owner: str | None) -> Package | None: ...

    async def package_bytes(self, owner: str) -> int:
        """The size of all packages of the owner."""
        ...

    async def packages_in_use(self, ended_after: float | None = None) -> set[str]:
        """The digests that jobs need: all jobs, or those that are open or ended after the instant."""
        ...

    async def node_marks(self) -> list[NodeMark]: ...

    async def secrets(self, owner_id: str | None) -> list[Secret]:
        """The secrets of one owner or of all, in order of owner and name, without their values."""
        ...

    async def all_sealed_secrets(self) -> list[Secret]:
        """All secrets, in order of owner and name, with their encrypted values."""
        ...

    async def sealed_secrets(self, owner_id: str, names: Sequence[str]) -> list[Secret]:
        """Those of the owner's secrets that have these names, with their encrypted values."""
        ...

    async def templates(self) -> list[Template]:
        """The newest version of each template, in order of name, without files."""
        ...

    async def template(self, name: str, version: int | None) -> Template | None:
        """One version, or the newest, with its files."""
        ...

    async def sweep(self, sweep_id: str) -> Sweep: ...

    async def find_sweep(self, owner: str | None, name: str) -> Sweep | None:
        """The newest sweep of that name, of that owner or of any."""
        ...

    async def sweep_by_request(self, key: RequestKey) -> Sweep | None:
        """The sweep that a request with this key made. Raises Conflict if that was another request."""
        ...

    async def sweeps(self, where: SweepFilter, *, limit: int, cursor: str | None = None) -> Page[Sweep]:
        """One page of sweeps, newest first."""
        ...

    async def open_sweeps(self) -> list[Sweep]:
        """All sweeps that have not ended, oldest first."""
        ...

    async def member_counts(self, sweep_ids: Sequence[str]) -> dict[str, MemberCounts]:
        """How many members each of these sweeps has in each state."""
        ...

    async def members(self, sweep_id: str, states: Sequence[str] = (), *, after: int = 0, limit: int) -> list[Job]:
        """The members of a sweep with numbers above `after`, in order."""
        ...

    async def member_values(self, sweep: Sweep) -> list[MemberValue]:
        """What the members of a sweep have of its metric, in order of their numbers; those that have none are left
        out."""
        ...

    async def models(self, owner: str | None) -> list[Model]:
        """The newest version of each model, of one owner or of all, in order of owner and name."""
        ...

    async def model_versions(self, owner: str | None, name: str) -> list[Model]:
        """All versions of a model, newest first."""
        ...

    async def model(self, owner: str, name: str, version: int | None) -> Model | None:
        """One version, or the newest."""
        ...

    async def model_by_id(self, model_id: str) -> Model | None: ...

    async def last_model_version(self, owner: str, name: str) -> int:
        """The highest number that a version of the model has or had; 0 if there was none."""
        ...

    async def removed_models(self) -> list[str]:
        """The ids of all versions that were removed."""
        ...

    async def model_bytes(self, owner: str) -> int:
        """The size of all models of the owner."""
        ...

    async def open_alerts(self) -> list[AlertRecord]:
        """The alerts of rules that have not resolved, oldest first."""
        ...

    async def alert_history(
        self, *, owner: str | None, since: float, until: float, rule: str | None, limit: int
    ) -> list[AlertRecord]:
        """Alerts that fired in this time, newest first; of one owner's jobs, or all."""
        ...

    async def silences(self) -> list[Silence]: ...

    async def due_notices(self, now: float, *, limit: int, each: int = 1) -> list[QueuedNotice]:
        """Up to `each` notices of every lane that are due now, the oldest first, and the first of all lanes before the
        second of any. One that is to be tried again later holds back all that came after it."""
        ...

    async def next_notice_at(self) -> float | None:
        """When the next notice is due; None if none waits."""
        ...

    async def notices_of(self, user_id: str, *, limit: int) -> list[QueuedNotice]:
        """The notices to a user, or to admins, newest first: those that wait, and those that were sent lately."""
        ...

    async def notice_settings(self) -> list[NoticeSettings]: ...

    async def notice_settings_of(self, user_id: str) -> NoticeSettings | None: ...

    async def told_until(self) -> int | None:
        """The number of the last event of which users were told; None if there was none yet."""
        ...

    async def ping(self) -> None: ...

    async def close(self) -> None: ...
