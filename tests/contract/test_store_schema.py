"""The schema: migrations make what the code knows, starts do not disturb each other, pages come from an index."""

import asyncio
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.engine.interfaces import ReflectedColumn

from muster.domain.errors import Invalid, Unavailable
from muster.ports.store import JobFilter, JobOrder, JobSort
from muster.stores import migrating
from muster.stores.database_engines import parse_url, writing_engine
from muster.stores.job_listing import page_query
from muster.stores.opening import open_store
from muster.stores.schema_creation import create_in_empty_database
from muster.stores.tables import metadata
from tests.contract.building import migrated
from tests.parts.postgres import NewDatabase


@pytest.fixture
def engine(store_url: str) -> Iterator[Engine]:
    made = create_engine(parse_url(store_url))
    yield made
    made.dispose()


@pytest.fixture
def migrated_engine(empty_url: str) -> Iterator[Engine]:
    """A database that the migrations made, one after the other."""
    made = create_engine(parse_url(empty_url))
    _made_at(made, "head")
    yield made
    made.dispose()


def test_migrations_make_the_tables_that_the_code_knows(migrated_engine: Engine) -> None:
    with migrated_engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_a_new_database_is_the_very_one_that_the_migrations_make(
    migrated_engine: Engine, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    # Alembic does not compare the conditions of partial indexes; the database's own words for them do.
    if migrated_engine.dialect.name == "sqlite":
        url = f"sqlite:///{tmp_path / 'created.db'}"
    else:
        new_database: NewDatabase = request.getfixturevalue("postgres")
        url = new_database(None)
    created = writing_engine(parse_url(url))
    try:
        create_in_empty_database(created)
        assert _definitions(created) == _definitions(migrated_engine)
        assert _rows(created) == _rows(migrated_engine)
    finally:
        created.dispose()


def _definitions(engine: Engine) -> dict[str, object]:
    query = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    if engine.dialect.name == "sqlite":
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    with engine.connect() as connection:
        found: dict[str, object] = {row[0]: row[1] for row in connection.execute(text(query))}
        inspector = inspect(connection)
        for table in inspector.get_table_names():
            found[table] = [_column(column) for column in inspector.get_columns(table)]
            found[f"{table} primary key"] = inspector.get_pk_constraint(table)
            found[f"{table} foreign keys"] = inspector.get_foreign_keys(table)
            found[f"{table} unique constraints"] = inspector.get_unique_constraints(table)
            found[f"{table} checks"] = inspector.get_check_constraints(table)
    return found


def _column(column: ReflectedColumn) -> tuple[str, str, bool, str | None]:
    return column["name"], str(column["type"]), column["nullable"], column["default"]


def _rows(engine: Engine) -> dict[str, list[tuple[object, ...]]]:
    with engine.connect() as connection:
        tables = inspect(connection).get_table_names()
        return {name: [tuple(row) for row in connection.execute(text(f'SELECT * FROM "{name}"'))] for name in tables}


def test_tables_of_another_program_are_left_alone(empty_url: str) -> None:
    engine = writing_engine(parse_url(empty_url))
    if engine.dialect.name == "sqlite":
        Path(str(engine.url.database)).parent.mkdir(parents=True)
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE jobs (theirs INTEGER)")
        create_in_empty_database(engine)
        assert inspect(engine).get_table_names() == ["jobs"]
    finally:
        engine.dispose()


@pytest.mark.anyio
async def test_several_servers_may_open_a_new_database_together(empty_url: str) -> None:
    stores = await asyncio.gather(*(open_store(empty_url) for _ in range(3)))
    for store in stores:
        await store.ping()
        await store.close()


@pytest.mark.anyio
async def test_jobs_of_an_older_schema_get_the_defaults_of_the_newer(empty_url: str) -> None:
    engine = create_engine(parse_url(empty_url))
    try:
        _made_at(engine, "0001")
        with engine.begin() as connection:
            connection.exec_driver_sql(_JOB_OF_0001)
    finally:
        engine.dispose()
    store = await open_store(empty_url)
    job = await store.job("id-1")
    newest = await store.jobs(JobFilter(), limit=1, order=JobOrder(JobSort.GPUS))
    assert newest.items == [job]
    await store.close()
    assert (job.name, job.vc, job.ran_s, job.checkpoint_at, job.preemptions, job.sizes) == ("old", "", 0.0, None, 0, ())


@pytest.mark.anyio
async def test_run_times_of_jobs_of_an_older_schema_are_those_of_their_attempts(empty_url: str) -> None:
    engine = create_engine(parse_url(empty_url))
    try:
        _made_at(engine, "0013")
        with engine.begin() as connection:
            for statement in _JOBS_OF_0013:
                connection.exec_driver_sql(statement)
    finally:
        engine.dispose()
    store = await open_store(empty_url)
    times = {}
    for job_id in ("once", "twice", "again"):
        job = await store.job(job_id)
        times[job_id] = (job.run_time_s, job.running_since)
    await store.close()
    assert times == {"once": (90.0, None), "twice": (30.0, None), "again": (10.0, 500.0)}


def _a_job_of_0013(job_id: str, state: str, data: str, attempt: int, ended_at: str) -> str:
    is_open = "TRUE" if state == "Running" else "FALSE"
    return f"""
INSERT INTO jobs (id, owner, name, cluster, mode, framework, priority, state, is_open, version, attempt, retries,
  platform_retries, created_at, started_at, ended_at, succeeded, failed, active, reason, state_data, spec)
VALUES ('{job_id}', 'amy', 'old', 'lab', 'Single', 'plain', 'normal', '{state}', {is_open}, 1, {attempt}, 0, 0, 1.0,
  10.0, {ended_at}, 0, 0, 0, '', '{data}',
  '{{"name":"old","roles":[{{"name":"worker","replicas":1,"command":["true"]}}]}}')
"""


def _a_task_of_0013(job_id: str, attempt: int, started_at: float, ended_at: str) -> str:
    return f"""
INSERT INTO tasks (id, job_id, attempt, name, role, idx, rank, state, state_data, placement, started_at, ended_at)
VALUES ('{job_id}.{attempt}', '{job_id}', {attempt}, 'w', 'worker', 0, 0, 'Running', '{{}}', '{{}}', {started_at},
  {ended_at})
"""


_JOBS_OF_0013 = (
    _a_job_of_0013("once", "Succeeded", '{"at":100.0}', 1, "100.0"),
    _a_job_of_0013("twice", "Succeeded", '{"at":500.0}', 2, "500.0"),
    _a_task_of_0013("twice", 1, 10.0, "20.0"),
    _a_task_of_0013("twice", 2, 480.0, "500.0"),
    _a_job_of_0013("again", "Running", '{"since":500.0}', 2, "NULL"),
    _a_task_of_0013("again", 1, 10.0, "20.0"),
    _a_task_of_0013("again", 2, 490.0, "NULL"),
)

_JOB_OF_0001 = """
INSERT INTO jobs (id, owner, name, cluster, mode, framework, priority, state, is_open, version, attempt, retries,
  platform_retries, created_at, succeeded, failed, active, reason, state_data, spec)
VALUES ('id-1', 'amy', 'old', 'lab', 'Single', 'plain', 'normal', 'Queued', TRUE, 1, 0, 0, 0, 1.0, 0, 0, 0, '',
  '{"since":1.0}', '{"name":"old","roles":[{"name":"worker","replicas":1,"command":["true"]}]}')
"""


def _made_at(engine: Engine, revision: str) -> None:
    if engine.dialect.name == "sqlite":
        Path(str(engine.url.database)).parent.mkdir(parents=True)
    config = Config()
    config.set_main_option("script_location", str(Path(migrating.__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


@pytest.mark.anyio
async def test_a_database_newer_than_the_code_is_refused(store_url: str, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(Unavailable, match="has schema 9999, but this version of Muster supports only schemas up to"):
        await open_store(store_url)


@pytest.mark.fast
def test_a_start_on_a_current_schema_does_not_load_alembic(sqlite_url: str) -> None:
    code = (
        "import asyncio, sys\n"
        "from muster.stores.opening import open_store\n"
        "asyncio.run(open_store(sys.argv[1]))\n"
        "sys.exit('alembic' in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, sqlite_url], check=True)


@pytest.mark.fast
def test_the_database_file_is_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "muster.db"
    migrated(f"sqlite:///{file}")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.fast
@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://a:secret@b/c", "postgresql://a:secret@b:x/c", "?"]
)
def test_a_url_that_cannot_be_used_is_invalid_and_its_password_is_not_shown(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_url(url)
    assert "secret" not in f"{caught.value}{caught.value.hint}"


PAGES = {
    "ix_jobs_newest": JobFilter(),
    "ix_jobs_state": JobFilter(states=("Running",)),
    "ix_jobs_owner": JobFilter(owner="amy"),
    "ix_jobs_owner_state": JobFilter(owner="amy", states=("Running",)),
    "ix_jobs_cluster": JobFilter(cluster="lab"),
    "ix_jobs_cluster_state": JobFilter(cluster="lab", states=("Running",)),
    "ix_jobs_vc": JobFilter(vc="vision"),
    "ix_jobs_name": JobFilter(name="train"),
    "ix_job_labels_newest": JobFilter(labels=(("team", "ads"),)),
}


@pytest.mark.fast
@pytest.mark.parametrize("index", PAGES)
@pytest.mark.parametrize("below", [None, (5.0, "id")])
def test_a_page_is_read_from_an_index_in_page_order(
    sqlite_url: str, index: str, below: tuple[float, str] | None
) -> None:
    plan = _plan(sqlite_url, page_query(PAGES[index], below, 50))
    assert re.search(rf"\b{index}\b", plan)
    assert "B-TREE" not in plan, "rows are sorted instead of read in order"


@pytest.mark.fast
@pytest.mark.parametrize("by", JobSort)
@pytest.mark.parametrize("is_descending", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_page_in_any_order_is_read_from_an_index(
    sqlite_url: str, by: JobSort, is_descending: bool, is_first: bool
) -> None:
    place = (5.0, "id") if by is JobSort.CREATED else ("a" if by.is_text else 7, 5.0, "id")
    order = JobOrder(by, is_descending)
    plan = _plan(sqlite_url, page_query(JobFilter(), None if is_first else place, 50, order))
    found = re.search(r"(SCAN|SEARCH) jobs USING (COVERING )?INDEX (\w+)", plan)
    assert found, plan
    # What may be sorted again is the rows of one page.
    assert plan.index(found[0]) < plan.find("B-TREE") or "B-TREE" not in plan


@pytest.mark.fast
def test_a_page_of_several_states_reads_no_more_than_a_page_of_each(sqlite_url: str) -> None:
    plan = _plan(sqlite_url, page_query(JobFilter(states=("Running", "Queued")), None, 50))
    assert re.findall(r"\w+ jobs USING INDEX \w+", plan) == ["SEARCH jobs USING INDEX ix_jobs_state"] * 2
    # What is sorted is what each state's own limit let through.
    assert re.findall(r"(\w+ \w+)\nUSE TEMP B-TREE", plan) == ["SCAN anon_2", "SCAN anon_3"]


def _plan(url: str, query: object) -> str:
    engine = create_engine(url)
    sql = query.compile(engine, compile_kwargs={"literal_binds": True})  # type: ignore[attr-defined]
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}").all()
    engine.dispose()
    return "\n".join(row.detail for row in rows)
