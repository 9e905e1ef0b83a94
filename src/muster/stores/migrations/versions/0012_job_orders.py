"""Columns by which pages of jobs are sorted, with an index for each."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_AT_ONCE = 1000
_PRIORITIES = ("low", "normal", "high", "urgent")
_COLUMNS = ("sort_started", "sort_ended", "sort_priority", "sort_gpu_m")
_jobs = sa.table(
    "jobs",
    sa.column("id", sa.Text()),
    sa.column("spec", sa.Text()),
    sa.column("sizes", sa.Text()),
    sa.column("priority", sa.Text()),
    sa.column("started_at", sa.Double()),
    sa.column("ended_at", sa.Double()),
    sa.column("sort_started", sa.Double()),
    sa.column("sort_ended", sa.Double()),
    sa.column("sort_priority", sa.Integer()),
    sa.column("sort_gpu_m", sa.BigInteger()),
)


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("jobs", sa.Column("sort_started", sa.Double(), nullable=False, server_default="9e15"))
    op.add_column("jobs", sa.Column("sort_ended", sa.Double(), nullable=False, server_default="9e15"))
    op.add_column("jobs", sa.Column("sort_priority", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("jobs", sa.Column("sort_gpu_m", number, nullable=False, server_default="0"))
    ranks = {word: rank for rank, word in enumerate(_PRIORITIES)}
    op.execute(
        _jobs.update().values(
            sort_started=sa.func.coalesce(_jobs.c.started_at, 9e15),
            sort_ended=sa.func.coalesce(_jobs.c.ended_at, 9e15),
            sort_priority=sa.case(ranks, value=_jobs.c.priority, else_=1),
        )
    )
    _count_gpus(op.get_bind())
    for name in _COLUMNS:
        op.create_index(f"ix_jobs_{name}", "jobs", [name, "created_at", "id"])


def downgrade() -> None:
    for name in _COLUMNS:
        op.drop_index(f"ix_jobs_{name}", "jobs")
        op.drop_column("jobs", name)


def _count_gpus(connection: sa.Connection) -> None:
    last = ""
    query = sa.select(_jobs.c.id, _jobs.c.spec, _jobs.c.sizes).order_by(_jobs.c.id).limit(_AT_ONCE)
    while rows := connection.execute(query.where(_jobs.c.id > last)).all():
        counted = [(row.id, _gpu_m(json.loads(row.spec), dict(json.loads(row.sizes)))) for row in rows]
        for job_id, gpu_m in counted:
            if gpu_m:
                connection.execute(_jobs.update().where(_jobs.c.id == job_id).values(sort_gpu_m=gpu_m))
        last = rows[-1].id


def _gpu_m(spec: dict, sizes: dict) -> int:  # type: ignore[type-arg]
    return sum(
        sizes.get(role["name"], role.get("replicas", 1))
        * (role.get("resources") or {}).get("gpus", 0)
        * (role.get("resources") or {}).get("gpu_share", 1000)
        for role in spec.get("roles", ())
    )
