"""A Pod (`v1`) as a Muster spec: a job of one task."""

from muster.domain.specs import WORKER_ROLE, Framework
from muster.wire.dialects.kubernetes.kube_metadata import around_spec, name_of, namespace_of, recognizer
from muster.wire.dialects.kubernetes.pod_gangs import translate_pods
from muster.wire.dialects.kubernetes.pods import PodRole
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document

KIND, VERSION = "Pod", "v1"
STATES = {
    "Queued": "Pending",
    "Held": "Pending",
    "Starting": "Pending",
    "Running": "Running",
    "Stopping": "Running",
    "Succeeded": "Succeeded",
    "Failed": "Failed",
    "Cancelled": "Failed",
}
"""The phase of a Pod for each state of a Muster job."""
recognizes = recognizer(KIND, VERSION)


def translate(document: Document) -> Translation:
    into, data = Translator(document), document.data
    spec = around_spec(into, data)
    into.put(("framework",), str(Framework.NONE), ("kind",))
    into.put(("roles", WORKER_ROLE, "replicas"), 1, ("spec",))
    role = PodRole(into, WORKER_ROLE, {"spec": spec}, (), namespace=namespace_of(data))
    translate_pods(into, [role], name_of(data))
    source = ("spec", "restartPolicy")
    match spec.get("restartPolicy", "Always"):
        case "Always":
            message = "a pod that is always restarted never ends, and a Muster job ends with its command"
            hint = "--set retry.max=0 runs it once, and so does `restartPolicy: Never`"
            into.refuse(source, message, hint, settled_by=("retry", "max"))
        case "OnFailure":
            into.warn(source, "OnFailure has no effect: a failed task is not restarted", "--set retry.max=3")
    return into.translation()
