"""The core of the operator: what to do for a job, given what exists of it. It is pure, so every case can be tested.

It is called again after everything that it asked for has been done, until it asks for nothing more. A decision that
must not be taken twice (a restart, the end) is written to the status first, and acted upon in the next call.
"""

from collections.abc import Callable, Sequence
from typing import Any

from muster.kubernetes.resources import ATTEMPT, CONFIG_MAPS, HOST_PORT, JOB_UID, PADDLE_JOBS, PODS, SERVICES
from muster.kubernetes.times import instant, timestamp
from muster.lib.backoff import exponential
from muster.operator.job.actions import Action, Create, Delete, Patch
from muster.operator.job.environment import PEERS, GangVariables, gang_variables, peers_digest
from muster.operator.job.membership import membership
from muster.operator.job.paddle_job import Intranet, PaddleJob
from muster.operator.job.phases import ENDED, Phase, has_completed, next_phase, phase_of
from muster.operator.job.pod_states import PodState, PodView
from muster.operator.job.world import World
from muster.operator.planning import conditions as cond
from muster.operator.planning import manifests
from muster.operator.planning.cleaning import DEADLINE, after_end, delete_all
from muster.operator.planning.plans import JobEvent, LogLine, Plan
from muster.operator.planning.status import Status, counts, wanted_before
from muster.operator.scheduling.verdict import Verdict

Scheduling = Callable[[PaddleJob, World], Verdict]
_LONGEST_BACKOFF_S = 360.0
_LOST_NODE_S = 30.0
"""How long after its grace period a pod may stay before it is deleted without its node's consent."""
_CREATED_AT_ONCE = 500
"""The rest of a larger gang is created in the next calls, so that it takes neither all memory nor all attention."""


def without_gang_scheduling(job: PaddleJob, world: World) -> Verdict:
    return Verdict()


def plan(
    job: PaddleJob,
    world: World,
    now: float,
    schedule: Scheduling = without_gang_scheduling,
    *,
    init_image: str = "",
) -> Plan:
    if job.is_leaving:
        return Plan()  # the garbage collector deletes what the job owns
    if phase_of(job) in ENDED:
        return after_end(job, world, now, schedule(job, world))
    if job.problems:
        return _invalid(job, now)
    if job.is_suspended:
        return _suspended(job, world, now, schedule(job, world))
    return _Active(job, world, now, schedule(job, world), init_image).plan()


