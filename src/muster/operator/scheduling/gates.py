"""What the decisions of the gang guard mean for the pods of a job."""

from collections.abc import Collection
from dataclasses import replace

from muster.kubernetes.resources import JOB_UID, PODS
from muster.operator.job.actions import DeleteAll, Patch
from muster.operator.job.paddle_job import Intranet, PaddleJob
from muster.operator.job.pod_states import PodView
from muster.operator.job.world import World
from muster.operator.scheduling.guard import Hold, HoldReason
from muster.operator.scheduling.room import GATE
from muster.operator.scheduling.verdict import Verdict

FIRST_WITH_GATES = (1, 27)
"""The first version of Kubernetes that has scheduling gates without being asked for them."""
_MOST_HELD = 500
"""No pods are created for a larger job that would not fit even on empty nodes."""


def current_pods(job: PaddleJob, world: World) -> list[PodView]:
    return [pod for pod in world.pods if pod.attempt == job.attempt and not pod.is_leaving]


def verdict(hold: Hold | None, job: PaddleJob, world: World, *, has_gates: bool) -> Verdict:
    """Pods that are held back have a gate. Where the API server knows no gates, they are not created."""
    pods = current_pods(job, world)
    if hold is None and has_gates and _awaits_others(job, pods):
        return Verdict(gates=(GATE,))
    if hold is None:
        return Verdict(actions=tuple(_without_gate(pod) for pod in pods if GATE in pod.gates))
    held = Verdict(code=hold.reason, reason=hold.message, is_warning=hold.reason is not HoldReason.WAITS)
    if hold.is_new:
        gone = DeleteAll(PODS, {JOB_UID: job.uid}, tuple((pod.name, pod.uid) for pod in pods))
        return replace(held, may_create=False, actions=(gone,))
    is_absurd = hold.reason is HoldReason.TOO_LARGE and job.pod_count > _MOST_HELD
    if hold.bars_pods or is_absurd or not has_gates:
        return replace(held, may_create=False)
    return replace(held, gates=(GATE,))


def _awaits_others(job: PaddleJob, pods: Collection[PodView]) -> bool:
    """Whether the pods have to wait for those that do not exist yet, which a quota may refuse. With addresses of pods,
    they wait for each other anyway; with names of services, they would start at once."""
    if job.intranet is not Intranet.SERVICE or job.is_elastic:
        return False
    return len(pods) < job.pod_count and all(GATE in pod.gates for pod in pods)


def _without_gate(pod: PodView) -> Patch:
    others = [{"name": name} for name in pod.gates if name != GATE]
    return Patch(PODS, pod.name, {"spec": {"schedulingGates": others or None}})
