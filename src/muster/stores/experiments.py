"""Experiments, one row for each."""

import json
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from muster.domain.errors import Conflict
from muster.domain.experiments.experiments import Experiment
from muster.stores.tables import experiments


def put_experiment(connection: Connection, experiment: Experiment) -> None:
    connection.execute(delete(experiments).where(experiments.c.id == experiment.id))
    values = {
        "id": experiment.id,
        "owner": experiment.owner,
        "name": experiment.name,
        "created_at": experiment.created_at,
        "updated_at": experiment.updated_at,
        "is_deleted": experiment.is_deleted,
        "tags": json.dumps(dict(experiment.tags)),
    }
    connection.execute(insert(experiments), values)


def why_experiment_not_put(connection: Connection, experiment: Experiment) -> Conflict | None:
    same = select(experiments.c.id).where(
        experiments.c.owner == experiment.owner,
        experiments.c.name == experiment.name,
        experiments.c.id != experiment.id,
    )
    if connection.execute(same).first() is None:
        return None
    return Conflict(f"{experiment.owner} already has an experiment {experiment.name!r}; choose another name")


def experiment_by_id(connection: Connection, experiment_id: str) -> Experiment | None:
    row = connection.execute(select(experiments).where(experiments.c.id == experiment_id)).first()
    return None if row is None else _experiment(row)


def experiments_of(connection: Connection, owner: str | None) -> list[Experiment]:
    query = select(experiments).order_by(experiments.c.created_at.desc(), experiments.c.id.desc())
    if owner is not None:
        query = query.where(experiments.c.owner == owner)
    return [_experiment(row) for row in connection.execute(query).all()]


def _experiment(row: Row[Any]) -> Experiment:
    return Experiment(row.id, row.owner, row.name, row.created_at, row.updated_at, row.is_deleted, json.loads(row.tags))
