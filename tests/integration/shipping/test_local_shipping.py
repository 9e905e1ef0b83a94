"""A real agent on a disk of its own, under the real engine: packages and inputs are sent to it, outputs come back."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.backends.local.backend import LocalBackend
from muster.client.packing import Package, pack, pack_input
from muster.domain import accounts
from muster.domain.jobs import Job
from muster.domain.specs import Input, JobSpec, Role
from muster.engine.context import Context
from muster.engine.data import outputs
from muster.engine.data.archives import SignedArchives
from muster.engine.requests import commands
from muster.engine.running import running_engine
from muster.ports.store import Change
from muster.stores.opening import open_store

pytestmark = pytest.mark.anyio
DEADLINE_S = 60.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class ShippingBackend(LocalBackend):
    ships = True


@dataclass
class Site:
    context: Context
    node: Path

    async def upload(self, package: Package) -> str:
        with package, (self.context.packages / f"{package.digest}.tar.gz").open("wb") as file:
            shutil.copyfileobj(package.file, file)
        stored = accounts.Package(package.digest, "amy", package.size, 1.0)
        await self.context.store.apply(Change(new_package=stored))
        return package.digest

    async def run(self, script: str, **fields: object) -> Job:
        roles = (Role("worker", 1, ("/bin/sh", "-c", script)),)
        job, _ = await commands.submit(self.context, JobSpec("ship", roles, **fields), "amy")  # type: ignore[arg-type]
        async with asyncio.timeout(DEADLINE_S):
            while not (found := await self.context.store.job(job.id)).is_final:
                await asyncio.sleep(0.01)
        return found

    async def brought(self, job: Job) -> outputs.Listing:
        async with asyncio.timeout(DEADLINE_S):
            while not (found := await outputs.listing(self.context, job)).complete:
                await asyncio.sleep(0.01)
        return found


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    node = tmp_path / "node"
    (tmp_path / "packages").mkdir()
    async with AsyncExitStack() as stack:
        store = await open_store(f"sqlite:///{tmp_path / 'muster.db'}")
        stack.push_async_callback(store.close)
        backend = ShippingBackend("local", "n1", node, SignedArchives(tmp_path / "packages", "", b""))
        context = Context(store, {"local": backend}, "local", tmp_path / "logs", tmp_path / "packages")
        await stack.enter_async_context(running_engine(context))
        yield Site(context, node)


async def test_a_job_runs_with_what_was_sent_and_its_outputs_come_back(site: Site, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/main.sh").write_text("mkdir model; cat data/rows table.csv > model/w; exit 3")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/rows").write_bytes(os.urandom(3 << 20))
    (tmp_path / "table.csv").write_text("1,2")
    code = await site.upload(pack(tmp_path / "code"))
    data = await site.upload(pack_input(tmp_path / "data"))
    table = await site.upload(pack_input(tmp_path / "table.csv"))
    inputs = (Input(data, "data"), Input(f"{table}/table.csv", "table.csv"))
    job = await site.run("sh main.sh", package=code, inputs=inputs, outputs=("model/",))
    assert job.state_name == "Failed"
    (found,) = (await site.brought(job)).items
    wanted = (tmp_path / "data/rows").read_bytes() + b"1,2"
    assert found.place.read_bytes() == wanted
    assert (found.path, found.file.sha256) == ("model/w", hashlib.sha256(wanted).hexdigest())
    kept = {path.name for path in (site.node / "blobs").iterdir()}
    assert kept == {code, data, table}


async def test_what_the_node_has_thrown_away_is_sent_again(site: Site, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/main.sh").write_text("echo hello")
    code = await site.upload(pack(tmp_path / "code"))
    for _ in range(2):
        assert (await site.run("sh main.sh", package=code)).state_name == "Succeeded"
        (site.node / "blobs" / code).unlink()


async def test_a_package_that_is_gone_from_the_server_fails_the_job(site: Site, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    code = await site.upload(pack(tmp_path / "code"))
    (site.context.packages / f"{code}.tar.gz").unlink()
    job = await site.run("true", package=code)
    assert (job.state_name, job.attempt) == ("Failed", 1)
    assert "not on the server" in job.reason


async def test_packages_of_inputs_are_in_use(site: Site, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("1,2")
    table = await site.upload(pack_input(tmp_path / "table.csv"))
    await site.run("true", inputs=(Input(f"{table}/table.csv", "t"),))
    assert await site.context.store.packages_in_use() == {table}
