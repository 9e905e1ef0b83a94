"""A PyTorchJob (`kubeflow.org/v1`) as a Muster spec.

The master has rank 0, and the workers follow. A job with a master ends with it; one without ends when all workers have
succeeded, or one of them if it is elastic.
"""

from collections.abc import Collection
from typing import Any

from muster.domain.specs import Framework
from muster.wire.dialects.kubeflow import replica_specs
from muster.wire.dialects.kubeflow.replica_specs import KubeflowJob
from muster.wire.dialects.kubernetes.kube_metadata import recognizer, unknown_keys
from muster.wire.dialects.kubernetes.pod_variables import Given, text
from muster.wire.dialects.kubernetes.run_policies import size_may_change
from muster.wire.dialects.translation import Translation
from muster.wire.documents import Document, Path

KIND = "PyTorchJob"
STATES = replica_specs.STATES
recognizes = recognizer(KIND, replica_specs.VERSION)

_OF_MASTER = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_NODE_RANK")
_GIVEN = ("PYTHONUNBUFFERED", "PET_NNODES", "PET_NPROC_PER_NODE")
_ELASTIC = {"rdzvBackend": "PET_RDZV_BACKEND", "rdzvId": "PET_RDZV_ID", "maxRestarts": "PET_MAX_RESTARTS"}
_ELASTIC_KEYS = (
    *("minReplicas", "maxReplicas", "rdzvHost", "rdzvPort", "rdzvConf", "standalone", "nProcPerNode", "metrics"),
    *_ELASTIC,
)
_ANY_NUMBER = "auto"
_OF_ONE_PROCESS = ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "ROLE_RANK", "ROLE_WORLD_SIZE")
"""What a task of Muster has beside the variables of the original, and what holds only if it is one process."""


def translate(document: Document) -> Translation:
    job = KubeflowJob(document, "pytorchReplicaSpecs", ("master", "worker"), Framework.TORCH)
    policy = job.into.mapping(job.spec.get("elasticPolicy"), ("spec", "elasticPolicy"))
    processes = job.spec.get("nprocPerNode", _ANY_NUMBER)
    names = (*_GIVEN, *(_OF_MASTER if job.has("master") else ()), *_elastic_names(policy))
    given = Given(frozenset(names))
    starts = {kind: _several_processes(job, kind, text(processes), names) for kind in ("master", "worker")}
    job.roles({"master": given, "worker": given}, ("elasticPolicy", "nprocPerNode"), starts)
    job.into.put(("env", "PET_NPROC_PER_NODE"), text(processes), ("spec", "nprocPerNode"))
    if job.has("master") and job.count("master") != 1:
        target: Path = ("roles", "master", "replicas")
        source: Path = (*job.place("master"), "replicas")
        job.into.refuse(
            source, "a PyTorchJob has one master, and Kubeflow refuses others", "write 1", settled_by=target
        )
    if policy:
        _elastic(job, policy)
    if job.has("master"):
        job.into.put(("roles", "master", "minSucceeded"), 1, job.place("master"))
    elif policy and job.has("worker"):
        job.into.put(("roles", "worker", "minSucceeded"), 1, ("spec", "elasticPolicy"))
    return job.into.translation()


def _several_processes(job: KubeflowJob, kind: str, processes: str, given: Collection[str]) -> list[str]:
    """Lines before the command by which the world counts processes instead of nodes. The original counts a number, and
    no word such as `auto`. What the file sets itself stays."""
    if not job.has(kind) or not processes.isdecimal() or int(processes) < 2:
        return []
    env = job.first_container(kind).get("env")
    own = {str(item.get("name")) for item in env if isinstance(item, dict)} if isinstance(env, list) else set()
    world = [] if "WORLD_SIZE" in own.difference(given) else [f"export WORLD_SIZE=$((WORLD_SIZE * {int(processes)}))"]
    unset = [name for name in _OF_ONE_PROCESS if name not in own]
    return [*world, *([f"unset {' '.join(unset)}"] if unset else [])]


def _elastic_names(policy: dict[str, Any]) -> tuple[str, ...]:
    if not policy:
        return ()
    said = [name for key, name in _ELASTIC.items() if policy.get(key) is not None]
    return ("PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT", *said)


def _elastic(job: KubeflowJob, policy: dict[str, Any]) -> None:
    """Muster starts as many workers as there is room for, and starts all of them again when that changes. So the
    number of nodes is certain in each attempt, while it is a range in the original."""
    into, at = job.into, ("spec", "elasticPolicy")
    unknown_keys(into, policy, at, _ELASTIC_KEYS)
    into.put(("env", "PET_RDZV_BACKEND"), "c10d", at)
    for key, value in policy.items():
        source: Path = (*at, key)
        match key:
            case _ if value is None:
                pass
            case "minReplicas" | "maxReplicas":
                into.put(("roles", "worker", key.removesuffix("Replicas")), value, source)
            case "rdzvHost" if value not in (f"{job.name}-worker-0", f"{job.name}-master-0"):
                _rendezvous(job, policy, source)
            case "rdzvBackend" if value != "c10d" and not policy.get("rdzvHost"):
                into.refuse(source, f"{value} needs a server of its own", "use c10d, or name its `rdzvHost`")
            case "rdzvPort" if not policy.get("rdzvHost"):
                into.warn(source, "has no effect: the tasks meet at a free port")
            case "metrics":
                into.warn(source, "has no effect: a job grows when there is room")
            case "rdzvConf":
                pairs = [into.mapping(item, (*source, n)) for n, item in enumerate(into.listed(value, source))]
                joined = ",".join(f"{pair.get('key')}={pair.get('value')}" for pair in pairs)
                into.put(("env", "PET_RDZV_CONF"), joined, source)
            case "standalone" if value:
                into.put(("env", "PET_STANDALONE"), "", source)
            case "nProcPerNode":
                into.put(("env", "PET_NPROC_PER_NODE"), text(value), source)
            case _ if key in _ELASTIC:
                into.put(("env", _ELASTIC[key]), text(value), source)
    size_may_change(into, "worker", at)


def _rendezvous(job: KubeflowJob, policy: dict[str, Any], source: Path) -> None:
    """A server beside the job, such as etcd. A task of the job cannot be named: it gets its address at its start."""
    if policy.get("rdzvBackend", "c10d") == "c10d" or policy.get("rdzvPort") is None:
        message = "Muster's tasks meet at the first of them, whose address is known at their start"
        job.into.refuse(source, message, "remove it")
        return
    job.into.put(("env", "PET_RDZV_ENDPOINT"), f"{policy['rdzvHost']}:{policy['rdzvPort']}", source)
