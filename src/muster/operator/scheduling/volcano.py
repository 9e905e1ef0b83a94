"""Gang scheduling by Volcano, in paddle-operator's two forms.

Either a user makes a PodGroup of the job's name and names the scheduler in the template of the workers, or
`--scheduling=volcano` makes a PodGroup for every job whose templates name no other scheduler. In the second form pods
are created when Volcano has put the group in its queue.
"""

from collections.abc import Mapping
from typing import Any

from muster.domain.specs import WORKER_ROLE
from muster.kubernetes.pod_groups import (
    GROUP_NAME,
    VOLCANO_GROUPS,
    VOLCANO_SCHEDULER,
    quantities,
    volcano_group_spec,
)
from muster.kubernetes.resources import Object, annotations_of
from muster.operator.job.actions import Patch
from muster.operator.job.paddle_job import PaddleJob
from muster.operator.job.world import World
from muster.operator.scheduling import pod_groups
from muster.operator.scheduling.gangs import gang_of, scheduler_names
from muster.operator.scheduling.verdict import Verdict

_TASK, _JOB, _VERSION, _QUEUE = (
    f"volcano.sh/{name}" for name in ("task-spec", "job-name", "job-version", "queue-name")
)
_ADMITTED = ("Inqueue", "Running")
WAITING = "WaitingForPodGroup"


def names_volcano(job: PaddleJob) -> bool:
    """Whether the user asks for Volcano by the template of the workers."""
    worker = job.role(WORKER_ROLE)
    return worker is not None and worker.template["spec"].get("schedulerName") == VOLCANO_SCHEDULER


def with_user_group(job: PaddleJob) -> Verdict:
    """All pods join the PodGroup that the user made: the template of the workers speaks for all roles."""
    worker = job.role(WORKER_ROLE)
    named = annotations_of(worker.template).get(GROUP_NAME) if worker is not None else None
    return Verdict(scheduler_name=VOLCANO_SCHEDULER, shared_annotations={GROUP_NAME: named or job.name})


def applies(job: PaddleJob) -> bool:
    """Whether the automatic form takes the job: no role names another scheduler."""
    return scheduler_names(job) <= {VOLCANO_SCHEDULER}


def with_own_group(job: PaddleJob, world: World, group: Object | None) -> Verdict:
    """The verdict on a job that is to run. `group` is the PodGroup of the job's name."""
    spec = _group_spec(job)
    shared = {GROUP_NAME: job.name, _JOB: job.name, _VERSION: "0"}
    if spec.get("queue"):
        shared[_QUEUE] = spec["queue"]
    pods = Verdict(
        scheduler_name=VOLCANO_SCHEDULER,
        shared_annotations=shared,
        role_annotations={role.name: {_TASK: role.name} for role in job.roles},
    )
    if group is None:
        created = pod_groups.creation(VOLCANO_GROUPS, job, spec)
        return pods.waiting(WAITING, f"PodGroup {job.name} is created for Volcano", created)
    if pod_groups.is_leaving(group):
        return pods.waiting(WAITING, f"PodGroup {job.name} of an earlier start is being deleted")
    if changed := pod_groups.changes(job, group, spec):
        pods = pods.doing((Patch(VOLCANO_GROUPS, job.name, {"spec": changed}),))
    phase = str((group.get("status") or {}).get("phase") or "Pending")
    # A pod that is lost later is replaced whatever Volcano says of the group: it is no new gang.
    if phase in _ADMITTED or any(pod.attempt == job.attempt and not pod.is_leaving for pod in world.pods):
        return pods
    return pods.waiting(WAITING, f"Volcano has not put PodGroup {job.name} in its queue yet: it is {phase}")


def _group_spec(job: PaddleJob) -> dict[str, Any]:
    gang, policy = gang_of(job), job.scheduling
    given = policy.get("minResources")
    needed: Mapping[str, Any] = given if isinstance(given, Mapping) and given else quantities(gang.resources)
    queue, priority_class = (str(policy.get(key) or "") for key in ("queue", "priorityClass"))
    return volcano_group_spec(gang.size, needed, queue=queue, priority_class=priority_class)
