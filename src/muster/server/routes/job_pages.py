"""Links to the pages that jobs serve, which are at hosts of their own (see `server/job_proxy`), and to the portal's
pages about jobs."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from muster.api.accounts import LinkOut
from muster.domain.errors import Conflict
from muster.engine.requests.accounts import Principal
from muster.engine.requests.login_links import LINK_S
from muster.engine.state.event_builders import audit_event
from muster.lib.clock import iso
from muster.ports.store import Change
from muster.server.access import Action
from muster.server.job_hosts import JobPort
from muster.server.job_proxy.entering import ENTER
from muster.server.job_sessions import Entry
from muster.server.services import Services, authenticated, services
from muster.wire import requests
from muster.wire.response_models import response_model

router = APIRouter(tags=["jobs"])
browser_router = APIRouter(include_in_schema=False)
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]


@router.post(
    "/jobs/{ref}/page",
    status_code=201,
    response_model=response_model(LinkOut),
    summary="Make a link to a page that the job serves",
)
async def make_page_link(request: Request, ref: str, body: requests.JobPageIn, me: Me, parts: Parts) -> Response:
    """The link opens what listens on a port of the job's first task, in one browser, once, within five minutes. That
    browser then sees it until it logs out or the token of this call ends. Each job and port has a host of its own, so
    that no page of a job can use Muster, or see another job, in the name of its viewer."""
    job = await parts.find_job(me, ref, Action.JOB_EXEC)
    target = JobPort(job.id, body.port)
    origin = parts.proxy_hosts.origin(target, request.url.scheme, request.headers.get("host", ""))
    if origin is None:
        raise Conflict(
            "pages of jobs can be seen at the server's own machine only",
            hint=f"an admin sets `jobUrl`; until then: muster port-forward {job.name} {body.port}",
        )
    event = audit_event("job.page", me.name, parts.context.clock(), job=job, port=body.port)
    await parts.context.apply(Change(events=[event]))
    ticket = parts.proxy_sessions.link(Entry(target, me.token.secret_hash), me.name)
    link = f"{origin}{ENTER}#{quote(ticket)}&{quote(body.path, safe='')}"
    return JSONResponse(LinkOut(url=link, expiresAt=iso(parts.context.clock() + LINK_S)), 201)


@browser_router.api_route("/jobs/{ref}", methods=["GET", "HEAD"])
async def open_job(ref: str) -> Response:
    """The tracking URL of a job. The portal's page says whether there is such a job, and who may see it."""
    return RedirectResponse(f"/#/jobs/{quote(ref, safe='')}", 303)


@browser_router.get("/jobs/{ref}/proxy/{rest:path}")
async def open_page(ref: str, rest: str) -> Response:
    """An address to keep: Muster's own page asks for a link in the name of whoever is logged in there. `rest` is the
    port and the path."""
    port, _, path = rest.partition("/")
    return RedirectResponse(f"/#/open/{quote(ref, safe='')}/{quote(port, safe='')}/{quote(path)}", 303)
