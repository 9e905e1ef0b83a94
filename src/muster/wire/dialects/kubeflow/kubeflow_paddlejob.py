"""A PaddleJob of Kubeflow's Training Operator (`kubeflow.org/v1`) as a Muster spec.

Its tasks run Paddle's launcher, which finds the others by PADDLE_MASTER. They get just the variables of the original:
with those of Paddle's own job (`framework: paddle`) the launcher would not look for the others.
"""

from muster.domain.specs import Framework
from muster.launch.muster_variables import variable_name
from muster.wire.dialects.kubeflow import replica_specs
from muster.wire.dialects.kubeflow.replica_specs import KubeflowJob
from muster.wire.dialects.kubernetes.kube_metadata import recognizer, unknown_keys
from muster.wire.dialects.kubernetes.pod_variables import Given
from muster.wire.dialects.kubernetes.run_policies import size_may_change
from muster.wire.dialects.kubernetes.task_scripts import nth_host
from muster.wire.dialects.translation import Translation
from muster.wire.documents import Document, Path

KIND = "PaddleJob"
STATES = replica_specs.STATES
recognizes = recognizer(KIND, replica_specs.VERSION)

_BOUNDS = {"minReplicas": "min", "maxReplicas": "max"}


def translate(document: Document) -> Translation:
    job = KubeflowJob(document, "paddleReplicaSpecs", ("master", "worker"), Framework.NONE)
    lead = "master" if job.has("master") else "worker"
    shared = {
        "PADDLE_JOB_ID": '"$MUSTER_JOB_NAME"',
        "PADDLE_NNODES": '"$MUSTER_WORLD_SIZE"',
        "PADDLE_MASTER": nth_host(f"MUSTER_ENDPOINTS_{variable_name(lead)}", "0"),
    }
    own = {"master": {"PADDLE_SERVER_NUM": "1"}, "worker": {"PADDLE_TRAINER_NUM": "1"}} if lead == "master" else {}
    given = {
        kind: Given(frozenset({"PYTHONUNBUFFERED", *shared, *own.get(kind, {})}), exports=shared | own.get(kind, {}))
        for kind in ("master", "worker")
    }
    job.roles(given, ("elasticPolicy",))
    if job.has(lead):
        job.into.put(("roles", lead, "ports"), 1, job.place(lead))
        job.into.copy(("roles", lead, "minSucceeded"), ("roles", lead, "replicas"))
    _elastic(job)
    return job.into.translation()


def _elastic(job: KubeflowJob) -> None:
    at: Path = ("spec", "elasticPolicy")
    policy = job.into.mapping(job.spec.get("elasticPolicy"), at)
    unknown_keys(job.into, policy, at, (*_BOUNDS, "maxRestarts", "metrics"))
    for key, value in policy.items():
        if key in _BOUNDS and value is not None:
            job.into.put(("roles", "worker", _BOUNDS[key]), value, (*at, key))
        elif key in ("maxRestarts", "metrics"):
            job.into.warn((*at, key), "has no effect: a job grows when there is room", "--set retry.max=3")
    size_may_change(job.into, "worker", at)
