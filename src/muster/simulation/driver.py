"""Runs a trace in virtual time: jumps from event to event, reports each to the cluster state, and carries out plans."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import inf
from time import perf_counter

from muster.domain.nodes import Node, NodeState
from muster.domain.resources import Capacity, Device, Resources
from muster.domain.virtual_clusters import Share, VirtualCluster
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import JobDemand, TaskDemand
from muster.simulation.noise import predicted_durations
from muster.simulation.options import CostKind, DurationsKind, NodeGroup, Options, PlacementKind, Policy
from muster.simulation.profiles import profile
from muster.simulation.records import Finished, Run, Sample, TraceJob

_PLENTY_CPU_M = 10**12
_PLENTY_BYTES = 1 << 60
_TELL_EVERY = 500


@dataclass(slots=True)
class _Ride:
    """One job on its way through the cluster."""

    job: TraceJob
    demand: JobDemand
    done_s: float = 0.0
    """Run time of which the work is saved."""
    since: float | None = None
    overhead_s: float = 0.0
    """How long the current attempt runs before it does anything new."""
    first_start_s: float | None = None
    preemptions: int = 0
    lost_gpu_s: float = 0.0
    attempt: int = 0


def simulate(
    jobs: Sequence[TraceJob],
    nodes: Sequence[NodeGroup],
    options: Options,
    progress: Callable[[float], None] | None = None,
) -> Run:
    began = perf_counter()
    return _Simulation(jobs, nodes, options, progress).run(began)


class _Simulation:
    def __init__(
        self,
        jobs: Sequence[TraceJob],
        nodes: Sequence[NodeGroup],
        options: Options,
        progress: Callable[[float], None] | None,
    ) -> None:
        self._options = options
        self._progress = progress
        may_interrupt = options.preemption_cost.allows_preemption
        self._state = ClusterState("simulated", may_interrupt=may_interrupt)
        self._state.follow(profile(options.policy, self._state.predictor, may_interrupt=may_interrupt))
        self._machines = _machines(nodes, options.placement)
        for node in self._machines:
            self._state.node_changed(node)
        self._per_node = max((len(node.capacity.devices) for node in self._machines), default=0)
        if options.vc_quota is not None:
            self._state.configured(_virtual_clusters(options.vc_quota, max(group.gpus for group in nodes)))
        self._gpus = sum(len(node.capacity.devices) for node in self._machines)
        self._jobs = jobs
        self._rides: dict[str, _Ride] = {}
        self._ends: list[tuple[float, str, int]] = []
        self._busy = 0.0
        self._finished: list[Finished] = []
        self._never: list[TraceJob] = []
        self._samples: list[Sample] = []

    def run(self, began: float) -> Run:
        arrivals = self._arrivals()
        at, total = 0, len(self._jobs)
        wake_at: float | None = None
        while len(self._finished) + len(self._never) < total:
            now = min(
                arrivals[at][0].submit_s if at < len(arrivals) else inf,
                self._ends[0][0] if self._ends else inf,
                wake_at if wake_at is not None else inf,
            )
            if now == inf:
                self._never += [ride.job for ride in self._rides.values()]
                break
            self._end_what_ends(now)
            while at < len(arrivals) and arrivals[at][0].submit_s <= now:
                job, demand = arrivals[at]
                at += 1
                self._rides[job.job_id] = _Ride(job, demand)
                self._state.queued(demand)
            wake_at = self._settle(now)
            if self._progress is not None and at % _TELL_EVERY == 0:
                self._progress((len(self._finished) + len(self._never)) / total)
        return Run(
            policy=str(self._options.policy),
            gpus=self._gpus,
            finished=self._finished,
            samples=self._samples,
            never=self._never,
            wall_s=perf_counter() - began,
            prediction_error=self._state.predictor.error,
        )

    def _arrivals(self) -> list[tuple[TraceJob, JobDemand]]:
        predicted = predicted_durations(self._jobs, self._options.durations)
        found: list[tuple[TraceJob, JobDemand]] = []
        for job, guess in zip(self._jobs, predicted, strict=True):
            demand = _demand(job, guess, self._options, self._per_node)
            if self._state.never_fits(demand) is None:
                found.append((job, demand))
            else:
                self._never.append(job)
        return found

    def _settle(self, now: float) -> float | None:
        """Cycle until the plan asks for nothing more."""
        while True:
            plan = self._state.cycle(now)
            for preemption in plan.preemptions:
                self._interrupt(self._rides[preemption.job_id], now)
            for start in plan.starts:
                self._start(self._rides[start.job_id], now)
            if not plan.preemptions and not plan.starts:
                break
        self._sample(now)
        return plan.wake_at

    def _start(self, ride: _Ride, now: float) -> None:
        job = ride.job
        ride.since = now
        ride.attempt += 1
        if ride.first_start_s is None:
            ride.first_start_s = now
        ride.overhead_s = self._options.preemption_cost.restart_s(job.gpus) if ride.preemptions else 0.0
        ride.lost_gpu_s += ride.overhead_s * job.gpus
        self._busy += job.gpus
        heappush(self._ends, (now + ride.overhead_s + job.duration_s - ride.done_s, job.job_id, ride.attempt))

    def _interrupt(self, ride: _Ride, now: float) -> None:
        job_id = ride.job.job_id
        if ride.since is not None:
            new_s = max(0.0, now - ride.since - ride.overhead_s)
            lost_s = self._options.preemption_cost.lost_s(new_s)
            ride.done_s += new_s - lost_s
            ride.lost_gpu_s += lost_s * ride.job.gpus
            ride.preemptions += 1
            ride.attempt += 1
            ride.since = None
            self._busy -= ride.job.gpus
        ride.demand = replace(ride.demand, ran_s=ride.done_s, waiting_since=now)
        self._state.released(job_id)
        self._state.queued(ride.demand)

    def _end_what_ends(self, now: float) -> None:
        while self._ends and self._ends[0][0] <= now:
            at, job_id, attempt = heappop(self._ends)
            ride = self._rides.get(job_id)
            if ride is None or ride.attempt != attempt:
                continue
            del self._rides[job_id]
            self._busy -= ride.job.gpus
            self._state.released(job_id)
            self._state.learnt(ride.demand, ride.job.duration_s)
            assert ride.first_start_s is not None
            self._finished.append(Finished(ride.job, ride.first_start_s, at, ride.preemptions, ride.lost_gpu_s))

    def _sample(self, now: float) -> None:
        waiting, wanted, smallest = self._state.backlog()
        free = self._gpus - self._busy
        self._samples.append(Sample(now, self._busy, waiting, wanted, free if waiting and smallest <= free else 0.0))


def _virtual_clusters(quota: Mapping[str, int], per_node: int) -> list[VirtualCluster]:
    """Virtual clusters that are guaranteed so many whole nodes each. Their policy is the one that the state follows."""
    return [VirtualCluster(name, "simulated", Share({"": nodes * per_node})) for name, nodes in quota.items()]


def _demand(job: TraceJob, predicted_s: float | None, options: Options, per_node: int) -> JobDemand:
    limit_s = job.limit_s if options.durations.kind is DurationsKind.LIMIT else None
    if options.policy is Policy.EASY and limit_s is None:
        limit_s = predicted_s
    cost = options.preemption_cost
    return JobDemand(
        job_id=job.job_id,
        name=job.job_id,
        tasks=_tasks(job, per_node),
        created_at=job.submit_s,
        user=job.user,
        vc=job.vc if options.vc_quota is not None else "",
        time_limit_s=limit_s,
        predicted_s=predicted_s,
        similarity=_similarity(job),
        checkpoint_every_s=cost.interval_s if cost.kind is CostKind.CHECKPOINT else 0.0,
        restart_s=cost.restart_s(job.gpus),
    )


def _similarity(job: TraceJob) -> tuple[str, ...]:
    own = (f"{job.user}|{job.gpus:g}",) if job.user else ()
    return (*own, f"{job.gpus:g}", "")


def _tasks(job: TraceJob, per_node: int) -> tuple[TaskDemand, ...]:
    """One task if a node has enough GPUs; a larger gang takes whole nodes."""
    models = (job.gpu_type,) if job.gpu_type else ()
    count = max(1, -(-int(job.gpus) // per_node)) if per_node and job.gpus > 1 else 1
    gpus = per_node if count > 1 else int(job.gpus) or (1 if job.gpus else 0)
    share = 1000 if job.gpus >= 1 or not job.gpus else max(1, round(job.gpus * 1000))
    cpu_m, memory = round(job.cpus * 1000 / count), round(job.mem_mib * 1048576 / count)
    resources = Resources(cpu_m, memory, gpus, models, share)
    return tuple(TaskDemand("worker", index, resources) for index in range(count))


def _machines(groups: Sequence[NodeGroup], placement: PlacementKind) -> list[Node]:
    found: list[Node] = []
    for number, group in enumerate(groups):
        counted = placement is PlacementKind.COUNT
        count, gpus = (1, group.count * group.gpus) if counted else (group.count, group.gpus)
        model = group.model or "gpu"
        capacity = Capacity(
            _PLENTY_CPU_M if group.cpus is None else round(group.cpus * 1000),
            _PLENTY_BYTES if group.mem_mib is None else round(group.mem_mib * 1048576),
            tuple(Device(index, model) for index in range(gpus)),
        )
        found += [
            Node(f"{group.cluster or 'n'}{number}-{index:05}", "simulated", "", capacity, NodeState.READY)
            for index in range(count)
        ]
    return found
