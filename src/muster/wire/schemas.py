"""The API's shapes, for its documentation and for reading requests."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from muster.domain.accounts import UserRole
from muster.domain.specs import Priority
from muster.wire.spec_schema import Seconds


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)


USER_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9._@-]{0,62})$"
DIGEST_PATTERN = r"^[0-9a-f]{64}$"
JobStateName = Literal["Queued", "Held", "Starting", "Running", "Stopping", "Succeeded", "Failed", "Cancelled"]
TaskStateName = Literal[
    "Assigned", "Launching", "Waiting", "Preparing", "Running", "Stopping", "Succeeded", "Failed", "Stopped", "Lost"
]


Groups = Annotated[list[Annotated[str, Field(pattern=USER_PATTERN)]], Field(max_length=100)]


class SubmitIn(Shape):
    """A job: either `spec`, or `source` with the text of a spec file, so that problems can name its lines."""

    spec: dict[str, Any] | None = None
    source: str | None = Field(None, max_length=1 << 20)
    set: dict[str, Any] = Field(default_factory=dict, description="Overrides by path: {'roles.worker.replicas': 4}.")
    params: dict[str, Any] = Field(default_factory=dict)
    package: str | None = Field(None, pattern=DIGEST_PATTERN, description="Digest of an uploaded package.")
    inputs: list[dict[str, Any]] | None = Field(
        None,
        max_length=100,
        description="Uploaded inputs: each with `source`, a digest (or digest/file), and `target`.",
    )


class BulkIn(Shape):
    specs: list[dict[str, Any]] = Field(min_length=1, max_length=10_000)


class KillIn(Shape):
    grace: Seconds | None = Field(None, description="Between SIGTERM and SIGKILL; the spec's own if absent.")


class BumpIn(Shape):
    priority: Priority = Priority.URGENT


class MoveIn(Shape):
    to: str = Field(min_length=1, max_length=100, description="A cluster, virtual or physical.")


class ChangeIn(Shape):
    set: dict[str, Any] = Field(
        min_length=1, description="New values by path: {'resources.gpu': 2}; a role's own path if there are several."
    )


class LoginIn(Shape):
    """By password, or by a token that becomes the browser's session."""

    user: str | None = None
    password: str | None = Field(None, max_length=1024)
    token: str | None = Field(None, max_length=256)
    name: str = Field("login", max_length=100)


class UserIn(Shape):
    name: str = Field(pattern=USER_PATTERN)
    role: UserRole = UserRole.USER
    password: str | None = Field(None, min_length=8, max_length=1024)
    groups: Groups = []


class UserPatch(Shape):
    role: UserRole | None = None
    password: str | None = Field(None, min_length=8, max_length=1024)
    old_password: str | None = Field(None, max_length=1024)
    disabled: bool | None = None
    groups: Groups | None = Field(None, description="All groups of the user; admins only.")


class TokenIn(Shape):
    name: str = Field(min_length=1, max_length=100)
    expires: Seconds | None = Field(None, description="A lifetime such as 30d; never expires if absent.")
    user: str | None = Field(None, description="For another user; admins only.")


class ResourcesOut(Shape):
    cpu: str
    memory: str
    gpu: float = Field(description="0.5 for half of one.")
    gpu_type: list[str] = Field(description="Models that were asked for, in order of preference; none means any.")


class JobOut(Shape):
    id: str
    name: str
    owner: str
    state: JobStateName
    mode: Literal["Single", "PS", "Collective"]
    cluster: str
    vc: str = Field(description="Its virtual cluster; empty where there is none.")
    framework: str
    priority: str
    attempt: int
    retries: int
    preemptions: int
    succeeded: int
    failed: int
    active: int
    tasks: int
    created_at: str
    started_at: str | None
    ended_at: str | None
    checkpoint_at: str | None = Field(description="When the current attempt last said that its work is safe.")
    ran_s: float = Field(description="Run time that was not lost; an attempt counts when it has ended.")
    time_limit: str | None = Field(description="As `2h30m`.")
    reason: str
    labels: dict[str, str]
    resources: ResourcesOut
    version: int


class JobPage(Shape):
    items: list[JobOut]
    next_cursor: str | None = None


class ContainerCommandOut(Shape):
    """How the node's container engine would be called. `why` says why that is not known yet; the rest is empty then."""

    engine: str
    argv: list[str]
    why: str


class RequestOut(Shape):
    """What would be started for one task."""

    task: str
    node: str
    argv: list[str]
    env: dict[str, str]
    ports: list[int]
    devices: list[int]
    image: str | None
    container: ContainerCommandOut | None
    """Of a task with an image."""


class DryRunOut(Shape):
    job: JobOut
    requests: list[RequestOut]
    warnings: list[str]


class SpecOut(Shape):
    spec: dict[str, Any]


class TaskOut(Shape):
    id: str
    name: str
    role: str
    index: int
    rank: int
    attempt: int
    state: TaskStateName
    node: str
    devices: list[int]
    ports: list[int]
    started_at: str | None
    ended_at: str | None
    exit_code: int | None
    signal: int | None
    reason: str
    wait_reason: str | None = Field(None, description="Why the cluster's own engine keeps it waiting, in its words.")
    estimated_start: str | None = Field(None, description="When that engine expects to start it.")


class TaskList(Shape):
    items: list[TaskOut]


class EventOut(Shape):
    seq: int
    at: str
    kind: str
    job_id: str | None
    actor: str | None
    data: dict[str, Any]


class EventPage(Shape):
    items: list[EventOut]
    next_cursor: str | None = None


class ReasonOut(Shape):
    code: str
    message: str
    change: str
    numbers: dict[str, Any]


