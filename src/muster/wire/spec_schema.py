"""The job spec as users write it. The JSON Schema for editors is generated from these models."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from muster.domain import extended_resources
from muster.domain.experiments.metric_patterns import LONGEST_PATTERN, MOST_PATTERNS, pattern_problem
from muster.domain.specs import IMAGE_WORKDIR, Framework, Needed, Priority, Spread
from muster.lib import quantities
from muster.wire.sweep_schema import SweepIn

NAME_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
ROLE_PATTERN = r"^[A-Za-z]([A-Za-z0-9_-]{0,30}[A-Za-z0-9])?$"
STORAGE_PATTERN = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
MAX_REPLICAS = 4096
MAX_DEPENDENCIES = 100
MAX_INPUTS = 100
MAX_MOUNTS = 100
MAX_SECRETS = 100
MAX_PORTS = 64
MAX_LABELS = 100
MAX_LABEL = 256
MAX_DEVICES = 16
MAX_SSH_KEYS = 100
PUBLIC_KEY_PATTERN = r"^(ssh-|ecdsa-sha2-|sk-ssh-|sk-ecdsa-)[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,3}( [^\r\n]*)?$"

_QUANTITY_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "number", "minimum": 0}]}


def _shown(accepted: str) -> WithJsonSchema:
    return WithJsonSchema({**_QUANTITY_SCHEMA, "description": accepted[0].upper() + accepted[1:] + "."})


def _text(value: Any) -> Any:
    """Environment values may be written as numbers or booleans; processes get them as text."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _listed(value: Any) -> Any:
    """A single name is short for a list with one name."""
    return [value] if isinstance(value, str) else value


def _dependencies(value: Any) -> Any:
    """`prep` and `[prep, other]` are short for mappings with `job`."""
    items = [value] if isinstance(value, str | dict) else value
    return [{"job": item} if isinstance(item, str) else item for item in items] if isinstance(items, list) else value


def _inputs(value: Any) -> Any:
    """`./data` and `[./data, ./more]` are short for mappings with `source`."""
    items = [value] if isinstance(value, str | dict) else value
    return [{"source": item} if isinstance(item, str) else item for item in items] if isinstance(items, list) else value


def _setup(value: Any) -> Any:
    """A command alone is short for a mapping with `command`."""
    return {"command": value} if isinstance(value, str | list) else value


def _ssh(value: Any) -> Any:
    """`true` is short for a mapping without further keys, and `false` for no key."""
    return ({} if value else None) if isinstance(value, bool) else value


def _package(value: str) -> str:
    """Checks the form of a package that lies on a cluster. A digest has no colon."""
    cluster, colon, path = value.partition(":")
    if not colon:
        return value
    parts = path.split("/")
    if "/" in cluster or path.startswith("/") or not parts[0] or ".." in parts or "\0" in path:
        raise ValueError("expected CLUSTER:FOLDER/PATH, a path in a folder of the cluster without '..'")
    return f"{cluster}:{'/'.join(part for part in parts if part not in ('', '.'))}"


def _inside(value: str) -> str:
    """Checks that a path, as written, stays in the working directory."""
    parts = [part for part in value.split("/") if part not in ("", ".")]
    if value.startswith("/") or ".." in parts or not parts or "\0" in value:
        raise ValueError("expected a path in the working directory, without '..'")
    return "/".join(parts) + ("/" if value.endswith("/") else "")


def _inside_secrets(value: str) -> str:
    """Checks that a path, as written, stays in the folder of the secrets, and names a file."""
    parts = [part for part in value.split("/") if part not in ("", ".")]
    if value.startswith("/") or value.endswith("/") or ".." in parts or not parts or "\0" in value:
        raise ValueError("expected the relative path of a file, without '..'")
    return "/".join(parts)


def _workdir(value: str) -> str:
    """Checks that it is the word for the image's own folder, or an absolute path."""
    if value != IMAGE_WORKDIR and (not value.startswith("/") or ".." in value.split("/") or not value.isprintable()):
        raise ValueError(f"expected `{IMAGE_WORKDIR}` or an absolute path in the image, without '..'")
    return value


def _metric_pattern(value: str) -> str:
    if problem := pattern_problem(value):
        raise ValueError(problem)
    return value


