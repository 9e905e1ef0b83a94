"""One round of telling: for each reader the messages of its topics, and the same bytes for all who get the same."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from muster.server.job_sight import Sight, sight_of
from muster.server.live.job_messages import JobMessages, TooMuchMissed, page
from muster.server.live.log_growth import LogGrowth, ToldLogs
from muster.server.live.messages import RESYNC, batch, message
from muster.server.live.node_messages import NodeMessages
from muster.server.live.own_log import OwnLogGrowth
from muster.server.live.readers import Reader
from muster.server.live.recent_jobs import RecentJobs
from muster.server.live.topics import JOBS, NODES
from muster.server.node_views import node_rights
from muster.server.services import Services

AT_ONCE = 10
"""Writing to a thousand readers takes a while. They are told in groups, and requests are answered in between."""


@dataclass(slots=True)
class Round:
    parts: Services
    jobs: JobMessages
    nodes: NodeMessages | None
    """The messages about nodes; None if this round does not look at them."""
    logs: LogGrowth
    own_log: OwnLogGrowth
    recent: RecentJobs
    hints: frozenset[str]
    shown: dict[tuple[str, Sight], bytes | None]
    """The view that was told last of each job and sight."""
    base: int
    """The number up to which readers have been told everything before."""
    seq: int
    """The number up to which they are told now."""
    is_burst: bool
    """Whether so many jobs have changed that it is less to ask for a page of them than to be told all."""
    is_sampling: bool
    is_certain: bool
    """Whether nothing is held back. Otherwise readers get no number, so that those who come back are told it again."""
    _samples: dict[tuple[str, Sight], bytes | None] = field(default_factory=dict)
    _batches: dict[tuple[int, ...], bytes] = field(default_factory=dict)
    _changed: dict[frozenset[str], bytes] = field(default_factory=dict)
    _of_logs: list[bytes] = field(default_factory=list)
    """Messages about logs. They are kept to the end of the round, as batches are known by the ids of their messages."""

    async def tell(self, readers: Sequence[Reader]) -> None:
        await self.jobs.load(self._jobs_of(readers))
        told = 0
        for reader in readers:
            if not await self._tell(reader):
                continue
            told += 1
            if told % AT_ONCE == 0:
                await asyncio.sleep(0)
        if self.is_sampling:
            watched = {job_id for reader in readers for job_id in reader.jobs}
            for key in [key for key in self.shown if key[0] not in watched]:
                del self.shown[key]

    async def _tell(self, reader: Reader) -> bool:
        """Returns whether the reader has been told anything."""
        if reader.since is None:
            if reader.is_idle:
                self._resync(reader)
            return reader.since is not None
        try:
            messages = await self._messages(reader, reader.since)
        except TooMuchMissed:
            self._resync(reader)
            return True
        reader.since = self.seq
        if messages:
            reader.offer(self._batch(messages))
        return bool(messages)

    def keep_alive(self, readers: Sequence[Reader], made: Callable[[int | None], bytes]) -> None:
        piece = made(self.seq if self.is_certain else None)
        for reader in readers:
            if reader.is_idle and reader.since == self.seq:
                reader.offer(piece)

    def _resync(self, reader: Reader) -> None:
        reader.since = self.seq
        reader.told_logs.clear()
        reader.has_own_log = False
        reader.node_rights = node_rights(reader.me, self.parts) if reader.topics.has_nodes else None
        reader.offer(batch([RESYNC], self.seq))

    def _jobs_of(self, readers: Sequence[Reader]) -> set[str]:
        """The jobs that this round tells somebody about."""
        found: set[str] = set()
        has_list = False
        for reader in readers:
            if reader.since is None:
                continue
            is_late = reader.since < self.base
            if reader.topics.has_jobs and is_late:
                found |= (self.recent.owners_after(reader.since) or {}).keys()
            has_list |= reader.topics.has_jobs
            open_jobs = self.parts.context.open_jobs
            found |= {
                job_id
                for job_id in reader.jobs
                if is_late or job_id in self.jobs.changed or (self.is_sampling and open_jobs.get(job_id) is not None)
            }
        return found | self.jobs.changed.keys() if has_list and not self.is_burst else found

    async def _messages(self, reader: Reader, since: int) -> list[bytes]:
        is_late = since < self.base
        found = [self._list(reader, since), *[await self._page(reader, job_id, since) for job_id in reader.jobs]]
        found.append(self._node_message(reader))
        found += self._log_messages(reader)
        found.append(self._own_log_message(reader))
        topics = reader.topics
        hints = topics.hints if is_late else topics.hints & self.hints
        if topics.has_nodes and is_late:
            hints |= {NODES}
        if topics.has_jobs and JOBS in self.hints:
            hints |= {JOBS}
        if hints:
            found.append(self._changed_message(hints))
        return [one for one in found if one is not None]

    def _list(self, reader: Reader, since: int) -> bytes | None:
        if not reader.topics.has_jobs:
            return None
        changed = {} if self.is_burst else self.jobs.changed
        owners = changed if since >= self.base else self.recent.owners_after(since)
        if owners is None:
            raise TooMuchMissed
        return self.jobs.list_message(reader.me, since, owners) if owners else None

    async def _page(self, reader: Reader, job_id: str, since: int) -> bytes | None:
        owner = reader.jobs[job_id]
        sight = sight_of(reader.me, owner, private=self.parts.private_jobs)
        if sight is None:
            return None
        if since < self.base or job_id in self.jobs.changed:
            told = await self.jobs.page_message(job_id, sight, since)
            if told is not None:
                self.shown[job_id, sight] = self.jobs.view(job_id, sight)
                return told
        return self._sampled(job_id, sight) if self.is_sampling else None

    def _sampled(self, job_id: str, sight: Sight) -> bytes | None:
        """Tells what has changed without an event: why the job waits, and what it has used."""
        if self.parts.context.open_jobs.get(job_id) is None:
            return None
        key = (job_id, sight)
        if key not in self._samples:
            view = self.jobs.view(job_id, sight)
            self._samples[key] = None if view == self.shown.get(key) else page(job_id, view)
            self.shown[key] = view
        return self._samples[key]

    def _log_messages(self, reader: Reader) -> list[bytes]:
        told = [self.logs.message(wanted, reader.told_logs.setdefault(wanted, ToldLogs())) for wanted in reader.logs]
        found = [one for one in told if one is not None]
        self._of_logs += found
        return found

    def _own_log_message(self, reader: Reader) -> bytes | None:
        if not reader.topics.has_server_log:
            return None
        told = self.own_log.message(has_begun=reader.has_own_log)
        reader.has_own_log |= told is not None
        return told

    def _node_message(self, reader: Reader) -> bytes | None:
        if self.nodes is None or not reader.topics.has_nodes:
            return None
        rights = node_rights(reader.me, self.parts)
        if rights != reader.node_rights:
            raise TooMuchMissed
        return self.nodes.message(reader.me, rights)

    def _changed_message(self, hints: frozenset[str]) -> bytes:
        if hints not in self._changed:
            self._changed[hints] = message("changed", {"topics": sorted(hints)})
        return self._changed[hints]

    def _batch(self, messages: Sequence[bytes]) -> bytes:
        key = tuple(map(id, messages))
        if key not in self._batches:
            self._batches[key] = batch(messages, self.seq if self.is_certain else None)
        return self._batches[key]
