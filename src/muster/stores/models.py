"""Models, one row for each version. Of a version that was removed its number stays, so that no other ever gets it."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json
from sqlalchemy import Connection, Row, and_, func, insert, select, update

from muster.domain.errors import Conflict, NotFound
from muster.domain.experiments.models import Lineage, Model, ModelFile
from muster.stores.tables import models

_FILES = TypeAdapter(tuple[ModelFile, ...])
_LINEAGE = TypeAdapter(Lineage)
_REMOVED: Mapping[str, Any] = {"size_bytes": 0, "job_id": "", "description": "", "lineage": "{}", "files": "[]"}
_IS_THERE = models.c.files != _REMOVED["files"]
"""A version has at least one file."""
_NEWEST = (
    select(models.c.owner, models.c.name, func.max(models.c.version).label("version"))
    .where(_IS_THERE)
    .group_by(models.c.owner, models.c.name)
    .subquery()
)
_ORDER = (models.c.owner, models.c.name, models.c.version.desc())


def insert_model(connection: Connection, model: Model) -> None:
    values = {
        "owner": model.owner,
        "name": model.name,
        "version": model.version,
        "id": model.id,
        "created_at": model.created_at,
        "size_bytes": model.size_bytes,
        "job_id": model.lineage.job_id,
        "description": model.description,
        "lineage": to_json(model.lineage, inf_nan_mode="constants").decode(),
        "files": to_json(model.files).decode(),
    }
    connection.execute(insert(models), values)


def why_model_not_inserted(connection: Connection, model: Model) -> Conflict | None:
    if last_model_version(connection, model.owner, model.name) < model.version:
        return None
    return Conflict(f"{model.name}@{model.version} was registered at the same time; try again")


def remove_models(connection: Connection, ids: Sequence[str]) -> None:
    removed = connection.execute(update(models).where(models.c.id.in_(ids), _IS_THERE).values(_REMOVED)).rowcount
    if removed != len(ids):
        raise NotFound("this version of the model was removed in the meantime")


def removed_models(connection: Connection) -> list[str]:
    return list(connection.execute(select(models.c.id).where(~_IS_THERE)).scalars())


def last_model_version(connection: Connection, owner: str, name: str) -> int:
    query = select(func.max(models.c.version)).where(models.c.owner == owner, models.c.name == name)
    return int(connection.execute(query).scalar() or 0)


def newest_models(connection: Connection, owner: str | None) -> list[Model]:
    newest = and_(
        models.c.owner == _NEWEST.c.owner, models.c.name == _NEWEST.c.name, models.c.version == _NEWEST.c.version
    )
    return _read(connection, select(models).join(_NEWEST, newest), owner)


def model_versions(connection: Connection, owner: str | None, name: str) -> list[Model]:
    return _read(connection, select(models).where(models.c.name == name, _IS_THERE), owner)


def found_model(connection: Connection, owner: str, name: str, version: int | None) -> Model | None:
    query = select(models).where(models.c.owner == owner, models.c.name == name, _IS_THERE)
    if version is not None:
        query = query.where(models.c.version == version)
    row = connection.execute(query.order_by(models.c.version.desc()).limit(1)).first()
    return None if row is None else _model(row)


def model_by_id(connection: Connection, model_id: str) -> Model | None:
    row = connection.execute(select(models).where(models.c.id == model_id, _IS_THERE)).first()
    return None if row is None else _model(row)


def model_bytes(connection: Connection, owner: str) -> int:
    query = select(func.sum(models.c.size_bytes)).where(models.c.owner == owner)
    return int(connection.execute(query).scalar() or 0)


def _read(connection: Connection, query: Any, owner: str | None) -> list[Model]:
    if owner is not None:
        query = query.where(models.c.owner == owner)
    rows: Sequence[Row[Any]] = connection.execute(query.order_by(*_ORDER)).all()
    return [_model(row) for row in rows]


def _model(row: Row[Any]) -> Model:
    return Model(
        id=row.id,
        owner=row.owner,
        name=row.name,
        version=row.version,
        created_at=row.created_at,
        description=row.description,
        files=_FILES.validate_json(row.files),
        lineage=_LINEAGE.validate_json(row.lineage),
    )
