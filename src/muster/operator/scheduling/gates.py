"""What the decisions of the gang guard mean for the pods of a job."""

from dataclasses import replace

from muster.kubernetes.resources import JOB_UID, PODS
from muster.operator.job.actions import DeleteAll, Patch
from muster.operator.job.paddle_job import PaddleJob
from muster.operator.job.pod_states import PodView
from muster.operator.job.world import World
from muster.operator.scheduling.guard import Hold, HoldReason
from muster.operator.scheduling.room import GATE
from muster.operator.scheduling.verdict import Verdict

FIRST_WITH_GATES = (1, 27)
"""The first version of Kubernetes that has scheduling gates without being asked for them."""


def current_pods(job: PaddleJob, world: World) -> list[PodView]:
    return [pod for pod in world.pods if pod.attempt == job.attempt and not pod.is_leaving]


def verdict(hold: Hold | None, job: PaddleJob, world: World, *, has_gates: bool) -> Verdict:
    """Pods that are held back have a gate. Where the API server knows no gates, they are not created."""
    pods = current_pods(job, world)
    if hold is None:
        return Verdict(actions=tuple(_without_gate(pod) for pod in pods if GATE in pod.gates))
    held = Verdict(code=hold.reason, reason=hold.message, is_warning=hold.reason is not HoldReason.WAITS)
    if hold.is_new:
        gone = DeleteAll(PODS, {JOB_UID: job.uid}, tuple((pod.name, pod.uid) for pod in pods))
        return replace(held, may_create=False, actions=(gone,))
    return replace(held, gates=(GATE,)) if has_gates and not hold.bars_pods else replace(held, may_create=False)


def _without_gate(pod: PodView) -> Patch:
    others = [{"name": name} for name in pod.gates if name != GATE]
    return Patch(PODS, pod.name, {"spec": {"schedulingGates": others or None}})
