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
        self._unsorted: dict[str, list[Stack]] = {}
        """Stacks of lanes whose order depends on usage, by virtual cluster: sorted only when their turn comes."""
        self._by_usage: dict[str, list[tuple[Key, int, Lane]]] = {}
        self._next: list[tuple[Key, int, Stack | Lane | str | tuple[T]]] = []
        for stack in stacks:
            if stack.kind is Kind.BY_USAGE:
                for own, vc in {lane.stacks[0]: lane.vc for lane in stack.lanes.values()}.items():
                    self._unsorted.setdefault(vc, []).append(own)
            else:
                self._next.append((stack.order[0], next(self._numbers), stack))
        for vc, unsorted in self._unsorted.items():
            self._next.append((min(own.order[0] for own in unsorted), next(self._numbers), vc))
        heapify(self._next)

    def offer(self, key: Key, item: T) -> None:
        heappush(self._next, (key, next(self._numbers), (item,)))

    def next(self) -> Lane | T | None:
        while self._next:
            key, _, source = heappop(self._next)
            if isinstance(source, Lane):
                if source.head == key and not source.is_empty and not self._is_closed(source):
                    return source
            elif isinstance(source, tuple):
                return source[0]
            else:
                lane = self._least_used(source) if isinstance(source, str) else self._first_of(source, key)
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

    def _first_of(self, stack: Stack, key: Key) -> Lane | None:
        """The lane of the stack whose head has this key, if there is one still; those behind it are offered."""
        if self._is_closed(stack):
            return None
        at = bisect_left(stack.order, key)
        if at == len(stack.order):
            return None
        if at + 1 < len(stack.order):
            heappush(self._next, (stack.order[at + 1], next(self._numbers), stack))
        found = stack.order[at]
        if found == key:
            return stack.lanes[key[3]]
        heappush(self._next, (found, next(self._numbers), stack.lanes[found[3]]))
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

    def _sorted(self, stacks: list[Stack]) -> list[tuple[Key, int, Lane]]:
        """The lanes of these stacks that may start, as a heap by the usage of their users."""
        usage: dict[str, float] = {}
        heads = []
        for own in stacks:
            whole = next((lane.stacks[1] for lane in own.lanes.values()), None)
            if whole is None or self._is_closed(own):
                continue
            if not self._is_open(whole):
                self.close(own.shape, own.kind)
                continue
            for lane in own.lanes.values():
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
