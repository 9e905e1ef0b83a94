"""The long-lived state of one cluster: takes events, answers `cycle(now) → Plan`.

First come, first served within a priority, whole gangs only. A job that does not fit holds back those behind it, but
only from the kind of resource it lacks: a gang that waits for GPUs does not stop CPU jobs.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from itertools import islice

from muster.domain.nodes import Node
from muster.domain.reasons import Reason
from muster.domain.virtual_clusters import VirtualCluster
from muster.scheduling.demand import JobDemand, Plan, Slot, Start
from muster.scheduling.explaining import backing_off, behind, never, short
from muster.scheduling.ledger import NodeLedger
from muster.scheduling.placement import place, shortage, undo

_LOOK_AHEAD = 1000
"""How many waiting jobs one cycle looks at, so that a cycle's cost does not grow with the queue."""


class ClusterState:
    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: dict[str, NodeLedger] = {}
        self._held: dict[str, tuple[Slot, ...]] = {}
        self._queue: list[tuple[int, float, str]] = []
        self._waiting: dict[str, JobDemand] = {}
        self._reasons: dict[str, Reason] = {}

    # What happened

    def node_changed(self, node: Node) -> None:
        """A node joined, or its capacity or state is another. What jobs hold there stays held."""
        ledger = NodeLedger.of(node)
        for slots in self._held.values():
            for slot in slots:
                if slot.node == node.name:
                    ledger.take_exactly(slot.resources, slot.devices)
        self._nodes[node.name] = ledger

    def node_removed(self, name: str) -> None:
        self._nodes.pop(name, None)

    def queued(self, job: JobDemand) -> None:
        self.unqueued(job.job_id)
        self._waiting[job.job_id] = job
        insort(self._queue, job.order)

    def unqueued(self, job_id: str) -> None:
        job = self._waiting.pop(job_id, None)
        self._reasons.pop(job_id, None)
        if job is not None:
            del self._queue[bisect_left(self._queue, job.order)]

    def holds(self, job: JobDemand, slots: Iterable[Slot], since: float) -> None:
        """A job already has these places: told after a restart."""
        taken = tuple(slots)
        self._held[job.job_id] = taken
        for slot in taken:
            if slot.node in self._nodes:
                self._nodes[slot.node].take_exactly(slot.resources, slot.devices)

    def released(self, job_id: str) -> None:
        for slot in self._held.pop(job_id, ()):
            if slot.node in self._nodes:
                self._nodes[slot.node].give_back(slot.resources, slot.devices)

    # What follows

    def cycle(self, now: float) -> Plan:
        """Start what can start. The places of the jobs started are taken when this returns."""
        starts: list[Start] = []
        waits: dict[str, Reason] = {}
        blocked: dict[str, str] = {}
        wake_at: float | None = None
        ledgers = self._usable()
        for _, _, job_id in islice(self._queue, _LOOK_AHEAD):
            job = self._waiting[job_id]
            if job.not_before is not None and job.not_before > now:
                wake_at = job.not_before if wake_at is None else min(wake_at, job.not_before)
                waits[job_id] = backing_off(job.not_before - now)
                continue
            if blocker := _blocker(job, blocked):
                waits[job_id] = behind(blocker)
                if _wanted_by_all(blocked):
                    break
                continue
            slots, misfit = place(job.tasks, ledgers)
            if misfit is None:
                starts.append(Start(job_id, tuple(slots)))
                self._held[job_id] = starts[-1].slots
                continue
            kind = shortage(misfit, ledgers)
            undo(slots, self._nodes)
            reason = short(job, misfit, kind, ledgers, self._nodes.values())
            waits[job_id] = reason
            blocked.setdefault(str(reason.numbers["kind"]), job.name)
        for start in starts:
            self.unqueued(start.job_id)
        self._reasons = waits
        return Plan(tuple(starts), (), wake_at)

    def start_at_once(self, job: JobDemand) -> Start | None:
        """Places for a job that has just come, if nobody waits and there is room; they are taken when this returns."""
        if self._waiting:
            return None
        slots, misfit = place(job.tasks, self._usable())
        if misfit is not None:
            undo(slots, self._nodes)
            return None
        self._held[job.job_id] = tuple(slots)
        return Start(job.job_id, tuple(slots))

    def is_planned(self, start: Start) -> bool:
        """Whether the places of this start are still the job's."""
        return self._held.get(start.job_id) is start.slots

    def configured(self, virtual_clusters: Iterable[VirtualCluster]) -> None:
        """The virtual clusters are these now."""

    def checkpointed(self, job_id: str, at: float) -> None:
        """The work of a running job up to now is safe."""

    def learnt(self, job: JobDemand, ran_s: float) -> None:
        """A job ended by itself after so much run time: told in order to predict others like it."""

    def reasons(self, job_id: str, now: float) -> tuple[Reason, ...]:
        reason = self.reason(job_id)
        return (reason,) if reason else ()

    def reason(self, job_id: str) -> Reason | None:
        """Why a queued job waits, as the last cycle saw it; jobs it did not reach stand behind the first."""
        if job_id in self._reasons:
            return self._reasons[job_id]
        job = self._waiting.get(job_id)
        if job is None:
            return None
        ahead = bisect_left(self._queue, job.order)
        return behind(self._waiting[self._queue[0][2]].name, ahead) if ahead else None

    def never_fits(self, job: JobDemand) -> Reason | None:
        """Could the gang run with nobody else on the cluster? Unreachable nodes count: they may come back. While a node
        has not said what it has, nothing is known to be too large."""
        if any(not ledger.node.capacity.cpu_m for ledger in self._nodes.values()):
            return None
        ledgers = [NodeLedger.of(ledger.node) for ledger in self._nodes.values()]
        slots, misfit = place(job.tasks, ledgers)
        if misfit is None:
            return None
        kind = shortage(misfit, ledgers)
        undo(slots, {ledger.node.name: ledger for ledger in ledgers})
        return never(job, misfit, kind, ledgers)

    def used(self, node: str) -> tuple[int, int, dict[int, str]]:
        """CPU and memory held on the node, and the job of each held device."""
        cpu_m = memory = 0
        devices: dict[int, str] = {}
        for job_id, slots in self._held.items():
            for slot in slots:
                if slot.node == node:
                    cpu_m += slot.resources.cpu_m
                    memory += slot.resources.memory_bytes
                    devices.update(dict.fromkeys(slot.devices, job_id))
        return cpu_m, memory, devices

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def _usable(self) -> list[NodeLedger]:
        return [ledger for ledger in self._nodes.values() if ledger.node.is_usable]


def _blocker(job: JobDemand, blocked: dict[str, str]) -> str | None:
    """The job ahead that lacks something this one wants too."""
    for kind, name in blocked.items():
        if any(_wants(task.resources, kind) for task in job.tasks):
            return name
    return None


def _wants(resources: object, kind: str) -> bool:
    return bool(getattr(resources, {"gpu": "gpus", "cpu": "cpu_m", "memory": "memory_bytes", "node": "cpu_m"}[kind]))


def _wanted_by_all(blocked: dict[str, str]) -> bool:
    """Nothing behind can start: nearly every job wants CPU, and without a usable node nobody starts."""
    return "cpu" in blocked or "node" in blocked
