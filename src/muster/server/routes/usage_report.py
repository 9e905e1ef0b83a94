"""The route for reports of what was used."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.usage_report import ReportOut
from muster.domain.errors import Invalid
from muster.domain.usage.usage_report import GroupBy, Report, ReportWindow
from muster.engine.requests.accounts import Principal
from muster.engine.requests.job_usage import all_live_usage
from muster.lib.clock import iso
from muster.server.services import Services, authenticated, services
from muster.server.timestamps import instant
from muster.wire.response_models import response_model
from muster.wire.usage_report_views import report_line_view

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_LONGEST_S = 366 * 86400.0


@router.get("/report", response_model=response_model(ReportOut), summary="What was used in a window of time")
async def get_report(
    me: Me,
    parts: Parts,
    since: Annotated[str, Query(description="ISO time, or an age such as 30d.")] = "30d",
    until: Annotated[str | None, Query(description="ISO time, or an age such as 1d; now if absent.")] = None,
    by: Annotated[GroupBy, Query(description="What the groups are.")] = GroupBy.USER,
    idle_below: Annotated[float, Query(alias="idleBelow", ge=0, le=100, description="Per cent.")] = 10.0,
) -> Response:
    """What is only partly within the window is cut to it. Users get a report of their own jobs, admins of all. Jobs
    that were deleted are not in it."""
    now = parts.context.clock()
    window = _window(instant("since", since, now), instant("until", until, now), now)
    report = Report(by, window, now, idle_below, all_live_usage(parts.context))
    with parts.bounds.reports.held(me.name):
        await parts.context.store.each_job_run(window, None if me.is_admin else me.name, report.add)
    return JSONResponse(
        ReportOut(
            since=iso(window.since),
            until=iso(window.until),
            by=str(by),
            idleBelow=idle_below,
            onlyOwn=not me.is_admin,
            items=[report_line_view(line) for line in report.lines()],
            total=report_line_view(report.total()),
        )
    )


def _window(since: float | None, until: float | None, now: float) -> ReportWindow:
    end = now if until is None else min(until, now)
    start = 0.0 if since is None else since
    if start >= end:
        raise Invalid("the window is empty: `since` is not before `until`")
    if end - start > _LONGEST_S:
        raise Invalid("a report covers at most a year", hint="ask for a part of the time with since and until")
    return ReportWindow(start, end)
