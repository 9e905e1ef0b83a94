"""Code packages, by digest and owner."""

from pydantic_core import from_json
from sqlalchemy import Connection, bindparam, delete, func, or_, select, true
from sqlalchemy.dialects import postgresql, sqlite

from muster.domain.accounts import Package
from muster.stores.tables import jobs, packages, sweeps

# The same digest means the same archive, so a second upload changes nothing, not even the time.
_INSERT = {
    "sqlite": sqlite.insert(packages).on_conflict_do_nothing(),
    "postgresql": postgresql.insert(packages).on_conflict_do_nothing(),
}
_ANY = select(packages).where(packages.c.digest == bindparam("the_digest")).order_by(packages.c.created_at).limit(1)
_OF_OWNER = _ANY.where(packages.c.owner == bindparam("the_owner"))
_BYTES = select(func.sum(packages.c.size_bytes)).where(packages.c.owner == bindparam("the_owner"))
_REMOVE = delete(packages).where(packages.c.digest == bindparam("the_digest"))
_IN_USE = select(jobs.c.package).where(jobs.c.package.is_not(None)).distinct()
_WITH_INPUTS = select(jobs.c.spec).where(jobs.c.spec.like('%"inputs":[{%'))

_OPEN_SWEEPS = select(sweeps.c.spec).where(sweeps.c.ended_at.is_(None))
_SWEPT = select(sweeps.c.package).where(sweeps.c.ended_at.is_(None), sweeps.c.package.is_not(None))


def package_bytes(connection: Connection, owner: str) -> int:
    return int(connection.execute(_BYTES, {"the_owner": owner}).scalar() or 0)


def insert_package(connection: Connection, package: Package) -> None:
    connection.execute(
        _INSERT[connection.dialect.name],
        {
            "digest": package.digest,
            "owner": package.owner,
            "size_bytes": package.size_bytes,
            "created_at": package.created_at,
        },
    )


def remove_package(connection: Connection, digest: str) -> None:
    connection.execute(_REMOVE, {"the_digest": digest})


def package_by_digest(connection: Connection, digest: str, owner: str | None) -> Package | None:
    if owner is None:
        row = connection.execute(_ANY, {"the_digest": digest}).first()
    else:
        row = connection.execute(_OF_OWNER, {"the_digest": digest, "the_owner": owner}).first()
    if row is None:
        return None
    return Package(digest=row.digest, owner=row.owner, size_bytes=row.size_bytes, created_at=row.created_at)


def packages_in_use(connection: Connection, ended_after: float | None) -> set[str]:
    """The digests of the packages and inputs of all jobs, or of those that are open or ended after the instant. Few
    jobs have inputs, so those are read from their specs. Members of open sweeps are still to be made."""
    recent = true() if ended_after is None else or_(jobs.c.is_open, jobs.c.ended_at > ended_after)
    specs = [*connection.execute(_WITH_INPUTS.where(recent)).scalars(), *connection.execute(_OPEN_SWEEPS).scalars()]
    inputs = (one for spec in specs for one in from_json(spec).get("inputs", ()))
    in_use = connection.execute(_IN_USE.where(recent)).scalars()
    to_come = connection.execute(_SWEPT).scalars()
    return {*in_use, *to_come, *(str(one["source"]).partition("/")[0] for one in inputs)}