def _passable(value: str) -> str:
    """Neither an environment nor an argument list can contain a NUL character."""
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
Resource = Annotated[str, Field(pattern=extended_resources.PATTERN), AfterValidator(extended_resources.check_name)]
DeviceCount = Annotated[
    int,
    BeforeValidator(quantities.parse_devices),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 1024}),
]
Seconds = Annotated[float, BeforeValidator(quantities.parse_duration), _shown(quantities.DURATION_ACCEPTED)]
MAX_TEXT = (128 << 10) - 1
"""Linux starts no program with a longer argument or variable."""
TEXT_HINT = "Linux takes at most 128 KiB; put it into a file of the package"
Text = Annotated[
    str,
    BeforeValidator(_text),
    Field(max_length=MAX_TEXT),
    AfterValidator(_passable),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Variable = Annotated[str, Field(pattern=VARIABLE_PATTERN)]
Env = dict[Variable, Text]
ShellLine = Annotated[str, Field(min_length=1, max_length=MAX_TEXT), AfterValidator(_passable)]
Command = ShellLine | Annotated[list[Text], Field(min_length=1, max_length=1024)]

Args = Annotated[list[Text], Field(min_length=1, max_length=1024)]

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
StorageName = Annotated[str, Field(min_length=1, max_length=253, pattern=STORAGE_PATTERN)]
InnerPath = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_inside)]
SecretPath = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_inside_secrets)]
NodeName = Annotated[str, Field(min_length=1, max_length=253)]
NodeNames = Annotated[list[NodeName], BeforeValidator(_listed, json_schema_input_type=NodeName | list[NodeName])]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=False, frozen=True)


class ResourcesIn(Strict):
    """The resources that each task of a role asks for."""

    cpu: Cpu | None = Field(None, description="CPU cores, such as 2, 0.5 or 500m. The default is 250m.")
    memory: Bytes | None = Field(None, description="A hard limit, such as 2Gi. By default, no memory is reserved.")
    gpu: Gpu = Field(
        0,
        description="A number of GPUs, or a fraction of one such as 0.5. `exclusive` means 1 and `reuse` means 0.2."
        " If only `gpuType` is given, it is 1.",
    )
    gpu_type: str | list[str] | None = Field(
        None, description="A GPU model, or several in order of preference. Without `gpu`, it means one such GPU."
    )
    devices: dict[Resource, DeviceCount] = Field(
        default_factory=dict,
        max_length=MAX_DEVICES,
        description="Devices other than GPUs, by the name of their resource: `{xilinx.com/fpga: 1}`.",
    )


class CompletionIn(Strict):
    """When the tasks of a role decide the result of the job."""

    min_failed: int | None = Field(
        None, ge=-1, description="This many failed tasks fail the job; the default is 1, and -1 means never."
    )
    min_succeeded: int | None = Field(
        None,
        ge=-1,
        description="This many succeeded tasks make the job succeed; -1 means never. By default, all workers must"
        " succeed in a job with a ps role, and in other jobs all tasks must end.",
    )


class RoleIn(CompletionIn):
    """One kind of task in a job."""

    replicas: int = Field(1, ge=0, le=MAX_REPLICAS, description="The number of tasks.")
    min: int | None = Field(
        None, ge=1, le=MAX_REPLICAS, description="The job may start with this many tasks. The default is `replicas`."
    )
    max: int | None = Field(
        None, ge=1, le=MAX_REPLICAS, description="The job may grow to this many tasks. The default is `replicas`."
    )
    command: Command | None = Field(
        None,
        description="A string that a shell runs, or a list that runs without a shell. Without one, the entry point of"
        " `runtime.image` runs.",
    )
    args: Args | None = Field(
        None, description="Arguments for the entry point of `runtime.image`, instead of those that the image has."
    )
    resources: ResourcesIn = Field(default_factory=ResourcesIn)
    env: Env = Field(default_factory=dict, description="Variables of this role; they override the job's env.")
    ports: int = Field(
        0, ge=0, le=MAX_PORTS, description="The number of ports to reserve for each task; they are in MUSTER_PORTS."
    )
    stdin: bool = Field(False, description="Keep the standard input of each task open, for `muster attach`.")
    tty: bool = Field(False, description="Run each task at a terminal. It needs `stdin`.")
    completion: CompletionIn | None = Field(None, description="minFailed and minSucceeded, as OpenPAI groups them.")


class RetryIn(Strict):
    max: int = Field(0, ge=0, le=100, description="The number of retries, for failures that a retry can fix.")


class RuntimeIn(Strict):
    """The environment that tasks run in: one of `conda`, `venv` and `image`."""

    conda: str | None = Field(None, description="The name or path of a conda environment.")
    venv: str | None = Field(None, description="The path of a virtual environment.")
    image: str | None = Field(None, description="A container image.")
    workdir: Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(_workdir)] | None = Field(
        None,
        description="Where tasks start in the container: `image` for the WORKDIR of the image, or an absolute path in"
        " it. Without it they start in their working directory, which has the package. `image` has no effect without a"
        " container.",
    )
    pull_secret: Name | None = Field(
        None,
        description="The secret of yours with the credentials for the registry of the image: a docker config.json with"
        " `auths`.",
    )


