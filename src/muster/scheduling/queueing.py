"""Who waits, in lanes: jobs of one virtual cluster and one shape stand in one line, so that a cycle asks once for all
of them. Where users are told apart, each has a lane, and the lanes of a shape make a stack, ordered by their heads."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

from muster.scheduling.demand import JobDemand
from muster.scheduling.shapes import Shape

Key = tuple[float, float, float, str]
"""The priority turned round, the rank, when the job came, its id: the smallest is next."""
LaneKey = tuple[str, int, str, int]
T = TypeVar("T")


class Kind(IntEnum):
    """What makes a lane worth a look."""

    INTERRUPTING = 0
    """Free places, or somebody of a worse rank who has some."""
    PATIENT = 1
    """Free places, or somebody of a lower priority who has some."""
    BY_USAGE = 2
    """The same, and its order among others changes from moment to moment."""
    ALWAYS = 3
    """Whoever stands here keeps others from passing, or takes what there is."""


@dataclass(slots=True, eq=False)
class Waiting:
    job: JobDemand
    shape: Shape
    since: float
    priority: int
    """Its own, and one more for every time that patience ran out."""
    rank: float
    key: Key
    lane: LaneKey
    cycle: int
    """The last that was computed before it came."""


@dataclass(slots=True, eq=False)
class Lane:
    """Keys ascending from `first` on: leaving at the front costs nothing."""

    vc: str
    user: str
    shape: Shape
    kind: Kind
    stacks: tuple["Stack", "Stack"]
    """Of its virtual cluster, and of the whole cluster."""
    keys: list[Key] = field(default_factory=list)
    first: int = 0

    def __len__(self) -> int:
        return len(self.keys) - self.first

    @property
    def head(self) -> Key:
        return self.keys[self.first]

    def add(self, key: Key) -> None:
        insort(self.keys, key, lo=self.first)

    def remove(self, key: Key) -> None:
        at = bisect_left(self.keys, key, lo=self.first)
        if at == self.first:
            self.first += 1
            if self.first > 64 and self.first * 2 > len(self.keys):
                del self.keys[: self.first]
                self.first = 0
        else:
            del self.keys[at]

    def ahead_of(self, key: Key) -> int:
        return bisect_left(self.keys, key, lo=self.first) - self.first


@dataclass(slots=True, eq=False)
class Stack:
    """Lanes of one shape and kind, by their heads."""

    shape: Shape
    kind: Kind
    lanes: dict[str, Lane] = field(default_factory=dict)
    """By the id of the job at their head."""
    order: list[Key] = field(default_factory=list)
    """Heads, ascending."""

    def enter(self, lane: Lane) -> None:
        head = lane.head
        self.lanes[head[3]] = lane
        insort(self.order, head)

    def leave(self, head: Key) -> None:
        del self.lanes[head[3]]
        del self.order[bisect_left(self.order, head)]


class Queue:
    def __init__(self) -> None:
        self.jobs: dict[str, Waiting] = {}
        self.stacks: dict[tuple[int, Kind], Stack] = {}
        """Of the whole cluster; only those that are not empty."""
        self.own_stacks: dict[str, dict[tuple[int, Kind], Stack]] = {}
        """By virtual cluster."""
        self.gpu_m = 0
        """What all of them want together."""
        self._lanes: dict[LaneKey, Lane] = {}

    def __len__(self) -> int:
        return len(self.jobs)

    def add(self, waiting: Waiting, user: str, kind: Kind) -> None:
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
            lane = self._lanes[waiting.lane] = Lane(vc, user, waiting.shape, kind, stacks)
        elif lane.head <= waiting.key:
            lane.add(waiting.key)
            return
        else:
            for stack in lane.stacks:
                stack.leave(lane.head)
        lane.add(waiting.key)
        for stack in lane.stacks:
            stack.enter(lane)

    def remove(self, job_id: str) -> Waiting | None:
        waiting = self.jobs.pop(job_id, None)
        if waiting is None:
            return None
        self.gpu_m -= waiting.shape.gpu_m
        lane = self._lanes[waiting.lane]
        if lane.head != waiting.key:
            lane.remove(waiting.key)
            return waiting
        for stack in lane.stacks:
            stack.leave(waiting.key)
        lane.remove(waiting.key)
        if len(lane):
            for stack in lane.stacks:
                stack.enter(lane)
        else:
            self._drop(lane)
        return waiting

    def lanes_of(self, vc: str) -> Iterator[Lane]:
        return (lane for stack in self.own_stacks.get(vc, {}).values() for lane in stack.lanes.values())

    def ahead_of(self, waiting: Waiting) -> int:
        """How many of its virtual cluster are before it."""
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


class Turns(Generic[T]):
    """Hands out lanes by whose head is next, of those stacks that are worth a look; and other things that have a key.
    A lane that was handed out is done with, unless it is asked for `again`."""

    def __init__(
        self, stacks: Iterable[Stack], usage: Callable[[Lane], float], is_open: Callable[[Stack], bool]
    ) -> None:
        self._usage = usage
        self._is_open = is_open
        self._numbers = count()
        self._closed: set[tuple[int, Kind]] = set()
        self._unsorted: dict[str, list[Lane]] = {}
        """Lanes by usage, by virtual cluster: sorted only when its turn comes, and there is still something to have."""
        self._by_usage: dict[str, list[tuple[Key, int, Lane]]] = {}
        self._next: list[tuple[Key, int, Stack | Lane | str | tuple[T]]] = []
        for stack in stacks:
            if stack.kind is Kind.BY_USAGE:
                for lane in stack.lanes.values():
                    self._unsorted.setdefault(lane.vc, []).append(lane)
            else:
                self._next.append((stack.order[0], next(self._numbers), stack))
        for vc, lanes in self._unsorted.items():
            self._next.append((min(lane.head for lane in lanes), next(self._numbers), vc))
        heapify(self._next)

    def offer(self, key: Key, thing: T) -> None:
        heappush(self._next, (key, next(self._numbers), (thing,)))

    def next(self) -> Lane | T | None:
        while self._next:
            key, _, source = heappop(self._next)
            if isinstance(source, tuple):
                return source[0]
            lane = self._lane(key, source)
            if lane is not None:
                return lane
        return None

    def again(self, lane: Lane) -> None:
        if not len(lane):
            return
        if lane.kind is Kind.BY_USAGE:
            heappush(self._by_usage[lane.vc], (self._fair_key(lane), next(self._numbers), lane))
            self._offer(lane.vc)
        else:
            heappush(self._next, (lane.head, next(self._numbers), lane))

    def close(self, shape: Shape, kind: Kind) -> None:
        """No lane of these is worth a look any more."""
        self._closed.add((shape.number, kind))

    def _lane(self, key: Key, source: Stack | Lane | str) -> Lane | None:
        if isinstance(source, str):
            return self._least_used(source)
        if self._is_closed(source):
            return None
        if isinstance(source, Lane):
            return source if len(source) and source.head == key else None
        at = bisect_left(source.order, key)
        if at == len(source.order):
            return None
        if at + 1 < len(source.order):
            heappush(self._next, (source.order[at + 1], next(self._numbers), source))
        found = source.order[at]
        if found == key:
            return source.lanes[key[3]]
        heappush(self._next, (found, next(self._numbers), source.lanes[found[3]]))
        return None

    def _least_used(self, vc: str) -> Lane | None:
        heads = self._by_usage.get(vc)
        if heads is None:
            heads = self._by_usage[vc] = self._sorted(self._unsorted[vc])
        while heads:
            _, _, lane = heappop(heads)
            if len(lane) and not self._is_closed(lane):
                self._offer(vc)
                return lane
        return None

    def _sorted(self, lanes: list[Lane]) -> list[tuple[Key, int, Lane]]:
        left = [lane for lane in lanes if lane.keys]
        for stack in {lane.shape.number: lane.stacks[1] for lane in left}.values():
            if not self._is_open(stack):
                self.close(stack.shape, stack.kind)
        usage: dict[str, float] = {}
        heads = []
        for lane in left:
            if len(lane) and not self._is_closed(lane):
                if lane.user not in usage:
                    usage[lane.user] = self._usage(lane)
                head = lane.head
                heads.append(((head[0], usage[lane.user], head[2], head[3]), next(self._numbers), lane))
        heapify(heads)
        return heads

    def _is_closed(self, source: Stack | Lane) -> bool:
        return bool(self._closed) and (source.shape.number, source.kind) in self._closed

    def _offer(self, vc: str) -> None:
        heads = self._by_usage[vc]
        while heads and (not len(heads[0][2]) or self._is_closed(heads[0][2])):
            heappop(heads)
        if heads:
            heappush(self._next, (heads[0][2].head, next(self._numbers), vc))

    def _fair_key(self, lane: Lane) -> Key:
        head = lane.head
        return head[0], self._usage(lane), head[2], head[3]
