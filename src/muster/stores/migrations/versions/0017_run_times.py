"""How long jobs have run in all their attempts, without the time between attempts."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_AT_ONCE = 1000
_jobs = sa.table(
    "jobs",
    sa.column("id", sa.Text()),
    sa.column("state", sa.Text()),
    sa.column("state_data", sa.Text()),
    sa.column("is_open", sa.Boolean()),
    sa.column("attempt", sa.Integer()),
    sa.column("started_at", sa.Double()),
    sa.column("ended_at", sa.Double()),
    sa.column("run_time_s", sa.Double()),
    sa.column("running_since", sa.Double()),
)
_tasks = sa.table(
    "tasks",
    sa.column("job_id", sa.Text()),
    sa.column("attempt", sa.Integer()),
    sa.column("started_at", sa.Double()),
    sa.column("ended_at", sa.Double()),
)


def upgrade() -> None:
    op.add_column("jobs", sa.Column("run_time_s", sa.Double(), nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("running_since", sa.Double(), nullable=True))
    connection = op.get_bind()
    once = sa.and_(~_jobs.c.is_open, _jobs.c.attempt <= 1, _jobs.c.started_at.is_not(None))
    connection.execute(_jobs.update().where(once).values(run_time_s=_jobs.c.ended_at - _jobs.c.started_at))
    _add_attempts(connection)


def downgrade() -> None:
    op.drop_column("jobs", "running_since")
    op.drop_column("jobs", "run_time_s")


def _add_attempts(connection: sa.Connection) -> None:
    """Look at the attempts one by one, for jobs that run or were tried several times."""
    last = ""
    query = (
        sa.select(_jobs)
        .where(_jobs.c.started_at.is_not(None), sa.or_(_jobs.c.is_open, _jobs.c.attempt > 1))
        .order_by(_jobs.c.id)
        .limit(_AT_ONCE)
    )
    while rows := connection.execute(query.where(_jobs.c.id > last)).all():
        for row in rows:
            is_under_way = row.state in ("Starting", "Running", "Stopping")
            before = _tasks.c.attempt < row.attempt if is_under_way else sa.true()
            attempts = connection.execute(
                sa.select(sa.func.max(_tasks.c.started_at), sa.func.max(_tasks.c.ended_at))
                .where(_tasks.c.job_id == row.id, before)
                .group_by(_tasks.c.attempt)
            )
            ran_s = sum(max(0.0, ended - started) for started, ended in attempts if started and ended)
            since = json.loads(row.state_data)["since"] if row.state == "Running" else None
            connection.execute(_jobs.update().where(_jobs.c.id == row.id).values(run_time_s=ran_s, running_since=since))
        last = rows[-1].id
