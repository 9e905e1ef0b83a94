"""The long-lived state of one cluster: what `planning` decides by, and what it tells people about it.

Answers are made from what the last cycle left behind, and a look ahead is the same planner run on in virtual time.
"""

from collections.abc import Iterable
from copy import deepcopy

from muster.domain.reasons import Reason
from muster.domain.virtual_clusters import Share, VirtualCluster
from muster.scheduling import explaining, promising
from muster.scheduling.books import use_of
from muster.scheduling.demand import JobDemand
from muster.scheduling.forecasting import first_start
from muster.scheduling.holding import Holder
from muster.scheduling.planning import Planner
from muster.scheduling.queueing import Waiting
from muster.scheduling.views import Quota, ShareView, WhatIf

_REHEARSED = 5000
"""Jobs and nodes up to which a look ahead is made: it copies the whole state while others wait."""


class ClusterState(Planner):
    def reasons(self, job_id: str, now: float) -> tuple[Reason, ...]:
        """Why a queued job waits, what matters most first."""
        parked = self.parked.get(job_id)
        if parked is not None:
            if parked.blocked is not None:
                return (parked.blocked,)
            return (explaining.backing_off(max(0.0, (parked.not_before or now) - now)),)
        holder = self.holders.get(job_id)
        if holder is not None and holder.waits_for:
            return (explaining.being_left([self.leaving[left].job.name for left in sorted(holder.waits_for)]),)
        waiting = self.queue.jobs.get(job_id)
        if waiting is None or waiting.cycle == self.cycles:
            return ()  # nobody has looked at it yet
        return tuple(self._reasons(waiting))

    def reason(self, job_id: str) -> Reason | None:
        return next(iter(self.reasons(job_id, self._latest)), None)

    def estimate(self, job_id: str, now: float) -> float | None:
        """About when it starts, if nothing new comes and jobs run as long as those like them did."""
        if job_id not in self.queue.jobs or self._is_too_large_to_rehearse:
            return None
        return first_start(deepcopy(self), job_id, now)

    def what_if(self, job: JobDemand, now: float) -> WhatIf:
        """The answer for a changed demand. Nothing here changes."""
        if self._is_too_large_to_rehearse:
            return WhatIf(self.reasons(job.job_id, now), None)
        other = deepcopy(self)
        other.queued(job)
        plan = other.cycle(now)
        if any(start.job_id == job.job_id for start in plan.starts):
            return WhatIf((), now)
        return WhatIf(other.reasons(job.job_id, now), first_start(other, job.job_id, now, plan))

    def oversubscribed(self, virtual_clusters: Iterable[VirtualCluster]) -> str | None:
        """What they would promise beyond what there is, in numbers; nothing while no node is known."""
        nodes = [ledger.node for ledger in self.arena.ledgers.values() if ledger.node.capacity.cpu_m]
        return promising.oversubscribed(list(virtual_clusters), nodes) if nodes else None

    def quotas(self, now: float) -> list[Quota]:
        """Every limit that is in use, with those who wait on it."""
        found = []
        stuck = [(w, self.verdicts.get(w.lane)) for w in sorted(self.queue.jobs.values(), key=lambda w: w.key)]
        for vc in self.vcs.values():
            for quota in self.accounts.quotas(vc, now):
                waits = tuple(
                    waiting.job.job_id
                    for waiting, reason in stuck
                    if reason is not None
                    and reason.code == "limit"
                    and (reason.numbers["vc"], reason.numbers["user"], reason.numbers["limit"])
                    == (quota.vc, quota.user, quota.kind)
                )
                found.append(Quota(quota.vc, quota.user, quota.kind, quota.limit, quota.used, waits))
        return found

    def shares(self, now: float) -> list[ShareView]:
        return [self._share_of(vc) for vc in self.vcs.values()]

    def used(self, node: str) -> tuple[int, int, dict[int, list[str]]]:
        """CPU and memory held on the node, and the jobs of each held device: several, where it is shared."""
        ledger = self.arena.ledgers.get(node)
        cpu_m = memory = 0
        devices: dict[int, list[str]] = {}
        for job_id in ledger.jobs if ledger is not None else ():
            holder = self.holders.get(job_id)
            for slot in holder.slots if holder is not None else ():
                if slot.node == node:
                    cpu_m += slot.resources.cpu_m
                    memory += slot.resources.memory_bytes
                    for index in slot.devices:
                        if job_id not in (jobs := devices.setdefault(index, [])):
                            jobs.append(job_id)
        return cpu_m, memory, devices

    def device_shares(self, node: str) -> dict[int, int]:
        """Used thousandths of the devices that are shared."""
        ledger = self.arena.ledgers.get(node)
        return dict(ledger.shared) if ledger is not None else {}

    def backlog(self) -> tuple[int, float, float]:
        """Jobs that wait for hardware, the GPUs they want together, and those that the smallest wants."""
        smallest = min((stack.shape.gpu_m for stack in self.queue.stacks.values()), default=0)
        return len(self.queue), self.queue.gpu_m / 1000, smallest / 1000

    @property
    def _is_too_large_to_rehearse(self) -> bool:
        return len(self.holders) + len(self.queue) + len(self.arena.ledgers) > _REHEARSED

    def _reasons(self, waiting: Waiting) -> list[Reason]:
        found: list[Reason] = []
        verdict = self.verdicts.get(waiting.lane)
        found.append(verdict if verdict is not None else explaining.short(waiting.shape, self.arena))
        reservation = self.reservation
        if reservation is not None and reservation.job.job_id != waiting.job.job_id:
            found.append(explaining.reserved(reservation.job.name, reservation.at))
        ahead = self.queue.ahead_of(waiting)
        if ahead:
            first = min(lane.head for lane in self.queue.lanes_of(waiting.job.vc))
            found.append(explaining.behind(self.queue.jobs[first[3]].job.name, ahead))
        return found

    def _share_of(self, vc: VirtualCluster) -> ShareView:
        own = [holder for holder in self.holders.values() if holder.job.vc == vc.name]
        others = [holder for holder in self.holders.values() if holder.job.vc != vc.name]
        return ShareView(
            vc=vc.name,
            guaranteed=vc.guaranteed,
            used=self.accounts.of(vc.name).share,
            borrowed=use_of((slot for holder in own if holder.promised is None for slot in holder.slots), self.arena),
            lent=self._lent(vc.name, others),
            running=len(own),
            waiting=len([w for w in self.queue.jobs.values() if w.job.vc == vc.name])
            + len([job for job in self.parked.values() if job.vc == vc.name]),
            prediction_error=self.predictor.error,
        )

    def _lent(self, vc: str, others: Iterable[Holder]) -> Share:
        """Devices of its cells on which others stand."""
        cells = self.promises.arenas.get(vc)
        gpus: dict[str, int] = {}
        for holder in others if cells is not None else ():
            for slot in holder.slots:
                cell = cells.ledgers.get(slot.node) if cells is not None else None
                for device in slot.devices:
                    if cell is not None and device in cell.models:
                        gpus[cell.models[device]] = gpus.get(cell.models[device], 0) + 1
        return Share(gpus)
