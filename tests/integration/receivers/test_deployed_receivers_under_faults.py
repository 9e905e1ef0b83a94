"""Three deployed receivers on one store, killed and paused for longer than a lease lasts while jobs run: whichever
acts, none is lost, none runs twice, and in the end all three run again.

MUSTER_FAULT_SEED repeats a run.
"""

import os
import random
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.client.client import Client
from muster.client.transport import Timeouts
from tests.integration.reliability.verdicts import check_every_job_ended_once, check_no_task_ran_twice
from tests.parts.postgres import PostgresMissing, running_postgres
from tests.parts.receivers import receivers
from tests.parts.server import polls
from tests.parts.submitting import Submitting

SEED = int(os.environ.get("MUSTER_FAULT_SEED", "1"))
JOBS, THREADS, FAULTS = 36, 3, 6
LONGER_THAN_A_LEASE_S = 6.0


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "sqlite":
        yield ""
        return
    with tempfile.TemporaryDirectory(prefix="muster-pg-", ignore_cleanup_errors=True) as base:
        try:
            with running_postgres(Path(base)) as new_database:
                yield f"database: {new_database(None)}\n"
        except PostgresMissing as missing:
            pytest.skip(str(missing))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_job_is_lost_and_none_runs_twice(database: str, tmp_path: Path) -> None:
    chance, pause = random.Random(SEED), threading.Event()
    records = tmp_path / "records"
    records.mkdir()
    with receivers(tmp_path, 3) as three:
        three.write(database)
        three.deploy()
        asked = three.server(three.names[0])
        urls = ",".join(f"http://{name}" for name in three.names)
        client = Client(urls, asked.token, timeouts=Timeouts(5.0, 15.0))
        submitting = Submitting(client, records, JOBS, THREADS)
        done = []
        for _ in range(FAULTS):
            name = chance.choice(three.names)
            three.wait_until_running(name)
            pid = three.pids()[name]
            submitting.allow(JOBS // FAULTS)
            if chance.random() < 0.5:
                done.append(f"kill {name}")
                os.kill(pid, signal.SIGKILL)
            else:
                done.append(f"pause {name}")
                os.kill(pid, signal.SIGSTOP)
                pause.wait(LONGER_THAN_A_LEASE_S)
                os.kill(pid, signal.SIGCONT)
        submitting.allow(THREADS)
        submitting.join()
        print(f"seed {SEED}: {dict(submitting.answers)}; {done}")
        assert not submitting.wrong, submitting.wrong
        ids = set(submitting.jobs.values())
        assert len(ids) == JOBS
        three.wait_until_running()
        for job in ids:
            wait_for_end(three.server(three.names[0]).call, job)
        check_every_job_ended_once(asked, ids)
        check_no_task_ran_twice(asked, ids, records)
        assert Counter(job.name for job in client.jobs()) == Counter(f"job-{number}" for number in range(JOBS))
        for name in three.names:
            assert len(three.processes(three.config(name))) == 1, three.processes()


def wait_for_end(call: object, job_id: str) -> None:
    assert callable(call)
    for _ in polls(120, every_s=0.2):
        status, job = call("GET", f"/api/v1/jobs/{job_id}")
        if status == 200 and job["state"] in ("Succeeded", "Failed", "Cancelled"):
            return
        assert status in (200, 503), job
    raise AssertionError(f"job {job_id} has not ended")
