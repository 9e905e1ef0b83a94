"""The server is killed twenty times while jobs of all modes are submitted and run; then the agent, ten times."""

import contextlib
import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.parts.leftovers import agent_processes
from tests.parts.postgres import NewDatabase
from tests.parts.server import MusterServer, polls

from .conftest import unkindly_treated
from .small_jobs import small_job
from .stubborn_client import StubbornClient
from .verdicts import check_nothing_is_leaked, check_what_became_of_all

JOBS = 300
SERVER_KILLS = 20
AGENT_KILLS = 10

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def seed() -> int:
    """Printed when a test fails; set CRASH_SEED to have the same moments again."""
    seed = int(os.environ.get("CRASH_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"CRASH_SEED={seed}")
    return seed


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_jobs_survive_twenty_kills_of_the_server(
    database: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = None
    if database == "postgresql":
        new_database: NewDatabase = request.getfixturevalue("postgres")
        url = new_database(None)
    moments = random.Random(seed)

    def crash(server: MusterServer) -> None:
        killer = threading.Timer(moments.uniform(0.2, 2.5), lambda: os.kill(server.pid, signal.SIGKILL))
        server.kill()
        _start_unless_killed(server, killer)
        killer.join()

    with unkindly_treated(tmp_path / "home", url) as server:
        server.start()
        _run_through(server, tmp_path / "records", SERVER_KILLS, crash, before_check=_restart)


def test_jobs_survive_ten_kills_of_the_agent(seed: int, tmp_path: Path) -> None:
    moments = random.Random(seed)
    pause = threading.Event()

    def crash(server: MusterServer) -> None:
        pause.wait(moments.uniform(0.1, 2.0))
        for pid in agent_processes(server.home):
            with contextlib.suppress(ProcessLookupError):  # its children come and go
                os.kill(pid, signal.SIGKILL)

    with unkindly_treated(tmp_path / "home") as server:
        server.start()
        _run_through(server, tmp_path / "records", AGENT_KILLS, crash, before_check=_wait_for_agent)


def _run_through(
    server: MusterServer,
    records: Path,
    times: int,
    crash: Callable[[MusterServer], None],
    before_check: Callable[[MusterServer], None],
) -> None:
    records.mkdir()
    client = StubbornClient(server, lambda number: small_job(number, records), JOBS)
    for _ in range(times):
        client.allow(JOBS // times)
        crash(server)
    before_check(server)
    check_what_became_of_all(server, client, JOBS, records)
    check_nothing_is_leaked(server, records)


def _start_unless_killed(server: MusterServer, killer: threading.Timer) -> None:
    """The kill may come before the server is up, and then `start` cannot succeed."""
    starting = threading.Thread(target=_try_to_start, args=(server,))
    starting.start()
    for _ in polls(10.0, every_s=0.005):
        if _has_process(server):
            break
    killer.start()
    starting.join()


def _try_to_start(server: MusterServer) -> None:
    try:
        server.start()
    except (AssertionError, ValueError):
        return  # killed while it was starting


def _has_process(server: MusterServer) -> bool:
    try:
        return server.pid > 0
    except AssertionError:
        return False


def _restart(server: MusterServer) -> None:
    server.kill()
    server.start()


def _wait_for_agent(server: MusterServer) -> None:
    for _ in polls(60.0):
        status, _ = server.call("GET", "/readyz")
        if status == 200:
            return
    raise AssertionError("the node did not come back")
