"""Groups of users."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("groups", sa.Text(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("users", "groups")
