"""What the server itself has of its jobs, for people who ask for history where there is no log server."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from muster.domain.errors import NotFound
from muster.domain.events import Event
from muster.domain.jobs import Job
from muster.exporters.log_server.recording import config_of, outcome_of, summary_of
from muster.lib.clock import from_iso, iso
from muster.ports.store import JobFilter, Store

_MOST_RECORDS = 1000
RECEIVER = "-"
"""The name of this server, which has none without a log server."""


class OwnHistory:
    """Implements `ports.log_records.HistorySource`. Jobs that were deleted are not in it."""

    def __init__(self, store: Store, address: str) -> None:
        self._store = store
        self._address = address

    async def jobs(self, where: Mapping[str, str]) -> dict[str, Any]:
        if "receiver" not in where:
            raise NotFound(
                "this server has no log server, and knows its own jobs only",
                hint="leave out --all; an admin can set logServer: HOST:PORT in the settings",
            )
        state = where.get("state")
        wanted = JobFilter(
            states=(state,) if state else (),
            owner=where.get("owner"),
            cluster=where.get("cluster"),
            text=where.get("text"),
            created_after=_instant(where.get("since")),
            created_before=_instant(where.get("until")),
        )
        page = await self._store.jobs(wanted, limit=int(where["limit"]), cursor=where.get("cursor"))
        return {"items": [self._view(job) for job in page.items], "nextCursor": page.next_cursor}

    async def job(self, receiver: str, job_id: str) -> dict[str, Any] | None:
        if receiver != RECEIVER:
            return None
        try:
            job = await self._store.job(job_id)
        except NotFound:
            return None
        events = await self._store.events(job_id=job_id, limit=_MOST_RECORDS)
        records = [_record(event) for event in events if event.kind.startswith(("job.", "task."))]
        if records:
            records[0] |= config_of(job)
        return {"job": self._view(job), "records": _as_json(records)}

    def _view(self, job: Job) -> dict[str, Any]:
        about = {name: value for name, value in config_of(job).items() if name != "config"}
        about |= summary_of(job, self._address)
        if job.is_final:
            about |= outcome_of(job)
        last_at = job.ended_at or job.started_at or job.created_at
        found = {**about, "id": job.id, "receiver": RECEIVER, "owner": job.owner, "lastAt": iso(last_at)}
        view: dict[str, Any] = _as_json({name: value for name, value in found.items() if value is not None})
        return view


def _record(event: Event) -> dict[str, Any]:
    record = {"kind": event.kind, "at": iso(event.at), "actor": event.actor}
    return record | ({"task": dict(event.data)} if event.kind.startswith("task.") else dict(event.data))


def _instant(text: str | None) -> float | None:
    return None if text is None else from_iso(text)


def _as_json(values: Any) -> Any:
    """Infinite numbers, which parameters may be, are texts: JSON has none."""
    return json.loads(to_json(values, inf_nan_mode="strings"))
