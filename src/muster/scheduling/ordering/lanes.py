"""Waiting jobs in lanes. Jobs of one virtual cluster and one shape share a lane, so that a cycle asks once for all of
them. Where users are told apart, each has a lane, and the lanes of a shape make a stack, ordered by their heads."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.demand import JobDemand

Key = tuple[float, float, float, str]
"""The negated priority, the rank, when the job came, and its id: the smallest is next."""
LaneKey = tuple[str, int, str, int]


class Kind(IntEnum):
    """Says when a lane is worth a look."""

    INTERRUPTING = 0
    """It is worth one if slots are free, or a running job has a worse rank."""
    PATIENT = 1
    """It is worth one if slots are free, or a running job has a lower priority."""
    BY_USAGE = 2
    """The same as PATIENT, and its order among other lanes changes with what users have used."""
    ALWAYS = 3
    """It is always worth one: its head keeps others from passing, or takes whatever size there is room for."""

    __hash__ = int.__hash__  # that of an enumeration is slow, and every cycle looks kinds up


@dataclass(slots=True, eq=False)
class WaitingJob:
    job: JobDemand
    shape: Shape
    since: float
    priority: int
    """The job's own priority, and one more for every time that it has aged."""
    rank: float
    key: Key
    lane: LaneKey
    cycle: int
    """The number of cycles that were computed before it came."""


@dataclass(slots=True, eq=False)
class Lane:
    """Keys in ascending order from `first` on, so that removing the head is cheap."""

    vc: str
    user: str
    shape: Shape
    kind: Kind
    stacks: tuple["Stack", "Stack"]
    """The stack of its virtual cluster, and the stack of the whole cluster."""
    head: Key
    """The key of the job that is next. In a lane that has become empty, that of the last one."""
    keys: list[Key]
    first: int = 0
    is_empty: bool = False

    def add(self, key: Key) -> None:
        insort(self.keys, key, lo=self.first)
        self.head = self.keys[self.first]

    def remove(self, key: Key) -> None:
        """Remove a job that is not the next one."""
        del self.keys[bisect_left(self.keys, key, lo=self.first)]

    def remove_head(self) -> None:
        self.first += 1
        if self.first > 64 and self.first * 2 > len(self.keys):
            del self.keys[: self.first]
            self.first = 0
        if self.first == len(self.keys):
            self.is_empty = True
        else:
            self.head = self.keys[self.first]

    def ahead_of(self, key: Key) -> int:
        return bisect_left(self.keys, key, lo=self.first) - self.first


@dataclass(slots=True, eq=False)
class Stack:
    """The lanes of one shape and kind, ordered by their heads."""

    shape: Shape
    kind: Kind
    lanes: dict[str, Lane] = field(default_factory=dict)
    """The lanes, by the id of the job at their head."""
    order: list[Key] = field(default_factory=list)
    """The keys of the heads, in ascending order."""

    def enter(self, lane: Lane) -> None:
        head = lane.head
        self.lanes[head[3]] = lane
        insort(self.order, head)

    def leave(self, head: Key) -> None:
        del self.lanes[head[3]]
        del self.order[bisect_left(self.order, head)]

    def advance(self, lane: Lane, before: Key) -> None:
        """The lane has a later head than before."""
        head, order = lane.head, self.order
        del self.lanes[before[3]]
        self.lanes[head[3]] = lane
        at = bisect_left(order, before)
        del order[at]
        insort(order, head, lo=at)


class Lanes:
    """All waiting jobs that could start if there were room."""

    def __init__(self) -> None:
        self.jobs: dict[str, WaitingJob] = {}
        self.stacks: dict[tuple[int, Kind], Stack] = {}
        """The stacks of the whole cluster that are not empty."""
        self.own_stacks: dict[str, dict[tuple[int, Kind], Stack]] = {}
        """The same for each virtual cluster."""
        self.gpu_m = 0
        """The GPUs that all of them want together, in thousandths."""
        self._lanes: dict[LaneKey, Lane] = {}

    def __len__(self) -> int:
        return len(self.jobs)

    def add(self, waiting: WaitingJob, user: str, kind: Kind) -> bool:
        """Returns whether the job is the next one of its lane."""
        vc, number = waiting.job.vc, waiting.shape.number
        self.jobs[waiting.job.job_id] = waiting
        self.gpu_m += waiting.shape.gpu_m
        waiting.lane = (vc, number, user, kind)
        lane = self._lanes.get(waiting.lane)
        if lane is None:
            stacks = (
                _stack(self.own_stacks.setdefault(vc, {}), waiting.shape, kind),
                _stack(self.stacks, waiting.shape, kind),
            )
            key = waiting.key
            lane = self._lanes[waiting.lane] = Lane(vc, user, waiting.shape, kind, stacks, key, [key])
        elif lane.head <= waiting.key:
            lane.add(waiting.key)
            return False
        else:
            for stack in lane.stacks:
                stack.leave(lane.head)
            lane.add(waiting.key)
        for stack in lane.stacks:
            stack.enter(lane)
        return True

    def remove(self, job_id: str) -> WaitingJob | None:
        waiting = self.jobs.pop(job_id, None)
        if waiting is None:
            return None
        self.gpu_m -= waiting.shape.gpu_m
        lane = self._lanes[waiting.lane]
        if lane.head != waiting.key:
            lane.remove(waiting.key)
            return waiting
        lane.remove_head()
        if not lane.is_empty:
            for stack in lane.stacks:
                stack.advance(lane, waiting.key)
            return waiting
        for stack in lane.stacks:
            stack.leave(waiting.key)
        self._drop(lane)
        return waiting

    def lanes_of(self, vc: str) -> Iterator[Lane]:
        return (lane for stack in self.own_stacks.get(vc, {}).values() for lane in stack.lanes.values())

    def ahead_of(self, waiting: WaitingJob) -> int:
        """How many jobs of its virtual cluster come before it."""
        return sum(lane.ahead_of(waiting.key) for lane in self.lanes_of(waiting.job.vc))

    def _drop(self, lane: Lane) -> None:
        key = (lane.shape.number, lane.kind)
        del self._lanes[lane.vc, lane.shape.number, lane.user, lane.kind]
        for stacks in (self.own_stacks[lane.vc], self.stacks):
            if not stacks[key].order:
                del stacks[key]


def _stack(stacks: dict[tuple[int, Kind], Stack], shape: Shape, kind: Kind) -> Stack:
    stack = stacks.get((shape.number, kind))
    if stack is None:
        stack = stacks[shape.number, kind] = Stack(shape, kind)
    return stack
