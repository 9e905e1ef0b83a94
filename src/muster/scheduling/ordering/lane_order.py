"""The order in which one pass of a cycle looks at lanes."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.ordering.lanes import Key, Kind, Lane, Stack

T = TypeVar("T")


class LaneOrder(Generic[T]):
    """Hands out lanes by whose head is next, and other items that have a key among them. A lane that was handed out
    does not come back unless it is offered `again`."""

    def __init__(
        self, stacks: Iterable[Stack], usage: Callable[[Lane], float], is_open: Callable[[Stack], bool]
    ) -> None:
        self._usage = usage
        self._is_open = is_open
        self._numbers = count()
        self._closed: set[tuple[int, Kind]] = set()
        self._unsorted: dict[str, list[Lane]] = {}
        """Lanes whose order depends on usage, by virtual cluster. They are sorted only when their turn comes."""
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

    def offer(self, key: Key, item: T) -> None:
        heappush(self._next, (key, next(self._numbers), (item,)))

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
        if lane.is_empty:
            return
        if lane.kind is Kind.BY_USAGE:
            heappush(self._by_usage[lane.vc], (self._fair_key(lane), next(self._numbers), lane))
            self._offer(lane.vc)
        else:
            heappush(self._next, (lane.head, next(self._numbers), lane))

    def close(self, shape: Shape, kind: Kind) -> None:
        """Hand out no more lanes of this shape and kind."""
        self._closed.add((shape.number, kind))

    def _lane(self, key: Key, source: Stack | Lane | str) -> Lane | None:
        if isinstance(source, str):
            return self._least_used(source)
        if self._is_closed(source):
            return None
        if isinstance(source, Lane):
            return source if source.head == key and not source.is_empty else None
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
            if not (lane.is_empty or self._is_closed(lane)):
                self._offer(vc)
                return lane
        return None

    def _sorted(self, lanes: list[Lane]) -> list[tuple[Key, int, Lane]]:
        left = [lane for lane in lanes if not lane.is_empty]
        for stack in {lane.shape.number: lane.stacks[1] for lane in left}.values():
            if not self._is_open(stack):
                self.close(stack.shape, stack.kind)
        usage: dict[str, float] = {}
        heads = []
        for lane in left:
            if not self._is_closed(lane):
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
        while heads and (heads[0][2].is_empty or self._is_closed(heads[0][2])):
            heappop(heads)
        if heads:
            heappush(self._next, (heads[0][2].head, next(self._numbers), vc))

    def _fair_key(self, lane: Lane) -> Key:
        head = lane.head
        return head[0], self._usage(lane), head[2], head[3]
