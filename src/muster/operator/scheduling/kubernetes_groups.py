"""Gang scheduling by Kubernetes itself: a PodGroup of `scheduling.k8s.io`, to which the pods of the job belong."""

from typing import Any

from muster.kubernetes.pod_groups import DEFAULT_SCHEDULER, kubernetes_group_spec, kubernetes_member
from muster.kubernetes.resources import Object, Resource
from muster.operator.job.paddle_job import PaddleJob
from muster.operator.job.world import World
from muster.operator.scheduling import pod_groups
from muster.operator.scheduling.gangs import gang_of, scheduler_names
from muster.operator.scheduling.verdict import Verdict

WAITING = "WaitingForPodGroup"


def applies(job: PaddleJob) -> bool:
    return scheduler_names(job) <= {DEFAULT_SCHEDULER}


def with_group(job: PaddleJob, world: World, group: Object | None, resource: Resource) -> Verdict:
    """The verdict on a job that is to run. The scheduler holds the pods until enough of them fit, so that they are
    created at once. Only the group has to be right before: it cannot be changed later."""
    spec = _group_spec(job)
    pods = Verdict(pod_spec=kubernetes_member(job.name))
    if group is None:
        return pods.doing(pod_groups.creation(resource, job, spec))
    if world.pods or not (pod_groups.is_leaving(group) or pod_groups.changes(job, group, spec)):
        return pods
    return pods.waiting(
        WAITING, f"PodGroup {job.name} is replaced by one of another size", pod_groups.removal(resource, job, group)
    )


def _group_spec(job: PaddleJob) -> dict[str, Any]:
    return kubernetes_group_spec(gang_of(job).size, str(job.scheduling.get("priorityClass") or ""))
