"""Jobs that need a folder of the cluster: where they go, why they wait, and who may have it."""

from dataclasses import replace

import pytest

from muster.domain.clusters import Folder, PhysicalCluster, folder_label
from muster.domain.errors import Invalid
from muster.domain.specs import Runtime, Spread, Where
from muster.engine.lifecycle.consistency import differences
from muster.engine.requests.explaining import live_reasons
from tests.parts.building import a_node, a_role, a_spec
from tests.parts.fake_backend import FakeBackend
from tests.parts.laboratory import Laboratory

pytestmark = pytest.mark.anyio
NEEDS_ENVS = Runtime(venv="envs/venvs/py310")


class Described(FakeBackend):
    """No file says anything of its cluster; what it was given stands."""

    async def configure(self, settings: PhysicalCluster) -> None:
        return None


@pytest.fixture
async def two(lab: Laboratory) -> Laboratory:
    """Two nodes; the folder is in order on none of them."""
    await lab.close()
    machines = [
        replace(a_node("n1"), alerts=("folder envs is missing: there is no /srv/envs",)),
        replace(a_node("n2"), alerts=("folder envs is not the same as on n3: /srv/envs is another folder there",)),
    ]
    lab.backend = Described(machines)
    lab.backend.settings = PhysicalCluster("lab", "fake", folders=(Folder("envs", "/srv/envs"),))
    return await lab.open()


def put_in_order(lab: Laboratory, name: str) -> None:
    lab.backend.machines = [
        replace(node, labels={folder_label("envs"): "ok"}, alerts=()) if node.name == name else node
        for node in lab.backend.machines
    ]
    assert lab.backend.listener is not None
    lab.backend.listener.nodes_changed("lab")


async def test_job_goes_only_where_its_folder_is_in_order(two: Laboratory) -> None:
    put_in_order(two, "n2")
    job_id = await two.submit(a_spec(runtime=NEEDS_ENVS))
    await two.becomes(job_id, "Running")
    (task,) = await two.tasks(job_id)
    assert task.placement.node == "n2"
    (request,) = [found.request for found in two.backend.tasks.values()]
    assert request.env["VIRTUAL_ENV"] == "/srv/envs/venvs/py310"
    assert await differences(two.context) == []


async def test_job_waits_with_what_is_wrong_on_each_node_and_starts_when_it_is_mended(two: Laboratory) -> None:
    job_id = await two.submit(a_spec(runtime=NEEDS_ENVS))
    job = await two.job(job_id)
    await two.until(lambda: live_reasons(two.context, job))
    (reason,) = live_reasons(two.context, job)
    assert reason.code == "not-in-order"
    assert reason.message == (
        "no ready node has folder envs in order: n1: missing: there is no /srv/envs;"
        " n2: not the same as on n3: /srv/envs is another folder there"
    )
    put_in_order(two, "n1")
    await two.becomes(job_id, "Running")


async def test_gang_that_needs_more_nodes_than_are_in_order_is_told_which_are_not(two: Laboratory) -> None:
    put_in_order(two, "n1")
    gang = replace(a_spec(a_role(replicas=2)), runtime=NEEDS_ENVS, where=Where(spread=Spread.APART))
    job = await two.job(await two.submit(gang))
    await two.until(lambda: live_reasons(two.context, job))
    (reason,) = live_reasons(two.context, job)
    assert (reason.code, reason.message) == (
        "not-in-order",
        "its 2 tasks need a node each, and 1 is usable now; 1 node without folder envs in order:"
        " n2: not the same as on n3: /srv/envs is another folder there",
    )


async def test_folder_that_is_closed_to_the_owner_is_refused(two: Laboratory) -> None:
    folder = Folder("envs", "/srv/envs", users=("somebody-else",))
    two.backend.settings = PhysicalCluster("lab", "fake", folders=(folder,))
    with pytest.raises(Invalid) as refused:
        await two.submit(a_spec(runtime=NEEDS_ENVS))
    assert "cluster lab has no folder 'envs'" in refused.value.problems[0].message
