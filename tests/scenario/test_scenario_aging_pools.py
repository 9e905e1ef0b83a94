"""What an engine said long ago of its room is asked for anew before many jobs are handed over to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.domain.launch_requests import GangLaunch
from muster.engine.data.archives import SignedArchives
from muster.ports.backend import Launched
from tests.parts.building import a_spec
from tests.parts.directory_queue.backend import DirectoryQueueBackend
from tests.parts.directory_queue.layout import Layout, write
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


class AgingQueue(DirectoryQueueBackend):
    """Its pool is old until somebody looks."""

    looks = 0
    looks_before_launch: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()

    def may_hand_over(self, waiting: int) -> bool:
        self.counts = (*self.counts, waiting)
        return self.looks > 0

    async def look(self, max_age_s: float = 3.0) -> None:
        self.looks += 1

    async def launch(self, launch: GangLaunch) -> Launched:
        self.looks_before_launch = (*self.looks_before_launch, self.looks)
        return await super().launch(launch)


@pytest.fixture
async def lab(tmp_path: Path, database_template: Path) -> AsyncIterator[Laboratory]:
    lab = Laboratory(tmp_path, database_template)
    layout = Layout(tmp_path / "queue").make()
    write(layout.nodes, {"c1": 8})
    archives = SignedArchives(tmp_path / "packages", "http://127.0.0.1:1", b"key")
    lab.builders = {"ssh": lambda settings: AgingQueue(settings, archives, layout.root)}
    await lab.open()
    (lab.clusters / "pool.yaml").write_text("name: pool\nbackend: ssh\n")
    await lab.until(lambda: "pool" in lab.context.backends)
    yield lab
    await lab.close()


async def test_nothing_is_handed_over_by_an_old_view(lab: Laboratory) -> None:
    queue = lab.context.backends["pool"]
    assert isinstance(queue, AgingQueue)
    await lab.until(lambda: queue.pool() is not None)

    for number in range(3):
        await lab.submit(a_spec(name=f"burst-{number}", cluster="pool"))
    await lab.until(lambda: len(queue.looks_before_launch) >= 3)

    assert min(queue.looks_before_launch) > 0
    assert 1 in queue.counts
