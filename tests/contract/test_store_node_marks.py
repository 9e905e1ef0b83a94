"""Marks of nodes: one a node, replaced whole, gone when taken back."""

from dataclasses import replace

import pytest

from muster.domain.events import Event
from muster.domain.nodes import Mark, NodeMark
from muster.ports.store import Change, Store

pytestmark = pytest.mark.anyio
CORDON = NodeMark("lab", "gpu2", Mark.CORDONED, "a fan is “loud”", "amy", 5.5)


async def test_marks_come_back_as_they_were_in_order(store: Store) -> None:
    others = [replace(CORDON, cluster="attic"), replace(CORDON, node="gpu1", mark=Mark.DRAINING, reason="")]
    for mark in (CORDON, *others):
        await store.apply(Change(node_mark=mark))
    assert await store.node_marks() == [others[0], others[1], CORDON]


async def test_a_new_mark_takes_the_place_of_the_old_one(store: Store) -> None:
    await store.apply(Change(node_mark=CORDON))
    drain = replace(CORDON, mark=Mark.DRAINING, reason="moves", by="bob", at=9.0)
    await store.apply(Change(node_mark=drain))
    assert await store.node_marks() == [drain]


async def test_a_mark_taken_back_is_gone_and_taking_back_none_is_no_error(store: Store) -> None:
    await store.apply(Change(node_mark=CORDON))
    for _ in range(2):
        await store.apply(Change(unmarked_node=("lab", "gpu2")))
    assert await store.node_marks() == []


async def test_a_mark_and_its_event_commit_together(store: Store) -> None:
    (told,) = await store.apply(Change(node_mark=CORDON, events=[Event("audit.node.cordon", 5.5)]))
    assert told.seq > 0
    assert await store.node_marks() == [CORDON]
