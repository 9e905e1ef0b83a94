"""Asks receivers for the figures of a digest, over the same API as everybody."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from muster.lib.clock import iso
from muster.lib.daemon_threads import on_daemon_thread
from muster.monitor.outcomes import Reason, ReasonCode, Step
from muster.monitor.receiver_calls import CallFailed, Calls, Receiver
from muster.monitor.stories import Figures

_API = "/api/v1"
_WITHIN_S = 60.0
_MOST_ALERTS = 200
_MOST_GROUPS = 30


async def gathered(
    receivers: Sequence[Receiver], installations: Mapping[str, str], since: float, until: float
) -> tuple[Figures, ...]:
    """One answer for each database, whichever of its receivers gives it. Receivers without a token are left out.
    `installations` says which receivers share one, by their titles."""
    groups: dict[str, list[Receiver]] = {}
    for receiver in receivers:
        if receiver.token:
            installation = installations.get(receiver.title) or f"?{receiver.title}"
            groups.setdefault(installation, []).append(receiver)
    return tuple(await asyncio.gather(*(_of_group(group, since, until) for group in groups.values())))


async def _of_group(group: Sequence[Receiver], since: float, until: float) -> Figures:
    titles = tuple(receiver.title for receiver in group)
    figures = Figures(titles)
    for receiver in group:
        calls = Calls(receiver, _WITHIN_S)
        asking = on_daemon_thread(lambda calls=calls: _figures(titles, calls, since, until), "digest")  # type: ignore[misc]
        try:
            figures = await asyncio.wait_for(asking, _WITHIN_S + 1.0)
        except TimeoutError:
            calls.abandon()
            figures = Figures(titles, Reason(ReasonCode.TIMED_OUT, calls.step, {"seconds": f"{_WITHIN_S:g}"}))
        if figures.problem is None:
            return figures
    return figures


def _figures(titles: tuple[str, ...], calls: Calls, since: float, until: float) -> Figures:
    window = {"since": iso(since), "until": iso(until)}
    try:
        by_user = _get(calls, f"/report?{urlencode({**window, 'by': 'user'})}")
        by_node = _get(calls, f"/report?{urlencode({**window, 'by': 'node'})}")
        alerts = _get(calls, f"/alerts?limit={_MOST_ALERTS}")
        waiting = _get(calls, "/jobs?state=Queued&limit=1&total=true")
    except CallFailed as error:
        return Figures(titles, error.reason)
    finally:
        calls.close()
    return Figures(titles, None, _with_fewer(by_user), _with_less(by_node), alerts, waiting.get("total"))


def _get(calls: Calls, path: str) -> Mapping[str, Any]:
    answer = calls.call(Step.READY, "GET", _API + path)
    if answer.status == 200 and (document := answer.document):
        return document
    code = {401: ReasonCode.NOT_AUTHENTICATED, 403: ReasonCode.FORBIDDEN}.get(answer.status, ReasonCode.ERROR)
    words = str(answer.document.get("detail", "no JSON"))
    raise CallFailed(Reason(code, Step.READY, {"status": str(answer.status), "words": words}))


def _with_fewer(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first groups have the most hours. A picture shows no more."""
    return {**report, "items": list(report.get("items") or ())[:_MOST_GROUPS]}


def _with_less(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Any node may be the slowest, so that all are kept with what tells. It waits in the state file to be sent."""
    lines = report.get("items") or ()
    return {"items": [{key: line.get(key) for key in ("group", "failures", "slowness")} for line in lines]}
