"""Events as server-sent events, each encoded once for all streams that show the same of it."""

import json
from collections.abc import Callable, Iterable

from muster.domain.events import Event
from muster.server.job_sight import Sight, seen_event
from muster.wire.views import event_view

_KEPT = 1024


class EventFrames:
    """Keeps those that were made last."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, Sight], bytes] = {}

    def joined(self, events: Iterable[Event], sight: Callable[[Event], Sight | None]) -> bytes:
        return b"".join(self._frame(event, seen) for event in events if (seen := sight(event)) is not None)

    def _frame(self, event: Event, sight: Sight) -> bytes:
        """Empty if nothing of the event is seen."""
        key = (event.seq, sight)
        if (known := self._made.get(key)) is not None:
            return known
        while len(self._made) >= _KEPT:
            del self._made[next(iter(self._made))]
        seen = seen_event(event, sight)
        made = self._made[key] = b"" if seen is None else _encoded(seen)
        return made


def _encoded(event: Event) -> bytes:
    view = event_view(event)
    shown = {**view, "state": event.data.get("state")} if event.kind.startswith("job.") else view
    return f"id: {event.seq}\nevent: {event.kind}\ndata: {json.dumps(shown, ensure_ascii=False)}\n\n".encode()
