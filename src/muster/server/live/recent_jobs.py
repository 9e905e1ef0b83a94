"""The jobs that changed last, for readers that come back after a short while."""

from collections.abc import Iterable, Mapping

from muster.domain.events import Event

MAX_JOBS = 200
"""A reader that has missed more of them asks for its page again, which is less to send."""


class RecentJobs:
    """`floor` is a number: of all events after it, the jobs are known here."""

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self._newest: dict[str, Event] = {}

    def note(self, events: Iterable[Event]) -> None:
        for event in events:
            known = self._newest.get(event.job_id or "")
            if event.job_id is not None and (known is None or known.seq < event.seq):
                self._newest.pop(event.job_id, None)
                self._newest[event.job_id] = event
        while len(self._newest) > MAX_JOBS:
            oldest = self._newest.pop(next(iter(self._newest)))
            self.floor = max(self.floor, oldest.seq)

    def owners_after(self, seq: int) -> Mapping[str, str | None] | None:
        """The jobs that changed after this event, with their owners, or None if that is no longer known."""
        if seq < self.floor:
            return None
        return {job_id: event.owner for job_id, event in self._newest.items() if event.seq > seq}
