"""A store of its own for each test, and the parts of the server that need nothing but it."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.engine.context import Context
from muster.stores.opening import open_store
from tests.contract.building import migrated
from tests.parts.laboratory import Laboratory
from tests.security.clock import SetClock


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("security-template") / "muster.db"
    migrated(f"sqlite:///{file}")
    return file


@pytest.fixture
async def lab(tmp_path: Path, migrated_file: Path) -> AsyncIterator[Laboratory]:
    laboratory = await Laboratory(tmp_path, migrated_file).open()
    yield laboratory
    await laboratory.close()


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def bare_context(tmp_path: Path, migrated_file: Path, clock: SetClock) -> AsyncIterator[Context]:
    """A context with a store and without clusters."""
    store = await open_store(f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'muster.db')}")
    context = Context(store, {}, "local", tmp_path / "logs", tmp_path / "packages", clock=clock)
    yield context
    await context.drain()
    await store.close()
