"""Models in the store: versions that are found, and those that were removed."""

from dataclasses import replace

import pytest

from muster.domain.errors import NotFound
from muster.domain.experiments.models import Lineage, Model, ModelFile
from muster.ports.store import Change, Store

pytestmark = pytest.mark.anyio
_FROM = Lineage("job-1", "mnist", 1, "model/", "lab", "torch", params={"lr": 0.1})
FIRST = Model("m1", "amy", "digits", 1, 1000.0, "first", (ModelFile("w.pt", 7, "ab"),), _FROM)
SECOND = replace(FIRST, id="m2", version=2)
OTHER = replace(FIRST, id="m3", owner="bob")


async def _stored(store: Store) -> None:
    await store.apply_all([Change(new_model=one) for one in (FIRST, SECOND, OTHER)])


async def test_removed_version_is_found_nowhere_and_takes_no_room(store: Store) -> None:
    await _stored(store)
    await store.apply(Change(removed_models=["m2"]))
    assert await store.model("amy", "digits", 2) is None
    assert await store.model_by_id("m2") is None
    assert await store.model("amy", "digits", None) == FIRST
    assert await store.models("amy") == [FIRST]
    assert await store.models(None) == [FIRST, OTHER]
    assert await store.model_versions("amy", "digits") == [FIRST]
    assert await store.model_bytes("amy") == 7
    assert await store.removed_models() == ["m2"]


async def test_number_of_removed_version_is_not_given_again(store: Store) -> None:
    await _stored(store)
    await store.apply(Change(removed_models=["m1", "m2"]))
    assert await store.models("amy") == []
    assert await store.last_model_version("amy", "digits") == 2
    assert await store.last_model_version("amy", "letters") == 0


async def test_version_is_removed_once(store: Store) -> None:
    await _stored(store)
    await store.apply(Change(removed_models=["m1"]))
    with pytest.raises(NotFound):
        await store.apply(Change(removed_models=["m1"]))
