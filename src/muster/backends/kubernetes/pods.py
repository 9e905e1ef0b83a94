"""The pod of one task, as it is created."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.backends.kubernetes import preparation
from muster.backends.kubernetes.names import FILE_PREFIX, GANG, JOB_NAME, OWNER, TASK, gang_name, host_name, pod_name
from muster.backends.kubernetes.node_rules import affinity
from muster.backends.kubernetes.options import KubernetesOptions
from muster.backends.kubernetes.pod_state import INIT, KEEPER, MAIN
from muster.backends.kubernetes.volumes import (
    FILES,
    SECRETS,
    SECRETS_FOLDER,
    TASK_FOLDER,
    WORK,
    Volumes,
    add_cluster_folders,
    add_own_folders,
    add_work_in_task_folder,
)
from muster.domain.clusters import PhysicalCluster
from muster.domain.gangs import Gang
from muster.domain.launch_requests import LaunchRequest
from muster.domain.resources import LEAST_CPU_M, Resources
from muster.domain.specs import IMAGE_WORKDIR, SecretUse
from muster.domain.tasks import Task
from muster.launch.secret_variables import FOLDER_VARIABLE
from muster.launch.setups import ENTRY_VARIABLE

_STEP_KEYS = (preparation.SHELL, preparation.PYTHON, preparation.PEERS, preparation.CERTIFICATE)
_EXPANDED = re.compile(r"\$(?=[$(])")
_FOR_EVER = "2147483647"
ARCHIVES = "archives"
"""The volume with the addresses of archives, which only the preparing step sees."""


@dataclass(frozen=True, slots=True)
class GpuChoice:
    """How a task asks for GPUs of the models that it takes: the resource, and the labels that nodes have for them."""

    resource: str
    products: Mapping[str, Iterable[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PodPlan:
    """What the pods of a gang have in common."""

    gang: Gang
    cluster: PhysicalCluster
    options: KubernetesOptions
    labels: Mapping[str, str]
    shared_files: frozenset[str]
    """The files that are the same for all tasks; they are in the gang's own object."""
    is_prepared: bool
    """Whether a step runs before the tasks."""
    own_name: str
    """The name of the gang's own objects."""

    def pod(
        self, task: Task, request: LaunchRequest, gpus: GpuChoice | None, owner: Mapping[str, Any]
    ) -> dict[str, Any]:
        """`owner` refers to the gang's own object."""
        own_files = {name: text for name, text in request.files.items() if name not in self.shared_files}
        annotations = {JOB_NAME: self.gang.spec.name, OWNER: self.gang.owner}
        annotations |= {f"{FILE_PREFIX}{name}": text for name, text in own_files.items()}
        return {
            "metadata": {
                "name": pod_name(task.id),
                "labels": {**self.labels, TASK: task.id, GANG: self.gang.key},
                "annotations": annotations,
                "ownerReferences": [dict(owner)],
            },
            "spec": self._spec(task, request, gpus, own_files),
        }

    def _spec(
        self, task: Task, request: LaunchRequest, gpus: GpuChoice | None, own_files: Mapping[str, str]
    ) -> dict[str, Any]:
        options, spec = self.options, self.gang.spec
        found = Volumes()
        add_own_folders(found, request.memory_bytes)
        if spec.runtime.workdir:
            add_work_in_task_folder(found)
        self._add_files(found, request, own_files)
        if any(use.file for use in request.secrets):
            found.add(SECRETS, self._secret_files(request.secrets), {"mountPath": SECRETS_FOLDER, "readOnly": True})
        add_cluster_folders(found, spec, self.cluster, options)
        image = request.image or options.image or ""
        main = {
            "name": MAIN,
            "image": image,
            **({"imagePullPolicy": options.image_pull_policy} if options.image_pull_policy else {}),
            **({"command": [unexpanded(word) for word in request.argv]} if request.argv else {}),
            **({"args": [unexpanded(word) for word in request.args]} if request.args else {}),
            **_working_folder(request),
            "env": self._variables(request),
            "resources": resources(spec.role(task.role).resources, gpus),
            "volumeMounts": found.mounts,
            "securityContext": {"allowPrivilegeEscalation": False},
        }
        own_login = (registry_secret_name(self.own_name),) if request.pull_secret else ()
        rules = affinity(spec.where, self.gang.key, gpus.products if gpus is not None else {})
        pod: dict[str, Any] = {
            "restartPolicy": "Never",
            # As the first process of a container, a program would ignore signals for which it has no handler.
            "shareProcessNamespace": True,
            "hostname": host_name(task.role, task.index),
            "subdomain": gang_name(self.gang.key),
            "enableServiceLinks": False,
            "automountServiceAccountToken": options.service_account is not None,
            "terminationGracePeriodSeconds": max(1, math.ceil(spec.grace_s)),
            "initContainers": [self._init(image, request, found)] if self.is_prepared else [],
            "containers": [main, *([self._keeper(image)] if spec.outputs else [])],
            "volumes": found.volumes,
            "serviceAccountName": options.service_account,
            "nodeSelector": dict(options.node_selector),
            "tolerations": [dict(one) for one in options.tolerations],
            "affinity": rules,
            "imagePullSecrets": [{"name": name} for name in (*own_login, *options.image_pull_secrets)],
            "priorityClassName": options.priority_class,
            "runtimeClassName": options.runtime_class,
            "schedulerName": options.scheduler,
            "securityContext": dict(options.security_context),
        }
        return {key: value for key, value in pod.items() if value not in (None, [], {})}

    def _init(self, image: str, request: LaunchRequest, found: Volumes) -> dict[str, Any]:
        gang = self.own_name
        items = [{"key": key, "path": key} for key in _STEP_KEYS]
        mounts = [
            {"name": WORK, "mountPath": preparation.WORK_FOLDER},
            {"name": "prepare", "mountPath": preparation.SCRIPTS_FOLDER, "readOnly": True},
        ]
        found.volumes.append({"name": "prepare", "configMap": {"name": gang, "items": items}})
        if request.digests:
            secret = {"secretName": gang, "items": [{"key": preparation.PLAN, "path": preparation.PLAN}]}
            found.volumes.append({"name": ARCHIVES, "secret": secret})
            mounts.append({"name": ARCHIVES, "mountPath": preparation.PLAN_FOLDER, "readOnly": True})
        policy = self.options.image_pull_policy
        return {
            "name": INIT,
            "image": self.options.init_image or image,
            **({"imagePullPolicy": policy} if policy else {}),
            "command": list(preparation.COMMAND),
            "workingDir": preparation.WORK_FOLDER,
            "env": [
                {"name": "HOME", "value": preparation.WORK_FOLDER},
                *([{"name": preparation.OUTPUTS_VARIABLE, "value": "yes"}] if self.gang.spec.outputs else []),
            ],
            "resources": {"requests": {"cpu": f"{LEAST_CPU_M}m"}},
            "volumeMounts": mounts,
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "securityContext": {"allowPrivilegeEscalation": False},
        }

    def _keeper(self, image: str) -> dict[str, Any]:
        """It keeps the working directory after the task's end, until the server has collected the outputs there."""
        policy = self.options.image_pull_policy
        return {
            "name": KEEPER,
            "image": self.options.init_image or image,
            **({"imagePullPolicy": policy} if policy else {}),
            "command": ["sleep", _FOR_EVER],
            "resources": {"requests": {"cpu": f"{LEAST_CPU_M}m"}},
            "volumeMounts": [{"name": WORK, "mountPath": preparation.WORK_FOLDER, "readOnly": True}],
            "securityContext": {"allowPrivilegeEscalation": False},
        }

    def _add_files(self, found: Volumes, request: LaunchRequest, own_files: Mapping[str, str]) -> None:
        shared = [{"key": name, "path": name} for name in sorted(self.shared_files & request.files.keys())]
        own = [
            {"path": name, "fieldRef": {"fieldPath": f"metadata.annotations['{FILE_PREFIX}{name}']"}}
            for name in sorted(own_files)
        ]
        sources: list[dict[str, Any]] = []
        if shared:
            sources.append({"configMap": {"name": self.own_name, "items": shared}})
        if own:
            sources.append({"downwardAPI": {"items": own}})
        shown = [(TASK_FOLDER, name) for name in sorted(request.files)]
        shown += [("", name) for name in sorted(request.root_files.read)]
        places = ({"mountPath": f"{folder}/{name}", "subPath": name, "readOnly": True} for folder, name in shown)
        if sources:
            found.add(FILES, {"projected": {"sources": sources}}, *places)

    def _secret_files(self, uses: Iterable[SecretUse]) -> dict[str, Any]:
        items = [{"key": secret_key(use.name), "path": use.file} for use in uses if use.file]
        return {"secret": {"secretName": self.own_name, "items": items, "defaultMode": secret_mode(self.options)}}

    def _variables(self, request: LaunchRequest) -> list[dict[str, Any]]:
        # A job that starts where its image says expects the home folder there, too.
        home = {"HOME": preparation.WORK_FOLDER} if request.workdir is None else {}
        given = {**home, **request.env, "MUSTER_TASK_DIR": TASK_FOLDER}
        given.pop("MUSTER_NODE", None)
        if request.setup is not None:
            given[ENTRY_VARIABLE] = f"{TASK_FOLDER}/setup"
        found: list[dict[str, Any]] = [{"name": name, "value": unexpanded(value)} for name, value in given.items()]
        found.append({"name": "MUSTER_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}})
        secret = self.own_name
        for use in request.secrets:
            if use.file and use.env:
                found.append({"name": use.env, "value": f"{SECRETS_FOLDER}/{use.file}"})
            elif use.env:
                key = {"name": secret, "key": secret_key(use.name)}
                found.append({"name": use.env, "valueFrom": {"secretKeyRef": key}})
        if any(use.file for use in request.secrets):
            found.append({"name": FOLDER_VARIABLE, "value": SECRETS_FOLDER})
        return found


def _working_folder(request: LaunchRequest) -> dict[str, str]:
    if request.workdir == IMAGE_WORKDIR:
        return {}
    return {"workingDir": request.workdir or preparation.WORK_FOLDER}


def secret_mode(options: KubernetesOptions) -> int:
    """The mode of files with secrets. They belong to root, and images choose whom their programs run as: 0400 suits
    only tasks that are known to run as root. With an fsGroup, Kubernetes itself lets that group read them."""
    context = options.security_context
    return 0o400 if context.get("runAsUser") == 0 or context.get("fsGroup") is not None else 0o444


def resources(asked: Resources, gpus: GpuChoice | None) -> dict[str, Any]:
    """Memory and devices are reserved and limited to the same amount. CPU is reserved, and more of it may be used if it
    is idle."""
    requests, limits = {"cpu": f"{max(asked.cpu_m, LEAST_CPU_M)}m"}, {}
    if asked.memory_bytes:
        requests["memory"] = limits["memory"] = str(asked.memory_bytes)
    if gpus is not None and asked.gpus:
        requests[gpus.resource] = limits[gpus.resource] = str(asked.gpus)
    for name, count in asked.extended:
        requests[name] = limits[name] = str(count)
    return {"requests": requests, **({"limits": limits} if limits else {})}


def unexpanded(text: str) -> str:
    """The text so that Kubernetes, which replaces `$(NAME)` in commands and variables, leaves it as it is."""
    return _EXPANDED.sub("$$", text)


def registry_secret_name(own_name: str) -> str:
    """The name of the gang's object with credentials for a registry. Kubernetes wants one of a type of its own."""
    return f"{own_name}-registry"


def secret_key(name: str) -> str:
    """The key of a user's secret in the secret of the gang."""
    return f"secret.{name}"
