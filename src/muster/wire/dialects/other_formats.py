"""Names the formats that Muster does not read, so that their authors learn what they have and what to do instead."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OtherFormat:
    what: str
    """The format's name with its article, for a sentence."""
    instead: str


_JOB = "Write a Muster spec with the command of"
_SERVES = "Muster runs jobs that end; `muster run` with `muster port-forward` serves for a while"
_OF_DSTACK = {
    "dev-environment": ("a dstack dev environment", "`muster notebook` or `muster run -it` is the same here"),
    "service": ("a dstack service", _SERVES),
    "fleet": ("a dstack fleet", "Machines are described in the files of clusters (`muster node add`)"),
    "gateway": ("a dstack gateway", _SERVES),
    "volume": ("a dstack volume", "Folders of a cluster are described in its file, and `mounts` uses them"),
}
_OF_KUBERNETES = {
    "Deployment": f"{_SERVES}. Its container can be a role of a Muster spec",
    "StatefulSet": f"{_SERVES}. Its container can be a role of a Muster spec",
    "DaemonSet": f"{_SERVES}. Its container can be a role of a Muster spec",
    "Service": "Tasks of a Muster job find each other without one",
    "CronJob": "Submit a Muster spec from cron",
    "Workflow": "Write a Muster spec for each step, and say in `after` which one waits for which",
    "RayJob": "Write a Muster spec whose first task runs `ray start --head` and the entrypoint",
    "RayCluster": "Write a Muster spec whose first task runs `ray start --head`",
    "SparkApplication": f"{_JOB} spark-submit",
    "JobSet": "Write a Muster spec with a role for each replicated job",
    "List": "Take the items out, one job per document",
    "ConfigMap": "Put its files into the package of the job",
    "Secret": "`muster secret set NAME` stores secrets",
    "PersistentVolumeClaim": "Folders of a cluster are described in its file, and `mounts` uses them",
}


