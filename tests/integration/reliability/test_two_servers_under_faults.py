"""Two servers on one database, paused, killed and stopped at random: no job is lost, and none runs twice.

`make test` does a few steps. `make test-long` does 500, and the seed of a failed run repeats it.
"""

import os
import random
import signal
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.parts.killable_postgres import KillablePostgres, killable_postgres
from tests.parts.postgres import PostgresMissing
from tests.parts.server import MusterServer, polls

from .conftest import unkindly_treated
from .small_jobs import small_job
from .stubborn_client import submit_once
from .verdicts import check_every_job_ended_once, check_no_task_ran_twice

Pair = tuple[MusterServer, MusterServer]
STEPS = int(os.environ.get("MUSTER_FAULT_STEPS", "3"))
SEED = int(os.environ.get("MUSTER_FAULT_SEED", "1"))
SUBMIT_EVERY = max(1, STEPS // 60)
"""Jobs are submitted at every step of a short run, and less often in a long one."""


class Faults:
    """Does one thing after another to two servers. At least one of them is left alone at any time."""

    def __init__(self, servers: Pair, database: KillablePostgres | None, seed: int) -> None:
        self._servers = servers
        self._database = database
        self._chance = random.Random(seed)
        self.done: list[str] = []

    def step(self) -> None:
        actions = [self._kill, self._pause, self._stop, self._pause_both_by_turns]
        if self._database is not None:
            actions.append(self._lose_database)
        action = self._chance.choice(actions)
        index = self._chance.randrange(2)
        self.done.append(f"{action.__name__} {index}")
        action(index)

    def _kill(self, index: int) -> None:
        self._servers[index].kill()
        self._let_the_other_act(index)
        self._servers[index].start()

    def _stop(self, index: int) -> None:
        self._servers[index].stop()
        self._let_the_other_act(index)
        self._servers[index].start()

    def _pause(self, index: int) -> None:
        pid = self._servers[index].pid
        os.kill(pid, signal.SIGSTOP)
        try:
            self._let_the_other_act(index)
        finally:
            os.kill(pid, signal.SIGCONT)

    def _pause_both_by_turns(self, index: int) -> None:
        self._pause(index)
        self._pause(1 - index)

    def _lose_database(self, index: int) -> None:
        assert self._database is not None
        self._database.kill()
        self._database.start()

    def _let_the_other_act(self, index: int) -> None:
        """A paused process may hold a lock of the database, so the other one need not succeed."""
        for _ in polls(self._chance.choice((0.2, 1.0, 3.0)), every_s=0.2):
            if is_ready(self._servers[1 - index]):
                return


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, KillablePostgres | None]]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'shared.db'}", None
        return
    with tempfile.TemporaryDirectory(prefix="muster-pg-", ignore_cleanup_errors=True) as base:
        try:
            with killable_postgres(Path(base)) as server:
                yield server.url, server
        except PostgresMissing as missing:
            pytest.skip(str(missing))


@pytest.mark.slow
def test_no_job_is_lost_and_none_runs_twice(database: tuple[str, KillablePostgres | None], tmp_path: Path) -> None:
    url, killable = database
    records = tmp_path / "records"
    records.mkdir()
    with ExitStack() as stack:
        first = stack.enter_context(unkindly_treated(tmp_path / "one", url))
        second = stack.enter_context(unkindly_treated(tmp_path / "two", url))
        for server in (first, second):
            server.start()
        servers = (first, second)
        faults = Faults(servers, killable, SEED)
        token = first.token
        ids: set[str] = set()
        for number in range(STEPS):
            if number % SUBMIT_EVERY == 0:
                ids.add(accepted(servers, number, records, token))
            faults.step()
        print(f"seed {SEED}: {faults.done}")
        for job in ids:
            wait_for_end(second, job)
        check_every_job_ended_once(second, ids)
        check_no_task_ran_twice(second, ids, records)


def wait_for_end(server: MusterServer, job_id: str) -> None:
    """Asks again when it is refused: a server that was paused at last may lose its role only now."""
    for _ in polls(120, every_s=0.2):
        status, job = server.call("GET", f"/api/v1/jobs/{job_id}")
        if status == 200 and job["state"] in ("Succeeded", "Failed", "Cancelled"):
            return
        assert status in (200, 503), job
    raise AssertionError(f"job {job_id} has not ended")


def is_ready(server: MusterServer) -> bool:
    """Asks with little patience: the server may be a standby whose holder is paused."""
    try:
        with urllib.request.urlopen(f"{server.url}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def accepted(servers: Pair, number: int, records: Path, token: str) -> str:
    """Submits through one server or the other until one has accepted the job. The key makes that safe."""
    for _ in polls(60):
        for server in servers:
            status, answer = submit_once(server, small_job(number, records), f"job-{number}", token)
            if status in (200, 201):
                return str(answer["id"])
            assert status in (0, 503), f"{status}: {answer}"
    raise AssertionError(f"job {number} was not accepted")
