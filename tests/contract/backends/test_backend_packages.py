"""Packages: a task finds its files wherever it runs; and the capability `shipping`."""

import hashlib
import io
import tarfile

import pytest

from muster.ports.backend import Phase
from muster.ports.capabilities import Shipping, TaskRef
from tests.contract.backends.harness import FolderArchives
from tests.contract.backends.observing import Site
from tests.contract.backends.programs import Programs

pytestmark = pytest.mark.anyio
CONTENT = b"brought from the server\n"


async def test_a_task_finds_the_files_of_its_package(site: Site) -> None:
    programs, logs, shipping = site.harness.tasks, site.backend.capabilities.logs, site.backend.capabilities.shipping
    if not isinstance(programs, Programs) or logs is None:
        pytest.skip("its tasks have no working folder")
    launch = await site.launch_of(package=_package(site.harness.archives), env={"WORD": "$HOME is not expanded"})
    if shipping is not None:
        assert await shipping.prepare(launch) == []
    await site.backend.launch(launch)
    task = await site.observed(launch.gang.tasks[0])
    programs.order(task, 'cat data/notes.txt; echo "$WORD"; cat "$MUSTER_TASK_DIR/trainer_count"; exit 0')
    assert (await site.observer.sees(task, Phase.ENDED)).exit_code == 0
    log = (await logs.read(TaskRef.of(task), 0, 1000)).data
    assert log == CONTENT + b"$HOME is not expanded\n1\n"


async def test_preparing_brings_a_package_once(site: Site) -> None:
    shipping = _shipping(site)
    digest = _package(site.harness.archives)
    launch = await site.launch_of(2, package=digest)
    assert await shipping.prepare(launch) == []
    site.harness.archives.path(digest).unlink()
    assert await shipping.prepare(launch) == [], "what a node has is not sent again"
    assert shipping.progress([digest]) == ""


async def test_a_package_that_is_gone_leaves_its_nodes_unready(site: Site) -> None:
    shipping = _shipping(site)
    if not site.harness.tasks.are_processes:
        pytest.skip("a backend in memory reads no package")
    launch = await site.launch_of(package="0" * 64)
    (unready,) = await shipping.prepare(launch)
    assert unready.node == site.harness.node
    assert unready.code
    assert unready.message


def _package(archives: FolderArchives) -> str:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("data/notes.txt")
        member.size = len(CONTENT)
        archive.addfile(member, io.BytesIO(CONTENT))
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    archives.path(digest).write_bytes(packed.getvalue())
    return digest


def _shipping(site: Site) -> Shipping:
    shipping = site.backend.capabilities.shipping
    if shipping is None:
        pytest.skip("this backend does not offer shipping")
    return shipping
