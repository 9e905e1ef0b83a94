"""Links between users and people of identity providers."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "identities",
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), sa.ForeignKey("users.name", ondelete="CASCADE"), nullable=False),
        sa.Column("linked_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("issuer", "subject"),
    )
    op.create_index("ix_identities_user", "identities", ["user"])


def downgrade() -> None:
    op.drop_table("identities")
