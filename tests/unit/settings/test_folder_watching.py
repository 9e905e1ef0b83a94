"""A folder that is watched: every kind of change is told, and nothing else."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.agent.system.inotify import Inotify
from muster.settings import folder_watch
from muster.settings.folder_watch import folder_changes

pytestmark = [pytest.mark.fast, pytest.mark.anyio]

DEADLINE_S = 60.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def changes(tmp_path: Path) -> AsyncIterator[AsyncIterator[None]]:
    folder = tmp_path / "clusters.d"
    folder.mkdir()
    (folder / "old.yaml").write_text("1")
    told = folder_changes(folder, Inotify)
    await _next(told)
    yield told
    await told.aclose()  # type: ignore[attr-defined]


async def _next(told: AsyncIterator[None]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        await anext(told)


async def test_files_that_are_written_moved_and_removed_are_told(tmp_path: Path, changes: AsyncIterator[None]) -> None:
    folder = tmp_path / "clusters.d"
    (folder / "new.yaml").write_text("1")
    await _next(changes)
    (folder / "old.yaml").write_text("2")
    await _next(changes)
    (tmp_path / "beside").write_text("3")
    (tmp_path / "beside").replace(folder / "old.yaml")
    await _next(changes)
    (folder / "old.yaml").unlink()
    await _next(changes)


async def test_many_changes_at_once_are_told_once(tmp_path: Path, changes: AsyncIterator[None]) -> None:
    for number in range(50):
        (tmp_path / "clusters.d" / f"{number}.yaml").write_text("1")
    await _next(changes)
    again = asyncio.ensure_future(anext(changes))
    try:
        done, _ = await asyncio.wait([again], timeout=2 * folder_watch._SETTLE_S)
        assert not done
    finally:
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)


async def test_a_folder_that_is_replaced_is_watched_on(
    tmp_path: Path, changes: AsyncIterator[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_watch, "_LOOK_EVERY_S", 0.01)
    folder = tmp_path / "clusters.d"
    shutil.rmtree(folder)
    await _next(changes)
    await _next(changes)
    folder.mkdir()
    await _next(changes)
    (folder / "new.yaml").write_text("1")
    await _next(changes)


async def test_files_beside_the_folder_are_looked_at_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_watch, "_LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(folder_watch, "_SETTLE_S", 0.0)
    folder, listed = tmp_path / "clusters.d", tmp_path / "nodes.json"
    folder.mkdir()
    told = folder_changes(folder, Inotify, lambda: [listed])
    await _next(told)
    listed.write_text("[]")
    await _next(told)
    listed.chmod(0o600)
    await _next(told)
    listed.unlink()
    await _next(told)
    (folder / "new.yaml").write_text("1")
    await _next(told)
    await told.aclose()  # type: ignore[attr-defined]


async def test_a_file_that_somebody_writes_is_waited_for(tmp_path: Path, changes: AsyncIterator[None]) -> None:
    folder = tmp_path / "clusters.d"
    seen = []
    with (folder / "old.yaml").open("w") as half, (folder / ".old.yaml.swp").open("w") as swap:
        half.write("ha")
        half.flush()
        swap.write("an editor holds it as long as it runs")
        swap.flush()
        (folder / "new.yaml").write_text("1")
        told = asyncio.ensure_future(_next(changes))
        await asyncio.wait([told], timeout=3 * folder_watch._SETTLE_S)
        seen += [(folder / "old.yaml").read_text()] if told.done() else []
        half.write("lf")
        half.close()
        await told
    assert [*seen, (folder / "old.yaml").read_text()] == ["half"]


async def test_a_file_that_is_never_closed_is_not_waited_for_for_ever(
    tmp_path: Path, changes: AsyncIterator[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_watch, "_WRITTEN_WITHIN_S", 0.0)
    folder = tmp_path / "clusters.d"
    with (folder / "old.yaml").open("w") as half:
        half.write("ha")
        half.flush()
        (folder / "new.yaml").write_text("1")
        await _next(changes)
