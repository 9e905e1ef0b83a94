"""Who waits, in lanes: jobs of one virtual cluster and one shape stand in one line, so that a cycle asks once for all
of them. Within a lane, and between lanes, order is by key."""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count

from muster.scheduling.demand import JobDemand
from muster.scheduling.shapes import Shape

Key = tuple[int, float, float, str]
LaneKey = tuple[str, int, str]
Turn = tuple[float, float, float, str]
"""Like a key, with what the policy makes of the rank at this moment."""


@dataclass(slots=True, eq=False)
class Waiting:
    job: JobDemand
    shape: Shape
    gpus: float
    since: float
    priority: int
    """Its own, and one more for every time that patience ran out."""
    rank: float
    common: float
    """The rank that compares jobs of different virtual clusters."""
    key: Key
    lane: LaneKey


@dataclass(slots=True, eq=False)
class Lane:
    """Keys ascending from `first` on: leaving at the front costs nothing."""

    vc: str
    shape: Shape
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


class Queue:
    def __init__(self) -> None:
        self.jobs: dict[str, Waiting] = {}
        self.lanes: dict[str, dict[LaneKey, Lane]] = {}
        """Lanes that are not empty, by virtual cluster."""
        self.by_shape: dict[int, dict[LaneKey, Lane]] = {}
        self.stirred: set[int] = set()
        """Shapes of which a lane has changed since a reader last took this out."""

    def __len__(self) -> int:
        return len(self.jobs)

    def add(self, waiting: Waiting, user: str) -> None:
        vc = waiting.job.vc
        self.jobs[waiting.job.job_id] = waiting
        waiting.lane = (vc, waiting.shape.number, user)
        lanes = self.lanes.setdefault(vc, {})
        lane = lanes.get(waiting.lane)
        if lane is None:
            lane = lanes[waiting.lane] = Lane(vc, waiting.shape, user)
            self.by_shape.setdefault(waiting.shape.number, {})[waiting.lane] = lane
        lane.add(waiting.key)
        self.stirred.add(waiting.shape.number)

    def remove(self, job_id: str) -> Waiting | None:
        waiting = self.jobs.pop(job_id, None)
        if waiting is None:
            return None
        lanes = self.lanes[waiting.job.vc]
        lane = lanes[waiting.lane]
        lane.remove(waiting.key)
        self.stirred.add(waiting.shape.number)
        if not len(lane):
            del lanes[waiting.lane]
            of_shape = self.by_shape[waiting.shape.number]
            del of_shape[waiting.lane]
            if not of_shape:
                del self.by_shape[waiting.shape.number]
        return waiting

    def ahead_of(self, waiting: Waiting) -> int:
        """How many of its virtual cluster are before it."""
        return sum(lane.ahead_of(waiting.key) for lane in self.lanes.get(waiting.job.vc, {}).values())


class Turns:
    """Hands out lanes by whose head is next: within a virtual cluster by its own policy, between them by the rank that
    is common to all. A lane that was handed out is done with, unless it is asked for `again`."""

    def __init__(self, queue: Queue, turn: Callable[[Lane], Turn], lanes: Iterable[Lane]) -> None:
        self._queue = queue
        self._turn = turn
        self._numbers = count()
        self._of_vc: dict[str, list[tuple[Turn, int, Lane]]] = {}
        self._vcs: list[tuple[Turn, int, str]] = []
        for lane in lanes:
            self._of_vc.setdefault(lane.vc, []).append((turn(lane), next(self._numbers), lane))
        for vc, heads in self._of_vc.items():
            heapify(heads)
            self._vcs.append((self._common(heads[0]), next(self._numbers), vc))
        heapify(self._vcs)

    def next(self, closed: Collection[int] = ()) -> Lane | None:
        """Lanes of closed shapes are passed over."""
        while self._vcs:
            _, _, vc = heappop(self._vcs)
            heads = self._of_vc[vc]
            while heads:
                turn, _, lane = heappop(heads)
                if lane.shape.number not in closed and len(lane) and turn == self._turn(lane):
                    self._offer(vc)
                    return lane
        return None

    def again(self, lane: Lane) -> None:
        if len(lane):
            heappush(self._of_vc[lane.vc], (self._turn(lane), next(self._numbers), lane))
            self._offer(lane.vc)

    def _offer(self, vc: str) -> None:
        heads = self._of_vc[vc]
        if heads:
            heappush(self._vcs, (self._common(heads[0]), next(self._numbers), vc))

    def _common(self, head: tuple[Turn, int, Lane]) -> Turn:
        turn, _, lane = head
        if len(self._of_vc) <= 1 or not len(lane):
            return turn
        waiting = self._queue.jobs[lane.head[3]]
        return turn[0], waiting.common, waiting.job.created_at, waiting.job.job_id
