"""The first tables: jobs with labels, request keys, tasks, events; users, tokens, packages."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _jobs()
    _job_parts()
    _events()
    _accounts()


def downgrade() -> None:
    for table in ("packages", "tokens", "users", "counters", "events", "tasks", "request_keys", "job_labels", "jobs"):
        op.drop_table(table)


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("cluster", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("priority", sa.Text(), nullable=False),
        sa.Column("package", sa.Text()),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("retries", sa.Integer(), nullable=False),
        sa.Column("platform_retries", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double()),
        sa.Column("ended_at", sa.Double()),
        sa.Column("succeeded", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("active", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("state_data", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
    )
    _partial("uq_jobs_open_name", ["owner", "name"], sqlite="is_open = 1", postgresql="is_open", unique=True)
    _partial("ix_jobs_open", ["created_at", "id"], sqlite="is_open = 1", postgresql="is_open")
    _partial("ix_jobs_ended", ["ended_at", "id"], sqlite="is_open = 0", postgresql="NOT is_open")
    _partial("ix_jobs_package", ["package"], sqlite="package IS NOT NULL", postgresql="package IS NOT NULL")
    op.create_index("ix_jobs_newest", "jobs", ["created_at", "id", "owner", "name"])
    op.create_index("ix_jobs_state", "jobs", ["state", "created_at", "id"])
    op.create_index("ix_jobs_owner", "jobs", ["owner", "created_at", "id"])
    op.create_index("ix_jobs_owner_state", "jobs", ["owner", "state", "created_at", "id"])
    op.create_index("ix_jobs_cluster", "jobs", ["cluster", "created_at", "id"])
    op.create_index("ix_jobs_cluster_state", "jobs", ["cluster", "state", "created_at", "id"])
    op.create_index("ix_jobs_name", "jobs", ["name", "created_at", "id"])


def _partial(name: str, columns: list[str], *, sqlite: str, postgresql: str, unique: bool = False) -> None:
    op.create_index(
        name, "jobs", columns, unique=unique, sqlite_where=sa.text(sqlite), postgresql_where=sa.text(postgresql)
    )


def _job_parts() -> None:
    op.create_table(
        "job_labels",
        sa.Column("job_id", sa.Text(), sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "key"),
    )
    op.create_index("ix_job_labels_newest", "job_labels", ["key", "value", "created_at", "job_id"])
    op.create_table(
        "request_keys",
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
        sa.PrimaryKeyConstraint("user", "key"),
    )
    op.create_index("ix_request_keys_job", "request_keys", ["job_id"])
    op.create_table(
        "tasks",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("job_id", sa.Text(), sa.ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("state_data", sa.Text(), nullable=False),
        sa.Column("placement", sa.Text(), nullable=False),
        sa.Column("handle", sa.Text()),
        sa.Column("started_at", sa.Double()),
        sa.Column("ended_at", sa.Double()),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("signal", sa.Integer()),
        sa.Column("log", sa.Text()),
    )
    op.create_index("ix_tasks_job", "tasks", ["job_id", "attempt", "rank"])


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("seq", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text()),
        sa.Column("actor", sa.Text()),
        sa.Column("owner", sa.Text()),
        sa.Column("data", sa.Text(), nullable=False),
    )
    op.create_index("ix_events_job", "events", ["job_id", "seq"])
    counters = op.create_table(
        "counters",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("value", _NUMBER, nullable=False),
    )
    op.bulk_insert(counters, [{"name": "events", "value": 0}])


def _accounts() -> None:
    op.create_table(
        "users",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("password_hash", sa.Text()),
        sa.Column("disabled", sa.Boolean(), nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("user", sa.Text(), sa.ForeignKey("users.name", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double()),
        sa.Column("last_used_at", sa.Double()),
    )
    op.create_index("uq_tokens_secret_hash", "tokens", ["secret_hash"], unique=True)
    op.create_index("ix_tokens_user", "tokens", ["user", "created_at"])
    op.create_table(
        "packages",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("size_bytes", _NUMBER, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("digest", "owner"),
    )
