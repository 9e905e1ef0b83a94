"""Tells users of their own jobs: that one has ended, or waits for long. What was told is known by the id of the notice,
so that nothing is told twice, also if the same event is looked at again after a crash."""

import asyncio
from collections.abc import Mapping, Sequence

from muster.domain.alerting.alert_facts import Facts
from muster.domain.alerting.notices import NoticeTopic, QueuedNotice
from muster.domain.errors import NotFound
from muster.domain.events import Event
from muster.domain.jobs import Job
from muster.engine.alerting.recipients import Recipient, recipients
from muster.engine.alerting.telling import job_notice
from muster.engine.context import Context
from muster.lib.daemon_threads import on_daemon_thread
from muster.ports.alerting import AlertSource, RuleBook
from muster.ports.store import AlertingChange, Change

_ENDS: Mapping[str, NoticeTopic] = {
    "job.succeeded": NoticeTopic.SUCCEEDED,
    "job.failed": NoticeTopic.FAILED,
    "job.cancelled": NoticeTopic.CANCELLED,
}
_PAGE = 1000


class JobNotices:
    def __init__(self, context: Context, source: AlertSource, address: str) -> None:
        self._context = context
        self._source = source
        self._address = address
        self._seen = 0
        self._written = -1
        self._has_caught_up = False
        self._events: list[Event] = []
        self._told: set[str] = set()
        self.ended = asyncio.Event()
        """Set when a job has ended."""
        context.store.listen(self._note)

    def _note(self, events: Sequence[Event]) -> None:
        found = [event for event in events if event.kind in _ENDS]
        if found:
            self._events += found
            self.ended.set()
        if events:
            self._seen = max(self._seen, events[-1].seq)

    async def tell(self) -> None:
        """Queue the notices of all jobs that have ended since the last call."""
        self.ended.clear()
        people = await recipients(self._context)
        if not self._has_caught_up:
            await self._catch_up(people)
        events, self._events = self._events, []
        upto = self._seen
        if not people:
            return
        try:
            await self._tell_of(events, people, upto)
        except BaseException:
            self._events = [*events, *self._events]
            raise

    async def _catch_up(self, people: Mapping[str, Recipient]) -> None:
        """What happened while no server ran, or after the last one had looked."""
        store = self._context.store
        after = await store.told_until()
        last = await store.last_event()
        if after is None or not people:
            after = last
        while page := await store.events(after=after, prefix="job.", limit=_PAGE):
            known = {event.seq for event in self._events}
            self._events += [event for event in page if event.kind in _ENDS and event.seq not in known]
            after = page[-1].seq
        self._seen = max(self._seen, last)
        self._has_caught_up = True

    async def _tell_of(self, events: Sequence[Event], people: Mapping[str, Recipient], upto: int) -> None:
        book = await self._book() if events else RuleBook()
        notices: list[QueuedNotice] = []
        for event in events:
            recipient, topic = people.get(event.owner or ""), _ENDS[event.kind]
            if recipient is None or not recipient.wants(topic) or event.at < recipient.settings.changed_at:
                continue
            job = await self._job(event.job_id or "")
            if job is not None:
                notices += self._notices(job, topic, recipient, book, event.at)
        if notices or upto > self._written:
            change = AlertingChange(notices=notices, told_until=upto)
            await self._context.apply(Change(alerting=change))
            self._written = self._seen = max(upto, self._seen)

    async def tell_waiting(self, facts: Facts) -> None:
        """Queue a notice for each job that waits longer than its owner wants, once for each wait."""
        waiting = [job for job in facts.jobs if job.waiting_since is not None]
        people = await recipients(self._context) if waiting else {}
        book = await self._book() if people else RuleBook()
        notices: list[QueuedNotice] = []
        for facts_of_job in waiting:
            recipient = people.get(facts_of_job.owner)
            since = facts_of_job.waiting_since or facts.now
            if recipient is None or not recipient.wants(NoticeTopic.WAITING):
                continue
            if facts.now - since < recipient.settings.waiting_s or f"{facts_of_job.id}.{since}" in self._told:
                continue
            entry = self._context.open_jobs.get(facts_of_job.id)
            if entry is not None:
                notices += self._notices(entry.job, NoticeTopic.WAITING, recipient, book, facts.now, since)
                self._told.add(f"{facts_of_job.id}.{since}")
        if notices:
            await self._context.apply(Change(alerting=AlertingChange(notices=notices)))
        self._told &= {f"{job.id}.{job.waiting_since}" for job in waiting}

    def _notices(
        self,
        job: Job,
        topic: NoticeTopic,
        recipient: Recipient,
        book: RuleBook,
        now: float,
        waiting_since: float | None = None,
    ) -> list[QueuedNotice]:
        settings = recipient.settings
        due = recipient.not_before(now)
        return [
            job_notice(job, topic, way, settings.language, now, recipient.user.id, self._address, due, waiting_since)
            for way in recipient.ways(book)
        ]

    async def _job(self, job_id: str) -> Job | None:
        try:
            return await self._context.store.job(job_id)
        except NotFound:
            return None  # it was deleted meanwhile

    async def _book(self) -> RuleBook:
        return await on_daemon_thread(self._source.book, "alert rules")
