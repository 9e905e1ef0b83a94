"""Builders of jobs and pods for the tests of the core, and a small world that does what a plan says."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from muster.kubernetes.resources import ATTEMPT, CONFIG_MAPS, PADDLE_JOBS, PODS, RES_TYPE, SERVICES, annotations_of
from muster.operator.job.actions import Action, Create, Delete, DeleteAll, Patch
from muster.operator.job.environment import PEERS
from muster.operator.job.paddle_job import PaddleJob, read_job
from muster.operator.job.pod_states import PodState, PodView
from muster.operator.job.world import World
from muster.operator.planning.plans import JobEvent, LogLine, Plan
from muster.operator.planning.reconcile import Scheduling, plan, without_gang_scheduling

NOW = 1_800_000_000.0


def template(**spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "paddle", "image": "train:1"}], **spec}}


def role(replicas: int, **more: Any) -> dict[str, Any]:
    return {"replicas": replicas, "template": template(), **more}


def job_object(
    *, ps: int = 0, worker: int = 0, heter: int = 0, name: str = "demo", status: Any = None, **spec: Any
) -> dict[str, Any]:
    given = {"ps": ps, "worker": worker, "heter": heter}
    roles = {key: role(count) for key, count in given.items() if count}
    metadata = {
        "namespace": "lab",
        "name": name,
        "uid": "u1",
        "generation": 1,
        "resourceVersion": "1",
        "creationTimestamp": "2026-11-16T00:00:00Z",
    }
    return {"metadata": metadata, "spec": {**roles, **spec}, "status": status or {}}


def make_job(**given: Any) -> PaddleJob:
    return read_job(job_object(**given))


@dataclass
class Cluster:
    """A job in a world that does at once what plans say. Pods get addresses when `schedule` is called."""

    raw: dict[str, Any]
    now: float = NOW
    pods: dict[str, PodView] = field(default_factory=dict)
    manifests: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    services: dict[str, str] = field(default_factory=dict)
    config: dict[str, str] | None = None
    config_peers: str = ""
    done: list[Action] = field(default_factory=list)
    events: list[JobEvent] = field(default_factory=list)
    log: list[LogLine] = field(default_factory=list)
    status_writes: list[dict[str, Any]] = field(default_factory=list)
    world: World = field(default_factory=World)
    scheduling: Scheduling = without_gang_scheduling
    is_deleted: bool = False
    _made: int = 0

    @property
    def job(self) -> PaddleJob:
        return read_job(self.raw)

    @property
    def status(self) -> dict[str, Any]:
        return dict(self.raw["status"])

    @property
    def phase(self) -> str:
        return str(self.status.get("phase", ""))

    def annotations(self, name: str) -> dict[str, str]:
        return dict(annotations_of(self.manifests[name]))

    def settle(self) -> Plan:
        """Do what plans say until nothing is left to do."""
        for _ in range(20):
            found = plan(self.job, self._world(), self.now, self.scheduling)
            self.events += [event for event in found.events if event not in self.events]
            self.log += found.log
            for stage in found.stages:
                for action in stage:
                    self._act(action)
            if found.has_actions:
                continue
            if found.status is None or dict(found.status) == self.raw["status"]:
                return found
            self.raw = {**self.raw, "status": dict(found.status)}
            self.status_writes.append(dict(found.status))
        raise AssertionError(f"it does not settle: {found}")

    def change(self, **spec: Any) -> None:
        self.raw = {**self.raw, "spec": {**self.raw["spec"], **spec}}
        self.raw["metadata"] = {**self.raw["metadata"], "generation": self.raw["metadata"]["generation"] + 1}

    def set(self, name: str, state: PodState, **more: Any) -> None:
        self.pods[name] = replace(self.pods[name], state=state, **more)

    def set_all(self, state: PodState, role: str = "") -> None:
        for name, pod in self.pods.items():
            if not role or pod.role == role:
                self.set(name, state)

    def schedule(self) -> None:
        """All pods get an address, and settle."""
        for number, (name, pod) in enumerate(self.pods.items()):
            self.set(name, pod.state, address=pod.address or f"10.0.{self._made}.{number + 1}")
        self.settle()

    def start(self) -> None:
        self.settle()
        self.schedule()
        self.set_all(PodState.RUNNING)
        self.settle()

    def _world(self) -> World:
        return replace(
            self.world,
            pods=tuple(self.pods.values()),
            services=self.services,
            config=self.config,
            config_peers=self.config_peers,
        )

    def _act(self, action: Action) -> None:
        self.done.append(action)
        match action:
            case Create(resource, manifest) if resource is PODS:
                self._create_pod(action.name, manifest)
            case Create(resource) if resource is SERVICES:
                self.services[action.name] = f"service-{action.name}"
            case Create(resource, manifest) if resource is CONFIG_MAPS:
                self.config, self.config_peers = dict(manifest["data"]), annotations_of(manifest)[PEERS]
            case Patch(resource, name, patch) if resource is PODS:
                new = patch["metadata"]["annotations"]
                self.pods[name] = replace(self.pods[name], peers=new[PEERS])
                metadata = self.manifests[name]["metadata"]
                merged = {**metadata, "annotations": {**metadata["annotations"], **new}}
                self.manifests[name] = {**self.manifests[name], "metadata": merged}
            case Patch(resource, name, patch) if resource is CONFIG_MAPS:
                assert self.config is not None
                self.config = {key: value for key, value in {**self.config, **patch["data"]}.items() if value}
                self.config_peers = patch["metadata"]["annotations"][PEERS]
            case Patch(resource, name, patch) if resource is PADDLE_JOBS:
                annotations = {**annotations_of(self.raw), **patch["metadata"]["annotations"]}
                self.raw = {**self.raw, "metadata": {**self.raw["metadata"], "annotations": annotations}}
            case Delete(resource, name) if resource is PODS:
                del self.pods[name]
            case Delete(resource, name) if resource is SERVICES:
                del self.services[name]
            case Delete(resource) if resource is PADDLE_JOBS:
                self.is_deleted = True
                self.raw["metadata"]["deletionTimestamp"] = "2026-11-16T00:00:00Z"
            case DeleteAll(resource, labels) if resource is PODS:
                attempt = labels.get(ATTEMPT)
                gone = [name for name, pod in self.pods.items() if attempt in (None, str(pod.attempt))]
                for name in gone:
                    del self.pods[name]
            case DeleteAll(resource) if resource is SERVICES:
                self.services.clear()
            case _:
                raise AssertionError(f"unknown: {action}")

    def _create_pod(self, name: str, manifest: Mapping[str, Any]) -> None:
        assert name not in self.pods, f"{name} exists"
        self._made += 1
        labels = manifest["metadata"]["labels"]
        self.manifests[name] = manifest
        self.pods[name] = PodView(
            name=name,
            uid=f"pod-{self._made}",
            role=labels[RES_TYPE],
            index=int(name.rpartition("-")[2]),
            attempt=int(labels[ATTEMPT]),
            state=PodState.PENDING,
            peers=annotations_of(manifest).get(PEERS, ""),
            created_at=self.now,
        )


def environment(cluster: Cluster, name: str) -> dict[str, str]:
    """The variables of a pod's main container, as the kubelet would resolve them."""
    found: dict[str, str] = {}
    for one in cluster.manifests[name]["spec"]["containers"][0]["env"]:
        if "value" in one:
            found[one["name"]] = one["value"]
            continue
        path = one["valueFrom"]["fieldRef"]["fieldPath"]
        if path == "status.podIP":
            found[one["name"]] = cluster.pods[name].address
        else:
            found[one["name"]] = cluster.annotations(name).get(path.split("'")[1], "")
    return found
