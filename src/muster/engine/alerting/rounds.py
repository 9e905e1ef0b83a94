"""Evaluates the rules again and again. What a round finds is written together with the notices that follow from it, in
one transaction, so that a server that is killed at any moment tells each thing once."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from zoneinfo import ZoneInfo

import structlog

from muster.domain.alerting.alert_conditions import conditions, unknown_subjects
from muster.domain.alerting.alert_records import AlertPhase, AlertRecord, Step, advanced, shifted
from muster.domain.alerting.alert_rules import AlertAction, AlertRule
from muster.domain.alerting.alerts import Severity
from muster.domain.alerting.notices import NoticeTopic, QueuedNotice
from muster.domain.audit_kinds import AuditKind
from muster.domain.errors import MusterError
from muster.domain.events import Event
from muster.engine.alerting.acting import acted, actor_of
from muster.engine.alerting.facts import gather_facts
from muster.engine.alerting.job_notices import JobNotices
from muster.engine.alerting.recipients import recipients
from muster.engine.alerting.sending import Sending
from muster.engine.alerting.telling import alert_notice
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.lib.clock import Clock
from muster.lib.daemon_threads import on_daemon_thread
from muster.lib.ids import new_id
from muster.ports.alerting import AlertSource, RuleBook
from muster.ports.store import AlertingChange, Change

_log = structlog.get_logger("engine.alerting")
_JUMP_S = 5.0
"""A clock that moves by more than this against one that never jumps was set."""
_FORGET_AFTER_S = 90 * 86400.0
_FORGET_EVERY_S = 86400.0


@asynccontextmanager
async def alerting(context: Context, source: AlertSource, address: str) -> AsyncIterator[None]:
    """Evaluate rules and send notices while the context is open."""
    sending = Sending(context, source)
    rounds = Rounds(context, source, address, sending.wake)
    tasks = [
        asyncio.create_task(rounds.run(), name="alerts"),
        asyncio.create_task(sending.run(), name="notices"),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Rounds:
    def __init__(
        self,
        context: Context,
        source: AlertSource,
        address: str,
        wake: Callable[[], None],
        steady: Clock = time.monotonic,
    ) -> None:
        self._context = context
        self._steady = steady
        self._ahead_s: float | None = None
        """The seconds by which the wall clock was ahead of the steady one in the last round."""
        self._source = source
        self._wake_sending = wake
        self._records: dict[str, AlertRecord] = {}
        self._forgot_at = 0.0
        self._told_problems: tuple[str, ...] = ()
        self.jobs = JobNotices(context, source, address)

    async def run(self) -> None:
        while True:
            interval_s = RuleBook().interval_s
            try:
                interval_s = (await self.round()).interval_s
            except MusterError as error:
                _log.warning("alerts could not be evaluated", error=error.message)
            except Exception:
                _log.exception("alerts could not be evaluated")
            await self._pause(interval_s)

    async def _pause(self, interval_s: float) -> None:
        """Ends of jobs that somebody waits to hear of are told at once."""
        async with asyncio.TaskGroup() as group:
            following = group.create_task(self._follow_jobs())
            await asyncio.sleep(interval_s)
            following.cancel()

    async def _follow_jobs(self) -> None:
        while True:
            await self.jobs.ended.wait()
            try:
                await self.jobs.tell()
            except MusterError as error:
                _log.warning("users could not be told of their jobs", error=error.message)
                return
            except Exception:  # a mistake here must not end the evaluation of rules
                _log.exception("users could not be told of their jobs")
                return
            self._wake_sending()

    async def round(self) -> RuleBook:
        """One evaluation, and everything that follows from it. The records are read anew, because their owners may be
        former users by now, whose names are used again."""
        context = self._context
        book = await on_daemon_thread(self._source.book, "alert rules")
        self._tell_problems(book)
        self._records = {record.id: record for record in await context.store.open_alerts()}
        ends_at = await on_daemon_thread(self._source.certificate_ends_at, "certificate")
        ahead_s = context.clock() - self._steady()
        facts = await gather_facts(context, ends_at)
        await self._follow_clock(ahead_s)
        step = advanced(
            list(self._records.values()),
            conditions(book.rules, facts),
            book.rules,
            await context.store.silences(),
            facts.now,
            new_id,
            unknown_subjects(book.rules, facts),
        )
        await self._write(step, book, facts.now)
        await self._act()
        await self.jobs.tell_waiting(facts)
        await self.jobs.tell()
        await self._forget(facts.now)
        self._wake_sending()
        return book

    async def _follow_clock(self, ahead_s: float) -> None:
        """What is pending or clearing lasts as long as it lasts, also if somebody sets the clock meanwhile, and what is
        to be sent again is sent again as soon."""
        jump_s = 0.0 if self._ahead_s is None else ahead_s - self._ahead_s
        if abs(jump_s) > _JUMP_S:
            _log.warning("the clock was set; what alerts have lasted so far is kept", seconds=round(jump_s))
            after = {key: shifted(record, jump_s) for key, record in self._records.items()}
            changed = [record for key, record in after.items() if record != self._records[key]]
            await self._context.apply(Change(alerting=AlertingChange(alerts=changed, clock_set_by_s=jump_s)))
            self._records = after
        self._ahead_s = ahead_s

    async def _write(self, step: Step, book: RuleBook, now: float) -> None:
        if not step.changed and not step.dropped:
            return
        rules = {rule.name: rule for rule in book.rules}
        notices = [
            notice for record in (*step.fired, *step.resolved) for notice in self._to_admins(record, rules, book, now)
        ]
        notices += [notice async for notice in self._to_owners(step, rules, book, now)]
        fired = {record.id for record in step.fired}
        changed = [_held(record, notices, now) if record.id in fired else record for record in step.changed]
        change = AlertingChange(alerts=changed, dropped_alerts=step.dropped, notices=notices)
        await self._context.apply(Change(alerting=change, events=list(_audited(step, now))))
        for gone in step.dropped:
            self._records.pop(gone, None)
        for record in changed:
            self._keep(record)

    def _keep(self, record: AlertRecord) -> None:
        if record.phase is AlertPhase.RESOLVED:
            self._records.pop(record.id, None)
        else:
            self._records[record.id] = record

    def _to_admins(
        self, record: AlertRecord, rules: dict[str, AlertRule], book: RuleBook, now: float
    ) -> Iterator[QueuedNotice]:
        if not _tells(record, AlertAction.NOTIFY, rules):
            return
        is_urgent = record.severity is Severity.CRITICAL
        due = now if is_urgent or book.quiet is None else book.quiet.end_after(now, ZoneInfo(book.time_zone))
        for way in book.ways:
            if record.severity in way.severities:
                made = alert_notice(record, rules, way.name, way.language, now)
                yield replace(made, not_before=due, is_urgent=is_urgent)

    async def _to_owners(
        self, step: Step, rules: dict[str, AlertRule], book: RuleBook, now: float
    ) -> AsyncIterator[QueuedNotice]:
        told = [
            record
            for record in (*step.fired, *step.resolved)
            if record.owner and _tells(record, AlertAction.MAIL_OWNER, rules)
        ]
        people = await recipients(self._context) if told else {}
        for record in told:
            owner = people.get(record.owner)
            for way in owner.ways(book) if owner is not None and owner.wants(NoticeTopic.ALERTS) else ():
                assert owner is not None
                made = alert_notice(record, rules, way, owner.settings.language, now, owner.user.id)
                yield replace(made, not_before=owner.not_before(now))

    async def _act(self) -> None:
        """What was done is written when it is done. A crash in between repeats it, which does no harm."""
        if self._context.is_held:
            return
        for record in [one for one in self._records.values() if one.todo]:
            after = await acted(self._context, record)
            if after != record:
                await self._context.apply(Change(alerting=AlertingChange(alerts=[after])))
                self._records[record.id] = after

    async def _forget(self, now: float) -> None:
        if now - self._forgot_at >= _FORGET_EVERY_S:
            await self._context.apply(Change(alerting=AlertingChange(forget_before=now - _FORGET_AFTER_S)))
            self._forgot_at = now

    def _tell_problems(self, book: RuleBook) -> None:
        problems = tuple(str(problem) for problem in book.problems)
        if problems and problems != self._told_problems:
            _log.error("the rules of alerts are wrong; those of before hold", problems=list(problems))
        self._told_problems = problems


def _held(record: AlertRecord, notices: Sequence[QueuedNotice], now: float) -> AlertRecord:
    due_at = min((one.not_before for one in notices if one.data["alert"] == record.id), default=now)
    return replace(record, held_until=due_at) if due_at > now else record


def _tells(record: AlertRecord, whom: AlertAction, rules: dict[str, AlertRule]) -> bool:
    if record.tells is not None:
        return whom in record.tells
    rule = rules.get(record.rule)
    return rule is None or whom in rule.actions


def _audited(step: Step, now: float) -> Iterator[Event]:
    for record in step.fired:
        yield _event("alert.fire", record, now)
    for record in step.changed:
        if record.phase is AlertPhase.RESOLVED and record.is_told:
            yield _event("alert.resolve", record, now)


def _event(what: AuditKind, record: AlertRecord, now: float) -> Event:
    subject = record.subject
    return audit_event(
        what,
        actor_of(record.rule),
        now,
        rule=record.rule,
        subject=subject.name,
        cluster=subject.cluster,
        message=record.message,
    )
