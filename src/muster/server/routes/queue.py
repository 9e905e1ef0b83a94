"""The route for the queue."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.jobs import QueuedJobOut, QueueOut
from muster.engine.requests.accounts import Principal
from muster.engine.requests.queue import queue
from muster.server.access import Action, may
from muster.server.services import Services, authenticated, services
from muster.wire.requests import MYSELF
from muster.wire.response_models import response_model

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]


@router.get("/queue", response_model=response_model(QueueOut), summary="Jobs that run and wait, in order")
async def get_queue(
    me: Me,
    parts: Parts,
    cluster: Annotated[str | None, Query(description="Only those of this one.")] = None,
    owner: Annotated[str | None, Query(description="Only those of this user; `me` is you.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """Answers running jobs, then waiting ones in the order in which the scheduler looks at them. A later one may start
    before an earlier one if that does not delay it. Positions count the jobs of others, too."""
    owner = me.name if owner == MYSELF else owner
    seen = [
        one
        for one in queue(parts.context, cluster)
        if owner in (None, one.job.owner) and may(me, Action.JOB_SEE, one.job.owner, private=parts.private_jobs)
    ]
    items: list[QueuedJobOut] = [{**parts.job_view(me, one.job), "position": one.position} for one in seen[:limit]]
    return JSONResponse(QueueOut(items=items, total=len(seen)))
