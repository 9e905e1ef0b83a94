"""What callers of the API send, as pydantic models that validate it. What the server answers is in `muster.api`."""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from muster.domain import templates
from muster.domain.accounts import TokenScope, UserRole
from muster.domain.experiments.job_metrics import LONGEST_NAME, MOST_STEP
from muster.domain.failures.faults import FaultKind
from muster.domain.specs import Priority
from muster.wire.spec_schema import Seconds


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)


PAGE_PATTERN = r"^/([^\s/\\][^\s\\]*)?$"
"""A path that no browser reads as the address of another host, as `//host` and `/\\host` are."""
USER_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9._@-]{0,62})$"
MYSELF = "me"
"""Where the API asks for a user, this is the one who asks."""
DIGEST_PATTERN = r"^[0-9a-f]{64}$"
Groups = Annotated[list[Annotated[str, Field(pattern=USER_PATTERN)]], Field(max_length=100)]


class SubmitIn(Request):
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


class BulkIn(Request):
    """Many jobs: either `specs`, or `jobs`, each as it would be submitted alone."""

    specs: list[dict[str, Any]] = Field(default_factory=list, min_length=1, max_length=10_000)
    jobs: list[SubmitIn] = Field(default_factory=list, min_length=1, max_length=1_000)


class MetricPointIn(Request):
    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    step: int = Field(0, ge=-MOST_STEP, le=MOST_STEP)
    at: AwareDatetime = Field(description="When it was measured. It tells a repeated report from a new one.")
    value: float | Literal["NaN", "Infinity", "-Infinity"]


class MetricsIn(Request):
    """Points of metrics. Those that are stored already are not stored again, so that a report may be repeated."""

    attempt: int | None = Field(None, ge=1, le=1_000_000, description="The newest one if it is absent.")
    points: list[MetricPointIn] = Field(min_length=1, max_length=5000)


class EndedJobIn(Request):
    """A job that ended elsewhere."""

    id: str = Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9._:-]+$", description="What it was called there.")
    spec: dict[str, Any]
    state: Literal["Succeeded", "Failed", "Cancelled"]
    fault: FaultKind = Field(FaultKind.USER, description="Whose fault it was that it failed.")
    created_at: AwareDatetime
    started_at: AwareDatetime | None = Field(None, description="Absent if nobody knows it any more.")
    ended_at: AwareDatetime
    reason: str = Field("", max_length=1000, pattern=r"^[^\x00]*$")


class ImportIn(Request):
    source: str = Field(
        min_length=1, max_length=63, pattern=r"^[a-z0-9-]+$", description="The system that ran them, such as `slurm`."
    )
    jobs: list[EndedJobIn] = Field(min_length=1, max_length=1_000)


class ModelIn(Request):
    """Outputs of a job that are to be kept as a version of a model."""

    job: str = Field(min_length=1, max_length=100, description="The id or name of the job.")
    path: str = Field("", max_length=4096, description="A file or folder of its outputs; all of them if it is empty.")
    name: str = Field(min_length=1, max_length=63)
    description: str = Field("", max_length=1000, pattern=r"^[^\x00]*$")
    attempt: int | None = Field(None, ge=1, le=1_000_000, description="The newest if absent.")


class KillIn(Request):
    grace: Seconds | None = Field(None, description="Between SIGTERM and SIGKILL; the spec's own if absent.")


class StopTasksIn(Request):
    tasks: list[Annotated[str, Field(max_length=100)]] = Field(
        min_length=1, max_length=100_000, description="Each by role and index, such as `worker-0`."
    )
    grace: Seconds | None = Field(None, description="Between SIGTERM and SIGKILL; the spec's own if absent.")


INSTALLATION_PATTERN = r"^[0-9a-f]{16}$"
Installation = Annotated[str, Field(pattern=INSTALLATION_PATTERN)]


