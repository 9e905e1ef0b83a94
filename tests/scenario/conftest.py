"""One laboratory for each test: its own store, its own engine, its own backend."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.building import migrated
from tests.parts.laboratory import Laboratory


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def database_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("scenario-template") / "muster.db"
    migrated(f"sqlite:///{file}")
    return file


@pytest.fixture
async def lab(tmp_path: Path, database_template: Path) -> AsyncIterator[Laboratory]:
    laboratory = await Laboratory(tmp_path, database_template).open()
    yield laboratory
    await laboratory.close()
