"""The outbox of records: written with the event, kept until it was delivered, whatever becomes of the job."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from muster.domain.errors import StaleWrite
from muster.domain.events import Event
from muster.domain.jobs import Cancelled
from muster.domain.log_records import LogRecord
from muster.ports.store import Change, Store
from muster.stores import backup
from muster.stores.opening import open_store
from muster.stores.sql_store import SqlStore
from muster.stores.tables import HEAD
from tests.contract.building import a_job

pytestmark = pytest.mark.anyio


def recorded(change: Change, event: Event) -> str | None:
    if not event.kind.startswith("job."):
        return None
    return json.dumps({"kind": event.kind, "at": "2026-01-01T00:00:00Z", "has": change.new_job is not None})


@pytest.fixture
async def recording(store_url: str) -> AsyncIterator[SqlStore]:
    opened = await open_store(store_url, recorder=recorded)
    yield opened
    await opened.close()


async def waiting(store: Store) -> list[int]:
    return [one.seq for one in await store.log_records(limit=1000)]


def said(count: int) -> Change:
    return Change(events=[Event("job.running", 5.0, "j", data={"n": n}) for n in range(count)])


async def test_a_record_is_written_with_its_event_and_in_its_order(recording: SqlStore) -> None:
    new = a_job(name="net")
    (numbered,) = await recording.apply_all(
        [Change(new_job=new, events=[Event("audit.job.submit", 1.0, new.id), Event("job.queued", 1.5, new.id)])]
    )
    (found,) = await recording.log_records(limit=10)
    assert found == LogRecord(await recording.receiver(), numbered[1].seq, 1.5, found.body)
    assert json.loads(found.body) == {"kind": "job.queued", "at": "2026-01-01T00:00:00Z", "has": True}
    assert len(found.receiver) == 12


async def test_a_change_that_is_refused_leaves_no_record(recording: SqlStore) -> None:
    new = a_job(name="net")
    await recording.apply(Change(new_job=new))
    stale = replace(new, version=7)
    with pytest.raises(StaleWrite):
        await recording.apply(Change(job=stale, events=[Event("job.running", 2.0, new.id)]))
    assert await waiting(recording) == []


async def test_what_was_delivered_goes_and_the_rest_stays(recording: SqlStore) -> None:
    await recording.apply(said(5))
    numbers = await waiting(recording)
    await recording.apply(Change(delivered=numbers[1]))
    assert await waiting(recording) == numbers[2:]
    assert await recording.count_log_records() == 3
    assert [one.seq for one in await recording.log_records(limit=2)] == numbers[2:4]


async def test_records_outlive_a_job_that_is_deleted(recording: SqlStore) -> None:
    new = replace(a_job(name="net"), state=Cancelled(3.0), ended_at=3.0)
    await recording.apply(Change(new_job=new, events=[Event("job.queued", 1.0, new.id)]))
    await recording.apply(Change(removed_job=new.id))
    assert await recording.events(job_id=new.id) == []
    assert len(await waiting(recording)) == 1


async def test_the_oldest_are_dropped_and_a_notice_counts_them(recording: SqlStore) -> None:
    await recording.apply(said(10))
    numbers = await waiting(recording)
    await recording.apply(Change(kept_records=4))
    assert await waiting(recording) == numbers[5:]
    notice = json.loads((await recording.log_records(limit=1))[0].body)
    assert (notice["kind"], notice["dropped"]) == ("receiver.dropped", 6)
    await recording.apply(Change(kept_records=4))
    assert await waiting(recording) == numbers[5:], "the notice itself does not count"
    await recording.apply(Change(kept_records=2))
    notice = json.loads((await recording.log_records(limit=1))[0].body)
    assert notice["dropped"] == 8


async def test_without_a_log_server_nothing_is_recorded(store: SqlStore) -> None:
    await store.apply(said(2))
    assert await waiting(store) == []
    assert await store.receiver() == ""


async def test_the_name_at_the_log_server_stays(store_url: str, recording: SqlStore) -> None:
    again = await open_store(store_url, recorder=recorded)
    assert await again.receiver() == await recording.receiver() != ""
    await again.close()


async def test_a_restored_database_sends_new_numbers_under_another_name(store_url: str, recording: SqlStore) -> None:
    await recording.apply(said(1))
    before = await recording.log_records(limit=9)
    rows: dict[str, list[str]] = {}
    backup.dump(store_url, lambda table, lines: rows.update({table: list(lines)}))
    await recording.close()
    backup.load(store_url, HEAD, lambda table: rows[table], replace=True)
    restored = await open_store(store_url, recorder=recorded)
    assert await restored.log_records(limit=9) == before, "what is sent again keeps its name"
    await restored.apply(said(1))
    first, second = await restored.log_records(limit=9)
    assert second.receiver == await restored.receiver() != first.receiver
    await restored.close()


async def test_the_address_that_a_task_set_is_kept(store: SqlStore) -> None:
    new = replace(a_job(name="net"), tracking_url="http://x/1")
    await store.apply(Change(new_job=new))
    assert (await store.job(new.id)).tracking_url == "http://x/1"
