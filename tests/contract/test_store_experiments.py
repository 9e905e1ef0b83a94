"""Experiments are found by owner and name, and are listed with few of their tags."""

from dataclasses import replace

import pytest

from muster.domain.experiments.experiments import Experiment
from muster.ports.store import Change, Store

pytestmark = pytest.mark.anyio
TAGS = {"team": "a", "note": "long"}
FIRST = Experiment("first", "amy", "nets", 1.0, 1.0, tags=TAGS)
SECOND = Experiment("second", "amy", "trees", 2.0, 2.0, is_deleted=True)
OTHER = Experiment("third", "bob", "nets", 3.0, 3.0)


async def put(store: Store) -> None:
    for each in (FIRST, SECOND, OTHER):
        await store.apply(Change(experiment=each))


async def test_experiments_are_found_by_owner_and_name_and_counted(store: Store) -> None:
    await put(store)
    assert await store.find_experiment("amy", "nets") == FIRST
    assert await store.find_experiment("amy", "trees") == SECOND
    assert await store.find_experiment("bob", "trees") is None
    assert [await store.count_experiments(owner) for owner in ("amy", "bob", "eve")] == [2, 1, 0]


async def test_listed_experiments_have_the_tags_that_were_asked_for_only(store: Store) -> None:
    await put(store)
    assert await store.experiments("amy") == [SECOND, replace(FIRST, tags={})]
    assert await store.experiments("amy", tags=["team", "x"]) == [SECOND, replace(FIRST, tags={"team": "a"})]
    assert [one.id for one in await store.experiments(None)] == ["third", "second", "first"]
    assert await store.experiments_by_ids(["third", "gone", "first"]) == [OTHER, FIRST]
