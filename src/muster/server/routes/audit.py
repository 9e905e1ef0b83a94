"""The route for the audit log: who did what."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.events import EventPage
from muster.domain.errors import Invalid
from muster.engine.requests.accounts import Principal
from muster.ports.store import AuditFilter
from muster.server.access import Action, may
from muster.server.services import Services, authenticated, services
from muster.server.timestamps import instant
from muster.wire.requests import MYSELF
from muster.wire.response_models import response_model
from muster.wire.views import event_view

router = APIRouter(tags=["logs and events"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_NEWEST = 2**62


@router.get("/audit", response_model=response_model(EventPage), summary="Who did what, newest first")
async def get_audit(
    me: Me,
    parts: Parts,
    actor: Annotated[str | None, Query(max_length=200, description="Only acts of this user; `me` is you.")] = None,
    kind: Annotated[
        str, Query(max_length=100, description="The beginning of what was done, such as `job.` or `node.cordon`.")
    ] = "",
    since: Annotated[str | None, Query(description="ISO time, or an age such as 7d.")] = None,
    until: Annotated[str | None, Query(description="ISO time, or an age such as 1d; now if absent.")] = None,
    before: Annotated[str | None, Query(max_length=20, description="The `nextCursor` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Admins see the acts of everybody, others their own, and those of others on their jobs. A page looks at a bounded
    part of the history: it may be short, or empty, and `nextCursor` leads on as long as it is not null."""
    now = parts.context.clock()
    where = AuditFilter(
        about=None if may(me, Action.AUDIT_SEE, None, private=parts.private_jobs) else me.name,
        actor=me.name if actor == MYSELF else actor,
        prefix=kind.removeprefix("audit."),
        since=instant("since", since, now),
        until=instant("until", until, now),
    )
    page = await parts.context.store.audit(where, limit=limit, before=_number(before))
    return JSONResponse(EventPage(items=[event_view(event) for event in page.items], nextCursor=page.next_cursor))


def _number(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit()) or int(cursor) > _NEWEST:
        raise Invalid("this is not a cursor of the audit log", hint="take `nextCursor` of the page before")
    return int(cursor)
