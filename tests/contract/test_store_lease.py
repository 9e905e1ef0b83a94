"""The lease: one server at a time may write, by the database's clock, and its epoch fences every write."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from muster.domain.errors import Superseded
from muster.domain.events import Event
from muster.ports.lease import NO_EPOCH, Claim
from muster.ports.store import Change
from muster.stores.lease import SqlLease
from muster.stores.opening import open_store

pytestmark = pytest.mark.anyio
FIRST = Claim("one", "http://one", "site", "/home/one", has_home_lock=False)
SECOND = Claim("two", "http://two", "site", "/home/two", has_home_lock=False)
LONG_S = 3600.0
NOTE = Change(events=[Event("test.note", 1.0)])


@pytest.fixture
async def lease(store_url: str) -> AsyncIterator[SqlLease]:
    made = SqlLease(store_url, LONG_S)
    yield made
    await made.close()


async def test_one_server_holds_the_lease_and_the_other_does_not_get_it(lease: SqlLease) -> None:
    assert not (await lease.current()).is_held
    term = await lease.acquire(FIRST)
    assert term is not None
    assert (term.holder, term.address, term.is_held) == ("one", "http://one", True)
    assert await lease.acquire(SECOND) is None
    assert await lease.renew(term.epoch, "http://one")
    assert await lease.current() == term


async def test_a_renewal_says_the_present_address_and_the_key_is_the_claimed_one(lease: SqlLease) -> None:
    term = await lease.acquire(replace(FIRST, key="secret"))
    assert term is not None
    assert "secret" not in repr(term)
    assert await lease.renew(term.epoch, "https://one#SHA256:new")
    found = await lease.current()
    assert (found.address, found.key) == ("https://one#SHA256:new", "secret")


async def test_a_released_lease_is_free_at_once_and_the_next_epoch_is_higher(lease: SqlLease) -> None:
    first = await acquired(lease, FIRST)
    await lease.release(first)
    assert not (await lease.current()).is_held
    assert await acquired(lease, SECOND) > first
    assert not await lease.renew(first, "http://one"), "the first one has lost it"


async def test_an_expired_lease_is_taken_or_renewed_by_whoever_comes_first(store_url: str, lease: SqlLease) -> None:
    short = SqlLease(store_url, lease_s=0.0)
    first = await acquired(short, FIRST)
    assert await short.renew(first, "http://one"), "nobody took it, so it goes on"
    await acquired(lease, SECOND)
    assert not await short.renew(first, "http://one")
    await short.close()


async def test_the_next_process_on_a_home_folder_need_not_wait_for_one_that_died(lease: SqlLease) -> None:
    await lease.acquire(replace(FIRST, has_home_lock=True))
    assert await lease.acquire(replace(SECOND, has_home_lock=True)) is None, "it is another folder"
    assert await lease.acquire(replace(FIRST, holder="three")) is None, "it has not got the folder's lock"
    assert await lease.acquire(replace(FIRST, holder="three", has_home_lock=True)) is not None


async def test_of_many_servers_that_start_together_one_gets_the_lease(store_url: str) -> None:
    leases = [SqlLease(store_url, LONG_S) for _ in range(4)]
    claims = [replace(FIRST, holder=str(number)) for number in range(4)]
    terms = await asyncio.gather(*(one.acquire(claim) for one, claim in zip(leases, claims, strict=True)))
    assert len([term for term in terms if term is not None]) == 1
    await asyncio.gather(*(one.close() for one in leases))


async def test_a_server_whose_epoch_is_over_can_write_nothing(store_url: str, lease: SqlLease) -> None:
    standby = await open_store(store_url, NO_EPOCH)
    with pytest.raises(Superseded):
        await standby.apply(NOTE)
    epoch = await acquired(lease, FIRST)
    first = await open_store(store_url, epoch)
    await first.apply(NOTE)
    await lease.release(epoch)
    await first.apply(NOTE)  # nobody else acts yet
    second = await open_store(store_url, await acquired(lease, SECOND))
    before = await second.last_event()
    with pytest.raises(Superseded):
        await first.apply(NOTE)
    outcomes = await asyncio.gather(*(first.apply_all([NOTE, NOTE]) for _ in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Superseded] * 3
    assert await second.last_event() == before, "not even a number was used"
    await second.apply(NOTE)
    for store in (standby, first, second):
        await store.close()


async def test_epochs_rise_with_the_clock_so_that_a_restored_database_repeats_none(lease: SqlLease) -> None:
    assert await acquired(lease, FIRST) > 1_700_000_000


async def acquired(lease: SqlLease, claim: Claim) -> int:
    term = await lease.acquire(claim)
    assert term is not None
    return term.epoch
