"""Logins with passwords that a real OpenLDAP checks, and attacks on them."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.domain.accounts import UserRole
from muster.domain.errors import Forbidden, NotAuthenticated, TooMany, Unavailable
from muster.engine.context import Context
from muster.engine.requests.accounts import Accounts
from muster.engine.requests.directory_login import DirectoryLogin
from muster.identity.ldap_directory import LdapDirectory, build
from muster.settings.ldap import LdapSettings
from tests.parts.slapd import BASE, PASSWORD, SEARCHER, Slapd, SlapdMissing, running_slapd

pytestmark = pytest.mark.anyio
TEMPLATE = {"bindTemplate": f"uid={{user}},ou=people,{BASE}"}
SEARCH = {"searchBase": f"ou=people,{BASE}", "bindDn": SEARCHER, "bindPasswordFile": "unused"}


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    try:
        with running_slapd(tmp_path_factory.mktemp("slapd"), {"staff": ["amy", "bob"], "ops": ["bob"]}) as running:
            yield running
    except SlapdMissing as missing:
        pytest.skip(str(missing))


def directory(slapd: Slapd, **more: Any) -> LdapDirectory:
    given = {"url": f"ldaps://127.0.0.1:{slapd.secure_port}", "caFile": slapd.certificate, **(more or TEMPLATE)}
    return build(LdapSettings.model_validate(given), PASSWORD, slapd.folder)


def login(context: Context, asked: LdapDirectory) -> DirectoryLogin:
    return DirectoryLogin(context, Accounts(context, 3600.0), asked, asked._settings.rules())


@pytest.mark.parametrize("how", [TEMPLATE, SEARCH], ids=["template", "search"])
@pytest.mark.parametrize("address", ["ldaps", "StartTLS", "plain"])
async def test_a_person_logs_in(slapd: Slapd, how: dict[str, str], address: str) -> None:
    plain = {"url": f"ldap://127.0.0.1:{slapd.port}", "allowPlain": address == "plain"}
    asked = directory(slapd, **how, **({} if address == "ldaps" else plain))
    person = await asked.person("bob", PASSWORD)
    assert person is not None
    assert (person.issuer, person.name, person.groups) == ("ldap:ldap", "bob", ("ops", "staff"))
    again = await asked.person("BOB", PASSWORD)
    assert again == person, "the directory does not distinguish upper and lower case"
    assert await asked.person("bob", "wrong") is None
    assert await asked.person("nobody", PASSWORD) is None


async def test_groups_can_be_searched(slapd: Slapd) -> None:
    person = await directory(slapd, **TEMPLATE, groupBase=f"ou=groups,{BASE}").person("amy", PASSWORD)
    assert person is not None
    assert person.groups == ("staff",)


@pytest.mark.parametrize("how", [TEMPLATE, SEARCH], ids=["template", "search"])
async def test_a_bind_without_a_password_proves_nothing(slapd: Slapd, how: dict[str, str]) -> None:
    assert await directory(slapd, **how).person("amy", "") is None


@pytest.mark.parametrize(
    "name", ["*", "a*", "amy)(uid=*", "amy)(|(uid=*", "amy,ou=people", "amy+cn=amy", "amy\x00", "(", "\\2a"]
)
@pytest.mark.parametrize("how", [TEMPLATE, SEARCH], ids=["template", "search"])
async def test_a_name_is_never_read_as_a_filter_or_an_entry(slapd: Slapd, how: dict[str, str], name: str) -> None:
    asked = directory(slapd, **how)
    assert await asked.person(name, PASSWORD) is None
    dn = asked._dn_of(name)  # even if nothing had checked the name before
    assert dn is None or (dn != f"uid=amy,ou=people,{BASE}" and not asked._person(name, PASSWORD))


async def test_a_directory_with_another_certificate_gets_no_password(slapd: Slapd) -> None:
    for url in (f"ldaps://127.0.0.1:{slapd.secure_port}", f"ldap://127.0.0.1:{slapd.port}"):
        settings = LdapSettings.model_validate({"url": url, **TEMPLATE})
        with pytest.raises(Unavailable, match="cannot be trusted"):
            await build(settings, "", slapd.folder).person("amy", PASSWORD)


async def test_a_directory_that_is_away_or_silent_is_reported(slapd: Slapd, bare_context: Context) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"ldap://127.0.0.1:{silent.getsockname()[1]}"
        asked = directory(slapd, url=url, timeout=1, **TEMPLATE)
        for _ in range(3):
            with pytest.raises(Unavailable):
                await login(bare_context, asked).log_in("amy", PASSWORD, "test", "10.0.0.1")


async def test_somebody_in_the_directory_is_not_the_user_of_the_same_name(slapd: Slapd, bare_context: Context) -> None:
    logins = login(bare_context, directory(slapd))
    accounts = Accounts(bare_context, 3600.0)
    await accounts.create_user("amy", UserRole.ADMIN, "a password of Muster", actor="root")
    assert not await logins.is_asked("amy")
    with pytest.raises(Forbidden, match="another account amy"):
        await logins.log_in("amy", PASSWORD, "test", "")
    assert await logins.is_asked("bob")
    _, _, bob = await logins.log_in("bob", PASSWORD, "test", "")
    assert (bob.name, bob.groups, bob.password_hash) == ("bob", ("ops", "staff"), None)


async def test_wrong_passwords_slow_their_address_down_and_are_recorded(slapd: Slapd, bare_context: Context) -> None:
    logins = login(bare_context, directory(slapd))
    for _ in range(5):
        with pytest.raises(NotAuthenticated):
            await logins.log_in("amy", "wrong", "test", "10.0.0.1")
    with pytest.raises(TooMany):
        await logins.log_in("amy", PASSWORD, "test", "10.0.0.1")
    await logins.log_in("amy", PASSWORD, "test", "10.0.0.2")
    assert len(await bare_context.store.events(prefix="audit.login.failed")) == 5


def test_passwords_do_not_appear_in_the_settings(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="extra"):
        LdapSettings.model_validate({"url": "ldaps://x", "bindPassword": "secret", **TEMPLATE})
