"""Columns of jobs for virtual clusters and preemption: virtual cluster, saved run time, preemptions, elastic sizes."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("vc", sa.Text(), nullable=False, server_default=""))
    op.add_column("jobs", sa.Column("ran_s", sa.Double(), nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("checkpoint_at", sa.Double()))
    op.add_column("jobs", sa.Column("preemptions", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("jobs", sa.Column("sizes", sa.Text(), nullable=False, server_default="[]"))
    op.create_index("ix_jobs_vc", "jobs", ["vc", "created_at", "id"])


def downgrade() -> None:
    op.drop_index("ix_jobs_vc", "jobs")
    for name in ("sizes", "preemptions", "checkpoint_at", "ran_s", "vc"):
        op.drop_column("jobs", name)