class HandOnIn(Request):
    """An attempt of a job of another server."""

    server: Installation = Field(description="The installation that hands it on.")
    cluster: str = Field(min_length=1, max_length=100, description="What that one calls the cluster that this is.")
    to: Installation = Field(description="The installation that is meant; another one refuses the job.")
    via: list[Installation] = Field(max_length=16, description="All that it came through, `server` among them.")
    job: str = Field(min_length=1, max_length=64, pattern=r"^[0-9a-z]+$", description="Its id there.")
    attempt: int = Field(ge=1, le=1_000_000)
    owner: str = Field(min_length=1, max_length=100, description="Whose job it is there.")
    spec: dict[str, Any]
    secrets: dict[Annotated[str, Field(max_length=253)], Annotated[str, Field(max_length=4 << 20)]] = Field(
        default_factory=dict, repr=False, description="The values of its secrets by name, in Base64."
    )


class BumpIn(Request):
    priority: Priority = Priority.URGENT


class MoveIn(Request):
    to: str = Field(min_length=1, max_length=100, description="A cluster, virtual or physical.")


class AgainIn(SubmitIn):
    """What is to be different: values by path and params by name, or, with `source` or `spec`, the whole spec."""

    set: dict[str, Any] = Field(
        default_factory=dict,
        description="New values by path: {'resources.gpu': 2}; a role's own path if there are several.",
    )
    params: dict[str, Any] = Field(default_factory=dict, description="New params by name: {'lr': 0.01}.")

    @property
    def has_spec(self) -> bool:
        return self.spec is not None or self.source is not None

    @property
    def values(self) -> dict[str, Any]:
        """The new values by path, the uploaded package and inputs among them."""
        sent = {"package": self.package, "inputs": self.inputs}
        return {**self.set, **{key: value for key, value in sent.items() if value is not None}}


class ChangeIn(AgainIn):
    set: dict[str, Any] = Field(
        default_factory=dict,
        min_length=1,
        description="New values by path: {'resources.gpu': 2}; a role's own path if there are several.",
    )
    version: int | None = Field(None, description="Refuse the change if the job has another version by now.")


class TemplateIn(Request):
    """A template: with `group`, its members may use it; with `everyone`, everybody; with neither, only its author."""

    files: dict[
        Annotated[str, Field(min_length=1, max_length=255)], Annotated[str, Field(max_length=templates.MAX_BYTES)]
    ] = Field(
        min_length=1, max_length=templates.MAX_FILES, description="Texts by path, `job.yaml`, the job, among them."
    )
    description: str = Field("", max_length=500)
    group: str = Field("", max_length=63)
    everyone: bool = False


class LoginIn(Request):
    """A login by password, by a token that becomes the browser's session, by the code that a login in a browser showed,
    or by the ticket of a link that is good once."""

    user: str | None = Field(None, max_length=64)
    password: str | None = Field(None, max_length=1024)
    token: str | None = Field(None, max_length=256)
    code: str | None = Field(None, max_length=256, description="The code from a login with an identity provider.")
    verifier: str | None = Field(None, max_length=256, description="The PKCE verifier of the login with `code`.")
    ticket: str | None = Field(None, max_length=256, description="The ticket from a link of `POST /login/link`.")
    name: str = Field("login", max_length=100)


class DeviceLoginIn(Request):
    name: str = Field("login", max_length=100)


class UserIn(Request):
    name: str = Field(pattern=USER_PATTERN)
    role: UserRole = UserRole.USER
    password: str | None = Field(None, min_length=8, max_length=1024)
    groups: Groups = []


class UserPatch(Request):
    role: UserRole | None = None
    password: str | None = Field(None, min_length=8, max_length=1024)
    old_password: str | None = Field(None, max_length=1024)
    end_tokens: bool = Field(
        False, description="With a new password: end the user's other tokens too, not only logins."
    )
    disabled: bool | None = None
    groups: Groups | None = Field(None, description="All groups of the user; admins only.")


class IdentityIn(Request):
    subject: str = Field(min_length=1, max_length=255, description="Who the person is at the provider: claim `sub`.")
    issuer: str | None = Field(
        None, min_length=1, max_length=2048, description="The provider; that of the server if absent."
    )


class TokenIn(Request):
    name: str = Field(min_length=1, max_length=100)
    expires: Seconds | None = Field(
        None, description="A lifetime such as 30d. If absent, it is the longest that the server allows, or endless."
    )
    scope: TokenScope = Field(
        TokenScope.ADMIN,
        description="`read`; `submit`, to read and to submit and control jobs; or `admin`, all that the user may do.",
    )
    job: str | None = Field(None, max_length=64, description="The only job, by id or name, that the token is for.")
    user: str | None = Field(
        None, max_length=64, description="The user for whom the token is made, if it is another one; admins only."
    )


