"""The kinds of jobs of Kubeflow's Training Operator, and which of them a document is."""

from collections.abc import Mapping
from typing import Any

from muster.domain.errors import Invalid
from muster.wire.dialects.kubeflow import jaxjob, kubeflow_paddlejob, mpijob, pytorchjob, replica_specs, tfjob
from muster.wire.dialects.kubernetes.kube_metadata import recognizer
from muster.wire.dialects.translation import Translation
from muster.wire.documents import Document

STATES = replica_specs.STATES
_KINDS = (
    (pytorchjob.recognizes, pytorchjob.translate),
    (tfjob.recognizes, tfjob.translate),
    (mpijob.recognizes, mpijob.translate),
    (jaxjob.recognizes, jaxjob.translate),
    (kubeflow_paddlejob.recognizes, kubeflow_paddlejob.translate),
)
_is_xgboost = recognizer("XGBoostJob", replica_specs.VERSION)


def recognizes(data: Mapping[str, Any]) -> bool:
    return _is_xgboost(data) or any(is_kind(data) for is_kind, _ in _KINDS)


def translate(document: Document) -> Translation:
    if _is_xgboost(document.data):
        raise Invalid(
            "Muster does not run XGBoostJobs: their tasks are told one port at which all workers listen (WORKER_PORT),"
            " and tasks that share a node cannot",
            hint="write a Muster spec with the roles master and worker, `ports: 1` and MUSTER_ENDPOINTS_WORKER",
        )
    return next(read for is_kind, read in _KINDS if is_kind(document.data))(document)