class FaultOut(Shape):
    kind: str
    code: str
    cause: str
    advice: str
    task: str | None
    exit_code: int | None
    signal: int | None
    retryable: bool


class AttemptOut(Shape):
    attempt: int
    started_at: str | None
    ended_at: str | None
    outcome: str


class WhatIfOut(Shape):
    """The same for the job as it would be with the changes asked about."""

    changes: dict[str, Any]
    reasons: list[ReasonOut]
    starts_at: str | None


class ExplainOut(Shape):
    job: str
    state: JobStateName
    summary: str
    reasons: list[ReasonOut]
    fault: FaultOut | None
    evidence: list[str]
    attempts: list[AttemptOut]
    next: str
    starts_at: str | None = Field(description="About when a waiting job starts, as far as can be told.")
    what_if: WhatIfOut | None


class CpuOut(Shape):
    total: str
    used: str


class MemoryOut(Shape):
    total: int
    used: int


class GpuOut(Shape):
    index: int
    model: str
    used: float = Field(description="How much of it is given to tasks: 0 to 1.")
    job: str | None = Field(description="Whose it is now; several names with commas between where it is shared.")
    out_of_service: str | None = Field(description="Why nobody is given it, if so. Who has it already keeps it.")


class NodeOut(Shape):
    name: str
    cluster: str
    state: str
    since: str | None = Field(description="When it came to this state.")
    address: str
    login: str | None = Field(description="How the server gets in, where it does so by SSH; for admins.")
    cpu: CpuOut
    memory: MemoryOut
    gpus: list[GpuOut]
    tasks: int
    note: str
    alerts: list[str] = Field(description="What an admin should look at.")
    labels: dict[str, str] = Field(description="What jobs ask for by `where`, as admins wrote it.")
    usage: dict[str, Any] | None


class NodeTaskOut(Shape):
    task: str
    job: str
    owner: str
    state: TaskStateName


class NodeDetailOut(NodeOut):
    running: list[NodeTaskOut] = Field(description="Its tasks that have not ended, of jobs that one may see.")


class CordonIn(Shape):
    reason: str = Field("", max_length=1000, description="For people.")


class DrainIn(CordonIn):
    now: bool = Field(False, description="What runs there goes back to the queue at once.")


class ExecIn(Shape):
    command: list[Annotated[str, Field(max_length=1 << 17)]] = Field(
        min_length=1, max_length=1000, description="The program and its arguments; no shell reads them."
    )
    timeout: Seconds = Field(600.0, le=86_400, description="Then it is ended.")


class NodeList(Shape):
    items: list[NodeOut]


class ClusterOut(Shape):
    name: str
    backend: str
    default: bool
    nodes: int
    state: str
    capabilities: list[str] = Field(
        description="What can be done there. A call that needs another capability is refused with `not-offered`."
    )
    placement: Literal["muster", "engine"] = Field(
        description="Who chooses nodes and devices: Muster, or the cluster's own engine."
    )


class ClusterList(Shape):
    items: list[ClusterOut]


class TaskUsageOut(Shape):
    task: str
    job: str
    owner: str
    node: str
    cpu_percent: float | None
    rss_bytes: int
    processes: int


class UsageOut(Shape):
    nodes: list[NodeOut]
    tasks: list[TaskUsageOut]


class UsageSample(Shape):
    """Rates and percentages are since the sample before. What the machine does not tell is null or absent."""

    model_config = ConfigDict(extra="allow")

    at: str
    cpu_percent: float
    per_core: list[float]
    load1: float
    memory_total_bytes: int
    memory_used_bytes: int
    disk_total_bytes: int
    disk_used_bytes: int
    net: list[dict[str, Any]] = Field(description="Each link that is up: name, speedMbit, rxBytesS, txBytesS …")
    gpus: list[dict[str, Any]] = Field(description="Each card: load, memoryUsedBytes, temperatureC, powerW …")


class UsageHistory(Shape):
    node: str
    items: list[UsageSample] = Field(description="The oldest first; about five minutes are kept.")


class UserOut(Shape):
    name: str
    role: str
    disabled: bool
    has_password: bool
    groups: list[str]
    created_at: str


class UserList(Shape):
    items: list[UserOut]


class TokenOut(Shape):
    id: str
    name: str
    user: str
    created_at: str
    expires_at: str | None
    last_used_at: str | None


class TokenList(Shape):
    items: list[TokenOut]


class NewTokenOut(TokenOut):
    secret: str = Field(description="Shown once; only its hash is kept.")


class LoginOut(Shape):
    token: str
    user: str
    role: str
    expires_at: str | None


class ServerOut(Shape):
    version: str
    url: str


class WhoAmIOut(Shape):
    user: str
    role: str
    server: ServerOut


class PackageOut(Shape):
    digest: str
    size: int
    received: int
    complete: bool


class OutputOut(Shape):
    path: str
    size: int
    sha256: str
    modified_at: str
    task: str


class OutputList(Shape):
    items: list[OutputOut]
    attempt: int
    complete: bool = Field(description="Whether nothing more is to come of this attempt.")
    left_out: list[str] = Field(description="Beyond the server's limit.")
    problems: list[str]


class ProblemItem(Shape):
    path: str
    message: str
    hint: str
    line: int | None


class ProblemOut(Shape):
    """What went wrong, as RFC 9457 says it, with a stable `code` and what to do next."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str = ""
    problems: list[ProblemItem] = []
    received: int | None = Field(None, description="Of an upload at a wrong offset: how many bytes are here.")
    capability: str | None = Field(None, description="For `not-offered`: what the cluster cannot do.")
    cluster: str | None = Field(None, description="For `not-offered`: the cluster.")