class _Active:
    """A job that runs, or is to run."""

    def __init__(self, job: PaddleJob, world: World, now: float, verdict: Verdict, init_image: str) -> None:
        self._job, self._world, self._now, self._verdict = job, world, now, verdict
        self._init_image = init_image
        self._current = tuple(pod for pod in world.pods if pod.attempt == job.attempt and not pod.is_leaving)
        self._conditions = cond.read_conditions(job.status)
        self._events: list[JobEvent] = []
        self._wakes: list[float] = []

    def plan(self) -> Plan:
        if has_completed(self._job, self._current):
            return self._end(Phase.COMPLETED, "WorkersSucceeded", "All workers succeeded.")
        if failed := self._failed_pods():
            return self._fail("PodFailed", f"{failed[0].name}: {failed[0].failure}")
        if self._is_overdue():
            return self._end(Phase.FAILED, DEADLINE, f"The job ran longer than {self._job.deadline_s} s.")
        return self._progress()

    def _progress(self) -> Plan:
        gone = self._deletions()
        created = self._creations()
        stages = (self._preparations(), gone, created, self._announcements())
        names = tuple(one.name for one in created if isinstance(one, Create) and one.resource is PODS)
        if names:
            self._report_creation(names)
        status = self._status(next_phase(self._job, self._current))
        return Plan(stages, status, tuple(self._events), min(self._wakes, default=None))

    def _failed_pods(self) -> list[PodView]:
        """The pods whose failure is one of the job. A worker of an elastic job is replaced instead."""
        return [pod for pod in self._current if pod.state is PodState.FAILED and not self._is_replaced(pod)]

    def _is_replaced(self, pod: PodView) -> bool:
        return self._job.is_elastic and pod.role == "worker"

    def _is_overdue(self) -> bool:
        started = instant(self._job.status.get("startTime"))
        if self._job.deadline_s is None or started is None:
            return False
        self._wakes.append(started + self._job.deadline_s)
        return self._now >= started + self._job.deadline_s

    def _preparations(self) -> tuple[Action, ...]:
        first: list[Action] = []
        is_known = self._job.annotations.get(HOST_PORT) == str(self._world.first_port)
        if self._job.intranet is Intranet.HOST and not is_known and not self._world.is_held:
            patch = {"metadata": {"annotations": {HOST_PORT: str(self._world.first_port)}}}
            first.append(Patch(PADDLE_JOBS, self._job.name, patch))
        wanted = self._verdict.actions
        if self._world.is_held:
            wanted = tuple(action for action in wanted if not isinstance(action, Create))
        return (*first, *wanted)

    def _deletions(self) -> tuple[Action, ...]:
        job = self._job
        found: list[Action] = []
        wanted = frozenset(job.pod_names)
        old = [pod for pod in self._world.pods if pod.attempt != job.attempt and not pod.is_leaving]
        for attempt in sorted({pod.attempt for pod in old}):
            labels = {JOB_UID: job.uid, ATTEMPT: str(attempt)}
            found.append(delete_all(labels, [pod for pod in old if pod.attempt == attempt]))
        for pod in self._current:
            if pod.name not in wanted or (pod.state is PodState.FAILED and self._is_replaced(pod)):
                found.append(Delete(PODS, pod.name, pod.uid))
        found += [Delete(SERVICES, name, uid) for name, uid in self._world.services.items() if name not in wanted]
        return (*found, *self._lost(self._world.pods))

    def _lost(self, pods: Sequence[PodView]) -> list[Action]:
        """Pods that were deleted and whose node does not answer. Their names are needed again."""
        found: list[Action] = []
        for pod in pods:
            if pod.leaves_at is None:
                continue
            if self._now >= pod.leaves_at + _LOST_NODE_S:
                found.append(Delete(PODS, pod.name, pod.uid, is_forced=True))
            else:
                self._wakes.append(pod.leaves_at + _LOST_NODE_S)
        return found

    def _creations(self) -> tuple[Action, ...]:
        job, world = self._job, self._world
        if not self._may_create():
            return ()
        taken = {pod.name for pod in world.pods} | world.earlier | world.foreign.keys()
        missing = [
            (role, index)
            for role in job.roles
            for index in range(role.replicas)
            if job.pod_name(role.name, index) not in taken
        ][:_CREATED_AT_ONCE]
        services: list[Action] = []
        if job.intranet is Intranet.SERVICE:
            known = world.services.keys() | world.earlier | world.foreign.keys()
            names = [name for name in job.pod_names if name not in known][:_CREATED_AT_ONCE]
            services = [Create(SERVICES, manifests.service(job, name)) for name in names]
        if not missing:
            return tuple(services)
        variables = self._variables({name: name for name in job.pod_names})
        return tuple(services) + tuple(
            Create(
                PODS,
                manifests.pod(
                    job,
                    role,
                    index,
                    variables.pods[job.pod_name(role.name, index)],
                    self._verdict,
                    first_port=world.first_port,
                    init_image=self._init_image,
                ),
            )
            for role, index in missing
        )

    def _may_create(self) -> bool:
        if any(pod.attempt != self._job.attempt for pod in self._world.pods):
            return False  # a gang starts as a whole: the former one has to be gone
        if not self._verdict.may_create or self._world.is_held:
            return False
        at = instant(self._job.status.get("restartTime"))
        if at is None or self._now >= at:
            return True
        self._wakes.append(at)
        return False

    def _announcements(self) -> tuple[Action, ...]:
        """Tell the pods who their peers are, once all are known, and again whenever that changes."""
        members = membership(self._job, self._current, self._now)
        if members.decided_at is not None:
            self._wakes.append(members.decided_at)
        if not members.addresses or not self._current:
            return ()
        peers = peers_digest(self._job, members.addresses, self._world.first_port)
        behind = [pod for pod in self._current if not pod.state.has_ended and pod.peers != peers]
        outsiders = [pod for pod in behind if pod.name not in members.addresses]
        if len(behind) == len(outsiders) and self._world.config is not None and self._world.config_peers == peers:
            return ()
        variables = self._variables(members.addresses)
        return (
            *self._config_map(variables, peers),
            *(
                Patch(PODS, pod.name, {"metadata": {"annotations": manifests.peer_annotations(own)}})
                for pod in behind
                if (own := variables.pods.get(pod.name)) is not None
            ),
        )

    def _config_map(self, variables: GangVariables, peers: str) -> tuple[Action, ...]:
        job, before = self._job, self._world.config
        if before is None:
            is_taken = self._world.foreign.get(job.name) == CONFIG_MAPS.kind
            if is_taken or self._world.is_held:
                return ()
            return (Create(CONFIG_MAPS, manifests.config_map(job, variables.shared, peers)),)
        if self._world.config_peers == peers:
            return ()
        data = {**dict.fromkeys(before), **variables.shared}
        return (Patch(CONFIG_MAPS, job.name, {"metadata": {"annotations": {PEERS: peers}}, "data": data}),)

    def _variables(self, addresses: Any) -> GangVariables:
        return gang_variables(self._job, addresses, self._world.first_port)

    def _report_creation(self, names: tuple[str, ...]) -> None:
        shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
        for role in self._job.roles:
            before = wanted_before(self._job, role.name)
            if before is not None and before != role.replicas:
                message = f"{role.name}: {before} to {role.replicas} replicas; created {shown}"
                self._events.append(JobEvent("Scaled", message))
                return
        self._events.append(JobEvent("Created", f"Created pod{'s' if len(names) > 1 else ''} {shown}"))

    def _fail(self, reason: str, message: str) -> Plan:
        job = self._job
        if job.attempt >= job.backoff_limit:
            return self._end(Phase.FAILED, reason, message)
        pause = exponential(job.attempt + 1, first_s=float(job.backoff_s), limit_s=_LONGEST_BACKOFF_S)
        told = f"{message}; restart {job.attempt + 1} of {job.backoff_limit} in {pause:.0f} s"
        self._set(cond.RUNNING, False, "Restarting", "")
        self._set(cond.RESTARTING, True, reason, told)
        status = self._status(Phase.RESTARTING)
        status |= {"restarts": job.attempt + 1, "restartTime": timestamp(self._now + pause)}
        return Plan(status=status, events=(*self._events, JobEvent("Restarting", told, is_warning=True)))

    def _end(self, phase: Phase, reason: str, message: str) -> Plan:
        if cond.holds(self._conditions, cond.RUNNING):
            self._set(cond.RUNNING, False, reason, "")
        if cond.holds(self._conditions, cond.RESTARTING):
            self._set(cond.RESTARTING, False, reason, "")
        self._set(cond.COMPLETED if phase is Phase.COMPLETED else cond.FAILED, True, reason, message)
        status = self._status(phase)
        status["completionTime"] = timestamp(self._now)
        status.setdefault("startTime", timestamp(self._now))
        status.pop("restartTime", None)
        if phase is Phase.FAILED:
            self._events.append(JobEvent("Failed", message, is_warning=True))
        return Plan(status=status, events=tuple(self._events), log=(self._end_line(phase, reason, message),))

    def _end_line(self, phase: Phase, reason: str, message: str) -> LogLine:
        started = instant(self._job.status.get("startTime"))
        details: dict[str, object] = {
            "reason": reason,
            "message": message,
            "mode": self._job.mode,
            "pods": len(self._current),
            "restarts": self._job.attempt,
            "seconds": None if started is None else round(self._now - started),
        }
        return LogLine("job completed" if phase is Phase.COMPLETED else "job failed", details)

    def _status(self, phase: Phase) -> Status:
        job = self._job
        self._report_problems()
        status: Status = {
            **job.status,
            "phase": phase,
            "mode": job.mode,
            "observedGeneration": job.generation,
            **counts(job, self._current),
        }
        if phase is Phase.RUNNING:
            if "startTime" not in job.status:
                status["startTime"] = timestamp(self._now)
            status.pop("restartTime", None)
            self._set(cond.RUNNING, True, "PodsRunning", "")
            if cond.holds(self._conditions, cond.RESTARTING):
                self._set(cond.RESTARTING, False, "PodsRunning", "")
        if cond.holds(self._conditions, cond.SUSPENDED):
            self._set(cond.SUSPENDED, False, "Resumed", "")
            self._events.append(JobEvent("Resumed", "The job was resumed"))
        if self._conditions:
            status["conditions"] = list(self._conditions)
        return status

    def _report_problems(self) -> None:
        """The conditions about what is wrong, each with an event when it begins."""
        world, job = self._world, self._job
        taken = ", ".join(f"{kind} {name}" for name, kind in sorted(world.foreign.items()))
        self._problem(cond.SPEC_VALID, "", "Invalid")
        self._problem(cond.FIELDS_IGNORED, "; ".join(job.ignored), "FieldsIgnored")
        self._problem(cond.NAME_CONFLICT, taken and f"{taken} exists and does not belong to this job", "NameConflict")
        self._problem(cond.PODS_CREATED, world.refusal, "Refused")
        stuck = next((pod for pod in self._current if pod.trouble), None)
        self._problem(cond.PODS_STARTED, f"{stuck.name}: {stuck.trouble}" if stuck else "", "NotStarting")
        self._problem(cond.ADMITTED, self._verdict.reason, self._verdict.code, is_warning=self._verdict.is_warning)

    def _problem(self, kind: str, message: str, reason: str, *, is_warning: bool = True) -> None:
        before = cond.find(self._conditions, kind)
        self._conditions = cond.with_problem(self._conditions, kind, bool(message), reason, message, self._now)
        if message and (before is None or before.get("message") != message):
            self._events.append(JobEvent(reason, message, is_warning=is_warning))

    def _set(self, kind: str, is_true: bool, reason: str, message: str) -> None:
        self._conditions = cond.with_condition(self._conditions, kind, is_true, reason, message, self._now)


