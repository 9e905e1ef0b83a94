"""The objects of a PaddleJob as they are sent to the API server: pods, services and the ConfigMap."""

import copy
from collections.abc import Mapping
from typing import Any

from muster.domain.specs import WORKER_ROLE
from muster.kubernetes.resources import (
    ATTEMPT,
    JOB_NAME,
    JOB_UID,
    PADDLE_JOBS,
    RES_NAME,
    RES_TYPE,
    RESOURCE_ANNOTATION,
    owner_reference,
)
from muster.operator.job.environment import FIRST_PORT, PEERS, PORTS, VARIABLE_PREFIX, PodVariables, pod_port
from muster.operator.job.paddle_job import Intranet, PaddleJob, RoleSpec
from muster.operator.scheduling.verdict import Verdict

COORDINATOR = "coord-paddle"
"""The init container that waits for the addresses of the peers, under paddle-operator's name."""
_LAST_INIT = f"{COORDINATOR}-ready"
"""The init container after it, which ends at once: see `_coordinate`."""
_COORDINATION_FOLDER = "/etc/paddle-job"
_WAIT = f"until [ -s {_COORDINATION_FOLDER}/peers ]; do sleep 0.1 2>/dev/null || sleep 1; done"
_PLAIN_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_SAMPLE_SET = "sample-set"


def job_labels(job: PaddleJob) -> dict[str, str]:
    return {JOB_NAME: job.name, JOB_UID: job.uid}


def pod(
    job: PaddleJob,
    role: RoleSpec,
    index: int,
    variables: PodVariables,
    verdict: Verdict,
    *,
    first_port: int = FIRST_PORT,
    init_image: str = "",
) -> dict[str, Any]:
    """The pod with its template copied whole. Only the first container gets variables and a port."""
    name = job.pod_name(role.name, index)
    template = copy.deepcopy(dict(role.template))
    given = template.get("metadata") or {}
    spec = template["spec"]
    port = pod_port(job, role.name, index, first_port)
    main = spec["containers"][0]
    main["env"] = _environment(job, name, variables, main.get("env") or [])
    if job.intranet is not Intranet.POD_IP:
        _open_port(main, port)
    spec["hostname"] = spec["subdomain"] = name
    spec["restartPolicy"] = restart_policy(job, role)
    if job.intranet is Intranet.HOST:
        spec["hostNetwork"] = True
        spec.setdefault("dnsPolicy", "ClusterFirstWithHostNet")
    if job.sample_set is not None and role.name == WORKER_ROLE:
        _mount_sample_set(job, spec)
    annotations = {**(given.get("annotations") or {}), RESOURCE_ANNOTATION: role.name, **verdict.annotations(role.name)}
    if job.intranet is Intranet.SERVICE:
        annotations |= peer_annotations(variables)
    else:
        _coordinate(spec, main, init_image)
    if job.is_elastic:
        _mount_peers(spec, main)
    verdict.apply_to(spec)
    return {
        "metadata": {
            "name": name,
            "namespace": job.namespace,
            "labels": {
                **(given.get("labels") or {}),
                RES_NAME: name,
                RES_TYPE: role.name,
                **job_labels(job),
                ATTEMPT: str(job.attempt),
                **verdict.labels,
            },
            "annotations": annotations,
            "ownerReferences": [owner_reference(job.raw, PADDLE_JOBS)],
        },
        "spec": spec,
    }


def service(job: PaddleJob, name: str) -> dict[str, Any]:
    """A headless service for one pod. The name resolves as soon as the pod has an address, ready or not."""
    ports = [{"name": f"p-{place}", "port": FIRST_PORT + place} for place in range(PORTS)]
    return {
        "metadata": {
            "name": name,
            "namespace": job.namespace,
            "labels": {RES_NAME: name, **job_labels(job)},
            "ownerReferences": [owner_reference(job.raw, PADDLE_JOBS)],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {RES_NAME: name},
            "ports": ports,
        },
    }


def config_map(job: PaddleJob, data: Mapping[str, str], peers: str) -> dict[str, Any]:
    return {
        "metadata": {
            "annotations": {PEERS: peers},
            "name": job.name,
            "namespace": job.namespace,
            "labels": {RES_NAME: job.name, **job_labels(job)},
            "ownerReferences": [owner_reference(job.raw, PADDLE_JOBS)],
        },
        "data": dict(data),
    }


def peer_annotations(variables: PodVariables) -> dict[str, str]:
    return {PEERS: variables.peers, **{VARIABLE_PREFIX + name: value for name, value in variables.changing.items()}}


