"""Builds what the API answers about why a job waits, runs or failed."""

from collections.abc import Mapping
from typing import Any, cast

from muster.api.explanations import AttemptOut, ExplainOut, WhatIfOut
from muster.api.jobs import JobStateName
from muster.domain.jobs import Job
from muster.engine.requests.explaining import AttemptStory, Explanation
from muster.lib.clock import optional_iso
from muster.scheduling.allocations.usage_views import StartForecast, WhatIf
from muster.wire.views import fault_view, reason_view


def explanation_view(job: Job, found: Explanation, supposed: WhatIfOut | None) -> ExplainOut:
    return {
        "job": job.name,
        "state": cast("JobStateName", job.state_name),
        "summary": found.summary,
        "reasons": [reason_view(reason) for reason in found.reasons],
        "fault": fault_view(found.fault) if found.fault else None,
        "evidence": list(found.evidence),
        "attempts": [_attempt_view(attempt) for attempt in found.attempts],
        "next": found.next,
        "startsAt": likely_start(found.start),
        "startsBy": latest_start(found.start),
        "whatIf": supposed,
    }


def what_if_view(changes: Mapping[str, Any], found: WhatIf) -> WhatIfOut:
    return {
        "changes": dict(changes),
        "reasons": [reason_view(reason) for reason in found.reasons],
        "startsAt": likely_start(found.start),
        "startsBy": latest_start(found.start),
    }


def likely_start(start: StartForecast | None) -> str | None:
    return None if start is None else optional_iso(start.likely)


def latest_start(start: StartForecast | None) -> str | None:
    return None if start is None else optional_iso(start.latest)


def _attempt_view(attempt: AttemptStory) -> AttemptOut:
    return {
        "attempt": attempt.attempt,
        "startedAt": optional_iso(attempt.started_at),
        "endedAt": optional_iso(attempt.ended_at),
        "outcome": attempt.outcome,
        "stoppedBecause": attempt.stopped_because,
    }
