"""Tells all live streams what has changed, a few times a second."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import structlog

from muster.domain.errors import Unavailable
from muster.domain.events import Event
from muster.server.job_sight import Sight
from muster.server.live.job_messages import JobMessages
from muster.server.live.log_growth import LogGrowth
from muster.server.live.messages import still_here
from muster.server.live.node_messages import NodeMessages, NodeWatch
from muster.server.live.own_log import OwnLogGrowth
from muster.server.live.readers import Reader
from muster.server.live.recent_jobs import MAX_JOBS, RecentJobs
from muster.server.live.rounds import Round
from muster.server.live.topics import JOBS, hints_of
from muster.server.node_views import look
from muster.server.services import Services

GATHER_S = 0.03
"""How long a change waits at least for others that come with it."""
ROUND_EVERY_S = 0.25
NODES_EVERY_S = 0.5
HINTS_EVERY_S = 1.0
SAMPLE_EVERY_S = 2.0
KEEP_ALIVE_S = 15.0
_LOADED_EVENTS = 1000
"""How many of the last events are read from the store for readers that come back after a restart."""
_OF_NODES = ("task.", "job.", "node.", "audit.node.")

_log = structlog.get_logger("live")


class Broadcaster:
    """It runs while there are streams. What is told is made in `rounds`."""

    def __init__(self, parts: Services) -> None:
        self._parts = parts
        self._readers: set[Reader] = set()
        self._running = ExitStack()
        self._is_running = False
        self._wake = asyncio.Event()
        self._events: list[Event] = []
        self._base = 0
        """The number up to which all readers have been told everything."""
        self._recent = RecentJobs(0)
        self._nodes: NodeWatch | None = None
        self._logs = LogGrowth(parts, self._wake.set)
        self._own_log = OwnLogGrowth(parts.own_log.path, self._wake.set)
        self._has_node_news = False
        self._hints: set[str] = set()
        self._shown: dict[tuple[str, Sight], bytes | None] = {}
        self._is_looking = False
        self._round_at = self._nodes_at = self._hints_at = self._sample_at = self._keep_alive_at = 0.0

    @contextmanager
    def joined(self, reader: Reader) -> Iterator[None]:
        """While the block lasts, the reader is told what happens after `reader.since`."""
        self._start()
        if reader.topics.has_nodes and self._nodes is None:
            self._nodes = NodeWatch(self._parts.context)
        self._readers.add(reader)
        if reader.logs or reader.topics.has_server_log or reader.since != self._parts.context.hub.last_seq:
            self._wake.set()
        try:
            yield
        finally:
            self._readers.discard(reader)
            if not self._readers:
                self._wake.set()

    def _start(self) -> None:
        if self._is_running:
            return
        self._is_running = True
        hub = self._parts.context.hub
        self._base, self._events = hub.last_seq, []
        self._running.enter_context(hub.listening(self._note))
        now = asyncio.get_running_loop().time()
        self._sample_at, self._keep_alive_at = now + SAMPLE_EVERY_S, now + KEEP_ALIVE_S
        self._parts.context.spawn(self._run(), "live streams")

    def _note(self, events: Sequence[Event]) -> None:
        self._events += events
        self._wake.set()

    async def _run(self) -> None:
        try:
            self._recent = await self._load_recent()
            while self._readers:
                await self._pause()
                await self._guarded_round()
        finally:
            self._running.close()
            self._is_running = False
            self._nodes = None
            self._logs.close()
            self._own_log.close()
            self._shown.clear()
            for reader in self._readers:
                reader.close()

    async def _load_recent(self) -> RecentJobs:
        recent = RecentJobs(max(0, self._base - _LOADED_EVENTS))
        try:
            recent.note(await self._parts.context.store.events(after=recent.floor, limit=2 * _LOADED_EVENTS))
        except Unavailable:
            return RecentJobs(self._base)
        return recent

    async def _pause(self) -> None:
        """Wait for something to tell, and then for what comes with it."""
        due = min(self._sample_at, self._keep_alive_at, self._hints_at if self._hints else self._keep_alive_at)
        try:
            async with asyncio.timeout_at(due):
                await self._wake.wait()
        except TimeoutError:
            return
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(max(GATHER_S, self._round_at + ROUND_EVERY_S - now))

    async def _guarded_round(self) -> None:
        self._wake.clear()
        self._round_at = asyncio.get_running_loop().time()
        try:
            await self._round(self._round_at)
        except Exception:
            _log.exception("a round of live streams failed")
            for reader in self._readers:
                reader.since = None

    async def _round(self, now: float) -> None:
        events, self._events = self._events, []
        base, self._base = self._base, events[-1].seq if events else self._base
        readers = [reader for reader in self._readers if not reader.is_closed]
        self._recent.note(events)
        self._logs.watch(wanted for reader in readers for wanted in reader.logs)
        self._own_log.watch(is_wanted=any(reader.topics.has_server_log for reader in readers))
        is_sampling = now >= self._sample_at
        if is_sampling:
            self._sample_at = now + SAMPLE_EVERY_S
            self._ask_to_measure(readers)
        jobs = JobMessages(self._parts, events, base)
        self._hints |= hints_of(events)
        if is_burst := len(jobs.changed) > MAX_JOBS:
            self._hints.add(JOBS)
        round_ = Round(
            self._parts,
            jobs,
            self._node_messages(now, events, is_sampling=is_sampling),
            self._logs,
            self._own_log,
            self._recent,
            frozenset(self._take_hints(now)),
            self._shown,
            base=base,
            seq=self._base,
            is_burst=is_burst,
            is_sampling=is_sampling,
            is_certain=JOBS not in self._hints,
        )
        await round_.tell(readers)
        if now >= self._keep_alive_at:
            self._keep_alive_at = now + KEEP_ALIVE_S
            round_.keep_alive(readers, still_here)

    def _take_hints(self, now: float) -> set[str]:
        if not self._hints or now < self._hints_at:
            return set()
        self._hints_at = now + HINTS_EVERY_S
        hints, self._hints = self._hints, set()
        return hints

    def _node_messages(self, now: float, events: Sequence[Event], *, is_sampling: bool) -> NodeMessages | None:
        self._has_node_news |= any(event.kind.startswith(_OF_NODES) for event in events)
        if self._nodes is None or not (is_sampling or (self._has_node_news and now >= self._nodes_at)):
            return None
        self._nodes_at, self._has_node_news = now + NODES_EVERY_S, False
        if is_sampling:
            self._nodes.sample()
        return NodeMessages(self._parts, *self._nodes.changes())

    def _ask_to_measure(self, readers: Sequence[Reader]) -> None:
        """Some clusters measure only while somebody looks."""
        if self._is_looking or not any(reader.topics.has_nodes or reader.jobs for reader in readers):
            return
        self._is_looking = True
        self._parts.context.spawn(self._measured(), "measuring for live streams")

    async def _measured(self) -> None:
        try:
            await look(self._parts, list(self._parts.context.backends))
        finally:
            self._is_looking = False
