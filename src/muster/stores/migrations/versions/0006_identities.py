"""Ids of users, users who were removed, scopes of tokens, and the digest of the request that a request key is for."""

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("id", sa.Text(), nullable=False, server_default=""))
    op.add_column("tokens", sa.Column("scope", sa.Text(), nullable=False, server_default="admin"))
    op.add_column("tokens", sa.Column("job_id", sa.Text()))
    op.add_column("request_keys", sa.Column("digest", sa.Text(), nullable=False, server_default=""))
    op.create_table(
        "former_users",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_former_users_name", "former_users", ["name"])
    users = sa.table("users", sa.column("name", sa.Text()), sa.column("id", sa.Text()))
    connection = op.get_bind()
    for name in connection.execute(sa.select(users.c.name)).scalars().all():
        connection.execute(users.update().where(users.c.name == name).values(id=uuid.uuid4().hex[:16]))


def downgrade() -> None:
    op.drop_table("former_users")
    op.drop_column("request_keys", "digest")
    op.drop_column("tokens", "job_id")
    op.drop_column("tokens", "scope")
    op.drop_column("users", "id")
