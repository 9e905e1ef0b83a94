"""What a page may listen to."""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.domain.errors import Invalid, Problem
from muster.domain.events import Event

MAX_TOPICS = 64
"""All windows of a browser share one stream, which has the topics of all of them."""
MAX_LENGTH = 4096
"""The most characters of all topics together in the address."""
JOBS = "jobs"
NODES = "nodes"
SERVER_LOG = "server-log"
_JOB = "job:"
_LOGS = "logs:"

HINTS: dict[str, tuple[str, ...]] = {
    "queue": ("job.", "audit.job."),
    "virtual-clusters": ("job.",),
    "clusters": ("node.", "audit.node."),
    "alerts": ("node.", "audit.node.", "task.waiting", "task.lost", "job.held"),
    "templates": ("audit.template.",),
}
"""Topics of which a reader learns only that something has changed, with the beginnings of the kinds of such events."""


@dataclass(frozen=True, slots=True)
class LogTopic:
    """The logs of all workers of a job, or of one."""

    ref: str
    worker: str | None = None

    def __str__(self) -> str:
        return f"{_LOGS}{self.ref}" if self.worker is None else f"{_LOGS}{self.ref}:{self.worker}"


@dataclass(frozen=True, slots=True)
class Topics:
    has_jobs: bool = False
    has_nodes: bool = False
    job_refs: tuple[str, ...] = ()
    logs: tuple[LogTopic, ...] = ()
    hints: frozenset[str] = frozenset()
    has_server_log: bool = False


def parse_topics(text: str) -> Topics:
    words = list(dict.fromkeys(word for word in (part.strip() for part in text.split(",")) if word))
    if not words:
        raise Invalid("topics: name at least one", hint=_known())
    if len(words) > MAX_TOPICS:
        raise Invalid(f"topics: a stream has at most {MAX_TOPICS} of them, not {len(words)}")
    refs = tuple(word.removeprefix(_JOB) for word in words if word.startswith(_JOB))
    logs = tuple(_log_topic(word) for word in words if word.startswith(_LOGS))
    plain = [word for word in words if not word.startswith((_JOB, _LOGS))]
    unknown = [word for word in plain if word not in (JOBS, NODES, SERVER_LOG, *HINTS)]
    unknown += [_JOB for ref in refs if not ref]
    unknown += [_LOGS for topic in logs if not topic.ref or topic.worker == ""]
    if unknown:
        problems = tuple(Problem("topics", f"{word[:80]!r} is not a topic", _known()) for word in unknown)
        raise Invalid("the stream has topics that do not exist", problems=problems)
    hints = frozenset(word for word in plain if word in HINTS)
    return Topics(JOBS in plain, NODES in plain, refs, logs, hints, SERVER_LOG in plain)


def _log_topic(word: str) -> LogTopic:
    ref, colon, worker = word.removeprefix(_LOGS).partition(":")
    return LogTopic(ref, worker if colon else None)


def hints_of(events: Iterable[Event]) -> set[str]:
    """The topics that these events are about."""
    kinds = {event.kind for event in events}
    return {topic for topic, starts in HINTS.items() if any(kind.startswith(starts) for kind in kinds)}


def _known() -> str:
    return f"{', '.join((JOBS, NODES, SERVER_LOG, *HINTS))}, {_JOB}ID, {_LOGS}ID or {_LOGS}ID:WORKER"
