"""Guessing passwords slows down the guesser, never the user; and logins take bounded memory."""

import asyncio
import threading

import pytest
from argon2 import PasswordHasher
from pydantic import ValidationError

from muster.domain.accounts import UserRole
from muster.domain.errors import Conflict, NotAuthenticated, TooMany, Unavailable
from muster.domain.limits import Limits
from muster.engine.context import Context
from muster.engine.requests.accounts import Accounts
from muster.engine.requests.login_attempts import FOR_ONE_USER, IN_ALL, WINDOW_S, LoginAttempts
from muster.engine.requests.passwords import Passwords
from muster.lib.work_pool import WorkPool
from muster.wire.requests import LoginIn
from tests.security.clock import SetClock

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
PASSWORD = "correct horse"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture
async def accounts(bare_context: Context) -> Accounts:
    accounts = Accounts(bare_context, 3600.0, Passwords(hasher=CHEAP))
    await accounts.create_user("amy", UserRole.USER, PASSWORD, actor="root")
    return accounts


async def guess(accounts: Accounts, address: str, name: str = "amy") -> None:
    with pytest.raises(NotAuthenticated):
        await accounts.log_in(name, "wrong", "login", address)


async def test_guesses_from_one_address_do_not_lock_the_user_out_elsewhere(accounts: Accounts, clock: SetClock) -> None:
    for _ in range(FOR_ONE_USER):
        await guess(accounts, "203.0.113.9")
    with pytest.raises(TooMany) as refused:
        await accounts.log_in("amy", PASSWORD, "login", "203.0.113.9")
    assert 0 < refused.value.retry_after_s <= WINDOW_S
    await accounts.log_in("amy", PASSWORD, "login", "198.51.100.1")
    clock.advance(WINDOW_S + 1)
    await accounts.log_in("amy", PASSWORD, "login", "203.0.113.9")


async def test_an_address_that_tries_many_names_is_slowed_down(accounts: Accounts) -> None:
    for number in range(IN_ALL):
        await guess(accounts, "203.0.113.9", f"user{number}")
    with pytest.raises(TooMany):
        await accounts.log_in("another", "wrong", "login", "203.0.113.9")


async def test_addresses_of_one_ipv6_network_count_as_one(accounts: Accounts) -> None:
    for number in range(FOR_ONE_USER):
        await guess(accounts, f"2001:db8::{number:x}")
    with pytest.raises(TooMany):
        await accounts.log_in("amy", PASSWORD, "login", "2001:db8::ffff")


async def test_right_passwords_are_never_counted(accounts: Accounts) -> None:
    for _ in range(2 * IN_ALL):
        await accounts.log_in("amy", PASSWORD, "login", "203.0.113.9")


async def test_wrong_passwords_are_audited_without_names_that_may_be_passwords(
    accounts: Accounts, bare_context: Context
) -> None:
    await guess(accounts, "203.0.113.9")
    await guess(accounts, "203.0.113.9", "hunter2")
    events = await bare_context.store.events(prefix="audit.login.failed")
    assert [(event.owner, event.data) for event in events] == [
        ("amy", {"user": "amy", "address": "203.0.113.9"}),
        ("", {"user": "", "address": "203.0.113.9"}),
    ]


def test_attempts_are_remembered_of_a_bounded_number_of_addresses() -> None:
    attempts = LoginAttempts(SetClock(), max_keys=100)
    for number in range(1_000):
        attempts.count(f"10.0.{number // 250}.{number % 250}", "amy")
    assert len(attempts) <= 100


async def test_logins_beyond_the_queue_of_the_hashing_threads_are_refused_for_now(bare_context: Context) -> None:
    go_on = threading.Event()
    pool = WorkPool("test", threads=1, waiting=0)
    accounts = Accounts(bare_context, 3600.0, Passwords(pool, CHEAP))
    busy = asyncio.create_task(pool.run(go_on.wait, 60))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable) as refused:
        await accounts.log_in("amy", PASSWORD, "login", "203.0.113.9")
    assert refused.value.retry_after_s > 0
    go_on.set()
    await busy


@pytest.mark.parametrize("field", ["user", "password", "token", "name"])
def test_no_field_of_a_login_may_be_long(field: str) -> None:
    with pytest.raises(ValidationError):
        LoginIn.model_validate({field: "x" * 7_000_000})


async def test_the_oldest_login_makes_room_for_a_new_one_and_tokens_are_refused(bare_context: Context) -> None:
    bare_context.limits = Limits(tokens_per_user=3)
    accounts = Accounts(bare_context, 3600.0, Passwords(hasher=CHEAP))
    user = await accounts.create_user("amy", UserRole.USER, PASSWORD, actor="root")
    await accounts.create_token(user, "nightly", None, actor="amy")
    logins = [(await accounts.log_in("amy", PASSWORD, "login"))[1] for _ in range(4)]
    left = await bare_context.store.tokens("amy")
    assert len(left) == 3
    assert [token.name for token in left if not token.is_session] == ["nightly"]
    with pytest.raises(NotAuthenticated):
        await accounts.authenticate(logins[0])
    assert (await accounts.authenticate(logins[-1])).name == "amy"
    with pytest.raises(Conflict, match="amy has 3 tokens, 3 are allowed"):
        await accounts.create_token(user, "another", None, actor="amy")


async def test_expired_tokens_go_when_a_new_one_is_made(
    accounts: Accounts, bare_context: Context, clock: SetClock
) -> None:
    for _ in range(3):
        await accounts.log_in("amy", PASSWORD, "login")
    clock.advance(3601.0)
    await accounts.log_in("amy", PASSWORD, "login")
    assert len(await bare_context.store.tokens("amy")) == 1


@pytest.mark.parametrize("ends_tokens", [False, True])
async def test_a_new_password_ends_logins_and_if_asked_tokens(
    accounts: Accounts, bare_context: Context, ends_tokens: bool
) -> None:
    user = await accounts.user("amy")
    await accounts.create_token(user, "nightly", None, actor="amy")
    kept, _, _ = await accounts.log_in("amy", PASSWORD, "kept")
    await accounts.log_in("amy", PASSWORD, "ended")
    await accounts.change_user("amy", actor="amy", password="another one", keep=kept, ends_tokens=ends_tokens)
    left = {token.name for token in await bare_context.store.tokens("amy")}
    assert left == ({"kept"} if ends_tokens else {"kept", "nightly"})
