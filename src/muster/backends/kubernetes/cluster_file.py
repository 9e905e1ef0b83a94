"""How a Kubernetes cluster is written in cluster files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BeforeValidator, Field

from muster.backends.kubernetes.names import DIGEST_LENGTH
from muster.backends.kubernetes.options import AMD, NVIDIA, JobObjects, KubernetesOptions, Scheduling
from muster.backends.kubernetes.volumes import CLAIM
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.pools import PoolCapacity
from muster.kubernetes.pod_groups import DEFAULT_SCHEDULER, VOLCANO_SCHEDULER
from muster.launch.containers import is_reference
from muster.lib.nearest import nearest
from muster.settings.cluster_kinds import ClusterKind
from muster.wire.cluster_problems import Parts
from muster.wire.physical_schema import FolderIn, FolderName, SharedIn, plain
from muster.wire.spec_schema import Bytes, Cpu, Seconds, Strict, Text

IN_CLUSTER = "in-cluster"
_SOURCES = ("claim", "hostPath", "nfs", "configMap")


def _namespace(value: str) -> str:
    if value == "{user}":
        raise ValueError("expected more than {user}, such as muster-{user}: users could get namespaces of others")
    shown = value.replace("{user}", "x" * DIGEST_LENGTH, 1)
    if not (0 < len(shown) <= 63 and shown.replace("-", "a").isalnum() and shown == shown.lower().strip("-")):
        raise ValueError("expected the name of a namespace, in which {user} may stand for the user")
    return value


def _one_namespace(value: str) -> str:
    if "{user}" in value:
        raise ValueError("expected the name of a namespace")
    return _namespace(value)


Namespace = Annotated[str, AfterValidator(_one_namespace)]


def _labels(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError("expected a mapping of labels, such as {pool: training}")
    return value


def _image(value: str) -> str:
    if not is_reference(value):
        raise ValueError("expected the name of an image, such as paddle:2.6.1")
    return value


Image = Annotated[Text, AfterValidator(_image)]


def _absolute_file(value: str) -> str:
    if value != IN_CLUSTER and not value.startswith("/"):
        raise ValueError(f"expected the absolute path of a file on the server, or {IN_CLUSTER}")
    return plain(value)


def _folders(value: Any) -> Any:
    """A path alone is a folder of the nodes. Where tasks have a folder, if their mount says nothing else, follows from
    its name."""
    if not isinstance(value, Mapping):
        return value
    return {name: _folder(name, folder) for name, folder in value.items()}


def _folder(name: Any, folder: Any) -> Any:
    if isinstance(folder, str):
        return {"hostPath": folder, "path": folder}
    if isinstance(folder, Mapping) and "path" not in folder:
        return {**folder, "path": folder.get("hostPath") or f"/folders/{name}"}
    return folder


class NfsIn(Strict):
    """A folder of an NFS server."""

    server: Text
    path: Text


class KubernetesFolderIn(FolderIn):
    """A folder that jobs use by its name, and where its files are: one of claim, hostPath, nfs and configMap."""

    claim: Text | None = Field(None, description="The PersistentVolumeClaim with its files, in the tasks' namespace.")
    host_path: Text | None = Field(None, description="The folder of the nodes with its files.")
    nfs: NfsIn | None = Field(None, description="The NFS server and the path there.")
    config_map: Text | None = Field(None, description="The ConfigMap whose keys are its files.")

    def source(self) -> dict[str, Any]:
        """The volume as a pod has it."""
        if self.claim is not None:
            return {"persistentVolumeClaim": {"claimName": self.claim}}
        if self.nfs is not None:
            return {"nfs": {"server": self.nfs.server, "path": self.nfs.path}}
        if self.config_map is not None:
            return {"configMap": {"name": self.config_map}}
        return {"hostPath": {"path": self.host_path}}

    def sources(self) -> int:
        return sum(one is not None for one in (self.claim, self.host_path, self.nfs, self.config_map))


class TolerationIn(Strict):
    """A taint of nodes that tasks tolerate, as in Kubernetes."""

    key: Text | None = None
    operator: Literal["Exists", "Equal"] | None = None
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None


class HeadStartIn(Strict):
    """How much more than what is free may be handed over, to wait in the cluster."""

    cpu: Cpu = Field(0, description="CPU cores.")
    memory: Bytes = Field(0, description="Memory, such as 64Gi.")
    gpus: dict[str, int] = Field(default_factory=dict, description="GPUs by model.")
    devices: dict[str, int] = Field(default_factory=dict, description="Devices other than GPUs, by resource.")

    def capacity(self) -> PoolCapacity:
        return PoolCapacity(self.cpu, self.memory, dict(self.gpus), dict(self.devices))


class KubernetesIn(SharedIn):
    """A Kubernetes cluster, which places tasks itself."""

    kubeconfig: Annotated[str, AfterValidator(_absolute_file)] = Field(
        IN_CLUSTER, description=f"A file on the server; {IN_CLUSTER}: the account of the pod in which the server runs."
    )
    context: Text | None = Field(None, description="The context of the kubeconfig; its current one if absent.")
    namespace: Annotated[str, AfterValidator(_namespace)] | None = Field(
        None, description="Where tasks run: one namespace, or one for each user such as muster-{user}."
    )
    image: Image | None = Field(None, description="The image of tasks whose job names none.")
    init_image: Image | None = Field(
        None, description="The image that brings packages, with Python 3 or curl and tar; that of the task if absent."
    )
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    image_pull_timeout: Seconds = Field(
        600.0, description="A task whose image a node has failed to pull for this long is given up."
    )
    image_pull_secrets: list[Text] = Field(default_factory=list, description="Secrets of the namespace for registries.")
    node_selector: Annotated[dict[str, str], BeforeValidator(_labels)] = Field(
        default_factory=dict, description="Labels of the nodes that run tasks."
    )
    tolerations: list[TolerationIn] = Field(default_factory=list, description="Taints that tasks tolerate.")
    service_account: Text | None = Field(None, description="The account of tasks; they have no token if absent.")
    priority_class: Text | None = Field(None, description="The PriorityClass of pods.")
    runtime_class: Text | None = Field(None, description="The RuntimeClass of pods.")
    scheduler: Text | None = Field(None, description="The scheduler of pods; the cluster's default if absent.")
    security_context: dict[str, Any] = Field(default_factory=dict, description="The pods' securityContext.")
    folders: Annotated[dict[FolderName, KubernetesFolderIn], BeforeValidator(_folders)] = Field(  # type: ignore[assignment]
        default_factory=dict, description="Folders by name: a PVC, a ConfigMap, a folder of an NFS server or of nodes."
    )
    claims: bool = Field(
        False,
        description="Jobs may mount any PersistentVolumeClaim of the tasks' namespace as a storage, by its name.",
    )
    gpu_resources: list[Text] = Field(
        default_factory=lambda: [NVIDIA, AMD], min_length=1, description="The resources that are GPUs."
    )
    gpu_models: dict[str, str] = Field(
        default_factory=dict, description="What Muster calls the GPUs that a label of a node names."
    )
    head_start: HeadStartIn = Field(
        default_factory=HeadStartIn, description="How much may wait in the cluster, for one that adds nodes on demand."
    )
    jobs: JobObjects = Field(
        JobObjects.AUTO, description="Whether Paddle jobs become PaddleJobs of the operator: auto, paddlejob or pods."
    )
    scheduling: Scheduling = Field(
        Scheduling.NONE,
        description="Who starts all pods of a gang or none: kubernetes or volcano, by a PodGroup; none: Muster alone.",
    )
    show_others: bool | list[Namespace] = Field(
        False,
        description="Show PaddleJobs that were not made with Muster: true for those of all namespaces, or a list.",
    )
    lost_after: Seconds = Field(60.0, description="Tasks on a node that is not ready for this long are lost.")


def _complete(cluster: PhysicalCluster, model: KubernetesIn) -> PhysicalCluster:
    options = KubernetesOptions(
        kubeconfig=None if model.kubeconfig == IN_CLUSTER else Path(model.kubeconfig),
        context=model.context,
        namespace=model.namespace,
        image=model.image,
        image_pull_policy=model.image_pull_policy,
        image_pull_timeout_s=model.image_pull_timeout,
        image_pull_secrets=tuple(model.image_pull_secrets),
        init_image=model.init_image,
        node_selector=dict(model.node_selector),
        tolerations=tuple(one.model_dump(exclude_none=True) for one in model.tolerations),
        service_account=model.service_account,
        priority_class=model.priority_class,
        runtime_class=model.runtime_class,
        scheduler=model.scheduler,
        security_context=dict(model.security_context),
        volumes={name: folder.source() for name, folder in model.folders.items()},
        gpu_resources=tuple(model.gpu_resources),
        gpu_models=dict(model.gpu_models),
        head_start=model.head_start.capacity(),
        jobs=model.jobs,
        scheduling=model.scheduling,
        shows_foreign_jobs=bool(model.show_others),
        foreign_namespaces=tuple(model.show_others) if isinstance(model.show_others, list) else (),
    )
    claims = CLAIM if model.claims else ""
    return replace(cluster, lost_after_s=model.lost_after, other_storages=claims, options=options)


def _problems(model: KubernetesIn) -> Iterable[Problem]:
    return [*_folder_problems(model), *_kubeconfig_problems(model), *_scheduling_problems(model)]


def _scheduling_problems(model: KubernetesIn) -> Iterator[Problem]:
    """A PodGroup means nothing to another scheduler than its own."""
    own = {Scheduling.KUBERNETES: DEFAULT_SCHEDULER, Scheduling.VOLCANO: VOLCANO_SCHEDULER}.get(model.scheduling)
    if own is not None and model.scheduler not in (None, own):
        yield Problem("scheduler", f"`scheduling: {model.scheduling}` needs the scheduler {own}", "leave it out")


def _folder_problems(model: KubernetesIn) -> Iterator[Problem]:
    for name, folder in model.folders.items():
        if folder.sources() != 1:
            how = "says nothing about where its files are" if not folder.sources() else "says twice where its files are"
            yield Problem(f"folders.{name}", how, f"give one of {', '.join(_SOURCES)}")


def _kubeconfig_problems(model: KubernetesIn) -> Iterator[Problem]:
    if model.kubeconfig == IN_CLUSTER:
        if model.context is not None:
            yield Problem("context", "there is no kubeconfig that could have it", "name the file in `kubeconfig`")
        return
    try:
        found = yaml.safe_load(Path(model.kubeconfig).read_text())
    except OSError as error:
        yield Problem("kubeconfig", f"{model.kubeconfig} cannot be read: {error.strerror}", "it is on the server")
        return
    except (yaml.YAMLError, UnicodeDecodeError):
        yield Problem("kubeconfig", f"{model.kubeconfig} is not a kubeconfig", "`kubectl config view` writes one")
        return
    listed = found.get("contexts") if isinstance(found, Mapping) else None
    names = [str(one.get("name")) for one in listed or () if isinstance(one, Mapping)]
    if not names:
        yield Problem("kubeconfig", f"{model.kubeconfig} has no contexts", "`kubectl config view` writes one")
    elif model.context is not None and model.context not in names:
        guess = nearest(model.context, names)
        hint = f"did you mean {guess}?" if guess else f"it has {', '.join(names)}"
        yield Problem("context", f"the kubeconfig has no context {model.context!r}", hint)


_PARTS: Parts = {"folders": KubernetesFolderIn, "tolerations": TolerationIn, "headStart": HeadStartIn}
KUBERNETES_CLUSTERS = ClusterKind("kubernetes", KubernetesIn, _PARTS, _complete, _problems)
