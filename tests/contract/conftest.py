"""One store for each database, fresh for each test: a copy of one that was migrated once."""

import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import pytest

from muster.stores.opening import open_store
from muster.stores.sql_store import SqlStore
from tests.contract.building import migrated
from tests.parts.postgres import NewDatabase, database_name

DATABASES = [pytest.param("sqlite", marks=pytest.mark.fast), "postgresql"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_template(postgres: NewDatabase) -> str:
    return database_name(migrated(postgres(None)))


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("template") / "muster.db"
    migrated(f"sqlite:///{file}")
    return file


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    return f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'muster.db')}"


@pytest.fixture(params=DATABASES)
def store_url(request: pytest.FixtureRequest) -> str:
    """A migrated database without rows."""
    if request.param == "sqlite":
        url: str = request.getfixturevalue("sqlite_url")
        return url
    new_database: NewDatabase = request.getfixturevalue("postgres")
    return new_database(request.getfixturevalue("postgres_template"))


@pytest.fixture(params=DATABASES)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that nobody has opened yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'new' / 'folder' / 'muster.db'}"
    new_database: NewDatabase = request.getfixturevalue("postgres")
    return new_database(None)


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[SqlStore]:
    opened = await open_store(store_url)
    yield opened
    await opened.close()