def _keys(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda data: all(name in data for name in names)


def _of(key: str, of_each: Callable[[Mapping[str, Any]], bool]) -> Callable[[Mapping[str, Any]], bool]:
    """Whether the key has a mapping whose values are mappings, of which one is as it should be."""

    def is_so(data: Mapping[str, Any]) -> bool:
        inner = data.get(key)
        return isinstance(inner, dict) and any(isinstance(one, dict) and of_each(one) for one in inner.values())

    return is_so


def _has_tasks(key: str, of_each: str) -> Callable[[Mapping[str, Any]], bool]:
    """Whether the key has a list of mappings, of which one has a certain key."""

    def is_so(data: Mapping[str, Any]) -> bool:
        inner = data.get(key)
        return isinstance(inner, list) and any(isinstance(one, dict) and of_each in one for one in inner)

    return is_so


_AWS_BATCH = OtherFormat("an AWS Batch job", f"{_JOB} its container, and its `resourceRequirements` as `resources`")
_NOMAD = OtherFormat("a Nomad job", f"{_JOB} its tasks, a role for each task group")
_BY_TEXT = (
    ((re.compile(r'(?m)^[ \t]*job[ \t]+"[^"\n]*"[ \t]*\{'),), _NOMAD),
    (
        (re.compile(r"(?mi)^[ \t]*(?:executable|universe)[ \t]*="), re.compile(r"(?mi)^[ \t]*queue\b")),
        OtherFormat("a submit file of HTCondor", f"{_JOB} its `executable`, and a job for each element of its `queue`"),
    ),
    (
        (re.compile(r"(?m)^(?:from|import)[ \t]+airflow\b"),),
        OtherFormat("a DAG of Airflow", "Run `muster submit --wait` in a task of it"),
    ),
)
"""Formats that are neither YAML nor JSON, by the patterns of which such a text has all."""

_BY_KEYS: tuple[tuple[Callable[[Mapping[str, Any]], bool], OtherFormat], ...] = (
    (
        _of("jobs", lambda job: "steps" in job or "runs-on" in job or "uses" in job),
        OtherFormat("a GitHub workflow", "Run `muster submit` in a step of it"),
    ),
    (_keys("jobs", "workflows"), OtherFormat("a CircleCI configuration", "Run `muster submit` in a step of it")),
    (
        _of("services", lambda one: "image" in one or "build" in one),
        OtherFormat(
            "a docker-compose file", "Write a Muster spec with a role for each service that is part of the job"
        ),
    ),
    (
        _keys("entrypoint", "searcher"),
        OtherFormat("a Determined experiment", f"{_JOB} its `entrypoint`, and its hyperparameters as `params`"),
    ),
    (
        _keys("entrypoint", "runtime_env"),
        OtherFormat("a Ray job", f"{_JOB} its `entrypoint`, and its `pip` packages as `setup`"),
    ),
    (
        _keys("cluster_name", "provider"),
        OtherFormat("a Ray cluster", "Write a Muster spec whose first task runs `ray start --head`"),
    ),
    (_keys("entry_points"), OtherFormat("an MLproject", f"{_JOB} one entry point, and its parameters as `params`")),
    (
        lambda data: "workerPoolSpecs" in data or "jobSpec" in data,
        OtherFormat("a Vertex AI job", "Write a Muster spec with a role for each worker pool"),
    ),
    (
        _keys("trainingInput"),
        OtherFormat("a job of Google's AI Platform", "Write a Muster spec with a role for each kind of worker"),
    ),
    (_keys("jobQueue", "jobDefinition"), _AWS_BATCH),
    (_keys("jobDefinitionName"), _AWS_BATCH),
    (
        lambda data: isinstance(job := data.get("Job"), dict) and ("TaskGroups" in job or "Datacenters" in job),
        _NOMAD,
    ),
    (
        _has_tasks("taskGroups", "taskSpec"),
        OtherFormat("a Google Cloud Batch job", f"{_JOB} its `runnables`, a role for each task group"),
    ),
    (
        _has_tasks("tasks", "task_key"),
        OtherFormat(
            "a Databricks job", "Write a Muster spec for each task, and say in `after` which one waits for which"
        ),
    ),
    (
        _of("jobs", lambda job: job.get("type") in ("command", "sweep", "pipeline") or "component" in job),
        OtherFormat(
            "an Azure ML pipeline", "Write a Muster spec for each job, and say in `after` which one waits for which"
        ),
    ),
    (
        _keys("cwlVersion", "class"),
        OtherFormat("a CWL workflow", f"{_JOB} its `baseCommand`"),
    ),
    (
        lambda data: "prefect-version" in data and "deployments" in data,
        OtherFormat("a Prefect deployment", "Run `muster submit --wait` in a task of its flow"),
    ),
    (
        lambda data: data.get("kind") in ("component", "operation") and "version" in data,
        OtherFormat("a Polyaxon file", f"{_JOB} its `container`"),
    ),
    (
        lambda data: isinstance(script := data.get("script"), str) and script.startswith("#!") and "job" in data,
        OtherFormat("a submission for slurmrestd", "Save its `script` with #SBATCH lines, which Muster reads"),
    ),
    (
        _keys("socket_info", "visible_folders"),
        OtherFormat(
            "the settings of a master/slaver task manager", "`muster import FOLDER` reads the folder around it"
        ),
    ),
    (
        lambda data: "ProcessingJobName" in data or "TransformJobName" in data,
        OtherFormat("a SageMaker job", f"{_JOB} its container"),
    ),
    (
        _keys("TrainingJobName"),
        OtherFormat("a SageMaker training job", f"{_JOB} its container, and its hyperparameters as `params`"),
    ),
    (
        lambda data: "macros" in data and isinstance(data.get("roles"), list),
        OtherFormat("a TorchX application", "Write a Muster spec with the same roles, each with a `command`"),
    ),
    (_keys("compute_environment"), OtherFormat("a configuration of Accelerate", f"{_JOB} `accelerate launch`")),
    (_keys("program", "method"), OtherFormat("a sweep of Weights & Biases", f"{_JOB} `wandb agent`")),
    (_keys("channels", "dependencies"), OtherFormat("a conda environment", "`runtime.conda` names one of the nodes")),
    (
        _of("stages", lambda one: "cmd" in one),
        OtherFormat("a DVC pipeline", f"{_JOB} `dvc repro`"),
    ),
    (
        lambda data: isinstance(data.get("stages"), list) and _any_script(data),
        OtherFormat("a GitLab pipeline", "Run `muster submit` in one of its jobs"),
    ),
    (_keys("pipelineInfo"), OtherFormat("a compiled Kubeflow pipeline", "Write a Muster spec for each component")),
    (_keys("workflows"), OtherFormat("a file of workflows of an old dstack", f"{_JOB} each of them")),
    (
        lambda data: isinstance(data.get("service"), dict) and ("run" in data or "resources" in data),
        OtherFormat("a SkyPilot service", f"{_SERVES}. Without `service` it is a SkyPilot task, which Muster reads"),
    ),
)


def _any_script(data: Mapping[str, Any]) -> bool:
    return any(isinstance(one, dict) and "script" in one for one in data.values())


def named_text(text: str) -> OtherFormat | None:
    """What a text is that is neither YAML nor JSON, if it is one of the known formats."""
    return next((other for patterns, other in _BY_TEXT if all(one.search(text) for one in patterns)), None)


def named(data: Mapping[str, Any]) -> OtherFormat | None:
    """What a document is that no dialect reads; None if it may be a Muster spec. Never raises."""
    if (found := named_for_certain(data)) is not None:
        return found
    kind = data.get("type")
    if isinstance(kind, str) and kind in _OF_DSTACK:
        return OtherFormat(*_OF_DSTACK[kind])
    return next((other for is_so, other in _BY_KEYS if is_so(data)), None)


def named_for_certain(data: Mapping[str, Any]) -> OtherFormat | None:
    """What a document is although it has keys of a Muster spec, such as `command`, too."""
    schema = data.get("$schema")
    named = [value for key in ("compute", "environment") if isinstance(value := data.get(key), str)]
    if (isinstance(schema, str) and "azureml" in schema) or any(value.startswith("azureml:") for value in named):
        return OtherFormat("an Azure ML job", f"{_JOB} its `command`, and its `environment` as `runtime.image`")
    if "apiVersion" in data and "kind" in data:
        kind = str(data["kind"])
        instead = _OF_KUBERNETES.get(kind, f"{_JOB} its containers, a role for each kind of pod")
        return OtherFormat(f"a Kubernetes {kind} ({data['apiVersion']})", instead)
    if "protocolVersion" in data:
        version = data["protocolVersion"]
        return OtherFormat(f"an OpenPAI job of protocol {version!r}", "Write it in protocol 2")
    if isinstance(data.get("roles"), list) and "macros" in data:
        return OtherFormat("a TorchX application", "Write a Muster spec with the same roles, each with a `command`")
    return None
