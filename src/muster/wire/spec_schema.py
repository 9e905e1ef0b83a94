"""The job spec as people write it. The JSON Schema that editors use is made from these models."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from muster.domain.specs import Framework, Needed, Priority, Spread
from muster.lib import quantities

NAME_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
ROLE_PATTERN = r"^[A-Za-z]([A-Za-z0-9_-]{0,30}[A-Za-z0-9])?$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
MAX_REPLICAS = 4096
MAX_DEPENDENCIES = 100
MAX_INPUTS = 100

_QUANTITY_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "number", "minimum": 0}]}


def _shown(accepted: str) -> WithJsonSchema:
    return WithJsonSchema({**_QUANTITY_SCHEMA, "description": accepted[0].upper() + accepted[1:] + "."})


def _text(value: Any) -> Any:
    """Environment values may be written as numbers or booleans; what a process sees is text."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _listed(value: Any) -> Any:
    """One name alone is a list of one."""
    return [value] if isinstance(value, str) else value


def _dependencies(value: Any) -> Any:
    """`prep` and `[prep, other]` are short for mappings with `job`."""
    items = [value] if isinstance(value, str | dict) else value
    return [{"job": item} if isinstance(item, str) else item for item in items] if isinstance(items, list) else value


def _inputs(value: Any) -> Any:
    """`./data` and `[./data, ./more]` are short for mappings with `source`."""
    items = [value] if isinstance(value, str | dict) else value
    return [{"source": item} if isinstance(item, str) else item for item in items] if isinstance(items, list) else value


def _inside(value: str) -> str:
    """Checks that a path, as written, stays in the working directory."""
    parts = [part for part in value.split("/") if part not in ("", ".")]
    if value.startswith("/") or ".." in parts or not parts or "\0" in value:
        raise ValueError("expected a path in the working directory, without '..'")
    return "/".join(parts) + ("/" if value.endswith("/") else "")


def _passable(value: str) -> str:
    """Neither an environment nor an argument list can carry a NUL."""
    if "\0" in value:
        raise ValueError("expected text without NUL characters")
    return value


Cpu = Annotated[int, BeforeValidator(quantities.parse_cpu), _shown(quantities.CPU_ACCEPTED)]
Gpu = Annotated[
    int,
    BeforeValidator(quantities.parse_gpu),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 1024},
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                {"enum": list(quantities.GPU_WORDS)},
            ]
        }
    ),
]
Bytes = Annotated[int, BeforeValidator(quantities.parse_bytes), _shown(quantities.BYTES_ACCEPTED)]
Seconds = Annotated[float, BeforeValidator(quantities.parse_duration), _shown(quantities.DURATION_ACCEPTED)]
Text = Annotated[
    str,
    BeforeValidator(_text),
    Field(max_length=65536),
    AfterValidator(_passable),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Variable = Annotated[str, Field(pattern=VARIABLE_PATTERN)]
Env = dict[Variable, Text]
ShellLine = Annotated[str, Field(min_length=1, max_length=65536), AfterValidator(_passable)]
Command = ShellLine | Annotated[list[Text], Field(min_length=1, max_length=1024)]

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
InnerPath = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_inside)]
NodeName = Annotated[str, Field(min_length=1, max_length=253)]
NodeNames = Annotated[list[NodeName], BeforeValidator(_listed, json_schema_input_type=NodeName | list[NodeName])]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=False, frozen=True)


class ResourcesIn(Strict):
    """What each task of a role asks for."""

    cpu: Cpu | None = Field(None, description="Cores, as 2, 0.5 or 500m. 250m if absent.")
    memory: Bytes | None = Field(None, description="As 2Gi. Reserved and enforced; nothing is reserved if absent.")
    gpu: Gpu = Field(
        0,
        description="Whole GPUs, or a part of one such as 0.5, which others share; `exclusive` is 1, `reuse` 0.2.",
    )
    gpu_type: str | list[str] | None = Field(None, description="A GPU model, or several in order of preference.")


class CompletionIn(Strict):
    """When a role decides the job."""

    min_failed: int | None = Field(None, ge=-1, description="As many failed tasks fail the job: 1 if absent, -1 never.")
    min_succeeded: int | None = Field(
        None,
        ge=-1,
        description="As many succeeded tasks end the job well: -1 never. If absent: all workers of a job with a ps"
        " role; in other jobs all tasks must have ended.",
    )


class RoleIn(CompletionIn):
    """One kind of task."""

    replicas: int = Field(1, ge=0, le=MAX_REPLICAS, description="How many tasks.")
    min: int | None = Field(None, ge=1, le=MAX_REPLICAS, description="As few will do to start. `replicas` if absent.")
    max: int | None = Field(None, ge=1, le=MAX_REPLICAS, description="As many are of use. `replicas` if absent.")
    command: Command = Field(description="A shell line, or a list of words that is run as it is.")
    resources: ResourcesIn = Field(default_factory=ResourcesIn)
    env: Env = Field(default_factory=dict, description="Added to the job's env for this role.")
    ports: int = Field(0, ge=0, le=64, description="Free ports wanted by each task, told in MUSTER_PORTS.")
    completion: CompletionIn | None = Field(None, description="minFailed and minSucceeded, as OpenPAI groups them.")


class RetryIn(Strict):
    max: int = Field(0, ge=0, le=100, description="Tries after the first, for failures that trying again can mend.")


class RuntimeIn(Strict):
    """Where the interpreter comes from: exactly one of the three."""

    conda: str | None = Field(None, description="A conda environment by name or folder.")
    venv: str | None = Field(None, description="The folder of a virtual environment.")
    image: str | None = Field(None, description="A container image.")


