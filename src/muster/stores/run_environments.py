"""Reads what runs ran in. Specs and tasks say it, which are large, so that nobody reads it who does not show it."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json
from sqlalchemy import Connection, select

from muster.domain.specs import Framework
from muster.stores.tables import jobs, tasks

_AT_ONCE = 50
"""A spec may have a megabyte."""


def run_environments(connection: Connection, job_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """What is known of each job of `image`, `conda` or `venv`, `framework`, and `gpu`, the models of its GPUs."""
    found: dict[str, dict[str, str]] = {}
    for begin in range(0, len(job_ids), _AT_ONCE):
        ids = job_ids[begin : begin + _AT_ONCE]
        placed = _placed_models(connection, ids)
        query = select(jobs.c.id, jobs.c.spec).where(jobs.c.id.in_(ids))
        for job_id, text in connection.execute(query):
            spec = from_json(text)
            models = placed.get(job_id) or _asked_models(spec)
            found[job_id] = {**_of_spec(spec), **({"gpu": ", ".join(sorted(models))} if models else {})}
    return found


def _of_spec(spec: Mapping[str, Any]) -> dict[str, str]:
    runtime = spec.get("runtime") or {}
    chosen = {name: runtime[name] for name in ("image", "conda", "venv") if runtime.get(name)}
    framework = spec.get("framework") or Framework.PLAIN
    return chosen if framework == Framework.PLAIN else {**chosen, "framework": framework}


def _placed_models(connection: Connection, job_ids: Sequence[str]) -> dict[str, set[str]]:
    """Those of the last attempts."""
    query = (
        select(tasks.c.job_id, tasks.c.placement)
        .join(jobs, (jobs.c.id == tasks.c.job_id) & (jobs.c.attempt == tasks.c.attempt))
        .where(tasks.c.job_id.in_(job_ids), tasks.c.placement.like('%"models":["%'))
    )
    found: dict[str, set[str]] = {}
    for job_id, placement in connection.execute(query):
        found.setdefault(job_id, set()).update(from_json(placement)["models"])
    return found


def _asked_models(spec: Mapping[str, Any]) -> set[str]:
    """A job that takes one model only has got that one, whoever placed it."""
    asked = [list(role["resources"].get("gpu_models", ())) for role in spec["roles"]]
    return {models[0] for models in asked if len(models) == 1}
