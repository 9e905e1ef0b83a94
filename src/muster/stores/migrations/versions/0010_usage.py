"""What tasks and jobs used."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tasks", sa.Column("used", sa.Text()))
    op.add_column("jobs", sa.Column("used", sa.Text()))


def downgrade() -> None:
    op.drop_column("jobs", "used")
    op.drop_column("tasks", "used")
