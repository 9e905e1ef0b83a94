"""The application: routes under /api/v1, errors, the page."""

from collections.abc import Callable

from fastapi import FastAPI

from muster.server import openapi, problems
from muster.server.bounds import bound_of_bodies
from muster.server.compatibility import COMPATIBILITY, mlflow
from muster.server.live.broadcaster import Broadcaster
from muster.server.metrics import Metrics
from muster.server.middleware import Guard
from muster.server.plain_submission import PlainSubmission
from muster.server.routes import (
    accounts,
    alert_rules,
    alerts,
    archives,
    audit,
    cluster_files,
    environments,
    experiments,
    files,
    handed_on,
    history,
    identities,
    job_changes,
    job_imports,
    job_metrics,
    job_pages,
    job_requests,
    job_sets,
    job_specs,
    job_stacks,
    job_translation,
    job_usage,
    jobs,
    live,
    log_chunks,
    log_lines,
    logs,
    models,
    node_adding,
    node_life,
    nodes,
    outputs,
    packages,
    port_forward,
    portal,
    queue,
    schedule,
    secrets,
    server_health,
    server_log,
    sharing,
    sign_in,
    simulations,
    sweeps,
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
    """Makes the app. Without services, it answers nothing but what it is: its routes and their documentation."""
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
    app.state.live = Broadcaster(services) if services is not None else None
    app.state.metrics = Metrics()
    app.state.body_limits = {}
    problems.install(app)
    openapi.install(app)
    app.router.routes.insert(0, PlainSubmission("/api/v1/jobs"))
    for module in (
        jobs,
        job_imports,
        handed_on,
        job_requests,
        job_specs,
        job_sets,
        job_translation,
        job_changes,
        job_usage,
        job_metrics,
        job_stacks,
        experiments,
        usage_report,
        history,
        queue,
        log_lines,
        log_chunks,
        schedule,
        simulations,
        sweeps,
        logs,
        live,
        outputs,
        models,
        task_exec,
        port_forward,
        job_pages,
        nodes,
        alerts,
        alert_rules,
        files,
        node_adding,
        cluster_files,
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
        audit,
        server_log,
        server_health,
    ):
        app.include_router(module.router, prefix="/api/v1")
    for name in sorted(services.compatibility if services else ()):
        COMPATIBILITY[name](app)
    mlflow.install(app)
    app.include_router(system.api_router, prefix="/api/v1")
    app.include_router(sign_in.browser_router)
    app.include_router(job_pages.browser_router)
    app.include_router(portal.router)
    app.include_router(system.router)
    app.add_middleware(
        Guard,
        metrics=app.state.metrics,
        body_bytes=bound_of_bodies(),
        limits=app.state.body_limits,
        last_event=_last_event_of(services),
    )
    return app


def _last_event_of(services: Services | None) -> Callable[[], int] | None:
    if services is None:
        return None
    hub = services.context.hub
    return lambda: hub.last_seq
