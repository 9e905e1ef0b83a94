"""Sends notices that wait. Each way of each user is a lane of its own, so that an address that does not answer delays
no other. What cannot be delivered is tried again with growing pauses, and given up after some days."""

import asyncio
from dataclasses import replace

import structlog

from muster.domain.alerting.notices import ADMINS, QueuedNotice
from muster.domain.audit_kinds import AuditKind
from muster.domain.errors import MusterError
from muster.engine.alerting.recipients import MAIL, webhook_address
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.lib.backoff import exponential
from muster.lib.daemon_threads import on_daemon_thread
from muster.ports.alerting import AlertSource
from muster.ports.notifying import NotDelivered, Notice, NoticeKind, Notifier
from muster.ports.store import AlertingChange, Change, TriedNotice

_log = structlog.get_logger("engine.notices")
_FIRST_PAUSE_S = 5.0
_LONGEST_PAUSE_S = 900.0
_GIVE_UP_S = 3 * 86400.0
_LOOK_AGAIN_S = 15.0
_MOST_LANES = 16
"""How many notices are on their way at the same time."""
_SENDER = "notices"


class Refused(Exception):
    """It can never be sent, so that there is no use in trying again. The message contains no secret."""


class Sending:
    def __init__(self, context: Context, source: AlertSource) -> None:
        self._context = context
        self._source = source
        self._news = asyncio.Event()
        self._busy: dict[str, asyncio.Task[None]] = {}

    def wake(self) -> None:
        self._news.set()

    async def run(self) -> None:
        try:
            while True:
                self._news.clear()
                try:
                    pause_s = await self._start_some()
                except MusterError as error:
                    _log.warning("notices could not be read", error=error.message)
                    pause_s = _LOOK_AGAIN_S
                except Exception:  # a mistake with one notice must not end the sending of all others
                    _log.exception("notices could not be read")
                    pause_s = _LOOK_AGAIN_S
                try:
                    async with asyncio.timeout(pause_s):
                        await self._news.wait()
                except TimeoutError:
                    pass
        finally:
            for task in self._busy.values():
                task.cancel()
            await asyncio.gather(*self._busy.values(), return_exceptions=True)

    async def _start_some(self) -> float:
        """Start what is due, and return how long to wait for more."""
        store, now = self._context.store, self._context.clock()
        for notice in await store.due_notices(now, limit=10 * _MOST_LANES):
            if notice.lane not in self._busy and len(self._busy) < _MOST_LANES:
                task = asyncio.create_task(self._handle(notice), name=f"notice {notice.id}")
                self._busy[notice.lane] = task
        next_at = await store.next_notice_at()
        return _LOOK_AGAIN_S if next_at is None else min(_LOOK_AGAIN_S, max(1.0, next_at - now))

    async def _handle(self, notice: QueuedNotice) -> None:
        try:
            await self._try(notice)
        except MusterError as error:
            _log.warning("a notice is tried again later", id=notice.id, way=notice.way, error=error.message)
            await asyncio.sleep(_FIRST_PAUSE_S)
        except Exception:
            _log.exception("a notice cannot be sent", id=notice.id, way=notice.way)
            await self._record(replace(notice, error="it cannot be sent"), None, "notice.give-up")
        finally:
            self._busy.pop(notice.lane, None)
            self.wake()

    async def _try(self, notice: QueuedNotice) -> None:
        facts = {"id": notice.id, "way": notice.way}
        try:
            remark = await self.deliver(notice)
        except Refused as error:
            _log.warning("a notice is not sent", error=str(error), **facts)
            await self._record(replace(notice, error=str(error)), None, "notice.give-up")
            return
        except NotDelivered as error:
            now, tries = self._context.clock(), notice.tries + 1
            tried = replace(notice, tries=tries, error=str(error))
            if now - max(notice.at, notice.not_before) > _GIVE_UP_S:
                _log.error("a notice is given up", error=str(error), **facts)
                await self._record(tried, None, "notice.give-up")
                return
            pause_s = exponential(tries, first_s=_FIRST_PAUSE_S, limit_s=_LONGEST_PAUSE_S)
            _log.warning("a notice could not be sent", error=str(error), again_in_s=pause_s, **facts)
            await self._record(tried, now + pause_s, None)
            return
        _log.info("sent a notice", **facts)
        await self._record(replace(notice, sent_at=self._context.clock(), error=remark), None, "notice.send")

    async def deliver(self, notice: QueuedNotice) -> str:
        """Raises NotDelivered and Refused."""
        notifier = await self._notifier(notice)
        letter = Notice(
            notice.id, NoticeKind(notice.kind), notice.title, notice.text, notice.at, data=dict(notice.data)
        )
        # It is waited for until it ends by itself: one that is left behind could deliver what is tried again.
        return await on_daemon_thread(lambda: notifier.send(letter), f"notice by {notice.way}")

    async def _notifier(self, notice: QueuedNotice) -> Notifier:
        if notice.user_id == ADMINS:
            found = self._source.admin_notifier(notice.way)
            if found is None:
                raise Refused("the rules of alerts do not have this way any more")
            return found
        address = await self._address(notice)
        found = self._source.user_notifier(notice.way, address)
        if found is None:
            raise Refused("the rules of alerts do not allow this address: see `muster notices show`")
        return found

    async def _address(self, notice: QueuedNotice) -> str:
        settings = await self._context.store.notice_settings_of(notice.user_id)
        if settings is None:
            raise Refused("the user does not want notices any more")
        if notice.way == MAIL:
            return settings.mail
        if notice.way != settings.webhook_kind:
            raise Refused("the user does not have this way any more")
        address = await webhook_address(self._context, notice.user_id, settings.webhook_secret)
        if address is None:
            raise Refused(f"the user has no secret {settings.webhook_secret!r}")
        return address

    async def _record(self, notice: QueuedNotice, due_at: float | None, what: AuditKind | None) -> None:
        change = AlertingChange(tried_notices=[TriedNotice(notice, due_at)])
        now, events = self._context.clock(), []
        if what is not None:
            events = [audit_event(what, _SENDER, now, notice=notice.id, way=notice.way, error=notice.error)]
        await self._context.apply(Change(alerting=change, events=events))
