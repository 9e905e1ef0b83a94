"""Three receivers on one store, killed, paused and cut off while jobs are submitted through a client that knows all
three: none is lost, none runs twice, and the log server has every outcome once.

`make test` submits 60 jobs, and `make test-receivers` 300. MUSTER_FAULT_SEED repeats a run.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from muster.client.client import Client
from muster.client.transport import Timeouts
from tests.parts.cuttable_link import CuttableLink
from tests.parts.log_server import LogServer, running_log_server
from tests.parts.postgres import PostgresMissing, running_postgres
from tests.parts.server import MusterServer, polls
from tests.parts.submitting import Submitting

from .conftest import unkindly_treated
from .receiver_faults import Faults, send_records
from .verdicts import FINAL_EVENTS, check_every_job_ended_once, check_no_task_ran_twice

JOBS = int(os.environ.get("MUSTER_RECEIVER_JOBS", "60"))
SEED = int(os.environ.get("MUSTER_FAULT_SEED", "1"))
THREADS = 3


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'shared.db'}"
        return
    with tempfile.TemporaryDirectory(prefix="muster-pg-", ignore_cleanup_errors=True) as base:
        try:
            with running_postgres(Path(base)) as new_database:
                yield new_database(None)
        except PostgresMissing as missing:
            pytest.skip(str(missing))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_submission_is_lost_and_none_runs_twice(url: str, tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    with ExitStack() as stack:
        log_server = stack.enter_context(running_log_server(tmp_path / "log"))
        servers = [stack.enter_context(unkindly_treated(tmp_path / name, url)) for name in ("one", "two", "three")]
        for server in servers:
            send_records(server.home, log_server)
            server.start()
        links = [CuttableLink("127.0.0.1", server.port) for server in servers]
        for link in links:
            stack.callback(link.cut)
        token = servers[0].token
        client = Client(
            ",".join(f"http://127.0.0.1:{link.port}" for link in links), token, timeouts=Timeouts(5.0, 15.0)
        )
        submitting = Submitting(client, records, JOBS, THREADS)
        faults = Faults(servers, links, submitting.allow, SEED)
        faults.go_on_for(JOBS)
        submitting.allow(THREADS)
        submitting.join()
        print(f"seed {SEED}: {dict(submitting.answers)}; {faults.done}")
        assert not submitting.wrong, submitting.wrong
        ids = set(submitting.jobs.values())
        assert len(ids) == JOBS
        for job in ids:
            wait_for_end(servers, job)
        check_every_job_ended_once(servers[0], ids)
        check_no_task_ran_twice(servers[0], ids, records)
        made = Counter(job.name for job in client.jobs())
        assert made == Counter(f"job-{number}" for number in range(JOBS)), "a job was submitted twice"
        check_every_outcome_is_logged_once(log_server, ids)


def check_every_outcome_is_logged_once(log_server: LogServer, ids: set[str]) -> None:
    ends: Counter[str] = Counter()
    for _ in polls(60, every_s=0.2):
        ends = Counter(one["jobId"] for one in log_server.lines() if one["kind"] in FINAL_EVENTS)
        if set(ends) >= ids:
            break
    assert ends == Counter(ids), "the log server lacks an outcome, or has one twice"


def wait_for_end(servers: Sequence[MusterServer], job_id: str) -> None:
    for _ in polls(120, every_s=0.2):
        status, job = servers[0].call("GET", f"/api/v1/jobs/{job_id}")
        if status == 200 and job["state"] in ("Succeeded", "Failed", "Cancelled"):
            return
        assert status in (200, 503), job
    raise AssertionError(f"job {job_id} has not ended")
