"""Messages about jobs, each made once for all readers who may see the same of it."""

from collections.abc import Mapping, Sequence

from muster.domain.events import Event
from muster.domain.jobs import Job
from muster.engine.requests.accounts import Principal
from muster.server.job_sight import Sight, seen_event, sight_of
from muster.server.live.job_loading import load_jobs, load_tasks
from muster.server.live.messages import array, encoded, framed
from muster.server.services import Services
from muster.wire.views import event_view, outlined_task_view, task_view

MAX_MISSED_EVENTS = 500
"""How many events of one job a reader that comes back is told."""

Owners = Mapping[str, str | None]
"""Jobs by id, with their owners: also of jobs that were deleted, which only those may know who could see them."""


class TooMuchMissed(Exception):
    """A reader has missed so much that it is less work to ask for everything again."""


class JobMessages:
    """Those of one round, which is about the events after `base`."""

    def __init__(self, parts: Services, events: Sequence[Event], base: int) -> None:
        self._parts = parts
        self._events = events
        self._base = base
        self._by_job: dict[str, list[Event]] = {}
        for event in events:
            if event.job_id is not None:
                self._by_job.setdefault(event.job_id, []).append(event)
        self.changed: Owners = {job_id: found[-1].owner for job_id, found in self._by_job.items()}
        self._jobs: dict[str, Job | None] = {}
        self._views: dict[tuple[str, Sight], bytes | None] = {}
        self._lists: dict[tuple[int, bool, str | None], bytes | None] = {}
        self._pages: dict[tuple[str, int, Sight], bytes | None] = {}

    async def load(self, job_ids: set[str]) -> None:
        """Must be called with all jobs that messages are asked about."""
        missing = job_ids - self._jobs.keys()
        self._jobs |= await load_jobs(self._parts.context, missing, self._events)

    def view(self, job_id: str, sight: Sight) -> bytes | None:
        """The job as JSON, or None if it was deleted."""
        if (job_id, sight) not in self._views:
            job = self._jobs[job_id]
            view = None if job is None else encoded(self._parts.seen_job_view(job, sight))
            self._views[job_id, sight] = view
        return self._views[job_id, sight]

    def list_message(self, me: Principal, since: int, owners: Owners) -> bytes | None:
        """The message `jobs` for jobs that changed after `since`, or None if the reader may see none of them. It is the
        same for all admins, and for all others who own none of the jobs."""
        owner = me.name if not me.is_admin and me.name in owners.values() else None
        key = (min(since, self._base), me.is_admin, owner)
        if key not in self._lists:
            self._lists[key] = self._list_message(me, owners)
        return self._lists[key]

    async def page_message(self, job_id: str, sight: Sight, since: int) -> bytes | None:
        """The message `job` with all that happened to the job after `since`. Raises TooMuchMissed."""
        key = (job_id, since, sight)
        if key not in self._pages:
            self._pages[key] = await self._page_message(job_id, since, sight)
        return self._pages[key]

    def _list_message(self, me: Principal, owners: Owners) -> bytes | None:
        jobs: list[bytes] = []
        gone: list[bytes] = []
        for job_id, owner in owners.items():
            sight = sight_of(me, owner, private=self._parts.private_jobs)
            if sight is None:
                continue
            view = self.view(job_id, sight)
            if view is None:
                gone.append(encoded(job_id))
            else:
                jobs.append(view)
        if not jobs and not gone:
            return None
        return framed("jobs", b'{"jobs":%s,"gone":%s}' % (array(jobs), array(gone)))

    async def _page_message(self, job_id: str, since: int, sight: Sight) -> bytes | None:
        events = await self._events_of(job_id, since)
        if not events:
            return None
        job = self._jobs[job_id]
        tasks = [] if job is None else await load_tasks(self._parts.context, job, events)
        of_task = task_view if sight is Sight.WHOLE else outlined_task_view
        shown = [seen for event in events if (seen := seen_event(event, sight)) is not None]
        return page(
            job_id,
            self.view(job_id, sight),
            [encoded(of_task(task)) for task in tasks],
            [encoded(event_view(event)) for event in shown],
        )

    async def _events_of(self, job_id: str, since: int) -> Sequence[Event]:
        if since >= self._base:
            return [event for event in self._by_job.get(job_id, ()) if event.seq > since]
        store = self._parts.context.store
        found = await store.events(after=since, job_id=job_id, limit=MAX_MISSED_EVENTS + 1)
        if len(found) > MAX_MISSED_EVENTS:
            raise TooMuchMissed
        last = self._events[-1].seq if self._events else self._base
        return [event for event in found if event.seq <= last]


def page(job_id: str, job: bytes | None, tasks: Sequence[bytes] = (), events: Sequence[bytes] = ()) -> bytes:
    parts = (encoded(job_id), job or b"null", array(tasks), array(events))
    return framed("job", b'{"id":%s,"job":%s,"tasks":%s,"events":%s}' % parts)
