"""Who becomes which user after a login with an identity provider."""

import asyncio
from dataclasses import replace

import pytest

from muster.domain.accounts import UserRole
from muster.domain.errors import Forbidden, NotAuthenticated
from muster.domain.sign_in import Person, SignInRules
from muster.engine.context import Context
from muster.engine.requests.accounts import Accounts
from muster.engine.requests.admitting import Admitting

pytestmark = [pytest.mark.fast, pytest.mark.anyio]

AMY = Person("https://id.example.org", "42", "amy", ("vision",), "example.org")


@pytest.fixture
def accounts(bare_context: Context) -> Accounts:
    return Accounts(bare_context, 3600.0)


async def log_in(context: Context, accounts: Accounts, person: Person = AMY, rules: SignInRules | None = None) -> str:
    _, _, user = await Admitting(context, accounts, rules or SignInRules()).log_in(person, "test", "10.0.0.1")
    return user.name


async def test_a_session_lasts_as_long_as_the_shorter_of_two_settings(
    bare_context: Context, accounts: Accounts
) -> None:
    now = bare_context.clock()
    for most_s, expected_s in ((None, 3600.0), (60.0, 60.0), (7200.0, 3600.0)):
        admitting = Admitting(bare_context, accounts, SignInRules(session_lifetime_s=most_s))
        token, _, _ = await admitting.log_in(AMY, "test", "")
        assert token.expires_at == now + expected_s
        assert token.is_session


@pytest.mark.parametrize("role", list(UserRole))
async def test_an_account_of_the_same_name_is_not_taken_over(
    bare_context: Context, accounts: Accounts, role: UserRole
) -> None:
    await accounts.create_user("amy", role, "correct horse", actor="root")
    with pytest.raises(Forbidden, match="another account amy"):
        await log_in(bare_context, accounts)
    assert await bare_context.store.identities(None) == []
    assert await bare_context.store.tokens("amy") == []


async def test_names_are_linked_only_if_the_settings_say_so_and_never_those_of_admins(
    bare_context: Context, accounts: Accounts
) -> None:
    rules = SignInRules(links_by_name=True)
    await accounts.create_user("root", UserRole.ADMIN, None, actor="root")
    await accounts.create_user("amy", UserRole.USER, None, actor="root")
    await accounts.create_user("off", UserRole.USER, None, actor="root")
    await accounts.change_user("off", actor="root", disabled=True)
    assert await log_in(bare_context, accounts, rules=rules) == "amy"
    for person in (
        replace(AMY, subject="43"),
        replace(AMY, issuer="https://other.example.org"),
        replace(AMY, subject="44", name="root"),
        replace(AMY, subject="45", name="off"),
    ):
        with pytest.raises(Forbidden, match="another account"):
            await log_in(bare_context, accounts, person, rules)


async def test_a_person_stays_the_same_user_under_another_name(bare_context: Context, accounts: Accounts) -> None:
    await log_in(bare_context, accounts)
    assert await log_in(bare_context, accounts, replace(AMY, name="amy.new")) == "amy"
    assert await log_in(bare_context, accounts, replace(AMY, name="")) == "amy"


async def test_the_same_person_may_log_in_twice_at_once(bare_context: Context, accounts: Accounts) -> None:
    names = await asyncio.gather(*(log_in(bare_context, accounts) for _ in range(5)))
    assert set(names) == {"amy"}
    assert len(await bare_context.store.identities("amy")) == 1


async def test_people_whom_muster_does_not_know_stay_out_if_the_settings_say_so(
    bare_context: Context, accounts: Accounts
) -> None:
    rules = SignInRules(creates_users=False)
    with pytest.raises(Forbidden, match="no account for amy"):
        await log_in(bare_context, accounts, rules=rules)
    user = await accounts.create_user("amy", UserRole.USER, None, actor="root")
    await accounts.link(user, AMY.issuer, AMY.subject, actor="root")
    assert await log_in(bare_context, accounts, rules=rules) == "amy"


@pytest.mark.parametrize(
    ("rules", "is_allowed"),
    [
        (SignInRules(), True),
        (SignInRules(allowed_groups=frozenset({"vision", "speech"})), True),
        (SignInRules(allowed_groups=frozenset({"speech"})), False),
        (SignInRules(allowed_groups=frozenset({"speech"}), admin_groups=frozenset({"vision"})), True),
        (SignInRules(allowed_domains=frozenset({"example.org"})), True),
        (SignInRules(allowed_domains=frozenset({"example.com"})), False),
        (SignInRules(allowed_groups=frozenset({"vision"}), allowed_domains=frozenset({"example.com"})), False),
    ],
)
async def test_groups_and_domains_decide_who_may_log_in(
    bare_context: Context, accounts: Accounts, rules: SignInRules, is_allowed: bool
) -> None:
    if is_allowed:
        assert await log_in(bare_context, accounts, rules=rules) == "amy"
        return
    with pytest.raises(Forbidden):
        await log_in(bare_context, accounts, rules=rules)
    assert await bare_context.store.user("amy") is None


async def test_without_a_confirmed_address_no_domain_is_allowed(bare_context: Context, accounts: Accounts) -> None:
    rules = SignInRules(allowed_domains=frozenset({"example.org"}))
    with pytest.raises(Forbidden, match="no confirmed mail address"):
        await log_in(bare_context, accounts, replace(AMY, domain=""), rules)


async def test_groups_of_admins_decide_on_the_role_but_the_last_admin_stays(
    bare_context: Context, accounts: Accounts
) -> None:
    rules = SignInRules(admin_groups=frozenset({"ops"}))
    await log_in(bare_context, accounts, replace(AMY, groups=("ops",)), rules)
    assert (await accounts.user("amy")).is_admin
    await log_in(bare_context, accounts, replace(AMY, groups=("vision",)), rules)
    assert (await accounts.user("amy")).is_admin, "nobody else could give the rights back"
    assert (await accounts.user("amy")).groups == ("vision",)
    await accounts.create_user("root", UserRole.ADMIN, None, actor="root")
    await log_in(bare_context, accounts, rules=rules)
    assert not (await accounts.user("amy")).is_admin


async def test_groups_that_nobody_asked_for_leave_those_of_muster_alone(
    bare_context: Context, accounts: Accounts
) -> None:
    silent = replace(AMY, groups=None)
    await log_in(bare_context, accounts, silent)
    await accounts.change_user("amy", actor="root", groups=["kept"], role=UserRole.ADMIN)
    await log_in(bare_context, accounts, silent)
    user = await accounts.user("amy")
    assert (user.groups, user.is_admin) == (("kept",), True)


async def test_a_disabled_user_stays_out_and_the_attempt_is_recorded(bare_context: Context, accounts: Accounts) -> None:
    await log_in(bare_context, accounts)
    await accounts.change_user("amy", actor="root", disabled=True)
    with pytest.raises(NotAuthenticated, match="disabled"):
        await log_in(bare_context, accounts)
    failed = await bare_context.store.events(prefix="audit.login.failed")
    assert [(event.data["user"], event.data["address"]) for event in failed] == [("amy", "10.0.0.1")]
