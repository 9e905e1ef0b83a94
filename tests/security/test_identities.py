"""Users, tokens and request keys: what they allow, and what they do not."""

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from muster.bootstrap.recovery import recover_admin
from muster.domain.accounts import Token, TokenScope, UserRole
from muster.domain.errors import Conflict, Forbidden, NotAuthenticated, NotFound, Unavailable
from muster.domain.experiments.sweeps import Sweep, SweepPlan
from muster.engine.context import Context
from muster.engine.data.packages import PackageStore
from muster.engine.requests import commands
from muster.engine.requests.accounts import Accounts
from muster.engine.requests.login_links import LoginLinks
from muster.engine.sweeps import requests as sweeps
from muster.ports.store import Change, RequestKey
from muster.server.token_scopes import require_scope
from muster.settings.server import ServerSettings
from muster.stores.opening import open_store, prepare_database
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def test_a_name_used_again_inherits_nothing(lab: Laboratory) -> None:
    accounts = Accounts(lab.context, 3600.0)
    first = await accounts.create_user("amy", UserRole.USER, None, actor="root")
    job_id = await lab.submit(a_spec(name="secret", held=True))
    await accounts.remove_user("amy", actor="root")
    with pytest.raises(Conflict, match="jobs of a former user amy have not ended"):
        await accounts.create_user("amy", UserRole.USER, None, actor="root")
    await commands.kill(lab.context, job_id, "root")
    second = await accounts.create_user("amy", UserRole.USER, None, actor="root")
    assert first.id
    assert second.id not in ("", first.id)
    assert (await lab.job(job_id)).owner == f"amy~{first.id}"
    assert await lab.context.store.find_job("amy", "secret") is None
    assert [event for event in await lab.events() if event.owner == "amy"] == []


async def test_a_name_used_again_continues_no_upload(bare_context: Context) -> None:
    accounts, packages = Accounts(bare_context, 3600.0), PackageStore(bare_context, 100)
    digest = hashlib.sha256(b"whole").hexdigest()
    for name in ("amy", "amy.b"):
        await accounts.create_user(name, UserRole.USER, None, actor="root")
        await packages.receive(digest, name, offset=0, size=5, data=b"who")
    await accounts.remove_user("amy", actor="root")
    await accounts.create_user("amy", UserRole.USER, None, actor="root")
    assert (await packages.status(digest, "amy.b")).received == 3
    with pytest.raises(NotFound):
        await packages.status(digest, "amy")


async def test_a_former_users_sweep_makes_no_more_members_whoever_has_the_name(lab: Laboratory) -> None:
    accounts = Accounts(lab.context, 3600.0)
    first = await accounts.create_user("amy", UserRole.USER, None, actor="root")
    plan = SweepPlan(grid=(("lr", (1, 2, 3)),), max_running=1)
    sweep, _ = await sweeps.submit(lab.context, a_spec(name="search"), plan, "amy", None)
    await accounts.remove_user("amy", actor="root")
    await end_first_member(lab, sweep)
    await lab.until(lambda: "there is no user amy" in sweeps.waits_for(lab.context, sweep))
    with pytest.raises(Conflict, match="sweeps of a former user amy have not ended"):
        await accounts.create_user("amy", UserRole.USER, None, actor="root")
    assert len(await lab.context.store.members(sweep.id, limit=9)) == 1
    await sweeps.stop(lab.context, sweep.id, "root")
    await lab.until(lambda: sweep.id not in lab.context.open_sweeps)
    await accounts.create_user("amy", UserRole.USER, None, actor="root")
    assert (await lab.context.store.sweep(sweep.id)).owner == f"amy~{first.id}"
    assert await lab.context.store.find_sweep("amy", "search") is None


