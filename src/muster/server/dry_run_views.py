"""Builds what the API answers to a dry run."""

from collections.abc import Sequence

from muster.api.dry_runs import DryRunOut
from muster.api.jobs import RenderedFileOut
from muster.engine.requests.dry_running import DryRun
from muster.server.explanation_views import latest_start, likely_start
from muster.server.launch_views import request_view
from muster.wire.views import job_view, reason_view


def dry_run_view(found: DryRun, warnings: Sequence[str]) -> DryRunOut:
    rendered = found.rendered
    return DryRunOut(
        job=job_view(found.job),
        requests=[request_view(one, rendered.containers.get(one.task_id)) for one in found.requests],
        files=[RenderedFileOut(name=file.name, content=file.content) for file in rendered.files],
        warnings=list(warnings),
        reasons=[reason_view(reason) for reason in found.supposed.reasons],
        startsAt=likely_start(found.supposed.start),
        startsBy=latest_start(found.supposed.start),
        placement=found.placed_as.value,
    )