class SetupIn(Strict):
    """A command that prepares a node for the tasks."""

    command: Command = Field(description="A string that a shell runs, or a list that runs without a shell.")
    cache: bool = Field(
        True, description="Whether later jobs with the same setup use what this one has prepared, and it theirs."
    )


class SshIn(Strict):
    """Who may log in to the tasks besides the tasks themselves."""

    authorized_keys: list[Annotated[str, Field(pattern=PUBLIC_KEY_PATTERN, max_length=16384)]] = Field(
        default_factory=list,
        max_length=MAX_SSH_KEYS,
        description="Public keys, as ssh-keygen writes them, without options before them.",
    )


class MountIn(Strict):
    """A folder of the cluster that tasks see: either a `source` or a `storage`."""

    source: str | None = Field(
        None, description="A folder of the cluster with or without a path in it, or an absolute path on the nodes."
    )
    storage: StorageName | None = Field(
        None, description="A storage by its name, which the cluster's file maps to one of the cluster's folders."
    )
    target: str = Field(
        description="Where tasks have it: an absolute path in the container, or a path in the working directory."
    )
    read_only: bool = Field(False, description="Whether tasks can only read there.")


class DependencyIn(Strict):
    """A job to wait for."""

    job: Name = Field(description="One of your own jobs, by name or id.")
    on: Needed = Field(Needed.SUCCEEDED, description="Whether the job must have succeeded, or only ended.")


class InputIn(Strict):
    """A file or folder that is sent to the nodes with the job."""

    source: str = Field(
        min_length=1,
        max_length=1024,
        description="A file or folder, relative to the job file, or the digest of one that was uploaded before.",
    )
    target: InnerPath | None = Field(
        None, description="The path in the working directory. The default is the name of the source."
    )


Inputs = Annotated[
    list[InputIn],
    BeforeValidator(
        _inputs, json_schema_input_type=str | InputIn | Annotated[list[str | InputIn], Field(max_length=MAX_INPUTS)]
    ),
]
MetricPattern = Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN), AfterValidator(_metric_pattern)]
Outputs = Annotated[
    list[InnerPath], BeforeValidator(_listed, json_schema_input_type=InnerPath | list[InnerPath]), Field(max_length=100)
]

Metrics = Annotated[
    list[MetricPattern],
    BeforeValidator(_listed, json_schema_input_type=MetricPattern | list[MetricPattern]),
    Field(max_length=MOST_PATTERNS),
]

SshField = Annotated[SshIn | None, BeforeValidator(_ssh, json_schema_input_type=bool | SshIn)]
SetupField = Annotated[SetupIn, BeforeValidator(_setup, json_schema_input_type=Command | SetupIn)]

After = Annotated[
    list[DependencyIn],
    BeforeValidator(
        _dependencies,
        json_schema_input_type=Name
        | DependencyIn
        | Annotated[list[Name | DependencyIn], Field(max_length=MAX_DEPENDENCIES)],
    ),
]


class SecretIn(Strict):
    """A secret of yours that the tasks get. `muster secret set NAME` stores its value."""

    name: Name = Field(description="The name of the secret.")
    env: Variable | None = Field(
        None, max_length=255, description="The variable with the value; with `file`, the variable with its path."
    )
    file: SecretPath | None = Field(
        None, description="The file with the value, in a private folder whose path is in MUSTER_SECRETS."
    )


class WhereIn(Strict):
    """The nodes that the job may run on, and how its tasks are placed on them."""

    nodes: NodeNames = Field(default_factory=list, description="Run only on these nodes.")
    not_nodes: NodeNames = Field(default_factory=list, description="Do not run on these nodes.")
    labels: dict[str, Text] = Field(default_factory=dict, description="Run only on nodes with all of these labels.")
    spread: Spread = Field(
        Spread.PACK, description="`pack` uses as few nodes as possible; `apart` puts every task on a different node."
    )
    together: Literal["rack", "switch", "node"] | None = Field(
        None, description="Place the whole gang in one rack, under one switch or on one node."
    )


