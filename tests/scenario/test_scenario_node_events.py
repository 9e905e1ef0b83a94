"""What becomes of nodes is in the history."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.parts.building import a_node
from tests.parts.fake_backend import FakeBackend
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


@pytest.fixture
async def pool(tmp_path: Path, database_template: Path) -> AsyncIterator[Laboratory]:
    laboratory = await Laboratory(tmp_path, database_template, FakeBackend([a_node("n1"), a_node("n2")])).open()
    yield laboratory
    await laboratory.close()


async def told(lab: Laboratory) -> list[tuple[str, str, str]]:
    await lab.settled()
    events = [event for event in await lab.events() if event.kind.startswith("node.")]
    return [(event.kind, str(event.data["name"]), str(event.data["message"])) for event in events]


async def test_nodes_that_join_with_the_server_are_no_news(pool: Laboratory) -> None:
    pool.backend.tell_nodes()
    assert await told(pool) == []


async def test_a_node_that_goes_and_comes_back_is_told_once_each(pool: Laboratory) -> None:
    pool.backend.leave("n1")
    pool.backend.tell_nodes()
    pool.backend.come_back("n1")
    pool.backend.tell_nodes()
    assert await told(pool) == [("node.unreachable", "n1", ""), ("node.ready", "n1", "")]


async def test_a_node_that_left_its_cluster_is_told(pool: Laboratory) -> None:
    pool.backend.machines = [a_node("n2")]
    pool.backend.tell_nodes()
    assert await told(pool) == [("node.retired", "n1", "")]


async def test_alerts_are_told_when_they_come_and_when_they_are_over(pool: Laboratory) -> None:
    good, *rest = pool.backend.machines
    pool.backend.machines = [replace(good, alerts=("GPU 0 is out of service: it has vanished",)), *rest]
    pool.backend.tell_nodes()
    pool.backend.machines = [good, *rest]
    pool.backend.tell_nodes()
    await pool.settled()
    events = [event for event in await pool.events() if event.kind == "node.alert"]
    assert [(event.data["name"], event.data["state"]) for event in events] == [("n1", ""), ("n1", "over")]
    assert {event.data["message"] for event in events} == {"GPU 0 is out of service: it has vanished"}
