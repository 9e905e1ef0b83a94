"""Sends notices that wait. Each way of each user is a lane of its own, so that an address that does not answer delays
no other. Many that wait in one lane go out as one. What cannot be delivered is tried again with growing pauses, and
given up after some days."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from muster.domain.alerting.notices import ADMINS, QueuedNotice
from muster.domain.audit_kinds import AuditKind
from muster.domain.errors import MusterError
from muster.engine.alerting.recipients import MAIL, webhook_address
from muster.engine.alerting.together import MOST, parcel, together
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
_MOST_READ = 1000
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
        lanes: dict[str, list[QueuedNotice]] = {}
        for notice in await store.due_notices(now, limit=_MOST_READ, each=MOST):
            lanes.setdefault(notice.lane, []).append(notice)
        for lane, waiting in lanes.items():
            if lane not in self._busy and len(self._busy) < _MOST_LANES:
                self._busy[lane] = asyncio.create_task(self._handle(lane, parcel(waiting)), name=f"notices {lane}")
        next_at = await store.next_notice_at()
        return _LOOK_AGAIN_S if next_at is None else min(_LOOK_AGAIN_S, max(1.0, next_at - now))

    async def _handle(self, lane: str, notices: Sequence[QueuedNotice]) -> None:
        try:
            await self._try_each(notices)
        except MusterError as error:
            _log.warning("a notice is tried again later", id=notices[0].id, way=notices[0].way, error=error.message)
            await asyncio.sleep(_FIRST_PAUSE_S)
        finally:
            self._busy.pop(lane, None)
            self.wake()

    async def _try_each(self, notices: Sequence[QueuedNotice]) -> None:
        """All at once; if that can never be sent, one by one, so that only the one in question is lost."""
        try:
            await self._try(notices)
        except MusterError:
            raise
        except Exception:
            _log.exception("a notice cannot be sent", id=notices[0].id, way=notices[0].way)
            if len(notices) > 1:
                for one in notices:
                    await self._try_each([one])
                return
            await self._record([(replace(notices[0], error="it cannot be sent"), None)], "notice.give-up")

    async def _try(self, notices: Sequence[QueuedNotice]) -> None:
        facts = {"id": notices[0].id, "way": notices[0].way, "count": len(notices)}
        try:
            remark = await self.deliver(together(notices))
        except Refused as error:
            _log.warning("a notice is not sent", error=str(error), **facts)
            await self._record([(replace(one, error=str(error)), None) for one in notices], "notice.give-up")
            return
        except NotDelivered as error:
            await self._put_off(notices, str(error), facts)
            return
        _log.info("sent a notice", **facts)
        now = self._context.clock()
        await self._record([(replace(one, sent_at=now, error=remark), None) for one in notices], "notice.send")

    async def _put_off(self, notices: Sequence[QueuedNotice], error: str, facts: Mapping[str, object]) -> None:
        now = self._context.clock()
        tried = [replace(one, tries=one.tries + 1, error=error) for one in notices]
        late = [one for one in tried if now - max(one.at, one.not_before) > _GIVE_UP_S]
        if late:
            _log.error("a notice is given up", error=error, **facts)
            await self._record([(one, None) for one in late], "notice.give-up")
        left = [one for one in tried if one not in late]
        if left:
            tries = max(one.tries for one in left)
            pause_s = exponential(tries, first_s=_FIRST_PAUSE_S, limit_s=_LONGEST_PAUSE_S)
            _log.warning("a notice could not be sent", error=error, again_in_s=pause_s, **facts)
            await self._record([(one, now + pause_s) for one in left], None)

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

    async def _record(self, tried: Sequence[tuple[QueuedNotice, float | None]], what: AuditKind | None) -> None:
        """Each notice with the time when it is tried again; None if it is not."""
        change = AlertingChange(tried_notices=[TriedNotice(notice, due_at) for notice, due_at in tried])
        now = self._context.clock()
        events = (
            []
            if what is None
            else [audit_event(what, _SENDER, now, notice=one.id, way=one.way, error=one.error) for one, _ in tried]
        )
        await self._context.apply(Change(alerting=change, events=events))
