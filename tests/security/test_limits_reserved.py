"""`reserved` of a node keeps room for the machine itself: tasks get only the rest."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.domain.errors import Unplaceable
from muster.domain.resources import Capacity, Reserved
from tests.parts.building import GIB, a_node, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


@pytest.fixture
async def lab(tmp_path: Path, migrated_file: Path) -> AsyncIterator[Laboratory]:
    laboratory = Laboratory(tmp_path, migrated_file)
    laboratory.backend.machines = [a_node("n1", 8, 32 * GIB), a_node("n2", 4, 16 * GIB)]
    await laboratory.open()
    yield laboratory
    await laboratory.close()


async def reserve(lab: Laboratory, text: str, **expected: tuple[int, int]) -> None:
    (lab.clusters / "nodes.yaml").write_text(text)

    def found() -> dict[str, tuple[int, int]]:
        nodes = lab.context.nodes("lab")
        return {node.name: (node.capacity.cpu_m, node.capacity.memory_bytes) for node in nodes}

    await lab.until(lambda: found() == expected)


async def test_tasks_get_only_what_is_not_reserved(lab: Laboratory) -> None:
    await reserve(
        lab,
        "nodes: [{name: n1, reserved: {cpu: 2, memory: 8Gi}}, {name: n2, reserved: {cpu: 1}}]\n",
        n1=(6000, 24 * GIB),
        n2=(3000, 16 * GIB),
    )
    with pytest.raises(Unplaceable):
        await lab.submit(a_spec(a_role(cpu=7)))
    with pytest.raises(Unplaceable):
        await lab.submit(a_spec(a_role(cpu=1, memory=30 * GIB)))
    job_id = await lab.submit(a_spec(a_role(replicas=2, cpu=3), name="gang"))
    await lab.becomes(job_id, "Running")


async def test_a_reservation_can_be_taken_back_while_the_server_runs(lab: Laboratory) -> None:
    await reserve(lab, "nodes: [{name: n1, reserved: {cpu: 8}}]\n", n1=(0, 32 * GIB), n2=(4000, 16 * GIB))
    await reserve(lab, "nodes: [{name: n1}]\n", n1=(8000, 32 * GIB), n2=(4000, 16 * GIB))


def test_no_more_than_the_node_has_is_reserved() -> None:
    assert Capacity(1000, GIB).without(Reserved(2000, 2 * GIB)) == Capacity(0, 0)


async def test_a_node_gets_no_more_tasks_than_its_file_allows(lab: Laboratory) -> None:
    await reserve(
        lab,
        "nodes: [{name: n1, maxTasks: 1}, {name: n2, maxTasks: 2}]\n",
        n1=(8000, 32 * GIB),
        n2=(4000, 16 * GIB),
    )
    await lab.until(lambda: [node.capacity.tasks for node in lab.context.nodes("lab")] == [1, 2])
    with pytest.raises(Unplaceable, match="room for 4 tasks"):
        await lab.submit(a_spec(a_role(replicas=4, cpu=0)))
    job_id = await lab.submit(a_spec(a_role(replicas=3, cpu=0), name="gang"))
    await lab.becomes(job_id, "Running")
    waiting = await lab.submit(a_spec(a_role(cpu=0), name="more"))
    assert (await lab.job(waiting)).state_name == "Queued"


async def test_a_node_has_a_limit_of_tasks_by_default(lab: Laboratory) -> None:
    assert [node.capacity.tasks for node in lab.context.nodes("lab")] == [1024, 1024]
