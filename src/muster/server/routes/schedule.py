"""The route for the schedule: who ran and runs where, and what is expected."""

from collections.abc import Iterable, Sequence
from typing import Annotated, TypedDict, cast

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.jobs import TaskStateName
from muster.api.schedule import ExpectedOut, LaneOut, ReservedOut, ScheduleOut, SpanOut
from muster.domain.errors import Invalid
from muster.domain.schedule import ExpectedStart, Reserved, TaskSpan
from muster.domain.usage.usage_report import ReportWindow
from muster.engine.cluster_access import physical_cluster, visible_clusters
from muster.engine.requests.accounts import Principal
from muster.engine.requests.schedule import reserved_on, task_spans
from muster.lib.clock import iso, optional_iso
from muster.server.access import Action, may, require
from muster.server.services import Services, authenticated, services
from muster.server.timestamps import instant
from muster.wire.response_models import response_model

router = APIRouter(tags=["clusters and nodes"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_LONGEST_S = 31 * 86400.0
_HIDDEN = "(private)"
"""It is shown in place of the name of a job that the reader may not see."""


class _Seen(TypedDict):
    job: str | None
    name: str
    owner: str | None


@router.get("/schedule", response_model=response_model(ScheduleOut), summary="Who ran and runs where, and who is next")
async def get_schedule(
    me: Me,
    parts: Parts,
    since: Annotated[str, Query(description="ISO time, or an age such as 6h.")] = "6h",
    until: Annotated[str | None, Query(description="ISO time, or an age such as 1h; now if absent.")] = None,
    cluster: Annotated[str | None, Query(description="Only this one.")] = None,
    limit: Annotated[int, Query(ge=1, le=20_000, description="How many tasks at most.")] = 5000,
) -> Response:
    """Lanes of the clusters that you may use. Tasks of jobs that you may not see are there without names. What is
    expected is worked out every few seconds, and assumes that nothing new comes."""
    require(me, Action.CLUSTER_SEE)
    now = parts.context.clock()
    window = _window(instant("since", since, now), instant("until", until, now), now)
    clusters = visible_clusters(parts.context, me.user)
    if cluster is not None:
        clusters = [physical_cluster(parts.context, me.user, cluster)]
    with parts.bounds.schedules.held(me.name):
        spans = await task_spans(parts.context, window, clusters, limit)
        expected = [(one, name) for name in clusters for one in await parts.look_ahead.expected(parts.context, name)]
    reserved = [(one, name) for name in clusters for one in reserved_on(parts.context, name)]
    return JSONResponse(
        ScheduleOut(
            since=iso(window.since),
            until=iso(window.until),
            lanes=_lanes(me, parts, spans.items),
            expected=[_expected(me, parts, one, name) for one, name in expected],
            reserved=[_reserved(me, parts, one, name) for one, name in reserved],
            isCut=spans.is_cut,
        )
    )


def _window(since: float | None, until: float | None, now: float) -> ReportWindow:
    end = now if until is None else min(until, now)
    start = 0.0 if since is None else since
    if start >= end:
        raise Invalid("the window is empty: `since` is not before `until`")
    if end - start > _LONGEST_S:
        raise Invalid("a schedule covers at most 31 days", hint="ask for a part of the time with since and until")
    return ReportWindow(start, end)


def _lanes(me: Principal, parts: Services, spans: Sequence[TaskSpan]) -> list[LaneOut]:
    lanes: dict[tuple[str, str, int | None], list[SpanOut]] = {}
    for span in reversed(spans):
        view = _span(me, parts, span)
        devices: Iterable[int | None] = span.devices or (None,)
        for device in devices:
            lanes.setdefault((span.cluster, span.node, device), []).append(view)
    ordered = sorted(lanes, key=lambda key: (key[0], key[1], -1 if key[2] is None else key[2]))
    return [LaneOut(cluster=key[0], node=key[1], device=key[2], spans=lanes[key]) for key in ordered]


def _span(me: Principal, parts: Services, span: TaskSpan) -> SpanOut:
    is_seen = may(me, Action.JOB_SEE, span.owner, private=parts.private_jobs)
    return {
        **_seen(span.job_id, span.job, span.owner, is_seen=is_seen),
        "task": span.name if is_seen else None,
        "from": iso(span.began_at),
        "to": optional_iso(span.ended_at),
        "state": cast("TaskStateName", span.state),
        "endsBy": optional_iso(span.ends_by),
    }


def _expected(me: Principal, parts: Services, one: ExpectedStart, cluster: str) -> ExpectedOut:
    at, ends_at = iso(one.at), optional_iso(one.ends_at)
    return {**_waiting(me, parts, one.job_id), "cluster": cluster, "from": at, "to": ends_at, "nodes": list(one.nodes)}


def _reserved(me: Principal, parts: Services, one: Reserved, cluster: str) -> ReservedOut:
    return {
        **_waiting(me, parts, one.job_id),
        "cluster": cluster,
        "from": optional_iso(one.at),
        "nodes": list(one.nodes),
    }


def _waiting(me: Principal, parts: Services, job_id: str) -> _Seen:
    entry = parts.context.open_jobs.get(job_id)
    if entry is None:
        return _seen(job_id, "", "", is_seen=False)
    is_seen = may(me, Action.JOB_SEE, entry.job.owner, private=parts.private_jobs)
    return _seen(job_id, entry.job.name, entry.job.owner, is_seen=is_seen)


def _seen(job_id: str, name: str, owner: str, *, is_seen: bool) -> _Seen:
    return {"job": job_id, "name": name, "owner": owner} if is_seen else {"job": None, "name": _HIDDEN, "owner": None}
