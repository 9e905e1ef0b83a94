"""Routes for alerts of rules, silences, and notices to users."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime

from muster.api.alert_rules import AlertRuleList, RuleAlertList, SilenceList, SilenceOut
from muster.api.notices import NoticeList, NoticeSettingsOut
from muster.domain.alerting.alert_records import AlertPhase, AlertRecord
from muster.domain.alerting.notices import ADMINS, NoticeSettings
from muster.domain.errors import TooMany
from muster.engine.alerting import requests
from muster.engine.alerting.telling import in_language
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, may, require
from muster.server.services import Services, authenticated, services
from muster.wire.alert_requests import NoticeSettingsIn, SilenceIn
from muster.wire.alert_rule_views import (
    alert_rule_view,
    notice_settings_view,
    notice_view,
    rule_alert_view,
    silence_view,
)
from muster.wire.response_models import response_model

router = APIRouter(tags=["alerts and notices"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
InLanguage = Annotated[Literal["en", "zh"], Query(description="The language of the messages and advice.")]
_MADE: dict[int | str, dict[str, Any]] = {201: {"description": "The new silence."}}
_QUEUED: dict[int | str, dict[str, Any]] = {202: {"description": "The notices wait to be sent."}}
_WEEK = timedelta(days=7).total_seconds()


@router.get("/alerts/firing", response_model=response_model(RuleAlertList), summary="Alerts of rules, now")
async def firing_alerts(
    me: Me,
    parts: Parts,
    pending: Annotated[bool, Query(description="Also list alerts that have not lasted long enough yet.")] = False,
    language: InLanguage = "en",
) -> Response:
    """Admins see all, users those of their own jobs."""
    found = [
        record
        for record in await parts.context.store.open_alerts()
        if (pending or record.phase is AlertPhase.FIRING) and may(me, Action.ALERT_SEE, record.owner, private=False)
    ]
    return JSONResponse(await _alerts(parts, found, language))


@router.get("/alerts/history", response_model=response_model(RuleAlertList), summary="Alerts of rules, also past ones")
async def alert_history(
    me: Me,
    parts: Parts,
    since: Annotated[AwareDatetime | None, Query(description="A week ago if absent.")] = None,
    until: AwareDatetime | None = None,
    rule: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    language: InLanguage = "en",
) -> Response:
    """The newest first. Admins see all, users those of their own jobs. They are kept for 90 days."""
    now = parts.context.clock()
    found = await parts.context.store.alert_history(
        owner=None if me.is_admin else me.name,
        since=now - _WEEK if since is None else since.timestamp(),
        until=now + 1 if until is None else until.timestamp(),
        rule=rule,
        limit=limit,
    )
    return JSONResponse(await _alerts(parts, found, language))


async def _alerts(parts: Services, records: Sequence[AlertRecord], language: str) -> RuleAlertList:
    now = parts.context.clock()
    book = await asyncio.to_thread(parts.alerting.book)
    rules = {rule.name: rule for rule in book.rules}
    checks = {rule.name: str(rule.check) for rule in book.rules}
    shown = [in_language(record, rules, language) for record in records]
    return RuleAlertList(items=[rule_alert_view(each, checks.get(each.rule, ""), now) for each in shown])


@router.get("/alerts/rules", response_model=response_model(AlertRuleList), summary="The rules of alerts")
async def list_rules(me: Me, parts: Parts) -> Response:
    require(me, Action.ALERT_RULES_SEE)
    book = await asyncio.to_thread(parts.alerting.book)
    document = AlertRuleList(
        items=[alert_rule_view(rule) for rule in book.rules],
        problems=[str(problem) for problem in book.problems],
        ways=[way.name for way in book.ways],
    )
    return JSONResponse(document)


@router.get("/alerts/silences", response_model=response_model(SilenceList), summary="Silences")
async def list_silences(me: Me, parts: Parts) -> Response:
    """List the silences that have not ended."""
    require(me, Action.ALERT_RULES_SEE)
    now = parts.context.clock()
    found = [silence for silence in await parts.context.store.silences() if silence.until > now]
    return JSONResponse(SilenceList(items=[silence_view(silence) for silence in found]))


@router.post(
    "/alerts/silences",
    response_model=response_model(SilenceOut),
    status_code=201,
    responses=_MADE,
    summary="Silence alerts for a while",
)
async def add_silence(body: SilenceIn, me: Me, parts: Parts) -> Response:
    """Alerts that match are kept in the history, but nobody is told, and nothing is done about them. What still fires
    at the end of the silence is told then."""
    require(me, Action.ALERT_MANAGE)
    book = await asyncio.to_thread(parts.alerting.book)
    made = await requests.add_silence(parts.context, book, body.rule, body.subject, body.for_, body.reason, me.name)
    return JSONResponse(silence_view(made), 201)


@router.delete("/alerts/silences/{silence_id}", status_code=204, summary="End a silence")
async def remove_silence(silence_id: Annotated[str, Path(max_length=64)], me: Me, parts: Parts) -> None:
    require(me, Action.ALERT_MANAGE)
    await requests.remove_silence(parts.context, silence_id, me.name)


@router.get("/notices/settings", response_model=response_model(NoticeSettingsOut), summary="What you are told")
async def get_notice_settings(me: Me, parts: Parts) -> Response:
    settings = await parts.context.store.notice_settings_of(me.user.id) or NoticeSettings(me.user.id)
    book = await asyncio.to_thread(parts.alerting.book)
    return JSONResponse(notice_settings_view(settings, book))


@router.put("/notices/settings", response_model=response_model(NoticeSettingsOut), summary="Choose what you are told")
async def set_notice_settings(body: NoticeSettingsIn, me: Me, parts: Parts) -> Response:
    """Replaces all settings. The address of a webhook is one of your secrets, whose name you give; it must be on a host
    that an admin has listed."""
    book = await asyncio.to_thread(parts.alerting.book)
    settings = await requests.set_notices(parts.context, me.user, body.settings(me.user.id), book)
    return JSONResponse(notice_settings_view(settings, book))


@router.delete("/notices/settings", status_code=204, summary="Be told nothing")
async def clear_notice_settings(me: Me, parts: Parts) -> None:
    await requests.clear_notices(parts.context, me.user)


@router.post(
    "/notices/test",
    response_model=response_model(NoticeList),
    status_code=202,
    responses=_QUEUED,
    summary="Send yourself a test notice",
)
async def send_test_notice(me: Me, parts: Parts) -> Response:
    """Send yourself a notice to see whether it arrives. Only a few in a minute are sent."""
    if wait_s := parts.test_notices.wait_s(me.user.id, parts.context.clock()):
        raise TooMany("you have sent yourself several test notices within a minute", retry_after_s=wait_s)
    settings = await parts.context.store.notice_settings_of(me.user.id) or NoticeSettings(me.user.id)
    book = await asyncio.to_thread(parts.alerting.book)
    made = await requests.queue_test_notice(parts.context, me.user, settings, book)
    return JSONResponse(NoticeList(items=[notice_view(notice) for notice in made]), 202)


@router.get("/notices", response_model=response_model(NoticeList), summary="Notices to you")
async def list_notices(
    me: Me,
    parts: Parts,
    admins: Annotated[bool, Query(description="Those to the admins instead; admins only.")] = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:
    """The newest first: those that wait, and those that were sent or given up lately."""
    if admins:
        require(me, Action.ALERT_MANAGE)
    found = await parts.context.store.notices_of(ADMINS if admins else me.user.id, limit=limit)
    return JSONResponse(NoticeList(items=[notice_view(notice) for notice in found]))
