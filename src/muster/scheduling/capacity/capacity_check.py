"""Whether a gang could run on the cluster if no other job did."""

from dataclasses import replace

from muster.domain.needs import without_needs
from muster.domain.reasons import Reason
from muster.scheduling.capacity.elastic_sizes import at_its_smallest
from muster.scheduling.capacity.node_capacity import NodeCapacity
from muster.scheduling.capacity.node_index import NodeIndex
from muster.scheduling.capacity.placement import free_slots, place
from muster.scheduling.capacity.shapes import Shapes
from muster.scheduling.capacity.shortage import never
from muster.scheduling.demand import JobDemand, Slot


class CapacityCheck:
    """It keeps an empty copy of the nodes, and what is known of shapes on it."""

    def __init__(self, nodes: NodeIndex, shapes: Shapes) -> None:
        self._nodes = nodes
        self._shapes = shapes
        self._empty = NodeIndex()
        self._empty_version = -1
        self._is_unknown = False
        """Whether a node has not reported its capacity."""
        self._fits: dict[int, bool] = {}

    def never_fits(self, job: JobDemand) -> Reason | None:
        """Why the gang can never run, or None if it can. Unreachable nodes and devices that are out of service count,
        because they may come back, and so may a folder that is missing. While a node has not reported its capacity,
        nothing is known to be too large."""
        self._bring_up_to_date()
        if self._is_unknown:
            return None
        smallest = at_its_smallest(replace(job, where=without_needs(job.where)))
        shape = self._shapes.of(smallest)
        if shape.number not in self._fits:
            slots = place(shape, self._empty)
            self._fits[shape.number] = slots is not None
            free_slots(slots or (), self._empty)
        return None if self._fits[shape.number] else never(shape, self._empty)

    def slots_alone(self, job: JobDemand) -> tuple[Slot, ...] | None:
        """Where the gang would be if no other job ran; None if it does not fit, or nothing is known yet. What nodes
        lack now, such as a folder, they may have later."""
        self._bring_up_to_date()
        for where in () if self._is_unknown else (job.where, without_needs(job.where)):
            slots = place(self._shapes.of(replace(job, where=where)), self._empty)
            if slots is not None:
                free_slots(slots, self._empty)
                return slots
        return None

    def _bring_up_to_date(self) -> None:
        if self._empty_version == self._nodes.nodes_version:
            return
        self._empty, self._empty_version = NodeIndex(), self._nodes.nodes_version
        self._is_unknown = any(not capacity.node.capacity.cpu_m for capacity in self._nodes.by_name.values())
        for capacity in self._nodes.by_name.values():
            self._empty.put(NodeCapacity(capacity.node.at_best()))
        self._fits.clear()
