"""A write that happened although the store said it did not: for each write in the life of a job."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.domain.errors import Unavailable
from muster.domain.events import Event
from muster.engine.requests import commands
from muster.ports.store import Change, RequestKey
from muster.stores.sql_store import SqlStore
from tests.contract.building import migrated
from tests.parts.building import a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def template(tmp_path: Path) -> Path:
    migrated(f"sqlite:///{tmp_path / 'template.db'}")
    return tmp_path / "template.db"


@pytest.fixture
async def lab(tmp_path: Path, template: Path) -> AsyncIterator[Laboratory]:
    laboratory = await Laboratory(tmp_path, template).open()
    yield laboratory
    await laboratory.close()


@pytest.mark.parametrize("lost", range(3), ids=["submission", "start", "end"])
async def test_job_runs_once_although_one_write_was_not_confirmed(
    lab: Laboratory, lost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = 0
    apply = SqlStore.apply

    async def losing_one_answer(store: SqlStore, change: Change) -> list[Event]:
        nonlocal writes
        events = await apply(store, change)
        writes += 1
        if writes == lost + 1:
            raise Unavailable("the connection was lost while it committed")
        return events

    monkeypatch.setattr(SqlStore, "apply", losing_one_answer)
    job_id = await _submit(lab)
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0")
    await lab.becomes(job_id, "Succeeded")
    await lab.until(lambda: not len(lab.context.open_jobs))
    assert writes > lost
    told = await lab.told(job_id)
    assert [kind for kind in told if kind in ("job.starting", "job.succeeded")] == ["job.starting", "job.succeeded"]
    assert lab.context.clusters["lab"].used("n1")[0] == 0


async def _submit(lab: Laboratory) -> str:
    """Again with the same key when the first was not answered."""
    key = RequestKey("amy", "the-key")
    try:
        job, _ = await commands.submit(lab.context, a_spec(), "amy", key)
    except Unavailable:
        await asyncio.sleep(0)
        job, is_new = await commands.submit(lab.context, a_spec(), "amy", key)
        assert not is_new
    return job.id
