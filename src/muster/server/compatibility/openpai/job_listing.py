"""The list of jobs with OpenPAI's filters, orders and pages."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from muster.domain.errors import Invalid
from muster.domain.jobs import Job
from muster.engine.cluster_access import default_cluster
from muster.engine.requests.accounts import Principal
from muster.ports.store import JobFilter
from muster.server.compatibility.openpai.job_views import PRIORITY_WORDS, summary, virtual_cluster_of
from muster.server.compatibility.openpai.states import job_word, own_states
from muster.server.compatibility.openpai.tags import tags_of
from muster.server.services import Services

DEFAULT_LIMIT = 5000
MAX_LIMIT = 50_000
MAX_READ = 50_000
"""How many jobs are looked through at most, newest first, for orders and counts that need all of them."""
_PAGE = 1000
_NO_CLUSTER = "default"
_SAME_PRIORITY = {"test": "default"}


@dataclass(frozen=True, slots=True)
class JobQuery:
    """What a client asks for. Lists of words are empty if the client does not say."""

    usernames: frozenset[str] = frozenset()
    clusters: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    priorities: frozenset[str] = frozenset()
    keyword: str = ""
    tags: frozenset[str] = frozenset()
    tags_not: frozenset[str] = frozenset()
    order: str = ""
    offset: int = 0
    limit: int = DEFAULT_LIMIT
    has_total: bool = False

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> "JobQuery":
        return cls(
            _words(given, "username"),
            _words(given, "vc"),
            frozenset(word.upper() for word in _words(given, "state")),
            frozenset(_SAME_PRIORITY.get(word, word) for word in _words(given, "jobPriority")),
            given.get("keyword", ""),
            _words(given, "tagsContain"),
            _words(given, "tagsNotContain"),
            given.get("order", ""),
            _count(given, "offset", 0, MAX_READ),
            _count(given, "limit", DEFAULT_LIMIT, MAX_LIMIT),
            given.get("withTotalCount", "").lower() == "true",
        )


@dataclass(frozen=True, slots=True)
class Listed:
    lines: list[dict[str, Any]]
    total: int
    """How many there are, or at least as many as were asked for if nobody wants to know."""


async def list_jobs(parts: Services, me: Principal, query: JobQuery) -> Listed:
    """The jobs that the caller may see and that the filters let through. Only the line of each is kept, because a job
    is far larger."""
    now, end = parts.context.clock(), query.offset + query.limit
    key, is_descending = _order(query.order)
    if key is None:
        return await _newest_first(parts, me, query, now)
    found: list[tuple[Any, dict[str, Any]]] = []
    async for job in _matching(parts, me, query):
        found.append((key(job), summary(job, now)))
    found.sort(key=itemgetter(0), reverse=is_descending)
    return Listed([line for _, line in found[query.offset : end]], len(found))


async def _newest_first(parts: Services, me: Principal, query: JobQuery, now: float) -> Listed:
    lines: list[dict[str, Any]] = []
    total, end = 0, query.offset + query.limit
    async for job in _matching(parts, me, query):
        if total >= end and not query.has_total:
            break
        if query.offset <= total < end:
            lines.append(summary(job, now))
        total += 1
    return Listed(lines, total)


async def _matching(parts: Services, me: Principal, query: JobQuery) -> AsyncIterator[Job]:
    where = _where(parts, me, query)
    matches = _filter(parts, me, query)
    cursor, read = None, 0
    while where is not None and read < MAX_READ:
        page = await parts.context.store.jobs(where, limit=_PAGE, cursor=cursor)
        for job in page.items:
            if matches(job):
                yield job
        cursor, read = page.next_cursor, read + len(page.items)
        if cursor is None:
            return


def _where(parts: Services, me: Principal, query: JobQuery) -> JobFilter | None:
    """The part of the query that the database answers; None if nothing can match."""
    owners = query.usernames
    if parts.private_jobs and not me.is_admin:
        if owners and me.name not in owners:
            return None
        owners = frozenset({me.name})
    states = {name for word in query.states for name in own_states(word)}
    if query.states and not states:
        return None
    return JobFilter(states=tuple(sorted(states)), owner=next(iter(owners)) if len(owners) == 1 else None)


def _filter(parts: Services, me: Principal, query: JobQuery) -> Callable[[Job], bool]:
    clusters = set(query.clusters)
    if _NO_CLUSTER in clusters and (home := default_cluster(parts.context, me.user)) is not None:
        clusters.add(home)
    word = query.keyword.lower()

    def matches(job: Job) -> bool:
        tags = set(tags_of(job.spec.labels))
        return (
            (not query.usernames or job.owner in query.usernames)
            and (not clusters or virtual_cluster_of(job) in clusters)
            and (not query.states or job_word(job.state).state in query.states)
            and (not query.priorities or PRIORITY_WORDS[job.spec.priority] in query.priorities)
            and (not query.tags or bool(tags & query.tags))
            and not tags & query.tags_not
            and any(word in text.lower() for text in (job.owner, job.name, virtual_cluster_of(job)))
        )

    return matches


_Key = Callable[[Job], Any]
_NEWEST_FIRST = "submissionTime,DESC"
_ORDERS: Mapping[str, _Key] = {
    "submissionTime": lambda job: job.created_at,
    "jobName": lambda job: job.name,
    "username": lambda job: job.owner,
    "vc": virtual_cluster_of,
    "retries": lambda job: job.retries + job.platform_retries + job.preemptions,
    "totalTaskNumber": lambda job: job.spec.task_count,
    "totalGpuNumber": lambda job: sum(role.resources.gpu_m * role.replicas for role in job.spec.roles),
    "state": lambda job: job_word(job.state).state,
    "completionTime": lambda job: job.ended_at or float("inf"),
    "jobPriority": lambda job: PRIORITY_WORDS[job.spec.priority],
}


def _order(given: str) -> tuple[_Key | None, bool]:
    """The key to sort by, or None for the order of the store, and whether the order is descending. An order that cannot
    be understood is the default one, as OpenPAI has it."""
    field, _, direction = given.partition(",")
    if direction not in ("ASC", "DESC") or field not in _ORDERS or given == _NEWEST_FIRST:
        return None, True
    return _ORDERS[field], direction == "DESC"


def _words(given: Mapping[str, str], name: str) -> frozenset[str]:
    return frozenset(word for word in given.get(name, "").split(",") if word)


def _count(given: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = given.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or int(text) > most:
        raise Invalid(f"{name} is a number from 0 to {most}")
    return int(text)
