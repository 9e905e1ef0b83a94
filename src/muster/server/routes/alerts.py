"""The route for alerts."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.alerts import AlertList
from muster.engine.alerts.visible_alerts import visible_alerts
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require
from muster.server.services import Services, authenticated, services
from muster.wire.alert_views import alert_counts, alert_view
from muster.wire.response_models import response_model

router = APIRouter(tags=["clusters and nodes"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]


@router.get("/alerts", response_model=response_model(AlertList), summary="What is not as it should be now")
async def list_alerts(
    me: Me,
    parts: Parts,
    mine: Annotated[bool, Query(description="Only what concerns you.")] = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """The worst first. You see alerts of your own jobs and of the clusters that you may use; admins see all. An alert
    goes away by itself when its cause is gone."""
    require(me, Action.CLUSTER_SEE)
    found = [alert for alert in await visible_alerts(parts.context, me.user) if alert.concerns_me or not mine]
    items = [alert_view(alert) for alert in found[:limit]]
    return JSONResponse(AlertList(items=items, total=len(found), counts=alert_counts(found)))
