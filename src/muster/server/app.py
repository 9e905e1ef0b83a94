"""The application: routes under /api/v1, errors, the page."""

from fastapi import FastAPI

from muster.server import openapi, problems
from muster.server.bounds import bound_of_bodies
from muster.server.compatibility import COMPATIBILITY
from muster.server.metrics import Metrics
from muster.server.middleware import Guard
from muster.server.plain_submission import PlainSubmission
from muster.server.routes import (
    accounts,
    archives,
    environments,
    files,
    identities,
    job_changes,
    job_imports,
    job_pages,
    job_sets,
    job_translation,
    job_usage,
    jobs,
    logs,
    node_adding,
    node_life,
    nodes,
    outputs,
    packages,
    port_forward,
    queue,
    secrets,
    server_log,
    sharing,
    sign_in,
    system,
    task_exec,
    templates,
    usage,
    usage_report,
)
from muster.server.services import Services
from muster.version import __version__

_DESCRIPTION = """One front door to every machine that can train a model.

Send `Authorization: Bearer TOKEN` (see `POST /login` and `POST /tokens`). Lists answer `{"items": [...]}`;
pass `cursor` for the next page. Errors are `application/problem+json` with a stable `code`. Streams are server-sent
events that resume from `Last-Event-ID`. Submissions, single, in bulk or by retry, may be repeated safely with an
`Idempotency-Key`."""


def create_app(services: Services | None) -> FastAPI:
    """Without services, it answers nothing but what it is: its routes and their documentation."""
    app = FastAPI(
        title="Muster",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url="/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.services = services
    app.state.metrics = Metrics()
    app.state.body_limits = {}
    problems.install(app)
    openapi.install(app)
    app.router.routes.insert(0, PlainSubmission("/api/v1/jobs"))
    for module in (
        jobs,
        job_imports,
        job_sets,
        job_translation,
        job_changes,
        job_usage,
        usage_report,
        queue,
        logs,
        outputs,
        task_exec,
        port_forward,
        job_pages,
        nodes,
        files,
        node_adding,
        node_life,
        environments,
        usage,
        sharing,
        packages,
        templates,
        archives,
        accounts,
        secrets,
        identities,
        sign_in,
        server_log,
    ):
        app.include_router(module.router, prefix="/api/v1")
    for name in sorted(services.compatibility if services else ()):
        COMPATIBILITY[name](app)
    app.include_router(system.api_router, prefix="/api/v1")
    app.include_router(sign_in.browser_router)
    app.include_router(job_pages.browser_router)
    app.include_router(system.router)
    app.add_middleware(Guard, metrics=app.state.metrics, body_bytes=bound_of_bodies(), limits=app.state.body_limits)
    return app
