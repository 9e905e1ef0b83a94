"""What the other server answers, read and checked: as much as is used of it, and no more than makes sense.

Another server may be newer, broken, or in the hands of somebody else. What is not known of its answers is ignored,
texts are cut, and an answer that does not fit is none.
"""

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from muster.api.jobs import JobStateName, TaskStateName
from muster.domain.errors import Unreachable
from muster.domain.nodes import NodeState
from muster.lib.clock import from_iso
from muster.lib.quantities import parse_bytes, parse_cpu

_TEXT = 2000
_MOST_REPLICAS = 50_000
_MOST_NODES = 5_000
_MOST_TASKS = 50_000
"""So many tasks may all jobs have together."""
_MOST_GPUS = 64
_MOST = 1 << 62


def _shown(text: Any) -> Any:
    """What terminals and scrapers of metrics would obey is not passed on."""
    if not isinstance(text, str):
        return text
    return "".join(one if one.isprintable() or one == "\n" else "?" for one in text[:_TEXT])


def _instant(text: Any) -> float:
    if not isinstance(text, str):
        raise ValueError("expected an ISO-8601 time")
    return from_iso(text)


Name = Annotated[str, BeforeValidator(_shown), Field(max_length=253)]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
"""It becomes a part of addresses, and of the ids of tasks."""
Text = Annotated[str, BeforeValidator(_shown)]
Amount = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Figure = Annotated[float, Field(ge=0, lt=1e18, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=_MOST, strict=True)]
Step = Annotated[int, Field(strict=True)]
Instant = Annotated[float, BeforeValidator(_instant)]
CpuM = Annotated[int, BeforeValidator(parse_cpu), Field(ge=0, le=_MOST)]
Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(ge=0, le=_MOST)]


class Told(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="ignore")


T = TypeVar("T", bound=Told)


def read(model: type[T], content: bytes) -> T:
    """Raises Unreachable if it is something else: asking again may help, and nothing is known."""
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "all of it"
        message = f"the answer of the other Muster server cannot be read: {where}: {first['msg']}"
        raise Unreachable(message) from None


class ToldFault(Told):
    kind: Text = ""
    code: Annotated[str, Field(max_length=100)] = ""
    cause: Text = ""


class ToldGpuUse(Told):
    index: Count
    sampled_s: Figure = 0.0
    mean_percent: Figure | None = None
    peak_percent: Figure | None = None
    mean_memory_bytes: Count | None = None
    peak_memory_bytes: Count | None = None
    energy_j: Figure | None = None


class ToldUse(Told):
    cpu_s: Figure | None = None
    peak_cores: Figure | None = None
    peak_memory_bytes: Count | None = None
    sampled: bool = False
    gpus: Annotated[tuple[ToldGpuUse, ...], Field(max_length=_MOST_GPUS)] = ()


class ToldTask(Told):
    role: Id
    index: Count
    state: TaskStateName
    node: Name | None = None
    gpus: tuple[Count, ...] = ()
    started_at: Instant | None = None
    ended_at: Instant | None = None
    exit_code: Annotated[int, Field(ge=-(1 << 31), lt=1 << 32)] | None = None
    signal: Annotated[int, Field(ge=0, le=255)] | None = None
    fault: ToldFault | None = None
    wait_reason: Text = ""
    starts_at: Instant | None = None
    needs_action: bool = False
    used: ToldUse | None = None


class ToldJob(Told):
    id: Id
    job: Id
    attempt: Count
    state: JobStateName
    reason: Text = ""
    attempts: Count
    cancelled_by: Text | None = None
    fault: ToldFault | None = None
    checkpoint_at: Instant | None = None
    tracking_url: str = ""
    cpu: CpuM = 0
    memory_bytes: Count = 0
    metric_points: Count = 0
    roles: dict[Id, Annotated[int, Field(ge=0, le=_MOST_REPLICAS, strict=True)]]
    tasks: tuple[ToldTask, ...] = ()

    @property
    def size(self) -> int:
        return sum(self.roles.values())


def _not_too_many(jobs: tuple[ToldJob, ...]) -> tuple[ToldJob, ...]:
    if sum(job.size for job in jobs) > _MOST_TASKS:
        raise ValueError(f"jobs with more than {_MOST_TASKS} tasks together")
    return jobs


class ToldJobs(Told):
    installation: Id
    reaches: frozenset[Id] = frozenset()
    user: Text
    tag: Annotated[str, Field(max_length=64)]
    items: Annotated[tuple[ToldJob, ...], AfterValidator(_not_too_many)]


class ToldSubmission(Told):
    id: Id


class ToldStop(Told):
    waiting: frozenset[str] = frozenset()


class ToldShare(Told):
    gpu: Amount
    gpu_models: dict[Name, Amount]
    cpu: CpuM
    memory: Bytes


class ToldVirtualCluster(Told):
    name: Name
    cluster: Name
    guaranteed: ToldShare
    max: ToldShare | None
    borrow: bool
    used: ToldShare


class ToldVirtualClusters(Told):
    items: tuple[ToldVirtualCluster, ...]


class ToldCluster(Told):
    name: Name


class ToldClusters(Told):
    items: tuple[ToldCluster, ...]


class ToldCpu(Told):
    total: CpuM
    used: CpuM


class ToldMemory(Told):
    total: Count
    used: Count


class ToldGpu(Told):
    index: Count
    model: Name
    used: Amount
    out_of_service: Text | None = None


class ToldDevice(Told):
    resource: Name
    index: Count
    job: Text | None = None
    out_of_service: Text | None = None


class ToldNode(Told):
    name: Name
    state: NodeState
    address: Name
    note: Text = ""
    cpu: ToldCpu
    memory: ToldMemory
    gpus: tuple[ToldGpu, ...] = ()
    devices: tuple[ToldDevice, ...] = ()
    labels: dict[Name, Name] = {}


class ToldNodes(Told):
    items: Annotated[tuple[ToldNode, ...], Field(max_length=_MOST_NODES)]


class ToldUser(Told):
    scope: Annotated[str, Field(max_length=100)] | None = None


class ToldPackage(Told):
    complete: bool
    received: Count


class ToldOutput(Told):
    path: str
    size: Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    modified_at: Instant


class ToldOutputs(Told):
    items: tuple[ToldOutput, ...]
    complete: bool
    left_out: tuple[str, ...] = ()
    problems: tuple[Text, ...] = ()


class ToldSize(Told):
    """How many tasks a job has."""

    tasks: Count


class ToldState(Told):
    state: JobStateName


class ToldPoint(Told):
    step: Step
    at: Instant
    value: float


class ToldExtreme(Told):
    step: Step
    value: Annotated[float, Field(allow_inf_nan=False)]


class ToldMetric(Told):
    name: str
    count: Count
    last: ToldPoint
    lowest: ToldExtreme | None = None
    highest: ToldExtreme | None = None
    points: tuple[ToldPoint, ...] = ()


class ToldMetrics(Told):
    metrics: tuple[ToldMetric, ...]
