"""A JAXJob (`kubeflow.org/v1`) as a Muster spec. Worker 0 is the coordinator."""

from muster.domain.specs import Framework
from muster.wire.dialects.kubeflow import replica_specs
from muster.wire.dialects.kubeflow.replica_specs import KubeflowJob
from muster.wire.dialects.kubernetes.kube_metadata import recognizer
from muster.wire.dialects.kubernetes.pod_variables import Given
from muster.wire.dialects.translation import Translation
from muster.wire.documents import Document

KIND = "JAXJob"
STATES = replica_specs.STATES
recognizes = recognizer(KIND, replica_specs.VERSION)

_EXPORTS = {
    "COORDINATOR_ADDRESS": '"${JAX_COORDINATOR_ADDRESS%:*}"',
    "COORDINATOR_PORT": '"${JAX_COORDINATOR_ADDRESS##*:}"',
    "NUM_PROCESSES": '"$JAX_NUM_PROCESSES"',
    "PROCESS_ID": '"$JAX_PROCESS_ID"',
}


def translate(document: Document) -> Translation:
    job = KubeflowJob(document, "jaxReplicaSpecs", ("worker",), Framework.JAX)
    job.roles({"worker": Given(frozenset({"PYTHONUNBUFFERED", *_EXPORTS}), exports=_EXPORTS)}, ())
    return job.into.translation()
