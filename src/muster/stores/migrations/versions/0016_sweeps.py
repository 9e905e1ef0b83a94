"""Sweeps with their members, and models."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_MEMBERS = sa.text("sweep <> ''")
_OPEN = sa.text("ended_at IS NULL")
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("jobs", sa.Column("sweep", sa.Text(), nullable=False, server_default=""))
    op.add_column("jobs", sa.Column("member", sa.Integer(), nullable=False, server_default="0"))
    for column in ("state", "member"):
        op.create_index(
            f"ix_jobs_sweep_{column}", "jobs", ["sweep", column], sqlite_where=_MEMBERS, postgresql_where=_MEMBERS
        )
    op.create_table(
        "sweeps",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double()),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("made", sa.Integer(), nullable=False),
        sa.Column("stopped_by", sa.Text(), nullable=False),
        sa.Column("package", sa.Text()),
        sa.Column("request_key", sa.Text()),
        sa.Column("request_digest", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
    )
    op.create_index(
        "uq_sweeps_open_name", "sweeps", ["owner", "name"], unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN
    )
    op.create_index("uq_sweeps_request", "sweeps", ["owner", "request_key"], unique=True)
    op.create_index("ix_sweeps_newest", "sweeps", ["created_at", "id"])
    op.create_index("ix_sweeps_owner", "sweeps", ["owner", "created_at", "id"])
    op.create_index("ix_sweeps_name", "sweeps", ["name", "created_at", "id"])
    op.create_table(
        "models",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("size_bytes", _NUMBER, nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("lineage", sa.Text(), nullable=False),
        sa.Column("files", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "name", "version"),
    )
    op.create_index("ix_models_job", "models", ["job_id"])


def downgrade() -> None:
    op.drop_table("models")
    op.drop_table("sweeps")
    for column in ("state", "member"):
        op.drop_index(f"ix_jobs_sweep_{column}", "jobs")
    op.drop_column("jobs", "member")
    op.drop_column("jobs", "sweep")
