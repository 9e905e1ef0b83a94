"""A file of several YAML documents, as people write for Kubernetes: one of them is the job, and what the others are."""

from collections.abc import Sequence
from typing import Any

from muster.domain.errors import Invalid, Problem
from muster.wire.dialects.detecting import DIALECTS, Dialect, refusal_of
from muster.wire.dialects.kubernetes.config_maps import with_config_maps
from muster.wire.dialects.kubernetes.kube_metadata import name_of
from muster.wire.dialects.other_formats import named_text
from muster.wire.documents import Document, read_documents

_LEFT_ALONE = {
    "PodGroup": "all tasks of a job start together or none does",
    "Service": "tasks find each other by the addresses in their variables",
    "Namespace": "Muster has no namespaces",
    "ConfigMap": "the job does not name it",
    "Secret": "Muster has secrets of its own, which `muster secret set` stores",
    "PersistentVolume": "a claim is a storage of the cluster here, which its file describes",
    "PersistentVolumeClaim": "a claim is a storage of the cluster here, which its file describes",
    "StorageClass": "a claim is a storage of the cluster here, which its file describes",
    "Queue": "--cluster says where to run",
    "PriorityClass": "--set priority=high says how urgent the job is",
    "ResourceQuota": "quotas belong to Muster's virtual clusters",
    **dict.fromkeys(("TrainingRuntime", "ClusterTrainingRuntime"), "Muster reads no runtimes, only what the job says"),
    **dict.fromkeys(("ServiceAccount", "Role", "RoleBinding"), "tasks get no rights in Kubernetes"),
    **dict.fromkeys(("ClusterRole", "ClusterRoleBinding"), "tasks get no rights in Kubernetes"),
}
_PROGRAMS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "CronJob")
"""What would run beside the job, which may need it."""


def read_stream(text: str, dialects: Sequence[Dialect] = DIALECTS) -> tuple[Document, list[str]]:
    """The job's document, its lines counted in the whole file, and a warning for each document beside it."""
    parts = _parts(text, dialects)
    if len(parts) == 1:
        return parts[0], []
    jobs = [part for part in parts if _is_job(part, dialects)]
    if len(jobs) != 1:
        found = f"{len(jobs)} jobs" if jobs else "no job that Muster reads"
        problems = tuple(
            Problem("", _what(part), "a job" if any(part is job for job in jobs) else "", part.lines.get(()))
            for part in parts
        )
        message = f"the file has {len(parts)} documents and {found} among them"
        raise Invalid(message, hint="give one job a file", problems=problems)
    beside = [part for part in parts if part is not jobs[0]]
    programs = [part for part in beside if _kind(part) in _PROGRAMS]
    if programs:
        problems = tuple(Problem("", _what(part), "", part.lines.get(())) for part in programs)
        message = "the file has a program beside the job, which Muster would not start"
        raise Invalid(message, hint="start it elsewhere, and take it out of the file", problems=problems)
    job, used = with_config_maps(jobs[0], beside)
    unused = [part for part in beside if not (_kind(part) == "ConfigMap" and name_of(part.data) in used)]
    return job, [_left_alone(part, _what(job)) for part in unused]


def _parts(text: str, dialects: Sequence[Dialect]) -> list[Document]:
    """The documents that have something in them, or an empty one. Raises Invalid with the name of another format."""
    try:
        found = read_documents(text)
    except Invalid:
        if (other := named_text(text)) is not None:
            raise refusal_of(other, dialects) from None
        raise
    if len(found) == 1 and isinstance(found[0].data, str) and (other := named_text(text)) is not None:
        raise refusal_of(other, dialects)
    return [part for part in found if part.data is not None] or found


def _is_job(document: Document, dialects: Sequence[Dialect]) -> bool:
    data = document.data
    if not isinstance(data, dict):
        return False
    is_own = "apiVersion" not in data and ("roles" in data or "command" in data)
    return is_own or any(dialect.recognizes(data) for dialect in dialects)


def _kind(document: Document) -> Any:
    return document.data.get("kind") if isinstance(document.data, dict) else None


def _what(document: Document) -> str:
    """What a document is, in words: `the Service web (v1)`."""
    data = document.data if isinstance(document.data, dict) else {}
    if data.get("kind") is None:
        return "a Muster spec" if "roles" in data or "command" in data else "a document without a kind"
    name = name_of(data)
    return f"the {data['kind']}{f' {name}' if name else ''} ({data.get('apiVersion')})"


def _left_alone(document: Document, job: str) -> str:
    why = _LEFT_ALONE.get(str(_kind(document)), f"only {job} is submitted")
    return f"line {document.lines.get(())}: {_what(document)} is left alone: {why}"
