"""A TFJob (`kubeflow.org/v1`) as a Muster spec.

A chief or master ends the job. Without either the original ends it with worker 0, or with all workers if its policy
says so; Muster waits for all workers.
"""

from muster.domain.specs import Framework
from muster.wire.dialects.kubeflow import replica_specs
from muster.wire.dialects.kubeflow.replica_specs import KubeflowJob
from muster.wire.dialects.kubernetes.kube_metadata import recognizer
from muster.wire.dialects.kubernetes.pod_variables import Given
from muster.wire.dialects.translation import Translation
from muster.wire.documents import Document, Path

KIND = "TFJob"
STATES = replica_specs.STATES
recognizes = recognizer(KIND, replica_specs.VERSION)

_TYPES = ("chief", "master", "worker", "ps", "evaluator")
_ALL_WORKERS = "AllWorkers"


def translate(document: Document) -> Translation:
    job = KubeflowJob(document, "tfReplicaSpecs", _TYPES, Framework.TENSORFLOW)
    given = Given(frozenset({"TF_CONFIG"}))
    job.roles(dict.fromkeys(_TYPES, given), ("successPolicy", "enableDynamicWorker"))
    _success(job)
    if job.spec.get("enableDynamicWorker"):
        source: Path = ("spec", "enableDynamicWorker")
        job.into.refuse(source, "Muster's TF_CONFIG names the whole cluster, and a failed worker fails the job", "")
    return job.into.translation()


def _success(job: KubeflowJob) -> None:
    source: Path = ("spec", "successPolicy")
    policy = job.spec.get("successPolicy")
    leads = [kind for kind in ("chief", "master") if job.has(kind)]
    for kind in leads or ["worker"]:
        if job.has(kind):
            job.into.copy(("roles", kind, "minSucceeded"), ("roles", kind, "replicas"))
    if leads and job.has("worker"):
        job.into.put(("roles", "worker", "minSucceeded"), -1, job.place("worker"))
    if leads or not job.has("worker") or job.count("worker") == 1:
        return
    if policy != _ALL_WORKERS:
        message = "worker 0 alone does not end the job: it ends when all workers have succeeded"
        job.into.warn(source, message, "--set roles.worker.minSucceeded=1 ends it with the first that does")
