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
    gpus: float
    since: float
    priority: int
    """Its own, and one more for every time that patience ran out."""
    rank: float
    key: Key
    lane: LaneKey


@dataclass(slots=True, eq=False)
class Lane:
    """Keys ascending from `first` on: leaving at the front costs nothing."""

    stack: "Stack"
    user: str
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

    def __iter__(self) -> Iterator[Key]:
        return iter(self.keys[self.first :])


@dataclass(slots=True, eq=False)
class Stack:
    vc: str
    shape: Shape
    kind: Kind
    lanes: dict[str, Lane] = field(default_factory=dict)
    """By user; one lane without a name where users are not told apart."""
    order: list[tuple[Key, str]] = field(default_factory=list)
    """Heads, ascending."""

    def add(self, key: Key, user: str) -> None:
        lane = self.lanes.get(user)
        if lane is None:
            lane = self.lanes[user] = Lane(self, user)
        elif lane.head <= key:
            lane.add(key)
            return
        else:
            self._leave(lane)
        lane.add(key)
        insort(self.order, (lane.head, user))

    def remove(self, key: Key, user: str) -> None:
        lane = self.lanes[user]
        if lane.head != key:
            lane.remove(key)
            return
        self._leave(lane)
        lane.remove(key)
        if len(lane):
            insort(self.order, (lane.head, user))
        else:
            del self.lanes[user]

    def _leave(self, lane: Lane) -> None:
        del self.order[bisect_left(self.order, (lane.head, lane.user))]


class Queue:
    def __init__(self) -> None:
        self.jobs: dict[str, Waiting] = {}
        self.stacks: dict[str, dict[tuple[int, Kind], Stack]] = {}
        """Those that are not empty, by virtual cluster."""

    def __len__(self) -> int:
        return len(self.jobs)

    def add(self, waiting: Waiting, user: str, kind: Kind) -> None:
        vc, number = waiting.job.vc, waiting.shape.number
        self.jobs[waiting.job.job_id] = waiting
        waiting.lane = (vc, number, user, kind)
        stacks = self.stacks.setdefault(vc, {})
        stack = stacks.get((number, kind))
        if stack is None:
            stack = stacks[number, kind] = Stack(vc, waiting.shape, kind)
        stack.add(waiting.key, user)

    def remove(self, job_id: str) -> Waiting | None:
        waiting = self.jobs.pop(job_id, None)
        if waiting is None:
            return None
        vc, number, user, kind = waiting.lane
        stacks = self.stacks[vc]
        stack = stacks[number, Kind(kind)]
        stack.remove(waiting.key, user)
        if not stack.lanes:
            del stacks[number, Kind(kind)]
        return waiting

    def all_stacks(self) -> Iterator[Stack]:
        return (stack for stacks in self.stacks.values() for stack in stacks.values())

    def lanes_of(self, vc: str) -> Iterator[Lane]:
        return (lane for stack in self.stacks.get(vc, {}).values() for lane in stack.lanes.values())

    def ahead_of(self, waiting: Waiting) -> int:
        """How many of its virtual cluster are before it."""
        return sum(lane.ahead_of(waiting.key) for lane in self.lanes_of(waiting.job.vc))


class Turns(Generic[T]):
    """Hands out lanes by whose head is next, of those stacks that are worth a look; and other things that have a key.
    A lane that was handed out is done with, unless it is asked for `again`."""

    def __init__(self, stacks: Iterable[Stack], usage: Callable[[Lane], float]) -> None:
        self._usage = usage
        self._numbers = count()
        self._closed: set[Stack] = set()
        self._by_usage: dict[str, list[tuple[Key, int, Lane]]] = {}
        self._next: list[tuple[Key, int, Stack | Lane | str | tuple[T]]] = []
        for stack in stacks:
            if stack.kind is Kind.BY_USAGE:
                fair = self._by_usage.setdefault(stack.vc, [])
                fair += [(self._fair_key(lane), next(self._numbers), lane) for lane in stack.lanes.values()]
            else:
                self._next.append((stack.order[0][0], next(self._numbers), stack))
        heapify(self._next)
        for vc, heads in self._by_usage.items():
            heapify(heads)
            self._offer(vc)

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
        if lane.stack.kind is Kind.BY_USAGE:
            heappush(self._by_usage[lane.stack.vc], (self._fair_key(lane), next(self._numbers), lane))
            self._offer(lane.stack.vc)
        else:
            heappush(self._next, (lane.head, next(self._numbers), lane))

    def close(self, stack: Stack) -> None:
        """No lane of it is worth a look any more."""
        self._closed.add(stack)

    def _lane(self, key: Key, source: Stack | Lane | str) -> Lane | None:
        if isinstance(source, str):
            if not self._by_usage[source]:
                return None
            _, _, lane = heappop(self._by_usage[source])
            self._offer(source)
            return lane if len(lane) and lane.stack not in self._closed else None
        if isinstance(source, Lane):
            return source if len(source) and source.head == key and source.stack not in self._closed else None
        if source in self._closed:
            return None
        at = bisect_left(source.order, (key, ""))
        if at == len(source.order):
            return None
        if at + 1 < len(source.order):
            heappush(self._next, (source.order[at + 1][0], next(self._numbers), source))
        found, user = source.order[at]
        if found == key:
            return source.lanes[user]
        heappush(self._next, (found, next(self._numbers), source.lanes[user]))
        return None

    def _offer(self, vc: str) -> None:
        heads = self._by_usage[vc]
        while heads and not len(heads[0][2]):
            heappop(heads)
        if heads:
            heappush(self._next, (heads[0][2].head, next(self._numbers), vc))

    def _fair_key(self, lane: Lane) -> Key:
        head = lane.head
        return head[0], self._usage(lane), head[2], head[3]
