"""The settings of a Kubernetes cluster that only its backend knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from muster.domain.pools import PoolCapacity

NVIDIA, AMD = "nvidia.com/gpu", "amd.com/gpu"
GPU_LABELS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name")
"""Labels of nodes that name the model of their GPUs, as the makers' own tools set them."""


class JobObjects(StrEnum):
    """What a gang becomes in the cluster."""

    AUTO = "auto"
    """A PaddleJob if the job is one and the cluster has the resource, otherwise pods."""
    PADDLE_JOB = "paddlejob"
    PODS = "pods"


class Scheduling(StrEnum):
    """Who starts all pods of a gang or none."""

    NONE = "none"
    """Muster alone, by what it admits. Others may take room in between."""
    KUBERNETES = "kubernetes"
    """The scheduler of Kubernetes, by a PodGroup of scheduling.k8s.io."""
    VOLCANO = "volcano"


@dataclass(frozen=True, slots=True)
class KubernetesOptions:
    kubeconfig: Path | None = None
    """None means the account of the pod in which the server runs."""
    context: str | None = None
    namespace: str | None = None
    """The namespace of all tasks, or a template with `{user}`. None: the namespace of the kubeconfig."""
    image: str | None = None
    """The image of tasks whose job names none."""
    image_pull_policy: str | None = None
    image_pull_timeout_s: float = 600.0
    """How long a node may fail to pull the image of a task before the task is given up."""
    image_pull_secrets: tuple[str, ...] = ()
    init_image: str | None = None
    """The image of the step that brings packages; the image of the task if it is None."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    service_account: str | None = None
    priority_class: str | None = None
    runtime_class: str | None = None
    scheduler: str | None = None
    security_context: Mapping[str, Any] = field(default_factory=dict)
    volumes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The volume in which the files of each named folder are: a volume source as a pod has it."""
    gpu_resources: tuple[str, ...] = (NVIDIA, AMD)
    gpu_models: Mapping[str, str] = field(default_factory=dict)
    """How Muster calls the GPUs that a label of a node names."""
    head_start: PoolCapacity = field(default_factory=PoolCapacity)
    jobs: JobObjects = JobObjects.AUTO
    scheduling: Scheduling = Scheduling.NONE
    shows_foreign_jobs: bool = False
    """Whether PaddleJobs that this server has not made are shown."""
    foreign_namespaces: tuple[str, ...] = ()
    """The namespaces in which they are looked for; none means all."""

    @property
    def is_per_user(self) -> bool:
        return "{user}" in (self.namespace or "")
