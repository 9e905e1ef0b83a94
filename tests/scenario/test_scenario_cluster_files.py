"""Clusters come, change and go with the files that describe them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from muster.backends.ssh.options import ssh_nodes
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Invalid
from muster.engine.data.archives import SignedArchives
from muster.engine.requests.explaining import live_reason, live_reasons
from tests.parts.building import a_node, a_spec
from tests.parts.directory_queue.backend import DirectoryQueueBackend
from tests.parts.directory_queue.layout import Layout, write
from tests.parts.fake_backend import FakeBackend
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
POOL = "name: pool\nbackend: ssh\nnodes: [p1]\n"


@dataclass(slots=True)
class Works:
    """Makes the backends of clusters, and keeps them for the test to see."""

    lab: Laboratory
    made: list[FakeBackend] = field(default_factory=list)

    def build(self, settings: PhysicalCluster) -> FakeBackend:
        nodes = [replace(a_node(node.name), cluster=settings.name) for node in ssh_nodes(settings)]
        self.made.append(FakeBackend(nodes, settings=settings))
        return self.made[-1]

    def write(self, text: str) -> None:
        (self.lab.clusters / "pool.yaml").write_text(text)

    async def until_configured(self, **expected: object) -> None:
        await self.lab.until(
            lambda: all(getattr(self.made[-1].settings, name) == value for name, value in expected.items())
        )


@pytest.fixture
async def works(tmp_path: Path, database_template: Path) -> AsyncIterator[Works]:
    lab = Laboratory(tmp_path, database_template)
    works = Works(lab)
    lab.builders = {"ssh": works.build}
    await lab.open()
    yield works
    await lab.close()


async def joined(works: Works) -> FakeBackend:
    works.write(POOL)
    await works.lab.until(lambda: "pool" in works.lab.context.backends)
    return works.made[-1]


async def test_a_cluster_whose_nodes_are_all_taken_out_of_its_file_is_a_cluster_without_nodes(works: Works) -> None:
    pool = await joined(works)
    works.write("name: pool\nbackend: ssh\nnodes: []\n")
    await works.until_configured(nodes=())
    assert not pool.settings.is_leaving
    pool.machines.clear()
    works.write("name: pool\nbackend: ssh\nnodes: []\ndescription: soon\n")
    await works.until_configured(description="soon")
    assert works.lab.context.backends["pool"] is pool


async def test_a_cluster_whose_file_is_gone_is_said_to_leave_and_goes_when_it_is_empty(works: Works) -> None:
    pool = await joined(works)
    pool.machines.clear()
    (works.lab.clusters / "pool.yaml").unlink()
    await works.lab.until(lambda: "pool" not in works.lab.context.backends)
    assert pool.settings.is_leaving
    assert [node.name for node in pool.settings.nodes] == ["p1"]


async def test_a_cluster_that_leaves_stays_while_it_has_nodes_and_may_come_back(works: Works) -> None:
    pool = await joined(works)
    (works.lab.clusters / "pool.yaml").unlink()
    await works.until_configured(is_leaving=True)
    works.write(POOL)
    await works.until_configured(is_leaving=False)
    assert works.lab.context.backends["pool"] is pool


async def test_a_cluster_with_an_engine_goes_although_the_engine_still_has_its_nodes(
    works: Works, tmp_path: Path
) -> None:
    layout = Layout(tmp_path / "queue").make()
    write(layout.nodes, {"c1": 2})
    archives = SignedArchives(tmp_path / "packages", "http://127.0.0.1:1", b"key")
    works.lab.builders["ssh"] = lambda settings: DirectoryQueueBackend(settings, archives, layout.root)
    works.write(POOL)
    await works.lab.until(lambda: "pool" in works.lab.context.backends)
    assert [node.name for node in works.lab.context.nodes("pool")] == ["c1"]
    (works.lab.clusters / "pool.yaml").unlink()
    await works.lab.until(lambda: "pool" not in works.lab.context.backends)


async def test_a_cluster_that_gets_another_backend_leaves_before_the_new_one_joins(works: Works) -> None:
    pool = await joined(works)
    pool.settings = PhysicalCluster("pool", "other")
    pool.machines.clear()
    works.write(POOL + "description: by SSH now\n")
    await works.lab.until(lambda: works.made[-1] is not pool)
    assert pool.settings.is_leaving
    assert works.lab.context.backends["pool"] is works.made[-1]


async def test_a_cluster_without_nodes_yet_lets_a_job_wait(works: Works) -> None:
    works.write("name: pool\nbackend: ssh\n")
    await works.lab.until(lambda: "pool" in works.lab.context.backends)
    job_id = await works.lab.submit(a_spec(name="early", cluster="pool"))
    assert (await works.lab.job(job_id)).state_name == "Queued"


async def test_a_cluster_without_a_file_takes_no_more_jobs_and_those_that_wait_there_say_so(works: Works) -> None:
    works.write("name: pool\nbackend: ssh\n")
    await works.lab.until(lambda: "pool" in works.lab.context.backends)
    early = await works.lab.submit(a_spec(name="early", cluster="pool"))

    (works.lab.clusters / "pool.yaml").unlink()
    await works.until_configured(is_leaving=True)

    with pytest.raises(Invalid, match="file of cluster pool was removed") as refused:
        await works.lab.submit(a_spec(name="late", cluster="pool"))
    (problem,) = refused.value.problems
    assert (problem.path, problem.hint) == ("cluster", "known clusters: lab")
    reason = live_reason(works.lab.context, await works.lab.job(early))
    assert reason is not None
    assert (reason.code, reason.message) == (
        "cluster-removed",
        "the file of cluster pool was removed, so that it starts no more jobs",
    )


async def test_a_job_that_waits_for_a_cluster_without_a_file_says_so_after_a_restart(works: Works) -> None:
    works.write("name: pool\nbackend: ssh\n")
    await works.lab.until(lambda: "pool" in works.lab.context.backends)
    early = await works.lab.submit(a_spec(name="early", cluster="pool"))
    (works.lab.clusters / "pool.yaml").unlink()
    await works.until_configured(is_leaving=True)

    await works.lab.close()
    await works.lab.open()

    assert "pool" not in works.lab.context.backends
    (reason,) = live_reasons(works.lab.context, await works.lab.job(early))
    assert reason.code == "cluster-removed"
