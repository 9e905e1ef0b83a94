"""The route that tells what became of a submission whose answer was lost."""

from itertools import count
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response
from fastapi.responses import JSONResponse

from muster.api.jobs import JobPage
from muster.domain.errors import NotFound
from muster.domain.jobs import Job
from muster.engine.requests.accounts import Principal
from muster.ports.store import RequestKey, Store
from muster.server.services import Services, authenticated, services
from muster.wire.response_models import response_model

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_MOST_MEMBERS = 1000


@router.get("/requests/{key}", response_model=response_model(JobPage), summary="The jobs that a request made")
async def get_request(key: Annotated[str, Path(max_length=200)], me: Me, parts: Parts) -> Response:
    """Answers which jobs a request of yours with this Idempotency-Key has made. None are answered as 404; a request
    that is still under way may make them yet, and sending it again with the same key is safe at all times. Of a sweep,
    up to 1000 members are answered that it has by now."""
    jobs = await _made_by(parts.context.store, RequestKey(me.name, key))
    if not jobs and (sweep := await parts.context.store.sweep_by_request(RequestKey(me.name, key))) is not None:
        jobs = await parts.context.store.members(sweep.id, limit=_MOST_MEMBERS)
    if not jobs:
        raise NotFound(f"no request of yours with the key {key} has made a job", hint="it is safe to submit it again")
    return JSONResponse(JobPage(items=[parts.job_view(me, job) for job in jobs], nextCursor=None))


async def _made_by(store: Store, key: RequestKey) -> list[Job]:
    """One that submits many jobs has a key for each of them, with its place."""
    single = await store.job_by_request(key)
    if single is not None:
        return [single]
    found: list[Job] = []
    for place in count():
        job = await store.job_by_request(RequestKey(key.user, f"{key.key}:{place}"))
        if job is None:
            return found
        found.append(job)
    raise AssertionError("count does not end")
