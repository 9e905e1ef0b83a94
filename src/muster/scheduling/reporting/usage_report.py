"""What is in use: shares of virtual clusters, limits and who waits on them, nodes and devices. It changes nothing."""

from collections.abc import Mapping

from muster.domain.reasons import Reason
from muster.domain.virtual_clusters import VirtualCluster
from muster.scheduling.allocations.accounting import Accounts
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.allocations.usage_views import Quota, ShareView
from muster.scheduling.guarantees.guaranteed_shares import Guarantees
from muster.scheduling.ordering.lanes import LaneKey
from muster.scheduling.ordering.runtime_prediction import Predictor
from muster.scheduling.ordering.vc_settings import VcSettings
from muster.scheduling.ordering.wait_queue import WaitQueue


class UsageReport:
    def __init__(
        self,
        settings: VcSettings,
        queue: WaitQueue,
        allocations: Allocations,
        guarantees: Guarantees,
        accounts: Accounts,
        predictor: Predictor,
        verdicts: Mapping[LaneKey, Reason | None],
    ) -> None:
        self._settings = settings
        self._queue = queue
        self._allocations = allocations
        self._guarantees = guarantees
        self._accounts = accounts
        self._predictor = predictor
        self._verdicts = verdicts

    def quotas(self, now: float) -> list[Quota]:
        """Every limit that is set, with the jobs that wait on it."""
        found = []
        waiting_on: dict[tuple[object, object, object], list[str]] = {}
        for waiting in sorted(self._queue.lanes.jobs.values(), key=lambda waiting: waiting.key):
            reason = self._verdicts.get(waiting.lane)
            if reason is not None and reason.code == "limit":
                limit = (reason.numbers["vc"], reason.numbers["user"], reason.numbers["limit"])
                waiting_on.setdefault(limit, []).append(waiting.job.job_id)
        for vc in self._settings.by_name.values():
            for quota in self._accounts.quotas(vc, now):
                waits = tuple(waiting_on.get((quota.vc, quota.user, quota.kind), ()))
                found.append(Quota(quota.vc, quota.user, quota.kind, quota.limit, quota.used, waits))
        return found

    def shares(self) -> list[ShareView]:
        return [self._share_of(vc) for vc in self._settings.by_name.values()]

    def used(self, node: str) -> tuple[int, int, dict[int, list[str]]]:
        """The CPU and memory in use on the node, and the jobs of each device in use: several, where it is shared."""
        capacity = self._allocations.nodes.by_name.get(node)
        cpu_m = memory = 0
        devices: dict[int, list[str]] = {}
        for job_id in capacity.jobs if capacity is not None else ():
            allocation = self._allocations.by_job.get(job_id)
            for slot in allocation.slots if allocation is not None else ():
                if slot.node == node:
                    cpu_m += slot.resources.cpu_m
                    memory += slot.resources.memory_bytes
                    for index in slot.devices:
                        if job_id not in (jobs := devices.setdefault(index, [])):
                            jobs.append(job_id)
        return cpu_m, memory, devices

    def device_shares(self, node: str) -> dict[int, int]:
        """The used thousandths of each device that is shared."""
        capacity = self._allocations.nodes.by_name.get(node)
        return dict(capacity.shared) if capacity is not None else {}

    def extended_used(self, node: str) -> dict[tuple[str, int], str]:
        """The job of each device other than a GPU, by resource and index."""
        capacity = self._allocations.nodes.by_name.get(node)
        held = [self._allocations.by_job.get(job_id) for job_id in (capacity.jobs if capacity is not None else ())]
        return {
            (device.resource, device.index): allocation.job.job_id
            for allocation in held
            if allocation is not None
            for slot in allocation.slots
            if slot.node == node
            for device in slot.extended
        }

    def backlog(self) -> tuple[int, float, float]:
        """How many jobs wait for hardware, the GPUs that they want together, and those that the smallest wants."""
        lanes = self._queue.lanes
        smallest = min((stack.shape.gpu_m for stack in lanes.stacks.values()), default=0)
        return len(self._queue), lanes.gpu_m / 1000, smallest / 1000

    def _share_of(self, vc: VirtualCluster) -> ShareView:
        own = [allocation for allocation in self._allocations.by_job.values() if allocation.job.vc == vc.name]
        borrowed = (slot for allocation in own if allocation.guaranteed is None for slot in allocation.slots)
        in_lanes = sum(waiting.job.vc == vc.name for waiting in self._queue.lanes.jobs.values())
        parked = sum(job.vc == vc.name for job in self._queue.parked.values())
        return ShareView(
            vc=vc.name,
            guaranteed=vc.guaranteed,
            used=self._accounts.of(vc.name).share,
            borrowed=self._allocations.share_of(borrowed),
            lent=self._guarantees.lent(vc.name),
            running=len(own),
            waiting=in_lanes + parked,
            prediction_error=self._predictor.error,
        )
