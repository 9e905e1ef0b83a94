"""The route for live pages: one stream for everything that a page shows."""

from dataclasses import dataclass, field, replace
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Query, Request, Response

from muster.api.live import LiveEventsOut
from muster.domain.errors import Conflict, Forbidden, MusterError, NotFound
from muster.engine.data.following import check_workers
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require
from muster.server.live.broadcaster import Broadcaster
from muster.server.live.log_growth import WantedLogs
from muster.server.live.readers import Reader
from muster.server.live.responses import LiveResponse
from muster.server.live.topics import MAX_LENGTH, MAX_TOPICS, SERVER_LOG, LogTopic, Topics, parse_topics
from muster.server.node_views import node_rights
from muster.server.services import Services, authenticated, services
from muster.server.streams import MEDIA_TYPE, resume_point
from muster.wire.response_models import response_model

router = APIRouter(tags=["logs and events"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]


class _Stream(Response):
    """How the answer is documented."""

    media_type = MEDIA_TYPE


_NAMES = (
    "`jobs`, `nodes`, `queue`, `virtual-clusters`, `clusters`, `alerts`, `templates`, `server-log`, `job:ID`, "
    "`logs:ID` and `logs:ID:WORKER`"
)


@router.get(
    "/live",
    response_class=_Stream,
    response_model=response_model(LiveEventsOut),
    response_description="A stream of server-sent events. By name of the event, its data:",
    summary="What changes on a page",
)
async def live(
    request: Request,
    me: Me,
    parts: Parts,
    topics: Annotated[
        str, Query(max_length=MAX_LENGTH, description=f"Up to {MAX_TOPICS}, separated by commas: {_NAMES}.")
    ],
    after: Annotated[int | None, Query(ge=0, le=2**62, description="Begin after this event.")] = None,
    skip_missing: Annotated[
        bool,
        Query(
            alias="skipMissing",
            description="Leave out topics about jobs that do not exist or that you may not see, instead of refusing "
            "the stream. `ready` names them.",
        ),
    ] = False,
) -> Response:
    """One stream for everything that a page shows. Changes are gathered and told a few times a second, each with the
    present state of what has changed, and only to those who may see it.

    `ready` comes first: whatever is asked after it is not older than what the stream tells. Then come `jobs`, `job` and
    `nodes` with the things that have changed, and `changed` with topics that are worth asking for again; `jobs` is
    among them when very many jobs have changed at once. Why a job waits and what it has used is told for `job:ID` every
    two seconds, and in `jobs` with the next change of the job.

    `logs` tells that running tasks have printed more, but not what: read it from where you are with
    `/jobs/{ref}/logs?cursor=…`. First come the sizes of all logs of the topic. `logs:ID` is about all workers of the
    job's present attempt, and `logs:ID:worker-0` about one of them.

    `server-log`, which only admins may have, tells what this server writes to its own log: first where the log ends
    now, and then the entries.

    Ids of events are numbers of `/events`. A reader that comes back with Last-Event-ID (or `after`) is told what it has
    missed. If that is too much, or if a reader does not keep up, it is told `resync`: then it asks for everything
    again, and the stream goes on. Every answer of the API has the number of the last event before it in its header
    `Muster-Last-Event`: a stream that begins after this number tells what has changed since the answer.

    The stream ends when the token is no longer valid or the user gets other rights."""
    wanted = parse_topics(topics)
    allowed = await _allowed(parts, me, wanted, skip_missing=skip_missing)
    last = parts.context.hub.last_seq
    start = resume_point(request, after)
    since = last if start is None else start if start <= last else None
    rights = node_rights(me, parts) if wanted.has_nodes else None
    told = replace(wanted, has_server_log=allowed.has_server_log)
    reader = Reader(me, told, allowed.jobs, since, rights, allowed.logs)
    return LiveResponse(parts, cast("Broadcaster", request.app.state.live), reader, allowed.missing)


@dataclass(slots=True)
class _Allowed:
    """What the caller may be told: jobs with their owners, logs, and the server's own."""

    jobs: dict[str, str] = field(default_factory=dict)
    logs: list[WantedLogs] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    has_server_log: bool = False


async def _allowed(parts: Services, me: Principal, wanted: Topics, *, skip_missing: bool) -> _Allowed:
    allowed = _Allowed()
    refusals: tuple[type[MusterError], ...] = (NotFound, Forbidden, Conflict) if skip_missing else ()
    for ref in wanted.job_refs:
        try:
            job = await parts.find_job(me, ref, Action.JOB_SEE)
            allowed.jobs[job.id] = job.owner
        except refusals:
            allowed.missing.append(f"job:{ref}")
    for topic in wanted.logs:
        try:
            allowed.logs.append(await _wanted_logs(parts, me, topic))
        except refusals:
            allowed.missing.append(str(topic))
    if wanted.has_server_log:
        try:
            require(me, Action.SERVER_LOG_READ)
            parts.own_log.file()
            allowed.has_server_log = True
        except refusals:
            allowed.missing.append(SERVER_LOG)
    return allowed


async def _wanted_logs(parts: Services, me: Principal, topic: LogTopic) -> WantedLogs:
    job = await parts.find_job(me, topic.ref, Action.JOB_READ)
    if topic.worker is None:
        return WantedLogs(job.id)
    check_workers(job, (topic.worker,))
    return WantedLogs(job.id, topic.worker.removeprefix(f"{job.name}-"))
