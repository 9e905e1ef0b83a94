"""Templates in the store: one row for each version, and only the newest ones stay."""

from dataclasses import replace

import pytest

from muster.domain.errors import Conflict, NotFound
from muster.domain.templates import Template
from muster.ports.store import Change, Store

pytestmark = pytest.mark.anyio
FIRST = Template("finetune", 1, "id-of-amy", "amy", 2.0, "é", "vision", files={"job.yaml": "name: a"}, size_bytes=7)


async def publish(store: Store, template: Template, kept: int = 3) -> None:
    await store.apply(Change(template=template, kept_versions=kept))


async def test_the_newest_versions_are_listed_by_name_and_without_files(store: Store) -> None:
    second = replace(FIRST, version=2, everyone=True)
    other = replace(FIRST, name="an-other", version=7)
    for template in (FIRST, second, other):
        await publish(store, template)
    assert await store.templates() == [replace(other, files={}), replace(second, files={})]


async def test_a_version_or_the_newest_comes_with_its_files(store: Store) -> None:
    second = replace(FIRST, version=2, files={"job.yaml": "name: b"})
    await publish(store, FIRST)
    await publish(store, second)
    assert await store.template("finetune", None) == second
    assert await store.template("finetune", 1) == FIRST
    assert await store.template("finetune", 3) is None
    assert await store.template("nothing", None) is None


async def test_a_version_is_published_once_and_old_ones_go(store: Store) -> None:
    for version in range(1, 6):
        await publish(store, replace(FIRST, version=version))
    with pytest.raises(Conflict, match="somebody else has just published finetune@5"):
        await publish(store, replace(FIRST, version=5))
    kept = [version for version in range(1, 6) if await store.template("finetune", version)]
    assert kept == [3, 4, 5]


async def test_all_versions_are_removed_together(store: Store) -> None:
    await publish(store, FIRST)
    await publish(store, replace(FIRST, version=2))
    await store.apply(Change(removed_template="finetune"))
    assert await store.templates() == []
    with pytest.raises(NotFound):
        await store.apply(Change(removed_template="finetune"))
