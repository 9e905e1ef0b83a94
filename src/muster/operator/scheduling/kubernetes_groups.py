"""Gang scheduling by Kubernetes itself: a PodGroup of `scheduling.k8s.io`, to which the pods of the job belong."""

from typing import Any

from muster.kubernetes.resources import Object, Resource
from muster.operator.job.paddle_job import PaddleJob
from muster.operator.job.world import World
from muster.operator.scheduling import pod_groups
from muster.operator.scheduling.gangs import DEFAULT_SCHEDULER, gang_of, scheduler_names
from muster.operator.scheduling.verdict import Verdict

GROUP, PLURAL = "scheduling.k8s.io", "podgroups"
WAITING = "WaitingForPodGroup"


def kubernetes_groups(version: str) -> Resource:
    return Resource(GROUP, version, "PodGroup", PLURAL)


def applies(job: PaddleJob) -> bool:
    return scheduler_names(job) <= {DEFAULT_SCHEDULER}


def with_group(job: PaddleJob, world: World, group: Object | None, resource: Resource) -> Verdict:
    """The verdict on a job that is to run. The scheduler holds the pods until enough of them fit, so that they are
    created at once. Only the group has to be right before: it cannot be changed later."""
    spec = _group_spec(job)
    pods = Verdict(pod_spec={"schedulingGroup": {"podGroupName": job.name}})
    if group is None:
        return pods.doing(pod_groups.creation(resource, job, spec))
    if world.pods or not (pod_groups.is_leaving(group) or pod_groups.changes(job, group, spec)):
        return pods
    return pods.waiting(
        WAITING, f"PodGroup {job.name} is replaced by one of another size", pod_groups.removal(resource, job, group)
    )


def _group_spec(job: PaddleJob) -> dict[str, Any]:
    gang, policy = gang_of(job), job.scheduling
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": gang.size}}}
    if policy.get("priorityClass"):
        spec["priorityClassName"] = str(policy["priorityClass"])
    return spec
