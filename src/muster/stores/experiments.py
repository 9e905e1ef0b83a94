"""Experiments, one row for each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select

from muster.domain.errors import Conflict
from muster.domain.experiments.experiments import Experiment
from muster.stores.tables import experiments

_READ_AT_ONCE = 100


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
    return None if row is None else _experiment(row, json.loads(row.tags))


def find_experiment(connection: Connection, owner: str, name: str) -> Experiment | None:
    query = select(experiments).where(experiments.c.owner == owner, experiments.c.name == name)
    row = connection.execute(query).first()
    return None if row is None else _experiment(row, json.loads(row.tags))


def count_experiments(connection: Connection, owner: str) -> int:
    query = select(func.count()).select_from(experiments).where(experiments.c.owner == owner)
    return connection.execute(query).scalar_one()


def experiments_of(connection: Connection, owner: str | None, tags: Sequence[str]) -> list[Experiment]:
    """Few of them are in memory with all their tags at a time."""
    columns = [column for column in experiments.c if column.name != "tags"]
    query = select(*columns).order_by(experiments.c.created_at.desc(), experiments.c.id.desc())
    if owner is not None:
        query = query.where(experiments.c.owner == owner)
    found = [_experiment(row, {}) for row in connection.execute(query)]
    known = _tags(connection, [one.id for one in found], tags) if tags else {}
    return [replace(one, tags=known.get(one.id, {})) for one in found]


def _tags(connection: Connection, ids: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for begin in range(0, len(ids), _READ_AT_ONCE):
        for one in experiments_by_ids(connection, ids[begin : begin + _READ_AT_ONCE]):
            found[one.id] = {name: one.tags[name] for name in names if name in one.tags}
    return found


def experiments_by_ids(connection: Connection, ids: Sequence[str]) -> list[Experiment]:
    rows = connection.execute(select(experiments).where(experiments.c.id.in_(ids)))
    found = {row.id: _experiment(row, json.loads(row.tags)) for row in rows}
    return [found[each] for each in ids if each in found]


def _experiment(row: Row[Any], tags: Mapping[str, str]) -> Experiment:
    return Experiment(row.id, row.owner, row.name, row.created_at, row.updated_at, row.is_deleted, tags)
