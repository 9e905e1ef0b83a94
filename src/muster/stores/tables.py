"""The schema as SQLAlchemy tables. New databases are created from them, older ones are upgraded by `migrations`, and a
test checks that both lead to the same schema.

Values that queries filter by are columns; the rest of a domain value is JSON text. Long columns come last, so that
SQLite reads the short ones without following overflow pages.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

HEAD = "0019"
"""The newest migration, which the code needs. Revisions are numbers of four digits, so that they sort by age."""

EVENT_COUNTER = "events"
SERVER_LEASE = "server"
STORE_COUNTER = "store"
"""Its value is the id of the store."""
RESTORED_COUNTER = "restored"
"""Exists while the database is as a backup left it, and nobody has released it yet."""

NOTICES_COUNTER = "notices"
"""The number of the last event of which users were told."""
RECEIVER_COUNTER = "receiver"
"""The name of this database at the log server, as a number."""

metadata = MetaData()

_NUMBER = BigInteger().with_variant(Integer, "sqlite")

jobs = Table(
    "jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("cluster", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("framework", Text, nullable=False),
    Column("priority", Text, nullable=False),
    Column("package", Text),
    Column("state", Text, nullable=False),
    Column("is_open", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("retries", Integer, nullable=False),
    Column("platform_retries", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("ended_at", Double),
    Column("succeeded", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("active", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("state_data", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("vc", Text, nullable=False, server_default=""),
    Column("ran_s", Double, nullable=False, server_default="0"),
    Column("checkpoint_at", Double),
    Column("preemptions", Integer, nullable=False, server_default="0"),
    Column("sizes", Text, nullable=False, server_default="[]"),
    Column("used", Text),
    # Pages are sorted by these. Jobs that have not started, or not ended, count as if that were far in the future.
    Column("sort_started", Double, nullable=False, server_default="9e15"),
    Column("sort_ended", Double, nullable=False, server_default="9e15"),
    Column("sort_priority", Integer, nullable=False, server_default="1"),
    Column("sort_gpu_m", _NUMBER, nullable=False, server_default="0"),
    Column("tracking_url", Text, nullable=False, server_default=""),
    Column("sweep", Text, nullable=False, server_default=""),
    Column("member", Integer, nullable=False, server_default="0"),
    Column("run_time_s", Double, nullable=False, server_default="0"),
    Column("running_since", Double),
    # Those of the spec, by themselves: many jobs are compared by them, and specs are long.
    Column("params", Text, nullable=False, server_default="{}"),
)


def _partial(name: str, *columns: Column[Any], sqlite: str, postgresql: str, unique: bool = False) -> Index:
    """A database uses a partial index only for queries that contain the condition as that database writes it."""
    return Index(name, *columns, unique=unique, sqlite_where=text(sqlite), postgresql_where=text(postgresql))


# A name is free again once its job has ended.
_partial("uq_jobs_open_name", jobs.c.owner, jobs.c.name, sqlite="is_open = 1", postgresql="is_open", unique=True)
_partial("ix_jobs_open", jobs.c.created_at, jobs.c.id, sqlite="is_open = 1", postgresql="is_open")
_partial("ix_jobs_ended", jobs.c.ended_at, jobs.c.id, sqlite="is_open = 0", postgresql="NOT is_open")
_partial("ix_jobs_package", jobs.c.package, sqlite="package IS NOT NULL", postgresql="package IS NOT NULL")
# Most jobs belong to no sweep, and pay nothing for the members of others.
_partial("ix_jobs_sweep_state", jobs.c.sweep, jobs.c.state, sqlite="sweep <> ''", postgresql="sweep <> ''")
_partial("ix_jobs_sweep_member", jobs.c.sweep, jobs.c.member, sqlite="sweep <> ''", postgresql="sweep <> ''")
# Pages are newest first by (created_at, id), so the index of each common filter has its own column, then that order.
# The first index also contains the columns of a text search, so that a search reads only the index.
Index("ix_jobs_newest", jobs.c.created_at, jobs.c.id, jobs.c.owner, jobs.c.name)
Index("ix_jobs_state", jobs.c.state, jobs.c.created_at, jobs.c.id)
Index("ix_jobs_owner", jobs.c.owner, jobs.c.created_at, jobs.c.id)
Index("ix_jobs_owner_state", jobs.c.owner, jobs.c.state, jobs.c.created_at, jobs.c.id)
Index("ix_jobs_cluster", jobs.c.cluster, jobs.c.created_at, jobs.c.id)
Index("ix_jobs_cluster_state", jobs.c.cluster, jobs.c.state, jobs.c.created_at, jobs.c.id)
Index("ix_jobs_vc", jobs.c.vc, jobs.c.created_at, jobs.c.id)
Index("ix_jobs_name", jobs.c.name, jobs.c.created_at, jobs.c.id)
Index("ix_jobs_sort_started", jobs.c.sort_started, jobs.c.created_at, jobs.c.id)
Index("ix_jobs_sort_ended", jobs.c.sort_ended, jobs.c.created_at, jobs.c.id)
Index("ix_jobs_sort_priority", jobs.c.sort_priority, jobs.c.created_at, jobs.c.id)
Index("ix_jobs_sort_gpu_m", jobs.c.sort_gpu_m, jobs.c.created_at, jobs.c.id)

job_labels = Table(
    "job_labels",
    metadata,
    Column("job_id", Text, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("key", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    PrimaryKeyConstraint("job_id", "key"),
)
# The creation time of the job is repeated here, so that this index alone gives the pages of a label in order.
Index("ix_job_labels_newest", job_labels.c.key, job_labels.c.value, job_labels.c.created_at, job_labels.c.job_id)

request_keys = Table(
    "request_keys",
    metadata,
    Column("user", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("job_id", Text, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("digest", Text, nullable=False, server_default=""),
    PrimaryKeyConstraint("user", "key"),
)
Index("ix_request_keys_job", request_keys.c.job_id)

tasks = Table(
    "tasks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("job_id", Text, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("idx", Integer, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("state_data", Text, nullable=False),
    Column("placement", Text, nullable=False),
    Column("handle", Text),
    Column("started_at", Double),
    Column("ended_at", Double),
    Column("exit_code", Integer),
    Column("signal", Integer),
    Column("log", Text),
    Column("used", Text),
)
Index("ix_tasks_job", tasks.c.job_id, tasks.c.attempt, tasks.c.rank)

events = Table(
    "events",
    metadata,
    Column("seq", _NUMBER, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    # Not a foreign key: audit events outlive their job.
    Column("job_id", Text),
    Column("actor", Text),
    Column("owner", Text),
    Column("data", Text, nullable=False),
)
Index("ix_events_job", events.c.job_id, events.c.seq)

log_outbox = Table(
    "log_outbox",
    metadata,
    Column("seq", _NUMBER, primary_key=True, autoincrement=False),
    Column("receiver", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("body", Text, nullable=False),
)

metric_series = Table(
    "metric_series",
    metadata,
    Column("id", _NUMBER, primary_key=True, autoincrement=False),
    Column("job_id", Text, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("points", Integer, nullable=False),
    Column("last_step", _NUMBER, nullable=False),
    Column("last_at", Double, nullable=False),
    Column("last_value", Double, nullable=False),
    Column("last_special", Text, nullable=False),
    Column("lowest_step", _NUMBER),
    Column("lowest_value", Double),
    Column("highest_step", _NUMBER),
    Column("highest_value", Double),
)
Index("uq_metric_series", metric_series.c.job_id, metric_series.c.attempt, metric_series.c.name, unique=True)
Index("ix_metric_series_name", metric_series.c.name, metric_series.c.job_id, metric_series.c.attempt)

# SQLite stores NaN as NULL. A value that is not finite is 0 here, and its name is in `special`.
metric_points = Table(
    "metric_points",
    metadata,
    Column("series", _NUMBER, ForeignKey("metric_series.id", ondelete="CASCADE"), nullable=False),
    Column("step", _NUMBER, nullable=False),
    Column("at", Double, nullable=False),
    Column("value", Double, nullable=False),
    Column("special", Text, nullable=False),
    PrimaryKeyConstraint("series", "step", "at", "value", "special"),
    sqlite_with_rowid=False,
)

metric_cursors = Table(
    "metric_cursors",
    metadata,
    Column("job_id", Text, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("source", Text, nullable=False),
    Column("position", _NUMBER, nullable=False),
    PrimaryKeyConstraint("job_id", "source"),
)

# Parameters and tags that a program has noted about its job, besides those of the spec.
job_notes = Table(
    "job_notes",
    metadata,
    Column("job_id", Text, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("value", Text, nullable=False),
    PrimaryKeyConstraint("job_id", "kind", "key"),
)

# What runs outside of Muster are grouped by, which report here with another system's client.
experiments = Table(
    "experiments",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("is_deleted", Boolean, nullable=False),
    Column("tags", Text, nullable=False),
)
Index("uq_experiments_name", experiments.c.owner, experiments.c.name, unique=True)

counters = Table(
    "counters",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", _NUMBER, nullable=False),
    Column("epoch", _NUMBER, nullable=False, server_default="0"),
)

server_lease = Table(
    "server_lease",
    metadata,
    Column("name", Text, primary_key=True),
    Column("epoch", _NUMBER, nullable=False),
    Column("holder", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("identity", Text, nullable=False),
    Column("home", Text, nullable=False),
    Column("has_home_lock", Boolean, nullable=False),
    Column("key", Text, nullable=False, server_default=""),
)

users = Table(
    "users",
    metadata,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("password_hash", Text),
    Column("disabled", Boolean, nullable=False),
    Column("groups", Text, nullable=False, server_default="[]"),
    Column("id", Text, nullable=False, server_default=""),
)

# Whose names may be used again: what they left does not belong to the next user of the name.
former_users = Table(
    "former_users",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
)
Index("ix_former_users_name", former_users.c.name)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user", Text, ForeignKey("users.name", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("secret_hash", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("last_used_at", Double),
    Column("scope", Text, nullable=False, server_default="admin"),
    Column("job_id", Text),
)
Index("uq_tokens_secret_hash", tokens.c.secret_hash, unique=True)
Index("ix_tokens_user", tokens.c.user, tokens.c.created_at)

identities = Table(
    "identities",
    metadata,
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("user", Text, ForeignKey("users.name", ondelete="CASCADE"), nullable=False),
    Column("linked_at", Double, nullable=False),
    PrimaryKeyConstraint("issuer", "subject"),
)
Index("ix_identities_user", identities.c.user)


secrets = Table(
    "secrets",
    metadata,
    # The id and not the name: a user who gets a name again inherits nothing.
    Column("owner_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("sealed", Text, nullable=False),
    PrimaryKeyConstraint("owner_id", "name"),
)

templates = Table(
    "templates",
    metadata,
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("author_id", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("description", Text, nullable=False),
    Column("group", Text, nullable=False),
    Column("everyone", Boolean, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("files", Text, nullable=False),
    PrimaryKeyConstraint("name", "version"),
)

sweeps = Table(
    "sweeps",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("version", Integer, nullable=False),
    Column("made", Integer, nullable=False),
    Column("stopped_by", Text, nullable=False),
    Column("package", Text),
    Column("request_key", Text),
    Column("request_digest", Text, nullable=False),
    Column("plan", Text, nullable=False),
    Column("spec", Text, nullable=False),
)
# A name is free again once its sweep has ended.
_partial(
    "uq_sweeps_open_name",
    sweeps.c.owner,
    sweeps.c.name,
    sqlite="ended_at IS NULL",
    postgresql="ended_at IS NULL",
    unique=True,
)
Index("uq_sweeps_request", sweeps.c.owner, sweeps.c.request_key, unique=True)
Index("ix_sweeps_newest", sweeps.c.created_at, sweeps.c.id)
Index("ix_sweeps_owner", sweeps.c.owner, sweeps.c.created_at, sweeps.c.id)
Index("ix_sweeps_name", sweeps.c.name, sweeps.c.created_at, sweeps.c.id)

models = Table(
    "models",
    metadata,
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("id", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("size_bytes", _NUMBER, nullable=False),
    Column("job_id", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("lineage", Text, nullable=False),
    Column("files", Text, nullable=False),
    PrimaryKeyConstraint("owner", "name", "version"),
)
Index("ix_models_job", models.c.job_id)

packages = Table(
    "packages",
    metadata,
    Column("digest", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("size_bytes", _NUMBER, nullable=False),
    Column("created_at", Double, nullable=False),
    PrimaryKeyConstraint("digest", "owner"),
)

node_marks = Table(
    "node_marks",
    metadata,
    Column("cluster", Text, nullable=False),
    Column("node", Text, nullable=False),
    Column("mark", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("at", Double, nullable=False),
    PrimaryKeyConstraint("cluster", "node"),
)

alerts = Table(
    "alerts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("phase", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("since", Double, nullable=False),
    Column("fired_at", Double),
    Column("resolved_at", Double),
    Column("body", Text, nullable=False),
)
Index("ix_alerts_phase", alerts.c.phase, alerts.c.resolved_at)
Index("ix_alerts_fired", alerts.c.fired_at, alerts.c.id)

alert_silences = Table(
    "alert_silences",
    metadata,
    Column("id", Text, primary_key=True),
    Column("rule", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("until", Double, nullable=False),
)

notices = Table(
    "notices",
    metadata,
    # What it tells and its way: what was queued once is not queued again.
    Column("key", Text, primary_key=True),
    Column("user_id", Text, nullable=False),
    Column("lane", Text, nullable=False),
    Column("at", Double, nullable=False),
    # When it is tried next; null when it was sent or given up.
    Column("due_at", Double),
    Column("sent_at", Double),
    Column("body", Text, nullable=False),
)
Index("ix_notices_due", notices.c.due_at, notices.c.lane, notices.c.at)
Index("ix_notices_user", notices.c.user_id, notices.c.at)

notice_settings = Table(
    "notice_settings",
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("body", Text, nullable=False),
)
