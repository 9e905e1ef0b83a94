"""All objects of a gang, as they are created. The first owns the others: who deletes it deletes them all."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from muster.backends.kubernetes import preparation
from muster.backends.kubernetes.names import GANG, JOB_NAME, OWNER, TASKS, gang_name
from muster.backends.kubernetes.options import KubernetesOptions
from muster.backends.kubernetes.paddle_jobs import differing_files, is_paddle_gang, own_name, paddle_job
from muster.backends.kubernetes.pods import GpuChoice, PodPlan, registry_secret_name, secret_key
from muster.domain.clusters import PhysicalCluster
from muster.domain.launch_requests import GangLaunch, LaunchRequest
from muster.domain.resources import Resources
from muster.kubernetes.amounts import PODS, pod_requests, total
from muster.kubernetes.pod_groups import (
    GROUP_NAME,
    VOLCANO_GROUPS,
    VOLCANO_SCHEDULER,
    kubernetes_group_spec,
    kubernetes_member,
    quantities,
    volcano_group_spec,
)
from muster.kubernetes.resources import PADDLE_JOBS, Resource
from muster.launch.registry_credentials import registry_config
from muster.launch.secret_variables import MASK

HIDDEN = "(hidden)"


@dataclass(frozen=True, slots=True)
class GangObjects:
    """Builds the objects of one gang."""

    launch: GangLaunch
    cluster: PhysicalCluster
    options: KubernetesOptions
    labels: Mapping[str, str]
    """The labels of every object of this backend."""
    gpus_of: Callable[[Resources], GpuChoice]
    groups: Resource | None = None
    """The PodGroups by which a scheduler starts all pods of the gang or none, if they are used."""
    certificate: str = ""
    """The certificate of this server, if it has made its own: pods fetch archives from it."""

    @property
    def is_paddle_job(self) -> bool:
        return is_paddle_gang(self.launch.gang)

    @property
    def name(self) -> str:
        """The name of Muster's own objects."""
        key = self.launch.gang.key
        return own_name(key) if self.is_paddle_job else gang_name(key)

    def owner(self) -> dict[str, Any]:
        """The gang's own object: a ConfigMap with the files that all tasks share."""
        gang = self.launch.gang
        peers = [task.placement.address for task in gang.tasks]
        files = {name: self.launch.requests[0].files[name] for name in sorted(self._shared_files())}
        metadata = self._metadata()
        metadata["annotations"] = {JOB_NAME: gang.spec.name, OWNER: gang.owner, TASKS: str(len(gang.tasks))}
        if self.is_paddle_job:
            shared = self._shared_files()
            own = {one.task_id: _without(one.files, shared) for one in self.launch.requests}
            files |= differing_files(gang, own)
        return {
            "metadata": metadata,
            "data": {**self._scripts(peers), **files},
        }

    def service(self, owner: Mapping[str, Any]) -> dict[str, Any] | None:
        """A service without an address of its own, which gives every pod a name; a single task needs none."""
        if self.is_paddle_job:
            return None  # the operator makes one for each pod
        if len(self.launch.gang.tasks) < 2 and not any(request.ports for request in self.launch.requests):
            return None
        spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {GANG: self.launch.gang.key}}
        return {"metadata": self._metadata(owner), "spec": spec}

    def secret(self, owner: Mapping[str, Any], urls: Mapping[str, str]) -> dict[str, Any] | None:
        request = self.launch.requests[0]
        data: dict[str, bytes] = {}
        if request.digests:
            data[preparation.PLAN] = preparation.plan(request, urls).encode()
        for use in request.secrets:
            data[secret_key(use.name)] = self.launch.secret_values.get(use.name, b"")
        if not data:
            return None
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        return {"metadata": self._metadata(owner), "type": "Opaque", "data": encoded}

    def registry_secret(self, owner: Mapping[str, Any]) -> dict[str, Any] | None:
        """The credentials with which nodes pull the image."""
        name = self.launch.gang.spec.runtime.pull_secret
        if not name:
            return None
        value = self.launch.secret_values.get(name)
        config = b"" if value is None else registry_config(value)
        metadata = {**self._metadata(owner), "name": registry_secret_name(self.name)}
        data = {".dockerconfigjson": base64.b64encode(config).decode()}
        return {"metadata": metadata, "type": "kubernetes.io/dockerconfigjson", "data": data}

    def pods(self, owner: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The pods of the tasks that are pending, by task id."""
        gang = self.launch.gang
        is_prepared = bool(self._scripts([task.id for task in gang.tasks]))
        plan = PodPlan(gang, self.cluster, self.options, self.labels, self._shared_files(), is_prepared, self.name)
        tasks, found = {task.id: task for task in gang.tasks}, {}
        for request in self.launch.pending:
            task = tasks[request.task_id]
            asked = gang.spec.role(task.role).resources
            gpus = self.gpus_of(asked) if asked.gpus else None
            found[task.id] = self._member(plan.pod(task, request, gpus, owner))
        return found

    def pod_group(self, owner: Mapping[str, Any]) -> dict[str, Any] | None:
        """The PodGroup of the gang. A single pod needs none, and the operator sees to those of PaddleJobs."""
        if not self._has_group:
            return None
        whole = replace(self, launch=replace(self.launch, started=frozenset()), groups=None)
        pods, priority_class = whole.pods(owner).values(), self.options.priority_class or ""
        if self.groups == VOLCANO_GROUPS:
            needed = total(pod_requests(pod["spec"]) for pod in pods)
            needed.pop(PODS)
            spec = volcano_group_spec(len(pods), quantities(needed), priority_class=priority_class)
        else:
            spec = kubernetes_group_spec(len(pods), priority_class)
        return {"metadata": self._metadata(owner), "spec": spec}

    @property
    def _has_group(self) -> bool:
        return self.groups is not None and not self.is_paddle_job and len(self.launch.gang.tasks) > 1

    def _member(self, pod: dict[str, Any]) -> dict[str, Any]:
        if not self._has_group:
            return pod
        if self.groups == VOLCANO_GROUPS:
            pod["metadata"]["annotations"][GROUP_NAME] = self.name
            pod["spec"]["schedulerName"] = VOLCANO_SCHEDULER
        else:
            pod["spec"] |= kubernetes_member(self.name)
        return pod

    def paddle_job(self, owner: Mapping[str, Any]) -> dict[str, Any]:
        """The PaddleJob that stands for all pods."""
        whole = replace(self, launch=replace(self.launch, started=frozenset()))
        found = paddle_job(self.launch.gang, whole.pods(owner), self.labels)
        found["metadata"]["ownerReferences"] = [dict(owner)]
        return found

    def _scripts(self, peers: Sequence[str]) -> dict[str, str]:
        has_outputs = bool(self.launch.gang.spec.outputs)
        return preparation.scripts(self.launch.requests, peers, self.certificate, has_outputs=has_outputs)

    def _shared_files(self) -> frozenset[str]:
        first, *others = self.launch.requests
        return frozenset(
            name for name, text in first.files.items() if others and all(one.files.get(name) == text for one in others)
        )

    def _metadata(self, owner: Mapping[str, Any] | None = None) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": self.name, "labels": {**self.labels, GANG: self.launch.gang.key}}
        if owner is not None:
            metadata["ownerReferences"] = [dict(owner)]
        return metadata


def rendered(objects: GangObjects) -> str:
    """The objects as `kubectl create -f` takes them, without the values of the user's own variables and secrets, and
    without what only the launch knows."""
    launch = objects.launch
    hidden = replace(launch, requests=tuple(_hidden(launch, one) for one in launch.requests))
    shown = replace(objects, launch=replace(hidden, started=frozenset()))
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": objects.name, "uid": "(known when it is created)"}
    documents = [_document("ConfigMap", shown.owner())]
    if (service := shown.service(owner)) is not None:
        documents.append(_document("Service", service))
    for secret in (shown.secret(owner, dict.fromkeys(launch.requests[0].digests, MASK)), shown.registry_secret(owner)):
        if secret is not None:
            documents.append({**_document("Secret", secret), "data": dict.fromkeys(secret["data"], MASK)})
    if objects.groups is not None and (group := shown.pod_group(owner)) is not None:
        documents.append({"apiVersion": objects.groups.api_version, "kind": objects.groups.kind, **group})
    if objects.is_paddle_job:
        documents.append({"apiVersion": PADDLE_JOBS.api_version, "kind": PADDLE_JOBS.kind, **shown.paddle_job(owner)})
    else:
        documents += [_document("Pod", pod) for pod in shown.pods(owner).values()]
    return yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True)


def _hidden(launch: GangLaunch, request: LaunchRequest) -> LaunchRequest:
    spec = launch.gang.spec
    role = next(task.role for task in launch.gang.tasks if task.id == request.task_id)
    own = {*spec.env, *spec.role(role).env}
    return replace(request, env={name: HIDDEN if name in own else value for name, value in request.env.items()})


def _without(files: Mapping[str, str], names: frozenset[str]) -> dict[str, str]:
    return {name: text for name, text in files.items() if name not in names}


def _document(kind: str, one: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, **one}