class MountIn(Strict):
    source: str
    target: str
    read_only: bool = False


class DependencyIn(Strict):
    """A job to wait for."""

    job: Name = Field(description="One of your own jobs, by name or id.")
    on: Needed = Field(Needed.SUCCEEDED, description="What it must have come to.")


class InputIn(Strict):
    """Files or a folder beside the job file that tasks read."""

    source: str = Field(
        min_length=1,
        max_length=1024,
        description="A file or folder, relative to the job file; uploaded once. Or the digest of one that is there.",
    )
    target: InnerPath | None = Field(
        None, description="Where in the working directory it is found. The source's own name if absent."
    )


Inputs = Annotated[
    list[InputIn],
    BeforeValidator(
        _inputs, json_schema_input_type=str | InputIn | Annotated[list[str | InputIn], Field(max_length=MAX_INPUTS)]
    ),
]
Outputs = Annotated[
    list[InnerPath], BeforeValidator(_listed, json_schema_input_type=InnerPath | list[InnerPath]), Field(max_length=100)
]

After = Annotated[
    list[DependencyIn],
    BeforeValidator(
        _dependencies,
        json_schema_input_type=Name
        | DependencyIn
        | Annotated[list[Name | DependencyIn], Field(max_length=MAX_DEPENDENCIES)],
    ),
]


class WhereIn(Strict):
    """Which nodes will do, and how the tasks lie on them."""

    nodes: NodeNames = Field(default_factory=list, description="On these nodes only.")
    not_nodes: NodeNames = Field(default_factory=list, description="On none of these.")
    labels: dict[str, Text] = Field(default_factory=dict, description="On nodes that have all of these labels.")
    spread: Spread = Field(
        Spread.PACK, description="`pack`: on as few nodes as will do. `apart`: every task on a node of its own."
    )
    together: Literal["rack", "switch", "node"] | None = Field(
        None, description="The whole gang in one rack, under one switch, or on one node."
    )


class JobSpecIn(CompletionIn):
    """A distributed training job."""

    name: str = Field(pattern=NAME_PATTERN, description="Letters, digits, '.', '_' and '-', at most 63.")
    description: str = Field("", max_length=4096)
    cluster: str | None = Field(None, description="Physical or virtual; the server's default if absent.")
    framework: Framework = Field(Framework.PLAIN, description="Decides which variables a task gets.")
    priority: Priority = Priority.NORMAL
    time_limit: Seconds | None = Field(None, description="An attempt is stopped after this time.")
    grace: Seconds = Field(10.0, description="Between SIGTERM and SIGKILL. 10s if absent.")
    retry: RetryIn = Field(default_factory=RetryIn)
    env: Env = Field(default_factory=dict)
    params: dict[Variable, str | bool | int | Annotated[float, Field(allow_inf_nan=False)]] = Field(
        default_factory=dict, description="Kept in history; ${params.NAME} in commands and env is replaced."
    )
    labels: dict[str, Text] = Field(default_factory=dict, description="For filters: muster get jobs --label k=v.")
    package: str | None = Field(None, description="A folder, uploaded once; it becomes the working directory.")
    inputs: Inputs = Field(default_factory=list, description="Data for the tasks that is not part of the package.")
    outputs: Outputs = Field(
        default_factory=list,
        description="What is brought back when a task has ended, as model/, metrics.json or logs/*.csv.",
    )
    runtime: RuntimeIn = Field(default_factory=RuntimeIn)
    mounts: list[MountIn] = Field(default_factory=list)
    gloo: Literal[0, 1, 2] = Field(0, description="Gloo rings in a ps job: 1 workers, 2 workers and servers.")
    hold: bool = Field(False, description="Queue the job as Held, to be resumed by hand.")
    after: After = Field(default_factory=list, description="Jobs to wait for: a name, or several, or with `on`.")
    where: WhereIn = Field(default_factory=WhereIn)
    preemptible: bool = Field(
        True, description="Whether the job may be stopped for a more urgent one and queued again."
    )
    roles: dict[Annotated[str, Field(pattern=ROLE_PATTERN)], RoleIn] | None = Field(
        None, min_length=1, max_length=32, description="Tasks by kind; `ps` and `worker` have a meaning of their own."
    )
    command: Command | None = Field(None, description="Flat form: the only role's command.")
    replicas: int | None = Field(None, ge=0, le=MAX_REPLICAS, description="Flat form: how many tasks.")
    min: int | None = Field(None, ge=1, le=MAX_REPLICAS, description="Flat form: as few tasks will do to start.")
    max: int | None = Field(None, ge=1, le=MAX_REPLICAS, description="Flat form: as many tasks are of use.")
    resources: ResourcesIn | None = Field(None, description="Flat form: what each task asks for.")
    ports: int | None = Field(None, ge=0, le=64, description="Flat form: free ports wanted by each task.")


def spec_json_schema() -> dict[str, Any]:
    schema = _closed(JobSpecIn.model_json_schema(by_alias=True))
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Muster job"
    return schema


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Names that fit no pattern are refused; pydantic writes the patterns and leaves the rest open."""
    closed = {key: _closed_inside(value) for key, value in schema.items()}
    return {**closed, "additionalProperties": False} if "patternProperties" in closed else closed


def _closed_inside(value: Any) -> Any:
    if isinstance(value, list):
        return [_closed_inside(item) for item in value]
    return _closed(value) if isinstance(value, dict) else value
