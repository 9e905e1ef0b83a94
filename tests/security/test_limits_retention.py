"""Data of ended jobs, unfinished uploads and expired tokens go by themselves; jobs and specs stay."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.domain.accounts import UserRole
from muster.domain.errors import NotFound
from muster.engine.context import Context
from muster.engine.data.logs import LogReader
from muster.engine.data.packages import PackageStore
from muster.engine.requests import retention
from muster.engine.requests.accounts import Accounts
from muster.engine.requests.retention import expire_data, expire_uploads, purge_tokens
from muster.settings.server import ServerSettings
from tests.parts.building import a_spec
from tests.parts.laboratory import Laboratory
from tests.security.clock import SetClock

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
DAY_S = 86400.0


@pytest.fixture
async def lab(tmp_path: Path, migrated_file: Path) -> AsyncIterator[Laboratory]:
    laboratory = await Laboratory(tmp_path, migrated_file).open()
    yield laboratory
    await laboratory.close()


async def run(lab: Laboratory, name: str, package: str | None = None) -> str:
    job_id = await lab.submit(a_spec(name=name, package=package))
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0")
    await lab.becomes(job_id, "Succeeded")
    (lab.context.outputs / job_id).mkdir(parents=True, exist_ok=True)
    (lab.context.logs / job_id).mkdir(parents=True, exist_ok=True)
    return job_id


async def upload(context: Context, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    await PackageStore(context, 1000).receive(digest, "amy", offset=0, size=len(data), data=data)
    os.utime(context.packages / f"{digest}.tar.gz", (0, 0))
    return digest


async def test_data_of_jobs_that_ended_long_ago_goes_and_the_jobs_stay(lab: Laboratory) -> None:
    lab.context.keep_data_s = 100.0
    old_package, new_package = await upload(lab.context, b"old"), await upload(lab.context, b"new")
    old = await run(lab, "old", old_package)
    lab.pass_time(150.0)
    new = await run(lab, "new", new_package)
    assert await expire_data(lab.context) == 1
    assert (await lab.job(old)).spec.name == "old"
    assert [path.name for path in lab.context.logs.iterdir()] == [new]
    assert [path.name for path in lab.context.outputs.iterdir()] == [new]
    assert [path.name for path in lab.context.packages.glob("*.tar.gz")] == [f"{new_package}.tar.gz"]
    (task,) = await lab.tasks(old)
    if task.log is not None:
        with pytest.raises(NotFound, match="was removed"):
            LogReader(lab.context).file(task)


async def test_data_stays_while_its_job_is_open_and_for_ever_if_so_set(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(name="open", held=True))
    (lab.context.logs / job_id).mkdir(parents=True)
    ended = await run(lab, "ended")
    lab.pass_time(1000 * DAY_S)
    assert await expire_data(lab.context) == 0
    lab.context.keep_data_s = 100.0
    assert await expire_data(lab.context) == 1
    assert [path.name for path in lab.context.logs.iterdir()] == [job_id]
    assert not (lab.context.outputs / ended).exists()


async def test_unfinished_uploads_expire_after_a_day(bare_context: Context, clock: SetClock) -> None:
    packages = PackageStore(bare_context, 1000)
    digests = [hashlib.sha256(data).hexdigest() for data in (b"old", b"new")]
    for digest, at in zip(digests, (clock.now - 2 * DAY_S, clock.now), strict=True):
        await packages.receive(digest, "amy", offset=0, size=100, data=b"beginning")
        os.utime(bare_context.packages / "uploads" / f"amy.{digest}", (at, at))
    assert await expire_uploads(bare_context) == 1
    with pytest.raises(NotFound):
        await packages.status(digests[0], "amy")
    assert (await packages.status(digests[1], "amy")).received == 9


async def test_expired_tokens_are_purged(bare_context: Context, clock: SetClock) -> None:
    accounts = Accounts(bare_context, 3600.0)
    user = await accounts.create_user("amy", UserRole.USER, None, actor="root")
    for lifetime_s in (10.0, 10 * DAY_S, None):
        await accounts.create_token(user, "token", lifetime_s, actor="amy")
    clock.advance(2 * DAY_S)
    assert await purge_tokens(bare_context) == 1
    assert len(await bare_context.store.tokens("amy")) == 2


async def test_a_server_that_is_held_after_a_restore_removes_nothing(
    bare_context: Context, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_HELD_S", 0.01)
    accounts = Accounts(bare_context, 3600.0)
    user = await accounts.create_user("amy", UserRole.USER, None, actor="root")
    await accounts.create_token(user, "token", 10.0, actor="amy")
    clock.advance(2 * DAY_S)
    bare_context.is_held = True
    running = asyncio.create_task(retention.run_retention(bare_context))
    await asyncio.sleep(0.1)
    assert len(await bare_context.store.tokens("amy")) == 1
    bare_context.is_held = False
    async with asyncio.timeout(60):
        while await bare_context.store.tokens("amy"):
            await asyncio.sleep(0.01)
    running.cancel()


def test_data_expires_by_default(tmp_path: Path) -> None:
    assert ServerSettings(home=tmp_path).keep_data == 90 * DAY_S
    assert ServerSettings.model_validate({"home": tmp_path, "keepData": None}).keep_data is None
