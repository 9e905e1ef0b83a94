"""Metrics of jobs, how far their sources were read, and what programs noted about a job while it ran."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "metric_series",
        sa.Column("id", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("job_id", sa.Text(), sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("last_step", _NUMBER, nullable=False),
        sa.Column("last_at", sa.Double(), nullable=False),
        sa.Column("last_value", sa.Double(), nullable=False),
        sa.Column("last_special", sa.Text(), nullable=False),
        sa.Column("lowest_step", _NUMBER),
        sa.Column("lowest_value", sa.Double()),
        sa.Column("highest_step", _NUMBER),
        sa.Column("highest_value", sa.Double()),
    )
    op.create_index("uq_metric_series", "metric_series", ["job_id", "attempt", "name"], unique=True)
    op.create_index("ix_metric_series_name", "metric_series", ["name", "job_id", "attempt"])
    op.create_table(
        "metric_points",
        sa.Column("series", _NUMBER, sa.ForeignKey("metric_series.id", ondelete="CASCADE"), nullable=False),
        sa.Column("step", _NUMBER, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("special", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("series", "step", "at", "value", "special"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "metric_cursors",
        sa.Column("job_id", sa.Text(), sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("position", _NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "source"),
    )
    op.create_table(
        "job_notes",
        sa.Column("job_id", sa.Text(), sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "kind", "key"),
    )


def downgrade() -> None:
    for name in ("job_notes", "metric_cursors", "metric_points", "metric_series"):
        op.drop_table(name)
