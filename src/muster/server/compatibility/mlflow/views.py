"""Runs and experiments as MLflow's clients read them."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from muster.domain.experiments.experiments import DEFAULT_ID, EXPERIMENT_LABEL, Experiment
from muster.domain.experiments.job_metrics import MetricPoint, MetricSeries
from muster.domain.experiments.runs import Run
from muster.domain.job_notes import DELETED
from muster.domain.jobs import ELSEWHERE
from muster.server.compatibility.mlflow.datasets import inputs_in

STATUS: Mapping[str, str] = {
    "Queued": "SCHEDULED",
    "Held": "SCHEDULED",
    "Starting": "SCHEDULED",
    "Running": "RUNNING",
    "Stopping": "RUNNING",
    "Succeeded": "FINISHED",
    "Failed": "FAILED",
    "Cancelled": "KILLED",
}
RUN_NAME, USER = "mlflow.runName", "mlflow.user"
_OWN_ARTIFACTS = "./mlartifacts"
"""The place where a task puts them: a folder of its working directory, which a job may name among its outputs."""


def millis(at: float) -> int:
    return round(at * 1000)


def run_name(run: Run) -> str:
    return run.tags.get(RUN_NAME) or run.name


def experiment_of(run: Run) -> str:
    """Return the experiment of a run whose labels were read."""
    return run.labels.get(EXPERIMENT_LABEL, DEFAULT_ID) if run.cluster == ELSEWHERE else DEFAULT_ID


def started(run: Run) -> int:
    return millis(run.created_at if run.started_at is None else run.started_at)


def ended(run: Run) -> int | None:
    return None if run.ended_at is None else millis(run.ended_at)


def is_deleted(run: Run) -> bool:
    return DELETED in run.tags


def info_view(run: Run, experiment_id: str, *, is_task: bool = False) -> dict[str, Any]:
    end = ended(run)
    return {
        "run_id": run.id,
        "run_uuid": run.id,
        "run_name": run_name(run),
        "experiment_id": experiment_id,
        "user_id": run.owner,
        "status": STATUS[run.state],
        "start_time": started(run),
        **({} if end is None else {"end_time": end}),
        "artifact_uri": artifact_uri(run, is_task=is_task),
        "lifecycle_stage": "deleted" if is_deleted(run) else "active",
    }


def artifact_uri(run: Run, *, is_task: bool) -> str:
    return _OWN_ARTIFACTS if is_task and run.cluster != ELSEWHERE else f"mlflow-artifacts:/{run.id}"


def run_view(run: Run, experiment_id: str, series: Iterable[MetricSeries], *, is_task: bool = False) -> dict[str, Any]:
    """`series` are those of all attempts, in their order: the newest attempt that has reported a metric counts."""
    tags = {RUN_NAME: run_name(run), USER: run.owner, **run.tags}
    last = {one.name: one.last for one in series}
    return {
        "info": info_view(run, experiment_id, is_task=is_task),
        "data": {
            "metrics": [metric_view(point) for point in last.values()],
            "params": [{"key": key, "value": str(value)} for key, value in run.params.items()],
            "tags": [{"key": key, "value": value} for key, value in tags.items() if key != DELETED],
        },
        "inputs": {"dataset_inputs": list(inputs_in(run.tags))},
    }


def metric_view(point: MetricPoint) -> dict[str, Any]:
    return {"key": point.name, "value": number(point.value), "timestamp": millis(point.at), "step": point.step}


def number(value: float) -> float | str:
    """JSON has no such numbers, and MLflow's clients read these words."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def experiment_view(experiment: Experiment) -> dict[str, Any]:
    return {
        "experiment_id": experiment.id,
        "name": experiment.name,
        "artifact_location": f"mlflow-artifacts:/{experiment.id}",
        "lifecycle_stage": "deleted" if experiment.is_deleted else "active",
        "creation_time": millis(experiment.created_at),
        "last_update_time": millis(experiment.updated_at),
        "tags": [{"key": key, "value": value} for key, value in experiment.tags.items()],
    }
