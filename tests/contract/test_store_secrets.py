"""Secrets in the store: one for each owner and name, encrypted, removed with their owner."""

from dataclasses import replace

import pytest

from muster.domain.accounts import User, UserRole
from muster.domain.errors import Conflict, NotFound
from muster.domain.jobs import Succeeded
from muster.domain.secrets import Secret, SecretKind
from muster.ports.store import Change, Store
from tests.contract.building import a_job

pytestmark = pytest.mark.anyio
AMY, BOB = (User(name, UserRole.USER, 1.0, id=f"id-of-{name}") for name in ("amy", "bob"))
KEY = Secret(AMY.id, "wandb", SecretKind.TEXT, 7, 2.0, 2.0, "amy", "v1:k:sealed")


def shown(secret: Secret) -> Secret:
    return replace(secret, sealed="")


def opened(secret: Secret) -> Secret:
    return replace(secret, owner="")


async def with_users(store: Store) -> None:
    for user in (AMY, BOB):
        await store.apply(Change(new_user=user))


async def test_lists_are_in_order_and_without_values(store: Store) -> None:
    await with_users(store)
    bobs = replace(KEY, owner_id=BOB.id, owner="bob")
    first = replace(KEY, name="a-key", kind=SecretKind.BINARY)
    for secret in (bobs, KEY, first):
        await store.apply(Change(secret=secret))
    assert await store.secrets(None) == [shown(first), shown(KEY), shown(bobs)]
    assert await store.secrets(BOB.id) == [shown(bobs)]


async def test_values_come_by_owner_and_name(store: Store) -> None:
    await with_users(store)
    await store.apply(Change(secret=KEY))
    assert await store.sealed_secrets(AMY.id, ["wandb", "other"]) == [opened(KEY)]
    assert await store.sealed_secrets(BOB.id, ["wandb"]) == []


async def test_a_new_value_replaces_the_old_one_and_keeps_the_time_of_creation(store: Store) -> None:
    await with_users(store)
    await store.apply(Change(secret=KEY))
    new = replace(KEY, kind=SecretKind.BINARY, size_bytes=9, created_at=5.0, updated_at=5.0, sealed="v1:k:other")
    await store.apply(Change(secret=new))
    assert await store.sealed_secrets(AMY.id, ["wandb"]) == [opened(replace(new, created_at=2.0))]


async def test_a_removed_secret_is_gone_and_removing_none_is_not_found(store: Store) -> None:
    await with_users(store)
    await store.apply(Change(secret=KEY))
    with pytest.raises(NotFound):
        await store.apply(Change(removed_secret=(BOB.id, "wandb")))
    await store.apply(Change(removed_secret=(AMY.id, "wandb")))
    assert await store.secrets(None) == []
    with pytest.raises(NotFound):
        await store.apply(Change(removed_secret=(AMY.id, "wandb")))


async def test_a_removed_user_takes_the_secrets_along(store: Store) -> None:
    await with_users(store)
    await store.apply(Change(secret=KEY))
    await store.apply(Change(removed_user="amy"))
    await store.apply(Change(new_user=replace(AMY, id="id-of-the-next-amy")))
    assert await store.secrets(None) == []
    assert await store.sealed_secrets(AMY.id, ["wandb"]) == []


async def test_secrets_of_a_job_come_and_go_with_it(store: Store) -> None:
    await with_users(store)
    job, other = a_job(1), a_job(2)
    own, others = (replace(KEY, name=f"{one.id}.token") for one in (job, other))
    await store.apply(Change(new_job=job, secrets=[own]))
    await store.apply_all([Change(new_job=other, secrets=[others]), Change(secret=KEY)])
    assert await store.sealed_secrets(AMY.id, [own.name]) == [opened(own)]
    await store.apply(Change(job=replace(job, state=Succeeded(9.0), version=job.version + 1)))
    await store.apply(Change(removed_job=job.id))
    assert await store.secrets(AMY.id) == [shown(others), shown(KEY)]


async def test_secrets_of_a_job_that_is_refused_are_not_stored(store: Store) -> None:
    await with_users(store)
    job = a_job(1)
    await store.apply(Change(new_job=job))
    with pytest.raises(Conflict):
        await store.apply(Change(new_job=replace(a_job(2), spec=job.spec), secrets=[KEY]))
    assert await store.secrets(AMY.id) == []
