"""Who has which slots on the nodes: running jobs, jobs that were preempted and still run, and jobs whose slots are
still occupied by those. This part knows nothing of queues, limits and guarantees."""

from collections.abc import Iterable, Iterator

from muster.domain.nodes import Node
from muster.domain.virtual_clusters import Share
from muster.scheduling.allocations.allocation import Allocation
from muster.scheduling.capacity.node_capacity import NodeCapacity
from muster.scheduling.capacity.node_index import NodeIndex
from muster.scheduling.capacity.placement import free_slots
from muster.scheduling.demand import Slot
from muster.scheduling.plan import Start


class Allocations:
    def __init__(self) -> None:
        self.nodes = NodeIndex()
        self.by_job: dict[str, Allocation] = {}
        self.preempted: dict[str, Allocation] = {}
        """Jobs that were told to stop and still run. Their slots belong to other jobs already."""
        self._blocked: dict[str, Allocation] = {}
        """Jobs whose slots are still occupied by preempted jobs."""
        self._ready: dict[str, Start] = {}
        """Starts for the next plan."""

    @property
    def blocked(self) -> int:
        return len(self._blocked)

    def put_node(self, node: Node) -> None:
        """A node joined, or has changed. What jobs have there stays allocated."""
        capacity = NodeCapacity(node)
        for allocation in self.by_job.values():
            for slot in allocation.slots:
                if slot.node == node.name:
                    capacity.allocate_exactly(slot.resources, slot.devices, slot.extended)
                    capacity.jobs[allocation.job.job_id] = None
        self.nodes.put(capacity)
        self.nodes.misfits.forget()

    def add(self, allocation: Allocation) -> None:
        """The job has these slots. Their capacity was allocated when they were found."""
        self.by_job[allocation.job.job_id] = allocation
        self.nodes.add_job(allocation.job.job_id, allocation.slots)

    def begin(self, allocation: Allocation) -> bool:
        """Plan the start of a job that was added, and return True; or False if preempted jobs are still there."""
        if self.preempted and (still_there := self._still_there(allocation)):
            allocation.blocked_by = still_there
            self._blocked[allocation.job.job_id] = allocation
            return False
        self._ready[allocation.job.job_id] = Start(allocation.job.job_id, allocation.slots)
        return True

    def remove(self, allocation: Allocation) -> None:
        """The job has ended: its slots are free."""
        self.nodes.remove_job(allocation.job.job_id, allocation.slots)
        free_slots(allocation.slots, self.nodes)
        self.forget(allocation)

    def forget(self, allocation: Allocation) -> None:
        """The job no longer has its slots. Their capacity was freed when they were given to another job."""
        job_id = allocation.job.job_id
        del self.by_job[job_id]
        self._blocked.pop(job_id, None)
        self._ready.pop(job_id, None)

    def released(self, job_id: str) -> list[Allocation]:
        """A preempted job has stopped. Returns the jobs that start now that it is gone."""
        found = []
        for allocation in list(self._blocked.values()):
            if allocation.blocked_by is not None and job_id in allocation.blocked_by:
                allocation.blocked_by.discard(job_id)
                if not allocation.blocked_by:
                    allocation.blocked_by = None
                    del self._blocked[allocation.job.job_id]
                    self._ready[allocation.job.job_id] = Start(allocation.job.job_id, allocation.slots)
                    found.append(allocation)
        return found

    def take_starts(self) -> tuple[Start, ...]:
        """The starts that no plan has named yet."""
        starts = tuple(self._ready.values())
        self._ready.clear()
        for start in starts:
            self.by_job[start.job_id].waited = None
        return starts

    def planned_on(self, node: str) -> list[Allocation]:
        """Jobs with slots on the node whose start no plan has named yet."""
        return [
            allocation
            for allocation in self.by_job.values()
            if allocation.waited is not None and any(slot.node == node for slot in allocation.slots)
        ]

    def touch(self, allocation: Allocation) -> None:
        """Something about the job changed that matters to whoever wants to preempt it."""
        for slot in allocation.slots:
            self.nodes.touched.add(slot.node)

    def share_of(self, slots: Iterable[Slot]) -> Share:
        gpus: dict[str, int] = {}
        cpu_m = memory = 0
        for slot in slots:
            cpu_m += slot.resources.cpu_m
            memory += slot.resources.memory_bytes
            if slot.devices:  # the devices of one task are of one model
                capacity = self.nodes.by_name.get(slot.node)
                model = capacity.models.get(slot.devices[0], "") if capacity is not None else ""
                gpus[model] = gpus.get(model, 0) + len(slot.devices)
        return Share(gpus, cpu_m, memory)

    def _still_there(self, allocation: Allocation) -> set[str]:
        """Preempted jobs that still have a device, CPU or memory that this job was given."""
        nodes = {slot.node for slot in allocation.slots}
        devices = {key for slot in allocation.slots for key in _device_keys(slot)}
        left = [(job_id, s) for job_id, other in self.preempted.items() for s in other.slots if s.node in nodes]
        tight = set()
        for node in nodes:
            capacity = self.nodes.by_name[node]
            cpu_m = sum(slot.resources.cpu_m for _, slot in left if slot.node == node)
            memory = sum(slot.resources.memory_bytes for _, slot in left if slot.node == node)
            if capacity.cpu_m < cpu_m or capacity.memory_bytes < memory:
                tight.add(node)
        return {
            job_id for job_id, slot in left if slot.node in tight or any(key in devices for key in _device_keys(slot))
        }


def _device_keys(slot: Slot) -> Iterator[tuple[str, str, int]]:
    """What identifies its devices: the node, the resource, which is empty for GPUs, and the index."""
    for device in slot.devices:
        yield slot.node, "", device
    for other in slot.extended:
        yield slot.node, other.resource, other.index
