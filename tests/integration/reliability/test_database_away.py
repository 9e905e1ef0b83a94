"""PostgreSQL is killed and comes back under a running server: 503 meanwhile, nothing lost, nothing twice."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.killable_postgres import KillablePostgres, killable_postgres
from tests.parts.postgres import PostgresMissing
from tests.parts.server import polls

from .conftest import unkindly_treated
from .small_jobs import small_job
from .stubborn_client import StubbornClient
from .verdicts import check_every_job_ended_once, check_no_task_ran_twice, check_nothing_is_leaked

pytestmark = [pytest.mark.slow]
JOBS = 60
KILLS = 3


@pytest.fixture
def database() -> Iterator[KillablePostgres]:
    with tempfile.TemporaryDirectory(prefix="muster-pg-", ignore_cleanup_errors=True) as base:
        try:
            with killable_postgres(Path(base)) as server:
                yield server
        except PostgresMissing as missing:
            pytest.skip(str(missing))


def test_jobs_go_on_after_the_database_was_away(database: KillablePostgres, tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    with unkindly_treated(tmp_path / "home", database.url) as server:
        server.start()
        client = StubbornClient(server, lambda number: small_job(number, records), JOBS)
        for _ in range(KILLS):
            client.allow(JOBS // KILLS)
            for _ in polls(20, every_s=0.01):
                if any(records.iterdir()):
                    break
            database.kill()
            status, problem = server.call("GET", "/api/v1/jobs")
            assert status == 503, problem
            assert problem["hint"]
            database.start()
        client.join()
        ids = {job["id"] for job in client.jobs.values()}
        for job in ids:
            server.wait(job, 60)
        check_every_job_ended_once(server, ids)
        check_no_task_ran_twice(server, ids, records)
        check_nothing_is_leaked(server, records)


def test_a_server_that_starts_without_its_database_waits_for_it(database: KillablePostgres, tmp_path: Path) -> None:
    with unkindly_treated(tmp_path / "home", database.url) as server:
        database.kill()
        server.start()
        assert server.call("GET", "/healthz", token="none")[0] == 200
        status, problem = server.call("GET", "/readyz", token="none")
        assert (status, problem["code"]) == (503, "unavailable")
        database.start()
        for _ in polls(60):
            if server.call("GET", "/readyz", token="none")[0] == 200:
                break
        assert server.wait(server.submit({"name": "after-all", "command": "true"})["id"])["state"] == "Succeeded"
