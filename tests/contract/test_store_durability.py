"""What was acknowledged survives: kill -9 of the writer, loss of the connection, a second server on the same data."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from muster.domain.errors import Unavailable
from muster.ports.store import Change
from muster.stores.opening import open_store
from tests.contract.building import a_job, an_event, submission
from tests.parts.postgres import NewDatabase
from tests.parts.server import polls

pytestmark = pytest.mark.anyio

WRITER = Path(__file__).with_name("endless_writer.py")
ENOUGH = 300


async def test_kill_9_loses_nothing_that_was_acknowledged(store_url: str) -> None:
    with subprocess.Popen([sys.executable, WRITER, store_url], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(ENOUGH)]
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.readlines()
    acknowledged = {int(seq): job_id for seq, job_id in (line.split() for line in lines if line.endswith("\n"))}
    assert len(acknowledged) >= ENOUGH
    store = await open_store(store_url)
    try:
        events = {event.seq: event.job_id for event in await store.events(limit=1_000_000)}
        jobs = {job.id for job in await store.open_jobs()}
    finally:
        await store.close()
    assert acknowledged.items() <= events.items()
    # Whole or not at all also for what was not acknowledged: a job is there exactly when its event is.
    assert jobs == set(events.values())


async def test_two_servers_on_one_database_never_share_a_number(store_url: str) -> None:
    stores = [await open_store(store_url) for _ in range(2)]
    try:
        applies = [stores[number % 2].apply(submission(a_job(number))) for number in range(200)]
        answers = await asyncio.gather(*applies)
        numbers = sorted(event.seq for answer in answers for event in answer)
        assert len(set(numbers)) == 200
        assert [event.seq for event in await stores[0].events()] == numbers
    finally:
        for store in stores:
            await store.close()


async def test_a_cancelled_caller_leaves_its_change_to_be_committed(store_url: str) -> None:
    store = await open_store(store_url)
    try:
        caller = asyncio.create_task(store.apply(submission(a_job(1))))
        await asyncio.sleep(0)
        caller.cancel()
        await store.apply(submission(a_job(2)))
        assert await store.counts() == {"Queued": 2}
    finally:
        await store.close()


async def test_a_lost_connection_is_made_again(postgres: NewDatabase, postgres_template: str) -> None:
    url = postgres(postgres_template)
    store = await open_store(url)
    try:
        await store.apply(submission(a_job(1)))
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await store.apply(submission(a_job(2)))
        assert await store.counts() == {"Queued": 2}
    finally:
        await store.close()


async def test_a_connection_lost_in_the_middle_fails_the_waiting_and_not_the_next(
    postgres: NewDatabase, postgres_template: str
) -> None:
    url = postgres(postgres_template)
    store = await open_store(url)
    try:
        with psycopg.connect(url) as holder:
            holder.execute("UPDATE counters SET value = value")
            waiting = asyncio.create_task(store.apply(Change(events=[an_event()])))
            await asyncio.to_thread(_end_whoever_waits_for_a_lock, url)
            with pytest.raises(Unavailable, match="the database does not answer"):
                await waiting
        [event] = await store.apply(Change(events=[an_event()]))
        assert [stored.seq for stored in await store.events()] == [event.seq]
    finally:
        await store.close()


def _end_whoever_waits_for_a_lock(url: str) -> None:
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
    with psycopg.connect(url, autocommit=True) as admin:
        for _ in polls(30, every_s=0.005):
            if admin.execute(ended, ("UPDATE counters%",)).fetchall():
                return
    raise AssertionError("nobody waited")