class CordonIn(Request):
    reason: str = Field("", max_length=1000, description="The reason, as people will read it.")


class DrainIn(CordonIn):
    now: bool = Field(False, description="What runs there goes back to the queue at once.")


ExecWords = Annotated[
    list[Annotated[str, Field(max_length=1 << 17)]],
    Field(min_length=1, max_length=1000, description="The program and its arguments; no shell reads them."),
]


class ExecIn(Request):
    command: ExecWords
    timeout: Seconds = Field(600.0, le=86_400, description="Then it is ended.")


class TerminalIn(Request):
    rows: int = Field(ge=1, le=10_000)
    columns: int = Field(ge=1, le=10_000)
    kind: str = Field("xterm-256color", pattern=r"^[A-Za-z0-9._+-]{1,64}$", description="The value of TERM.")


class TaskAttachIn(Request):
    """The first message of a WebSocket that is attached to a task."""

    task: str | None = Field(None, max_length=200, description="Such as worker-0; the first one if absent.")
    terminal: TerminalIn | None = Field(None, description="The size that the terminal of the task gets.")
    tail: int | None = Field(
        None, ge=0, le=100_000, description="How many of its last lines come first; all that are kept if absent."
    )


class TaskExecIn(Request):
    """The first message of a WebSocket on which a command runs in a task."""

    command: ExecWords
    task: str | None = Field(None, max_length=200, description="Such as worker-0; the first one if absent.")
    terminal: TerminalIn | None = Field(None, description="Run the command at a terminal of this size.")


class PortForwardIn(Request):
    """The first message of a WebSocket that is a connection to a port of a task."""

    port: int = Field(ge=1, le=65_535, description="On which the task listens.")
    task: str | None = Field(None, max_length=200, description="Such as worker-0; the first one if absent.")


class JobPageIn(Request):
    port: int = Field(ge=1, le=65_535, description="The port on which the first task of the job listens.")
    path: str = Field("/", pattern=PAGE_PATTERN, max_length=4096, description="The page at which to begin.")


class EnvironmentTestIn(Request):
    name: str = Field(min_length=1, max_length=4096, description="The name of the environment, as the list shows it.")
    cluster: str | None = Field(
        None, max_length=253, description="If absent the server's default, or the one that has it."
    )
    node: str | None = Field(None, max_length=253, description="All nodes that offer it if absent.")


PolicyName = Literal["default", "fair", "fifo", "first-fit", "easy", "las", "ssf", "srsf"]


GpuModel = Annotated[str, Field(min_length=1, max_length=100)]
GpuCount = Annotated[int, Field(ge=-100_000, le=100_000)]


class SimulatedVariantIn(Request):
    """One way to run the same jobs."""

    policy: PolicyName = "default"
    title: str = Field("", max_length=100)
    more_gpus: dict[GpuModel, GpuCount] = Field(
        default_factory=dict, max_length=20, description="How many more there are of each model; fewer if negative."
    )


class SimulationIn(Request):
    cluster: str | None = Field(None, max_length=253, description="Whose jobs are replayed; the default one if absent.")
    since: str = Field("7d", max_length=100, description="ISO time, or an age such as 30d.")
    until: str | None = Field(None, max_length=100, description="ISO time, or an age such as 1d; now if absent.")
    only_own: bool = Field(False, description="Replay your own jobs only.")
    durations: Literal["unknown", "exact", "limit"] = Field(
        "unknown", description="What policies know about run times in advance."
    )
    preemption_cost: str = Field(
        "0",
        pattern=r"^(0|none|helios|checkpoint:[1-9][0-9]{0,6}(s|m|h|d))$",
        description="What a preemption costs: 0, helios, checkpoint:30m, or none for no preemption at all.",
    )
    variants: list[SimulatedVariantIn] = Field(
        default_factory=lambda: [SimulatedVariantIn()], min_length=1, max_length=4
    )


class ClusterFileIn(Request):
    text: str = Field(max_length=1 << 20, description="The whole file.")
    base: str | None = Field(
        None, pattern=DIGEST_PATTERN, description="The `sha256` of the version that was edited; absent for a new file."
    )
