"""Parameters of jobs in a column of their own."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_ROWS = 500


def upgrade() -> None:
    op.add_column("jobs", sa.Column("params", sa.Text(), nullable=False, server_default="{}"))
    connection = op.get_bind()
    jobs = sa.table("jobs", sa.column("id", sa.Text), sa.column("spec", sa.Text), sa.column("params", sa.Text))
    last = ""
    while True:
        query = sa.select(jobs.c.id, jobs.c.spec).where(jobs.c.id > last).order_by(jobs.c.id).limit(_ROWS)
        rows = connection.execute(query).all()
        for job_id, spec in rows:
            if params := json.loads(spec).get("params"):
                connection.execute(sa.update(jobs).where(jobs.c.id == job_id).values(params=json.dumps(params)))
        if len(rows) < _ROWS:
            return
        last = rows[-1].id


def downgrade() -> None:
    op.drop_column("jobs", "params")
