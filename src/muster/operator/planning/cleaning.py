"""What happens after the end of a job: its pods and services are deleted as `cleanPodPolicy` says, and the job itself
after its time to live."""

from collections.abc import Mapping, Sequence

from muster.kubernetes.resources import JOB_UID, PADDLE_JOBS, PODS, SERVICES
from muster.kubernetes.times import instant
from muster.operator.job.actions import Action, Delete, DeleteAll
from muster.operator.job.paddle_job import CleanPolicy, PaddleJob
from muster.operator.job.phases import Phase, phase_of
from muster.operator.job.pod_states import PodView
from muster.operator.job.world import World
from muster.operator.planning import conditions as cond
from muster.operator.planning.plans import LogLine, Plan
from muster.operator.planning.status import Status, counts
from muster.operator.scheduling.verdict import Verdict

CLEANED: Mapping[CleanPolicy, tuple[Phase, ...]] = {
    CleanPolicy.ALWAYS: (Phase.COMPLETED, Phase.FAILED),
    CleanPolicy.NEVER: (),
    CleanPolicy.ON_FAILURE: (Phase.FAILED,),
    CleanPolicy.ON_COMPLETION: (Phase.COMPLETED,),
}
"""The ends of a job that lead to the deletion of its pods and services."""
DEADLINE = "DeadlineExceeded"
"""The reason of a failure after which pods that still run are stopped whatever the policy says."""


def after_end(job: PaddleJob, world: World, now: float, verdict: Verdict) -> Plan:
    pods = [pod for pod in world.pods if not pod.is_leaving]
    gone: list[Action] = []
    if phase_of(job) in CLEANED[job.clean_policy]:
        if pods:
            gone.append(delete_all({JOB_UID: job.uid}, pods))
        gone += [Delete(SERVICES, name, uid) for name, uid in world.services.items()]
    elif _failure_reason(job) == DEADLINE:
        gone += [Delete(PODS, pod.name, pod.uid) for pod in pods if not pod.state.has_ended]
    status = None if gone else _late_counts(job, pods)
    log = (_cleaning_line(job, gone),) if gone else ()
    ended = instant(job.status.get("completionTime"))
    if job.ttl_s is None or ended is None:
        return Plan((verdict.actions, tuple(gone)), status, log=log)
    if now >= ended + job.ttl_s:
        deleted = LogLine("job deleted after its time to live", {"ttl_s": job.ttl_s, "phase": phase_of(job)})
        return Plan(((Delete(PADDLE_JOBS, job.name, job.uid),),), log=(deleted,))
    return Plan((verdict.actions, tuple(gone)), status, log=log, wake_at=ended + job.ttl_s)


def delete_all(labels: Mapping[str, str], pods: Sequence[PodView]) -> DeleteAll:
    """The deletion of these pods, which are all that have the labels."""
    return DeleteAll(PODS, labels, tuple((pod.name, pod.uid) for pod in pods))


def _cleaning_line(job: PaddleJob, gone: Sequence[Action]) -> LogLine:
    pods = sum(len(one.found) if isinstance(one, DeleteAll) else one.resource is PODS for one in gone)
    services = sum(one.resource is SERVICES for one in gone)
    details = {"phase": phase_of(job), "policy": job.clean_policy, "pods": pods, "services": services}
    return LogLine("job cleaned up", details)


def _late_counts(job: PaddleJob, pods: Sequence[PodView]) -> Status | None:
    """The status with new counts if more pods run than were counted at the end: short workers may have succeeded before
    their servers were reported as running. Pods that end later are not worth a write."""
    found = counts(job, [pod for pod in pods if pod.attempt == job.attempt])
    before = {role.name: job.status.get(role.name) or {} for role in job.roles}
    if all(found[name]["running"] <= (known.get("running") or 0) for name, known in before.items()):
        return None
    return {**job.status, **found}


def _failure_reason(job: PaddleJob) -> str:
    return str((cond.find(cond.read_conditions(job.status), cond.FAILED) or {}).get("reason") or "")
