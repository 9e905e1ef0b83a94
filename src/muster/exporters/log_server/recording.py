"""Makes records of what happens to jobs. A record says what its event says, and what the job was at that moment.

The first record of a job has its config and its tracking URL, a record of a changed config has that config, and the
last one has the outcome and what was used.
"""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from muster.domain.events import Event
from muster.domain.jobs import Failed, Job
from muster.domain.resources import WHOLE_GPU
from muster.domain.tracking import tracking_url
from muster.domain.used_resources import sum_of_task
from muster.exporters.log_server.masking import masked_spec
from muster.lib.clock import iso, optional_iso
from muster.ports.log_records import Recorder
from muster.ports.store import Change
from muster.wire.job_usage_views import usage_sum_view
from muster.wire.views import fault_view
from muster.wire.written_specs import spec_as_written

_LONGEST_TEXT = 2048


def recorder_of(address: str) -> Recorder:
    """`address` is the one at which people reach the server."""

    def record(change: Change, event: Event) -> str | None:
        if event.job_id is None or not (event.kind.startswith(("job.", "task.")) or _stands_for_job(change, event)):
            return None
        # Infinite numbers, which parameters may be, are texts: JSON has none.
        return to_json(_body(address, change, event), inf_nan_mode="strings").decode()

    return record


def _stands_for_job(change: Change, event: Event) -> bool:
    """Whether the audit event is the only one of a new or changed job, as it is of one that was imported or
    labelled."""
    written = change.new_job or change.rewritten_job
    return written is not None and event.kind.startswith("audit.job.") and not _kinds(change)


def _kinds(change: Change) -> list[str]:
    return [one.kind for one in change.events if one.kind.startswith("job.")]


def _body(address: str, change: Change, event: Event) -> dict[str, Any]:
    job = change.new_job or change.rewritten_job or change.job
    kind = event.kind.removeprefix("audit.")
    body: dict[str, Any] = {
        "kind": kind,
        "at": iso(event.at),
        "server": address,
        "jobId": event.job_id,
        "owner": event.owner or "",
        "actor": event.actor,
    }
    if kind.startswith("task."):
        return {**body, **_of_task(change, event, job)}
    if job is None:
        return body | _short(event.data)
    about = summary_of(job, address)
    body |= {name: about[name] for name in ("state", "reason", "attempt")} | _short(event.data)
    body |= {name: about[name] for name in ("name", "cluster", "vc", "trackingUrl")}
    is_first = change.new_job is not None and event.kind == (_kinds(change) or [event.kind])[0]
    if is_first or change.rewritten_job is not None:
        body |= config_of(job)
    if job.is_final and body["state"] == job.state_name:
        body |= outcome_of(job)
    return body


def summary_of(job: Job, address: str) -> dict[str, Any]:
    """What a job is at this moment."""
    return {
        "state": job.state_name,
        "reason": job.reason[:_LONGEST_TEXT],
        "attempt": job.attempt,
        "name": job.name,
        "cluster": job.cluster,
        "vc": job.vc,
        "trackingUrl": tracking_url(address, job.id, job.tracking_url),
        "server": address,
    }


def config_of(job: Job) -> dict[str, Any]:
    spec = job.spec
    config = masked_spec(spec_as_written(spec))
    return {
        "config": config,
        "params": config.get("params") or {},
        "package": spec.package,
        "framework": str(spec.framework),
        "priority": str(spec.priority),
        "submittedAt": iso(job.created_at),
    }


def outcome_of(job: Job) -> dict[str, Any]:
    state = job.state
    fault = state.fault if isinstance(state, Failed) else None
    gpu_m = sum(role.resources.gpu_m * dict(job.sizes).get(role.name, role.replicas) for role in job.spec.roles)
    return {
        "startedAt": optional_iso(job.started_at),
        "endedAt": optional_iso(job.ended_at),
        "fault": None if fault is None else _short(fault_view(fault)),
        "used": None if job.used is None else usage_sum_view(job.used, job.ran_s),
        "ranS": round(job.ran_s, 3),
        "gpuHours": round(job.ran_s * gpu_m / WHOLE_GPU / 3600, 6),
        "retries": job.retries,
        "preemptions": job.preemptions,
        "params": masked_spec({"params": dict(job.spec.params)})["params"],
        "package": job.spec.package,
    }


def _of_task(change: Change, event: Event, job: Job | None) -> dict[str, Any]:
    data = dict(event.data)
    task = next((one for one in change.tasks if (one.name, one.attempt) == (data["name"], data["attempt"])), None)
    about: dict[str, Any] = {"task": data, "cluster": "" if job is None else job.cluster}
    if task is not None and task.has_ended and task.used is not None and event.kind.endswith(task.state_name.lower()):
        ran_s = max(0.0, (task.ended_at or 0.0) - (task.started_at or 0.0))
        about["used"] = usage_sum_view(sum_of_task(task.used), ran_s)
    return about


def _short(values: Mapping[str, Any]) -> dict[str, Any]:
    """Long texts, such as a reason that quotes a log, are cut."""
    return {name: value[:_LONGEST_TEXT] if isinstance(value, str) else value for name, value in values.items()}