async def test_a_user_whom_another_process_makes_gets_no_members_of_a_former_one(lab: Laboratory) -> None:
    accounts, store = Accounts(lab.context, 3600.0), lab.context.store
    first = await accounts.create_user("amy", UserRole.USER, None, actor="root")
    plan = SweepPlan(grid=(("lr", (1, 2, 3)),), max_running=1)
    sweep, _ = await sweeps.submit(lab.context, a_spec(name="search"), plan, "amy", None)
    await store.apply_all([Change(removed_user="amy"), Change(new_user=replace(first, id="u-next"))])
    await end_first_member(lab, sweep)
    await lab.until(lambda: "there is no user amy~" in sweeps.waits_for(lab.context, sweep))
    assert len(await store.members(sweep.id, limit=9)) == 1


async def end_first_member(lab: Laboratory, sweep: Sweep) -> None:
    (member,) = await lab.context.store.members(sweep.id, limit=9)
    await lab.becomes(member.id, "Running")
    lab.backend.end(f"{member.id}.1.worker.0", 0)


async def test_a_login_link_of_a_former_user_is_not_for_the_next_one(bare_context: Context) -> None:
    accounts, links = Accounts(bare_context, 3600.0), LoginLinks()
    ticket = links.new(await accounts.create_user("amy", UserRole.USER, None, actor="root"))
    await accounts.remove_user("amy", actor="root")
    await accounts.create_user("amy", UserRole.USER, None, actor="root")
    with pytest.raises(NotAuthenticated, match="a former user"):
        await links.log_in(accounts, ticket, "browser")


async def test_the_last_admin_cannot_be_lost_in_a_race(bare_context: Context) -> None:
    accounts = Accounts(bare_context, 3600.0)
    for name in ("ann", "bob"):
        await accounts.create_user(name, UserRole.ADMIN, None, actor="root")
    results = await asyncio.gather(
        accounts.remove_user("ann", actor="bob"),
        accounts.change_user("bob", actor="ann", role=UserRole.USER),
        return_exceptions=True,
    )
    assert [type(result) for result in results if isinstance(result, Exception)] == [Conflict]
    assert len([user for user in await bare_context.store.users() if user.is_admin and not user.disabled]) == 1


async def test_an_admin_is_recovered_on_the_machine_itself(tmp_path: Path) -> None:
    settings = ServerSettings(home=tmp_path)
    for _ in range(2):
        secret = await recover_admin(settings, "li")
        store = await open_store(settings.database_url)
        context = Context(store, {}, "", tmp_path / "logs", tmp_path / "packages")
        accounts = Accounts(context, 3600.0)
        principal = await accounts.authenticate(secret)
        assert principal.is_admin
        assert principal.token.expires_at is not None
        await accounts.create_user("ann", UserRole.ADMIN, None, actor="x") if not await store.user("ann") else None
        await accounts.change_user("li", actor="x", role=UserRole.USER, disabled=True)
        await context.drain()
        await store.close()


def a_token(scope: TokenScope, job_id: str | None = None) -> Token:
    return Token("t", "amy", "token", "hash", 0.0, scope=scope, job_id=job_id)


READ_JOB, KILL_JOB = ("GET", "/api/v1/jobs/j1/logs"), ("POST", "/api/v1/jobs/j1/kill")
OTHER_JOB, SUBMIT, BULK = ("GET", "/api/v1/jobs/j12"), ("POST", "/api/v1/jobs"), ("POST", "/api/v1/jobs:bulk")
UPLOAD, NEW_TOKEN, LIST_JOBS = ("PUT", "/api/v1/packages/d"), ("POST", "/api/v1/tokens"), ("GET", "/api/v1/jobs")
ADD_USER, EXEC, WHOAMI = ("POST", "/api/v1/users"), ("POST", "/api/v1/nodes/n/exec"), ("GET", "/api/v1/whoami")
METRICS, LOGOUT = ("GET", "/metrics"), ("POST", "/api/v1/logout")
CALLS = (
    *(READ_JOB, KILL_JOB, OTHER_JOB, SUBMIT, BULK, UPLOAD, NEW_TOKEN, LIST_JOBS, ADD_USER, EXEC, WHOAMI),
    *(METRICS, LOGOUT),
)


