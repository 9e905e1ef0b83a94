"""A Job of Kubernetes itself (`batch/v1`) as a Muster spec. All its pods start together, or none does."""

from typing import Any

from muster.domain.specs import WORKER_ROLE, Framework
from muster.wire.dialects.kubernetes.kube_metadata import around_spec, name_of, namespace_of, recognizer, unknown_keys
from muster.wire.dialects.kubernetes.pod_gangs import translate_pods
from muster.wire.dialects.kubernetes.pod_variables import Given
from muster.wire.dialects.kubernetes.pods import PodRole
from muster.wire.dialects.kubernetes.run_policies import retries, time_limit
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document, Path

KIND, VERSION = "Job", "batch/v1"
STATES = {
    "Queued": "Active",
    "Held": "Suspended",
    "Starting": "Active",
    "Running": "Active",
    "Stopping": "Active",
    "Succeeded": "Complete",
    "Failed": "Failed",
    "Cancelled": "Failed",
}
"""What `kubectl` says of a Job for each state of a Muster job."""
recognizes = recognizer(KIND, VERSION)

_DEFAULT_RETRIES = 6
_REFUSED = {
    "podFailurePolicy": "Muster itself decides which failures are tried again",
    "backoffLimitPerIndex": "Muster tries a job again as a whole",
    "maxFailedIndexes": "Muster tries a job again as a whole",
    "successPolicy": "Muster counts succeeded tasks, whatever their index",
}
_KEYS = (
    *("parallelism", "completions", "completionMode", "backoffLimit", "activeDeadlineSeconds", "suspend", "template"),
    *("ttlSecondsAfterFinished", "selector", "manualSelector", "podReplacementPolicy", "managedBy", *_REFUSED),
)


def translate(document: Document) -> Translation:
    into, data = Translator(document), document.data
    spec = around_spec(into, data)
    into.put(("framework",), str(Framework.NONE), ("kind",))
    exports = {"JOB_COMPLETION_INDEX": '"$MUSTER_ROLE_INDEX"'} if spec.get("completionMode") == "Indexed" else {}
    given = Given(frozenset(exports), exports=exports)
    at: Path = ("spec", "template")
    role = PodRole(into, WORKER_ROLE, spec.get("template"), at, given=given, namespace=namespace_of(data))
    _size(into, spec)
    translate_pods(into, [role], name_of(data))
    _policies(into, spec)
    if role.pod.get("restartPolicy") in (None, "Always"):
        message = "the pods of a Job may not always be restarted, which is what a template says without it"
        source: Path = (*role.pod_at, "restartPolicy")
        into.refuse(
            source, f"is required: {message}, and Kubernetes refuses it", "write Never or OnFailure", ("retry", "max")
        )
    unknown_keys(into, spec, ("spec",), _KEYS)
    return into.translation()


def _size(into: Translator, spec: dict[str, Any]) -> None:
    target: Path = ("roles", WORKER_ROLE, "replicas")
    together, wanted = spec.get("parallelism", 1), spec.get("completions")
    wanted = together if wanted is None else wanted
    into.put(target, wanted, ("spec", "completions" if "completions" in spec else "parallelism"))
    if isinstance(together, int) and isinstance(wanted, int) and together < wanted:
        message = f"{wanted} pods are to run, {together} at a time, and all tasks of a Muster job run together"
        hint = f"--set roles.{WORKER_ROLE}.replicas={wanted} runs them all at once"
        into.refuse(("spec", "completions"), message, hint, settled_by=target)


def _policies(into: Translator, spec: dict[str, Any]) -> None:
    limit = spec.get("backoffLimit")
    retries(into, _DEFAULT_RETRIES if limit is None else limit, ("spec", "backoffLimit"))
    for key, value in spec.items():
        source: Path = ("spec", key)
        match key:
            case _ if value is None:
                pass
            case "activeDeadlineSeconds":
                time_limit(into, value, source)
            case "suspend":
                into.put(("hold",), value, source)
            case "ttlSecondsAfterFinished":
                into.warn(source, "has no effect: Muster keeps no pods", "records and logs of ended tasks are kept")
            case "selector" | "manualSelector" | "podReplacementPolicy" | "managedBy":
                into.warn(source, "has no effect: Muster runs the tasks itself")
            case _ if key in _REFUSED:
                into.refuse(source, _REFUSED[key], "--set retry.max=0 runs it once", settled_by=("retry", "max"))
