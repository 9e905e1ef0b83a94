"""Alerts that rules have found, silences, notices on their way, and what users want to be told."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.Column("fired_at", sa.Double()),
        sa.Column("resolved_at", sa.Double()),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_index("ix_alerts_phase", "alerts", ["phase", "resolved_at"])
    op.create_index("ix_alerts_fired", "alerts", ["fired_at", "id"])
    op.create_table(
        "alert_silences",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
    )
    op.create_table(
        "notices",
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double()),
        sa.Column("sent_at", sa.Double()),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_index("ix_notices_due", "notices", ["due_at", "lane", "at"])
    op.create_index("ix_notices_user", "notices", ["user_id", "at"])
    op.create_table(
        "notice_settings",
        sa.Column("user_id", sa.Text(), primary_key=True),
        sa.Column("body", sa.Text(), nullable=False),
    )


def downgrade() -> None:
    for table in ("notice_settings", "notices", "alert_silences", "alerts"):
        op.drop_table(table)
