"""The key by which the server that acts knows the requests that another server passes on."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("server_lease", sa.Column("key", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("server_lease", "key")