def _invalid(job: PaddleJob, now: float) -> Plan:
    message = "; ".join(job.problems)
    before = cond.read_conditions(job.status)
    after = cond.with_condition(before, cond.SPEC_VALID, False, "Invalid", message, now)
    status = {**job.status, "observedGeneration": job.generation, "conditions": list(after)}
    status.setdefault("phase", Phase.PENDING)
    known = (cond.find(before, cond.SPEC_VALID) or {}).get("message")
    return Plan(status=status, events=() if known == message else (JobEvent("Invalid", message, is_warning=True),))


def _suspended(job: PaddleJob, world: World, now: float, verdict: Verdict) -> Plan:
    pods = [pod for pod in world.pods if not pod.is_leaving]
    before = cond.read_conditions(job.status)
    after = cond.with_condition(before, cond.SUSPENDED, True, "Suspended", "spec.suspend is true", now)
    if cond.holds(after, cond.RUNNING):
        after = cond.with_condition(after, cond.RUNNING, False, "Suspended", "", now)
    status = {
        **{key: value for key, value in job.status.items() if key not in ("startTime", "restartTime")},
        "phase": Phase.SUSPENDED,
        "mode": job.mode,
        "observedGeneration": job.generation,
        **counts(job, ()),
        "conditions": list(after),
    }
    gone = (delete_all({JOB_UID: job.uid}, pods),) if pods else ()
    is_new = not cond.holds(before, cond.SUSPENDED)
    events = (JobEvent("Suspended", "spec.suspend is true: the pods are deleted"),) if is_new else ()
    return Plan((verdict.actions, gone), status, events)