@pytest.mark.parametrize(
    ("token", "allowed"),
    [
        (a_token(TokenScope.READ), {READ_JOB, OTHER_JOB, LIST_JOBS, WHOAMI, METRICS, LOGOUT}),
        (
            a_token(TokenScope.SUBMIT),
            {READ_JOB, OTHER_JOB, LIST_JOBS, WHOAMI, METRICS, LOGOUT, KILL_JOB, SUBMIT, BULK, UPLOAD},
        ),
        (a_token(TokenScope.ADMIN), set(CALLS)),
        (a_token(TokenScope.READ, "j1"), {READ_JOB, WHOAMI, LOGOUT}),
        (a_token(TokenScope.SUBMIT, "j1"), {READ_JOB, KILL_JOB, WHOAMI, LOGOUT}),
        (a_token(TokenScope.ADMIN, "j1"), {READ_JOB, KILL_JOB, WHOAMI, LOGOUT}),
    ],
)
def test_a_token_allows_what_its_scope_says(token: Token, allowed: set[tuple[str, str]]) -> None:
    def is_allowed(call: tuple[str, str]) -> bool:
        try:
            require_scope(token, *call)
        except Forbidden:
            return False
        return True

    assert {call for call in CALLS if is_allowed(call)} == allowed


@pytest.mark.parametrize(
    ("call", "needed"), [(("POST", "/api/v1/jobs"), "submit"), (("POST", "/api/v1/nodes"), "admin")]
)
def test_a_refusal_names_the_scope_that_would_do(call: tuple[str, str], needed: str) -> None:
    token = Token("t-1", "amy", "ci", "", 0.0, scope=TokenScope.READ)
    with pytest.raises(Forbidden, match=f"this token has the scope read, and this needs {needed}") as refused:
        require_scope(token, *call)
    assert refused.value.hint.endswith(f"muster tokens create NAME --scope {needed}")


async def test_a_narrow_token_of_an_admin_has_no_rights_of_an_admin(bare_context: Context) -> None:
    accounts = Accounts(bare_context, 3600.0)
    user = await accounts.create_user("root", UserRole.ADMIN, None, actor="root")
    _, secret = await accounts.create_token(user, "ci", None, actor="root", scope=TokenScope.SUBMIT)
    principal = await accounts.authenticate(secret)
    assert principal.token.scope is TokenScope.SUBMIT
    assert not principal.is_admin


async def test_a_request_key_is_looked_up_before_admission(lab: Laboratory) -> None:
    key = RequestKey("amy", "k", "digest")
    job, _ = await commands.submit(lab.context, a_spec(name="first", held=True), "amy", key)
    lab.context.limits = replace(lab.context.limits, open_jobs_per_user=1, tasks_per_job=1)
    again, is_new = await commands.submit(lab.context, a_spec(a_role(replicas=2), name="first"), "amy", key)
    assert (again.id, is_new) == (job.id, False)


async def test_a_request_key_is_bound_to_its_request(lab: Laboratory) -> None:
    first, other = RequestKey("amy", "k", "one"), RequestKey("amy", "k", "another")
    await commands.submit(lab.context, a_spec(name="first", held=True), "amy", first)
    with pytest.raises(Conflict, match="has already used request key k for another request, which made job first"):
        await commands.submit(lab.context, a_spec(name="second", held=True), "amy", other)
    specs = [a_spec(name=f"bulk{number}", held=True) for number in range(2)]
    bulk = RequestKey("amy", "b", "one")
    jobs, _ = await commands.submit_all(lab.context, specs, "amy", bulk)
    again, are_new = await commands.submit_all(lab.context, specs, "amy", bulk)
    assert ([job.id for job in again], are_new) == ([job.id for job in jobs], False)
    with pytest.raises(Conflict, match="another request"):
        await commands.submit_all(lab.context, specs, "amy", replace(bulk, digest="another"))


async def test_a_server_waits_for_a_database_that_is_away() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        await prepare_database("postgresql://muster@127.0.0.1:1/muster", sleep)
    assert waits == sorted(waits)


async def test_a_server_does_not_wait_for_what_will_not_change(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    async def sleep(_: float) -> None:
        raise AssertionError("waiting does not help")

    with pytest.raises(Unavailable):
        await prepare_database(f"sqlite:///{tmp_path / 'file' / 'muster.db'}", sleep)
