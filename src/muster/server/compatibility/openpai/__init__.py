"""OpenPAI's REST API, version 2, and the part of version 1 that its first clients call.

Its words (`WAITING`, `user~job`, exit codes, error codes) exist only here, each in one table. Rights are checked per
object with Muster's own table of rights. Job files are translated by the dialect, which this package only calls.
"""

from fastapi import APIRouter, FastAPI

from muster.server.compatibility.openpai.routes import (
    authn,
    clusters,
    history,
    job_control,
    jobs,
    not_answered,
    task_logs,
    tokens,
    user_jobs,
    users,
)

_V2 = ("/api/v2", "/rest-server/api/v2")
"""OpenPAI's own proxy adds `/rest-server`, and most clients ask for it."""
_V1 = "/rest-server/api/v1"
_MODULES = (authn, tokens, user_jobs, users, clusters, jobs, job_control, history, task_logs)
ROUTERS: tuple[tuple[str, APIRouter], ...] = (
    *((prefix, module.router) for prefix in _V2 for module in _MODULES),
    *((prefix, router) for prefix in ("/api/v1", _V1) for router in (user_jobs.token_router, user_jobs.router)),
    *((_V1, router) for router in (authn.root_router, users.router, clusters.router, jobs.router, job_control.router)),
    *((prefix, not_answered.router) for prefix in (*_V2, _V1)),
)
"""Muster's own `/api/v1` stays as it is: only paths are added there that Muster does not have. Below `/rest-server`,
version 1 is whole."""


def add_routes(app: FastAPI) -> None:
    for prefix, router in ROUTERS:
        app.include_router(router, prefix=prefix)
