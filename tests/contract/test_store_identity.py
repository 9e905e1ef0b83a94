"""The id of a store: the same for all who open it, and for no other store. Run on both databases."""

import pytest

from muster.stores import backup
from muster.stores.opening import open_store
from muster.stores.tables import HEAD

pytestmark = [pytest.mark.anyio]


@pytest.mark.fast
async def test_all_who_open_a_store_find_the_same_id(empty_url: str, tmp_path: object) -> None:
    found = []
    for _ in range(2):
        store = await open_store(empty_url)
        found.append(await store.store_id())
        await store.close()
    other = await open_store(f"sqlite:///{tmp_path}/other.db")
    found.append(await other.store_id())
    await other.close()
    assert found[0] == found[1] != found[2]
    assert all(len(one) == 16 for one in found)


async def test_a_restored_store_is_another_one(empty_url: str) -> None:
    store = await open_store(empty_url)
    before = await store.store_id()
    await store.close()
    rows: dict[str, list[str]] = {}
    backup.dump(empty_url, lambda table, lines: rows.__setitem__(table, list(lines)))
    backup.load(empty_url, HEAD, lambda table: rows[table], replace=True)
    again = await open_store(empty_url)
    assert await again.store_id() not in ("", before)
    await again.close()
