"""The route for how the server itself is, for admins. Each server answers for itself, a standby too."""

import asyncio
import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.server_health import (
    DatabaseHealth,
    LogServerHealth,
    ProcessHealth,
    QueueHealth,
    ServerHealth,
    WriteCheckOut,
)
from muster.domain.errors import MusterError, Unavailable
from muster.domain.simulations import SimulationState
from muster.engine.requests.accounts import Principal
from muster.lib.clock import iso, optional_iso
from muster.ports.log_records import LogDelivery
from muster.ports.store import Change
from muster.server.access import Action, require
from muster.server.own_process import Measured, measured, write_durably
from muster.server.services import Services, authenticated, services
from muster.version import __version__
from muster.wire.response_models import response_model

PATH = "/server/health"
router = APIRouter(tags=["system"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_WITHIN_S = 5.0


@router.get(PATH, response_model=response_model(ServerHealth), summary="How the server is")
async def server_health(
    me: Me,
    parts: Parts,
    acting: Annotated[bool, Query(description="Whether a standby shall ask the server that acts.")] = False,
) -> Response:
    """Answers also while the database does not, as long as your login is known. Each server answers for itself, unless
    `acting` is given."""
    require(me, Action.SERVER_HEALTH_SEE)
    own, now = parts.own_process, parts.context.clock()
    found = await asyncio.to_thread(measured, own)
    health: ServerHealth = {
        "version": __version__,
        "server": parts.own_log.server,
        "role": "standby" if parts.own_log.is_standby else "acting",
        "startedAt": iso(own.started_at),
        "uptimeS": round(max(0.0, now - own.started_at), 3),
        "isHeld": parts.context.is_held,
        "database": await _database(parts, found),
        "loop": {
            "meanDelayMs": round(own.loop_delay.mean_s * 1000, 3),
            "longestDelayMs": round(own.loop_delay.longest_s * 1000, 3),
        },
        "queue": None if parts.own_log.is_standby else _queue(parts),
        "logServer": _log_server(parts.context.log_delivery),
        "disk": {"totalBytes": found.disk_total_bytes, "freeBytes": found.disk_free_bytes},
        "process": _process(parts, found),
    }
    return JSONResponse(health)


@router.post(
    "/server/write-check", response_model=response_model(WriteCheckOut), summary="Whether the server can write"
)
async def check_writing(me: Me, parts: Parts) -> Response:
    """Records the use of your token in the database, and writes a few bytes to the disk of the server, both durably.
    It is refused if either fails. Tokens of every scope may do this."""
    with parts.bounds.write_checks.held(me.name):
        began = time.perf_counter()
        await _recorded(parts, Change(used_token=(me.token.id, parts.context.clock())))
        wrote = time.perf_counter()
        await asyncio.to_thread(write_durably, parts.context.logs)
    found: WriteCheckOut = {
        "databaseMs": round((wrote - began) * 1000, 3),
        "diskMs": round((time.perf_counter() - wrote) * 1000, 3),
        "installation": parts.own_process.installation,
    }
    return JSONResponse(found)


async def _recorded(parts: Services, change: Change) -> None:
    try:
        async with asyncio.timeout(_WITHIN_S):
            await parts.context.store.apply(change)
    except TimeoutError:
        raise Unavailable(f"the database has not written within {_WITHIN_S:g} s") from None


async def _database(parts: Services, found: Measured) -> DatabaseHealth:
    began = time.perf_counter()
    last: int | None = None
    problem = ""
    try:
        async with asyncio.timeout(_WITHIN_S):
            last = await parts.context.store.last_event()
    except TimeoutError:
        problem = f"it has not answered within {_WITHIN_S:g} s"
    except MusterError as error:
        problem = error.message
    return {
        "kind": parts.own_process.database,
        "answersMs": None if problem else round((time.perf_counter() - began) * 1000, 3),
        "problem": problem,
        "sizeBytes": found.database_bytes,
        "lastEvent": last,
    }


def _queue(parts: Services) -> QueueHealth:
    clusters = parts.context.clusters.values()
    return {
        "open": len(parts.context.open_jobs),
        "waiting": sum(cluster.waiting for cluster in clusters),
        "cycles": sum(cluster.cycles for cluster in clusters),
    }


def _log_server(delivery: LogDelivery) -> LogServerHealth | None:
    if not delivery.address:
        return None
    return {
        "address": delivery.address,
        "problem": delivery.problem,
        "failingSince": optional_iso(delivery.failing_since),
        "waiting": delivery.waiting,
        "oldestAt": optional_iso(delivery.oldest_at),
        "sent": delivery.sent,
        "refused": delivery.refused,
        "dropped": delivery.dropped,
    }


def _process(parts: Services, found: Measured) -> ProcessHealth:
    running = [one for one in parts.simulations.visible(None) if one.state is SimulationState.RUNNING]
    return {
        "memoryBytes": found.rss_bytes,
        "cpuSeconds": round(found.cpu_s, 3),
        "threads": found.threads,
        "openFiles": found.open_files,
        "connections": parts.bounds.connections.count,
        "streams": parts.bounds.streams.count,
        "simulations": len(running),
    }
