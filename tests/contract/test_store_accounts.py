"""What every Store promises about users, tokens and packages. Run on both databases."""

from dataclasses import replace

import pytest

from muster.domain.accounts import Identity, Package, Token, User, UserRole
from muster.domain.errors import Conflict, NotFound
from muster.domain.jobs import Succeeded
from muster.domain.specs import Input
from muster.ports.store import Change, Store
from tests.contract.building import a_job, submission

pytestmark = pytest.mark.anyio

AMY = User("amy", UserRole.ADMIN, 1.5, password_hash="$argon2id$x", disabled=False)
BOB = User("bob", UserRole.USER, 2.5, disabled=True, groups=("vision", "视觉"))
TOKEN = Token("t1", "amy", "laptop", "hash-1", 3.0, expires_at=9.0, last_used_at=4.0)


async def test_users_are_kept_changed_and_removed(store: Store) -> None:
    await store.apply_all([Change(new_user=BOB), Change(new_user=AMY)])
    assert await store.users() == [AMY, BOB]
    changed = replace(BOB, role=UserRole.ADMIN, password_hash="new", disabled=False, groups=())
    await store.apply(Change(user=changed))
    assert await store.user("bob") == changed
    await store.apply(Change(removed_user="bob"))
    assert await store.user("bob") is None


async def test_a_user_is_made_once(store: Store) -> None:
    await store.apply(Change(new_user=AMY))
    with pytest.raises(Conflict, match="user amy already exists"):
        await store.apply(Change(new_user=replace(AMY, disabled=True)))
    assert await store.users() == [AMY]


async def test_who_is_not_there_cannot_be_changed_or_removed(store: Store) -> None:
    for change in (Change(user=AMY), Change(removed_user="amy"), Change(removed_token="t1"), Change(new_token=TOKEN)):
        with pytest.raises(NotFound, match=r"there is no (user amy|token t1)"):
            await store.apply(change)


async def test_a_token_is_found_by_the_hash_of_its_secret(store: Store) -> None:
    other = Token("t2", "bob", "session", "hash-2", 5.0)
    await store.apply_all([Change(new_user=AMY, new_token=TOKEN), Change(new_user=BOB, new_token=other)])
    assert await store.token_by_hash("hash-1") == TOKEN
    assert await store.token_by_hash("hash-3") is None
    assert await store.tokens("bob") == [other]
    assert await store.tokens(None) == [TOKEN, other]
    with pytest.raises(Conflict, match="create a new one"):
        await store.apply(Change(new_token=replace(TOKEN, id="t3")))


async def test_one_change_replaces_a_token(store: Store) -> None:
    await store.apply(Change(new_user=AMY, new_token=TOKEN))
    used = replace(TOKEN, last_used_at=8.0)
    await store.apply(Change(removed_token=TOKEN.id, new_token=used))
    assert await store.tokens("amy") == [used]


async def test_tokens_go_with_their_user(store: Store) -> None:
    await store.apply(Change(new_user=AMY, new_token=TOKEN))
    await store.apply(Change(removed_user="amy"))
    assert await store.token_by_hash("hash-1") is None


async def test_a_package_is_kept_once_for_each_owner(store: Store) -> None:
    first, second = Package("sha256:a", "amy", 2**40, 1.0), Package("sha256:a", "bob", 2**40, 2.0)
    for package in (first, second, replace(first, created_at=9.0)):
        await store.apply(Change(new_package=package))
    assert await store.package("sha256:a", "amy") == first
    assert await store.package("sha256:a", "bob") == second
    assert await store.package("sha256:a", None) == first
    assert await store.package("sha256:a", "carol") is None


async def test_packages_are_in_use_while_a_job_that_names_them_is_stored(store: Store) -> None:
    jobs = [a_job(1, package="a", state=Succeeded(1.0)), a_job(2, package="b"), a_job(3, package="b"), a_job(4)]
    await store.apply_all([submission(job) for job in jobs])
    assert await store.packages_in_use() == {"a", "b"}
    await store.apply(Change(removed_job=jobs[0].id))
    assert await store.packages_in_use() == {"b"}


async def test_inputs_are_in_use_as_packages_are(store: Store) -> None:
    job = a_job(1, package="a")
    job = replace(job, spec=replace(job.spec, inputs=(Input("b", "data"), Input("c/rows.csv", "rows"))))
    other = a_job(2)
    other = replace(other, spec=replace(other.spec, description='"inputs":[{'))
    await store.apply_all([submission(job), submission(other)])
    assert await store.packages_in_use() == {"a", "b", "c"}


async def test_the_last_use_of_a_token_is_noted_and_one_that_is_gone_is_no_error(store: Store) -> None:
    await store.apply_all([Change(new_user=AMY), Change(new_token=TOKEN)])
    await store.apply_all([Change(used_token=("t1", 7.5)), Change(used_token=("gone", 8.0))])
    assert await store.tokens("amy") == [replace(TOKEN, last_used_at=7.5)]


async def test_a_removed_package_is_gone_for_all_its_owners(store: Store) -> None:
    packages = [Package("d" * 64, owner, 10, 1.0) for owner in ("amy", "bob")]
    await store.apply_all([Change(new_package=package) for package in packages])
    await store.apply(Change(removed_package="d" * 64))
    assert await store.package("d" * 64, None) is None


async def test_a_person_of_a_provider_is_linked_to_one_user(store: Store) -> None:
    person = Identity("https://id.example.org", "42", "amy", 3.0)
    await store.apply_all([Change(new_user=AMY, new_identity=person), Change(new_user=BOB)])
    assert await store.identity("https://id.example.org", "42") == person
    assert await store.identity("https://other.example.org", "42") is None
    with pytest.raises(Conflict, match="is linked to amy already"):
        await store.apply(Change(new_identity=replace(person, user="bob")))
    with pytest.raises(NotFound, match="there is no such user"):
        await store.apply(Change(new_identity=replace(person, subject="43", user="nobody")))
    assert await store.identities("amy") == await store.identities(None) == [person]
    await store.apply(Change(removed_identity=person))
    assert await store.identities(None) == []
    with pytest.raises(NotFound, match="is not linked"):
        await store.apply(Change(removed_identity=person))


async def test_the_end_of_a_user_ends_their_identities(store: Store) -> None:
    person = Identity("https://id.example.org", "42", "amy", 3.0)
    await store.apply(Change(new_user=AMY, new_identity=person))
    await store.apply(Change(removed_user="amy"))
    assert await store.identity("https://id.example.org", "42") is None
