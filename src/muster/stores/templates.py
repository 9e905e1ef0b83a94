"""Templates that users share, one row for each version."""

import json
from typing import Any

from sqlalchemy import Connection, and_, delete, func, insert, select

from muster.domain.errors import Conflict, NotFound
from muster.domain.templates import Template
from muster.stores.tables import templates

_NEWEST = select(templates.c.name, func.max(templates.c.version).label("version")).group_by(templates.c.name).subquery()
_LISTED = (
    select(*(column for column in templates.c if column.name != "files"))
    .join(_NEWEST, and_(templates.c.name == _NEWEST.c.name, templates.c.version == _NEWEST.c.version))
    .order_by(templates.c.name)
)


def insert_template(connection: Connection, template: Template, kept_versions: int) -> None:
    """Older versions than the kept ones are removed."""
    values = {
        "name": template.name,
        "version": template.version,
        "author_id": template.author_id,
        "author": template.author,
        "created_at": template.created_at,
        "description": template.description,
        "group": template.group,
        "everyone": template.everyone,
        "size_bytes": template.size_bytes,
        "files": json.dumps(dict(template.files)),
    }
    connection.execute(insert(templates), values)
    oldest = template.version - kept_versions
    connection.execute(delete(templates).where(templates.c.name == template.name, templates.c.version <= oldest))


def why_template_not_inserted(connection: Connection, template: Template) -> Conflict | None:
    key = templates.c.name == template.name, templates.c.version == template.version
    if connection.execute(select(templates.c.name).where(*key)).first() is None:
        return None
    return Conflict(f"somebody else has just published {template.name}@{template.version}; look at it, and try again")


def remove_template(connection: Connection, name: str) -> None:
    if connection.execute(delete(templates).where(templates.c.name == name)).rowcount == 0:
        raise NotFound(f"there is no template {name!r}")


def listed_templates(connection: Connection) -> list[Template]:
    return [_template(row, {}) for row in connection.execute(_LISTED)]


def template(connection: Connection, name: str, version: int | None) -> Template | None:
    query = select(templates).where(templates.c.name == name)
    query = query.order_by(templates.c.version.desc()).limit(1) if version is None else _of(query, version)
    row = connection.execute(query).first()
    return None if row is None else _template(row, json.loads(row.files))


def _of(query: Any, version: int) -> Any:
    return query.where(templates.c.version == version)


def _template(row: Any, files: dict[str, str]) -> Template:
    return Template(
        name=row.name,
        version=row.version,
        author_id=row.author_id,
        author=row.author,
        created_at=row.created_at,
        description=row.description,
        group=row.group,
        everyone=row.everyone,
        files=files,
        size_bytes=row.size_bytes,
    )