class JobSpecIn(CompletionIn):
    """A distributed training job."""

    name: str = Field(pattern=NAME_PATTERN, description="At most 63 letters, digits, '.', '_' and '-'.")
    description: str = Field("", max_length=4096)
    cluster: str | None = Field(None, description="The cluster or virtual cluster. The default is that of the server.")
    framework: Framework = Field(
        Framework.PLAIN,
        description="The framework, which decides which variables a task gets. By default, it is taken from the"
        " launcher that the command runs, such as torchrun, and is otherwise `plain`. `none` means no variables.",
    )
    priority: Priority = Priority.NORMAL
    time_limit: Seconds | None = Field(None, description="An attempt is stopped after this time.")
    grace: Seconds = Field(10.0, description="The time between SIGTERM and SIGKILL. The default is 10s.")
    retry: RetryIn = Field(default_factory=RetryIn)
    env: Env = Field(default_factory=dict)
    params: dict[Variable, str | bool | int | Annotated[float, Field(allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="Parameters, kept in the history. Commands and env use them as ${params.NAME}.",
    )
    labels: dict[Annotated[str, Field(max_length=MAX_LABEL)], Annotated[Text, Field(max_length=MAX_LABEL)]] = Field(
        default_factory=dict,
        max_length=MAX_LABELS,
        description="Labels for filters, such as `muster get jobs --label k=v`.",
    )
    package: Annotated[str, AfterValidator(_package)] | None = Field(
        None,
        description="The folder with the code, which becomes the working directory of the tasks. CLUSTER:FOLDER/PATH is"
        " one that lies in a folder of the cluster already, and is used there.",
    )
    inputs: Inputs = Field(default_factory=list, description="Data for the tasks that is not part of the package.")
    outputs: Outputs = Field(
        default_factory=list,
        description="Files that are copied back when a task has ended, such as model/, metrics.json or logs/*.csv.",
    )
    metrics: Metrics = Field(
        default_factory=list,
        description="Regular expressions that find metrics in the lines of the first worker's log. The names of groups"
        " are those of metrics, as in `epoch (?P<step>[0-9]+) loss=(?P<loss>[0-9.]+)`.",
    )
    secrets: list[SecretIn] = Field(
        default_factory=list,
        max_length=MAX_SECRETS,
        description="Secrets that every task gets, each as a variable or as a file.",
    )
    runtime: RuntimeIn = Field(default_factory=RuntimeIn)
    setup: SetupField | None = Field(
        None,
        description="A command that runs once per node before the tasks, such as `pip install -r requirements.txt`."
        " Later jobs with the same setup and package use its result.",
    )
    mounts: list[MountIn] = Field(default_factory=list)
    ssh: SshField = Field(
        None,
        description="Whether the tasks reach each other as `ssh ROLE-INDEX`, with a key of the job. Nodes or image need"
        " OpenSSH's server and client.",
    )
    gloo: Literal[0, 1, 2] = Field(
        0, description="Gloo rings in a job with a ps role: 1 for the workers, 2 for workers and servers."
    )
    hold: bool = Field(False, description="Submit the job as Held, so that it starts only after `muster resume`.")
    after: After = Field(
        default_factory=list,
        description="The jobs to wait for: a name, a list of names, or mappings with `job` and `on`.",
    )
    where: WhereIn = Field(default_factory=WhereIn)
    preemptible: bool = Field(True, description="Whether the job may be preempted.")
    sweep: SweepIn | None = Field(None, description="Makes many jobs of this one, which differ in their params.")
    roles: dict[Annotated[str, Field(pattern=ROLE_PATTERN)], RoleIn] | None = Field(
        None, min_length=1, max_length=32, description="The roles by name; `ps` and `worker` have a special meaning."
    )
    command: Command | None = Field(
        None, description="In a job without roles: the command, if it is not the entry point of the image."
    )
    args: Args | None = Field(
        None, description="In a job without roles: arguments for the entry point of the image, instead of its own."
    )
    replicas: int | None = Field(
        None, ge=0, le=MAX_REPLICAS, description="In a job without roles: the number of tasks."
    )
    min: int | None = Field(
        None, ge=1, le=MAX_REPLICAS, description="In a job without roles: the job may start with this many tasks."
    )
    max: int | None = Field(
        None, ge=1, le=MAX_REPLICAS, description="In a job without roles: the job may grow to this many tasks."
    )
    resources: ResourcesIn | None = Field(None, description="In a job without roles: the resources of each task.")
    ports: int | None = Field(
        None, ge=0, le=MAX_PORTS, description="In a job without roles: the number of ports to reserve for each task."
    )
    stdin: bool | None = Field(
        None, description="In a job without roles: keep standard input open, for `muster attach`."
    )
    tty: bool | None = Field(None, description="In a job without roles: run each task at a terminal. It needs `stdin`.")


def spec_json_schema() -> dict[str, Any]:
    schema = _closed(JobSpecIn.model_json_schema(by_alias=True))
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Muster job"
    return schema


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Forbid names that match no pattern: pydantic writes the patterns but allows all other names."""
    closed = {key: _closed_inside(value) for key, value in schema.items()}
    return {**closed, "additionalProperties": False} if "patternProperties" in closed else closed


def _closed_inside(value: Any) -> Any:
    if isinstance(value, list):
        return [_closed_inside(item) for item in value]
    return _closed(value) if isinstance(value, dict) else value
