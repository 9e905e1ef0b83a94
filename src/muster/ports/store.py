"""The interface to the store, which keeps everything that must be durable.

Every write is one `Change` with state and events together, committed as a whole or not at all. Writes are
group-committed: one fsync may serve many changes, and `apply` returns only after it. Reads see what is committed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from muster.domain.accounts import Identity, Package, Token, User
from muster.domain.events import Event
from muster.domain.jobs import Job
from muster.domain.nodes import NodeMark
from muster.domain.secrets import Secret
from muster.domain.tasks import Task
from muster.domain.templates import Template
from muster.domain.usage_report import JobRun, ReportWindow

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
    versions, else NotFound.
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


@dataclass(frozen=True, slots=True)
class Spent:
    """The GPU time that one attempt of a job used."""

    cluster: str
    vc: str
    owner: str
    gpu_s: float
    ended_at: float


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

    async def jobs(self, where: JobFilter, *, limit: int, cursor: str | None = None) -> Page[Job]:
        """One page of jobs, newest first. Its cost does not grow with the number of stored jobs. Raises Invalid for a
        bad cursor."""
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

    async def last_event(self) -> int: ...

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

    async def ping(self) -> None: ...

    async def close(self) -> None: ...
