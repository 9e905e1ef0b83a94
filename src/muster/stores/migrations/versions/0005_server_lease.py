"""The lease of the server that may act, and its epoch in the row that every write transaction updates first."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("counters", sa.Column("epoch", _NUMBER, nullable=False, server_default="0"))
    lease = op.create_table(
        "server_lease",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("epoch", _NUMBER, nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("home", sa.Text(), nullable=False),
        sa.Column("has_home_lock", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.bulk_insert(
        lease,
        [
            {
                "name": "server",
                "epoch": 0,
                "holder": "",
                "address": "",
                "expires_at": 0.0,
                "identity": "",
                "home": "",
                "has_home_lock": False,
            }
        ],
    )


def downgrade() -> None:
    op.drop_table("server_lease")
    op.drop_column("counters", "epoch")
