"""Events in, plans out.

A cycle lets time pass (ranks, patience), keeps what virtual clusters are promised, then shares what is left: in order
of priority and rank, whole gangs only, each either on free places, or on places of those who stand behind it, or not
at all and with a reason. When nothing has happened since the last cycle, nothing is computed.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from muster.domain.needs import without_needs
from muster.domain.nodes import Node
from muster.domain.reasons import Reason
from muster.domain.virtual_clusters import OrderPolicy, VirtualCluster
from muster.scheduling import explaining
from muster.scheduling.arena import Arena
from muster.scheduling.books import gpus_of
from muster.scheduling.demand import JobDemand, Plan, Slot, Start
from muster.scheduling.ledger import NodeLedger
from muster.scheduling.placement import place, retake, undo
from muster.scheduling.ranking import Policy
from muster.scheduling.sharing import Sharer
from muster.scheduling.sizing import at_its_smallest, sized


class Planner(Sharer):
    def node_changed(self, node: Node) -> None:
        """A node joined, or its capacity or state is another. What jobs hold there stays held."""
        before = self.arena.ledgers.get(node.name)
        if before is not None and before.node == node:
            return
        if not node.is_usable:
            self._withdraw_starts(node.name)
        ledger = NodeLedger(node)
        for holder in self.holders.values():
            for slot in holder.slots:
                if slot.node == node.name:
                    ledger.take_exactly(slot.resources, slot.devices)
                    ledger.jobs[holder.job.job_id] = None
        self.arena.put(ledger)
        self.arena.forget_misfits()
        self._are_dealt = False
        self._changed = True

    def node_removed(self, name: str) -> None:
        self._withdraw_starts(name)
        self.arena.drop(name)
        self._are_dealt = False
        self._changed = True

    def _withdraw_starts(self, node: str) -> None:
        """Those of which nobody has heard yet: they waited for others to leave."""
        for holder in list(self.holders.values()):
            if holder.waited is not None and any(slot.node == node for slot in holder.slots):
                self._give_back(holder.job.job_id)
                self._stand_again(holder.waited)

    def queued(self, job: JobDemand) -> None:
        """It waits; or asks for something else now, or stands in another virtual cluster."""
        self.unqueued(job.job_id)
        self._changed = True
        if job.blocked is None and job.not_before is None:
            self._enter(job)
            return
        self.parked[job.job_id] = job
        if job.blocked is None and job.not_before is not None:
            self._timer(job.not_before, "due", job.job_id)

    def unqueued(self, job_id: str) -> None:
        self.parked.pop(job_id, None)
        if self.queue.remove(job_id) is not None:
            self._changed = True
        holder = self.holders.get(job_id)
        if holder is not None and holder.waited is not None:
            self._give_back(job_id)

    def holds(self, job: JobDemand, slots: Iterable[Slot], since: float) -> None:
        """A job already has these places: told after a restart."""
        taken = tuple(slots)
        retake(taken, self.arena)
        actual = sized(job, Counter(slot.role for slot in taken)) if job.elastic else job
        self._seat(actual, taken, since)
        self.holders[job.job_id].is_grown = len(actual.tasks) > len(job.tasks)
        self._are_dealt = False

    def checkpointed(self, job_id: str, at: float) -> None:
        """The work of a running job up to now is safe."""
        holder = self.holders.get(job_id)
        if holder is not None:
            was_resumable, holder.checkpoint_at = holder.is_resumable, at
            if not was_resumable:
                self._next_rank(holder, self._policy_of(holder.job.vc), holder.ran_s(at), at)
            self._touch(holder)
            self._stirred.add(holder.job.vc)
            self._changed = True

    def released(self, job_id: str) -> None:
        """It has left its places, whether it was told to, ended, or never started."""
        self._changed = True
        leaver = self.leaving.pop(job_id, None)
        if leaver is None:
            self._give_back(job_id)
            return
        self._unpromise(leaver)
        for holder in list(self._waiting_for_leavers.values()):
            if holder.waits_for is not None and job_id in holder.waits_for:
                holder.waits_for.discard(job_id)
                self._if_free(holder)

    def learnt(self, job: JobDemand, ran_s: float) -> None:
        """A job ended by itself after so much run time: told in order to predict others like it."""
        gpus = gpus_of(job)
        foretold = None if job.predicted_s is None else job.predicted_s * gpus
        self.predictor.learn(job.likeness, ran_s * gpus, foretold)

    def charged(self, vc: str, user: str, gpu_s: float, at: float) -> None:
        """GPU time that was used before this state began: for limits and fairness."""
        self.accounts.charge(vc, user, gpu_s, at)

    def follow(self, policy: Policy) -> None:
        """Instead of the default. Told before the first job."""
        self._policy = policy
        self._policies = {**self._policies, OrderPolicy.DEFAULT: policy}

    def configured(self, virtual_clusters: Iterable[VirtualCluster]) -> None:
        """The virtual clusters are these now. Those who wait are ranked anew; those who run stay."""
        self.vcs = {vc.name: vc for vc in virtual_clusters}
        self._are_dealt = False
        self._changed = True
        for waiting in list(self.queue.jobs.values()):
            self.queue.remove(waiting.job.job_id)
            self._enter(waiting.job)

    def cycle(self, now: float) -> Plan:
        """Start what can start. The places of the jobs started are taken when this returns."""
        self._latest = max(self._latest, now)
        self._settle_accounts(now)
        self._pass(now)
        if not self._changed:
            return Plan(wake_at=self._wake_at())
        self._changed = False
        self.cycles += 1
        self.verdicts.clear()
        self.reservation = None
        if not self._are_dealt:
            self._deal(now)
        stirred, self._stirred = self._stirred, set()
        for vc in sorted(stirred & self.promises.arenas.keys()):
            self._keep_promise(vc, now)
        self._share(now)
        if not self.queue.jobs:
            self._grow(now)
        starts, preemptions = tuple(self._ready.values()), tuple(self._preemptions)
        for start in starts:
            self.holders[start.job_id].waited = None
        self._ready.clear()
        self._preemptions.clear()
        return Plan(starts, preemptions, now if self._changed else self._wake_at())

    def start_at_once(self, job: JobDemand, now: float) -> Start | None:
        """Places for a job that has just come, if nobody waits and there is room; they are taken when this returns."""
        if self.queue.jobs or self.leaving or self.promises.arenas or job.blocked is not None or job.elastic:
            return None
        self._settle_accounts(now)
        if job.vc in self.vcs and self._forbidden(job, self._shapes.of(job), now) is not None:
            return None
        slots = place(self._shapes.of(job), self.arena)
        if slots is None:
            return None
        self._seat(job, slots, now)
        return Start(job.job_id, slots)

    def is_planned(self, start: Start) -> bool:
        """Whether the places of this start are still the job's."""
        holder = self.holders.get(start.job_id)
        return holder is not None and holder.slots is start.slots

    def never_fits(self, job: JobDemand) -> Reason | None:
        """Could the gang run with nobody else on the cluster? Unreachable nodes and devices that are out of service
        count: they may come back; and a folder that is missing may yet be there. While a node has not said what it
        has, nothing is known to be too large."""
        if any(not ledger.node.capacity.cpu_m for ledger in self.arena.ledgers.values()):
            return None
        if self._empty_of != self.arena.nodes_version:
            self._empty, self._empty_of = Arena(), self.arena.nodes_version
            for ledger in self.arena.ledgers.values():
                self._empty.put(NodeLedger(ledger.node.at_best()))
            self._fits.clear()
        smallest = at_its_smallest(replace(job, where=without_needs(job.where)))
        shape = self._shapes.of(smallest)
        if shape.number not in self._fits:
            slots = place(shape, self._empty)
            self._fits[shape.number] = slots is not None
            undo(slots or (), self._empty)
        return None if self._fits[shape.number] else explaining.never(smallest, shape, self._empty)

    @property
    def waiting(self) -> int:
        return len(self.queue) + len(self.parked) + len(self._waiting_for_leavers)