def restart_policy(job: PaddleJob, role: RoleSpec) -> str:
    if job.is_elastic:
        return "OnFailure"
    given = role.template["spec"].get("restartPolicy")
    if given:
        return str(given)
    return "OnFailure" if job.intranet is Intranet.SERVICE and role.name == WORKER_ROLE else "Never"


def _environment(job: PaddleJob, name: str, variables: PodVariables, given: list[Any]) -> list[dict[str, Any]]:
    """The operator's variables come first, so that the template's may refer to them. The template's own value of a
    variable wins."""
    own_ip: dict[str, Any] = {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    env: list[dict[str, Any]] = [
        {"name": "POD_IP", **({"value": name} if job.intranet is Intranet.SERVICE else own_ip)},
        *({"name": key, "value": value} for key, value in variables.fixed.items()),
        *(
            {"name": key, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{VARIABLE_PREFIX}{key}']"}}}
            for key in variables.changing
        ),
    ]
    names = {one.get("name") for one in given if isinstance(one, Mapping)}
    return [*(one for one in env if one["name"] not in names), *given]


def _open_port(main: dict[str, Any], port: int) -> None:
    ports = main.setdefault("ports", [])
    if not any(one.get("containerPort") == port for one in ports):
        ports.append({"containerPort": port})


def _coordinate(spec: dict[str, Any], main: Mapping[str, Any], init_image: str) -> None:
    """Hold the pod until its peers are known. The init containers come last: those of the template need not wait.

    A second one is needed, since the kubelet fills the file from the newest pod that it knows, but starts containers
    from the pod that it knew when it began to synchronise: the container that follows the end of the coordinator may
    be started without the variables. What follows that one is started with them.
    """
    _add_peers_volume(spec)
    coordinator = {
        "name": COORDINATOR,
        "image": init_image or main.get("image"),
        "command": ["sh", "-c", _WAIT],
        "resources": _plain_resources(main),
        "volumeMounts": [{"name": COORDINATOR, "mountPath": _COORDINATION_FOLDER}],
    }
    for key in ("imagePullPolicy", "securityContext"):
        if main.get(key) is not None:
            coordinator[key] = main[key]
    last = {**copy.deepcopy(coordinator), "name": _LAST_INIT, "command": ["sh", "-c", ":"]}
    del last["volumeMounts"]
    spec["initContainers"] = [*(spec.get("initContainers") or []), coordinator, last]


def _plain_resources(main: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the main container without its devices: the pod needs no more than before, keeps its class of service,
    and passes wherever a quota wants all containers to say what they need."""
    return {
        kind: {name: amount for name, amount in given.items() if name in _PLAIN_RESOURCES}
        for kind, given in (main.get("resources") or {}).items()
        if kind in ("requests", "limits") and isinstance(given, Mapping)
    }


def _mount_peers(spec: dict[str, Any], main: dict[str, Any]) -> None:
    """The program of an elastic job can read the current endpoints from a file while it runs."""
    _add_peers_volume(spec)
    mount = {"name": COORDINATOR, "mountPath": _COORDINATION_FOLDER, "readOnly": True}
    main["volumeMounts"] = [*(main.get("volumeMounts") or []), mount]


def _add_peers_volume(spec: dict[str, Any]) -> None:
    volumes = spec.get("volumes") or []
    if any(one.get("name") == COORDINATOR for one in volumes):
        return
    files = {
        "peers": PEERS,
        "trainer_endpoints": f"{VARIABLE_PREFIX}PADDLE_TRAINER_ENDPOINTS",
        "trainers_num": f"{VARIABLE_PREFIX}PADDLE_TRAINERS_NUM",
    }
    items = [
        {"path": path, "fieldRef": {"fieldPath": f"metadata.annotations['{annotation}']"}}
        for path, annotation in files.items()
    ]
    spec["volumes"] = [*volumes, {"name": COORDINATOR, "downwardAPI": {"items": items}}]


def _mount_sample_set(job: PaddleJob, spec: dict[str, Any]) -> None:
    assert job.sample_set is not None
    main = spec["containers"][0]
    claim = {"name": _SAMPLE_SET, "persistentVolumeClaim": {"claimName": job.sample_set.claim}}
    spec["volumes"] = [*(spec.get("volumes") or []), claim]
    mount = {"name": _SAMPLE_SET, "mountPath": job.sample_set.mount_path}
    main["volumeMounts"] = [*(main.get("volumeMounts") or []), mount]
