"""The columns of tables, so that `get`, `describe` and `top` show the same object in the same way."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from muster.cli.tables.ages import ago
from muster.cli.tables.colours import state_colour
from muster.cli.tables.job_usage import percent, size
from muster.cli.tables.text_tables import Column
from muster.client.account_views import SecretView, TokenView, UserView
from muster.client.node_views import ClusterView, NodeView
from muster.client.views import EventView, JobView, TaskView
from muster.lib.quantities import about_bytes, about_duration, format_bytes

_NONE = (None, "", 0, "0")


def job_columns(jobs: Sequence[JobView] = ()) -> list[Column[JobView]]:
    now = datetime.now(UTC)
    return [
        Column("NAME", lambda job: job.name),
        Column("ID", lambda job: job.id, wide=True),
        Column("OWNER", lambda job: job.owner),
        Column("CLUSTER", lambda job: job.vc or job.cluster, wide=True),
        Column("STATE", lambda job: job.state, colour=state_colour),
        Column("MODE", lambda job: job.mode),
        Column("PRIORITY", lambda job: job.raw.get("priority"), wide=True),
        Column("ATTEMPT", lambda job: job.attempt, wide=True, right=True),
        Column("GPUS", _gpus, right=True),
        Column("SUCC", lambda job: job.succeeded, right=True),
        Column("FAIL", lambda job: job.failed, right=True),
        Column("ACTIVE", lambda job: job.active, right=True),
        Column("RESOURCES", lambda job: resources_text(job.raw.get("resources")), wide=True),
        Column("GPU", lambda job: percent(job.raw.get("gpuPercent")), wide=True, right=True),
        Column("PEAK MEMORY", lambda job: size(job.raw.get("peakMemoryBytes")), wide=True, right=True),
        Column("CREATED", lambda job: ago(job.created_at, now), wide=True),
        Column("WAIT", lambda job: wait_text(job, now), wide=True, right=True),
        Column("START", lambda job: ago(job.started_at, now)),
        Column("END", lambda job: ago(job.ended_at, now)),
        Column("DURATION", lambda job: duration_text(job, now), right=True),
        Column("REASON", lambda job: job.reason),
    ]


def queue_columns() -> list[Column[JobView]]:
    now = datetime.now(UTC)
    return [
        Column("POS", lambda job: job.raw.get("position"), right=True),
        Column("NAME", lambda job: job.name),
        Column("ID", lambda job: job.id, wide=True),
        Column("OWNER", lambda job: job.owner),
        Column("CLUSTER", lambda job: job.vc or job.cluster),
        Column("STATE", lambda job: job.state, colour=state_colour),
        Column("PRIORITY", lambda job: job.raw.get("priority")),
        Column("GPUS", _gpus, right=True),
        Column("RESOURCES", lambda job: resources_text(job.raw.get("resources")), wide=True),
        Column("WAIT", lambda job: wait_text(job, now), right=True),
        Column("RUN", lambda job: duration_text(job, now), right=True),
        Column("LIMIT", lambda job: job.raw.get("timeLimit"), wide=True, right=True),
        Column("REASON", lambda job: job.reason),
    ]


def duration_text(job: JobView, now: datetime) -> str | None:
    """How long the job has run in all its attempts until now, without the time that it waited between them."""
    if job.started_at is None:
        return None
    current_s = 0.0 if job.running_since is None else (now - job.running_since).total_seconds()
    return about_duration(job.run_time_s + max(0.0, current_s))


def wait_text(job: JobView, now: datetime) -> str | None:
    """How long the job waited for its first start."""
    return None if job.created_at is None else _between(job.created_at, job.started_at or job.ended_at or now)


def _between(start: datetime, end: datetime) -> str:
    return about_duration(max(0.0, (end - start).total_seconds()))


def _gpus(job: JobView) -> str | None:
    count = (job.raw.get("resources") or {}).get("gpu")
    return f"{count:g}" if count else None


def other_job_columns(jobs: Sequence[JobView] = ()) -> list[Column[JobView]]:
    """Jobs that were not made with Muster. Their ids name the cluster and the namespace."""
    now = datetime.now(UTC)
    return [
        Column("ID", lambda job: job.id),
        Column("ORIGIN", lambda job: job.origin),
        Column("STATE", lambda job: job.state, colour=state_colour),
        Column("MODE", lambda job: job.mode),
        Column("SUCC", lambda job: job.succeeded, right=True),
        Column("FAIL", lambda job: job.failed, right=True),
        Column("ACTIVE", lambda job: job.active, right=True),
        Column("RESOURCES", lambda job: resources_text(job.raw.get("resources")), wide=True),
        Column("CREATED", lambda job: ago(job.created_at, now)),
        Column("START", lambda job: ago(job.started_at, now), wide=True),
        Column("END", lambda job: ago(job.ended_at, now)),
        Column("REASON", lambda job: job.reason),
    ]


def task_columns() -> list[Column[TaskView]]:
    now = datetime.now(UTC)
    return [
        Column("NAME", lambda task: task.name),
        Column("ATTEMPT", lambda task: task.attempt, wide=True, right=True),
        Column("STATE", lambda task: task.state, colour=state_colour),
        Column("NODE", lambda task: task.node),
        Column("DEVICES", lambda task: _joined(_devices(task)), wide=True),
        Column("PORTS", lambda task: _joined(task.raw.get("ports")), wide=True),
        Column("START", lambda task: ago(task.started_at, now)),
        Column("END", lambda task: ago(task.ended_at, now)),
        Column("SIGNAL", lambda task: task.signal, wide=True),
        Column("EXIT", lambda task: task.exit_code, right=True),
    ]


def node_columns(nodes: Sequence[NodeView] = ()) -> list[Column[NodeView]]:
    """What others use, and partitions, have columns only if one of these nodes belongs to an engine that tells them."""
    return [
        Column("NAME", lambda node: node.name),
        Column("CLUSTER", lambda node: node.cluster),
        Column("STATE", lambda node: node.state, colour=state_colour),
        Column("ADDRESS", lambda node: node.raw.get("address"), wide=True),
        Column("CPU", lambda node: f"{node.cpu_used:g}/{node.cpu_total:g}", right=True),
        Column("MEMORY", lambda node: f"{about_bytes(node.memory_used)}/{about_bytes(node.memory_total)}", right=True),
        Column("GPU", lambda node: f"{node.gpus_used:g}/{len(node.gpus)}" if node.gpus else None, right=True),
        Column("MODEL", lambda node: _joined(sorted({str(gpu.get("model")) for gpu in node.gpus})), wide=True),
        Column("DEVICES", lambda node: _joined(device_counts(node)), wide=True),
        *(_engine_columns() if any(node.raw.get("others") is not None for node in nodes) else ()),
        Column("LABELS", lambda node: _joined(_given_labels(node)), wide=True),
        Column("TASKS", lambda node: node.tasks, right=True),
        Column("NOTE", lambda node: node.note),
    ]


def _engine_columns() -> list[Column[NodeView]]:
    return [
        Column("OTHERS", lambda node: others_text(node.raw.get("others")), wide=True),
        Column("PARTITIONS", lambda node: _joined(node.raw.get("partitions")), wide=True),
    ]


def node_status_columns(nodes: Sequence[NodeView] = ()) -> list[Column[NodeView]]:
    """The columns of nodes, with the time since the last change of state and the alerts for admins."""
    now = datetime.now(UTC)
    *before, note = node_columns(nodes)
    return [
        *before,
        Column("SINCE", lambda node: ago(node.since, now)),
        Column("ALERTS", lambda node: len(node.alerts) or None, right=True),
        note,
    ]


def cluster_columns() -> list[Column[ClusterView]]:
    return [
        Column("NAME", lambda cluster: cluster.name),
        Column("BACKEND", lambda cluster: cluster.backend),
        Column("STATE", lambda cluster: cluster.state, colour=state_colour),
        Column("NODES", lambda cluster: cluster.nodes, right=True),
        Column("DEFAULT", lambda cluster: "yes" if cluster.default else None),
    ]


def user_columns() -> list[Column[UserView]]:
    now = datetime.now(UTC)
    return [
        Column("NAME", lambda user: user.name),
        Column("ROLE", lambda user: user.role),
        Column("STATE", lambda user: "disabled" if user.disabled else "enabled"),
        Column("GROUPS", lambda user: _joined(user.groups)),
        Column("CREATED", lambda user: ago(user.created_at, now)),
    ]


def token_columns() -> list[Column[TokenView]]:
    now = datetime.now(UTC)
    return [
        Column("ID", lambda token: token.id),
        Column("NAME", lambda token: token.name),
        Column("USER", lambda token: token.user),
        Column("CREATED", lambda token: ago(token.created_at, now)),
        Column("EXPIRES", lambda token: ago(token.expires_at, now) or "never"),
        Column("USED", lambda token: ago(token.last_used_at, now)),
        Column("SCOPE", _token_scope),
        Column("JOB", lambda token: token.raw.get("job"), wide=True),
    ]


def _token_scope(token: TokenView) -> str | None:
    """The widest scope, `admin`, gives nobody more rights than they have, and must not read as if it did."""
    scope: str | None = token.raw.get("scope")
    return "everything" if scope == "admin" else scope


def secret_columns() -> list[Column[SecretView]]:
    now = datetime.now(UTC)
    return [
        Column("NAME", lambda secret: secret.name),
        Column("OWNER", lambda secret: secret.owner),
        Column("KIND", lambda secret: secret.kind),
        Column("SIZE", lambda secret: about_bytes(secret.size_bytes), wide=True, right=True),
        Column("CREATED", lambda secret: ago(secret.created_at, now), wide=True),
        Column("UPDATED", lambda secret: ago(secret.updated_at, now)),
    ]


def event_columns() -> list[Column[EventView]]:
    now = datetime.now(UTC)
    return [
        Column("SEQ", lambda event: event.seq, wide=True, right=True),
        Column("AGE", lambda event: ago(event.at, now)),
        Column("KIND", lambda event: event.kind),
        Column("SUBJECT", lambda event: event.data.get("name") or event.job_id),
        Column("ACTOR", lambda event: event.actor, wide=True),
        Column("WHAT", event_text),
    ]


def event_text(event: EventView) -> str:
    """The details of an event besides its kind."""
    data = event.data
    parts = [str(data[key]) for key in ("state", "reason", "message") if data.get(key)]
    if data.get("node"):
        parts.append(f"on {data['node']}")
    if data.get("exitCode") is not None:
        parts.append(f"exit code {data['exitCode']}")
    if event.kind.startswith("audit."):
        parts += [f"{key}={value}" for key, value in data.items() if key != "name"]
        parts.append(f"by {event.actor}" if event.actor else "")
    return ", ".join(part for part in parts if part)


def resources_text(resources: Any) -> str | None:
    """The resources as `cpu=1 memory=2Gi gpu=2 gpuType=A100,V100 xilinx.com/fpga=1`."""
    if not resources:
        return None
    named = {**resources, **resources.get("devices", {})}
    named.pop("devices", None)
    texts = {name: _joined(value) if isinstance(value, list) else value for name, value in named.items()}
    return " ".join(f"{name}={text}" for name, text in texts.items() if text not in _NONE) or None


def others_text(others: Any) -> str | None:
    """What jobs of others use on a node, as `cpu=4 memory=2Gi gpu=1`."""
    if not others:
        return None
    return resources_text({"cpu": others["cpu"], "memory": format_bytes(others["memory"]), "gpu": others["gpus"]})


def device_counts(node: NodeView) -> list[str]:
    """The devices of the node other than GPUs: how many are used, of how many, and how many are out of service."""
    found: dict[str, list[Any]] = {}
    for device in node.raw.get("devices") or ():
        found.setdefault(device["resource"], []).append(device)
    texts = []
    for name, devices in sorted(found.items()):
        bad = sum(bool(one["outOfService"]) for one in devices)
        used = sum(bool(one["job"]) for one in devices)
        texts.append(f"{name}:{used}/{len(devices)}{f' ({bad} out of service)' if bad else ''}")
    return texts


def _devices(task: TaskView) -> list[Any]:
    """The GPUs by index, and other devices by their files."""
    others = task.raw.get("extendedDevices") or ()
    return [*(task.raw.get("devices") or ()), *(path for device in others for path in device["paths"])]


def _joined(values: Sequence[Any] | None) -> str | None:
    return ",".join(str(value) for value in values) if values else None


def _given_labels(node: NodeView) -> list[str]:
    """The labels that an admin set. `describe` also shows those that Muster found."""
    return [f"{key}={value}" for key, value in node.labels.items() if not key.startswith("muster/")]
