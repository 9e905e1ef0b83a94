"""Three receivers with a store each, killed, paused and cut off while jobs are submitted through a client that knows
all three. What the client says is true: a job that it calls submitted is there once, of one whose fate it calls unknown
there is at most one, at the server and under the key that it names, and the log server has each job once.

`make test` submits 48 jobs, and `make test-receivers` 300. MUSTER_FAULT_SEED repeats a run.
"""

import os
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from muster.client.client import Client
from muster.client.errors import TIMED_OUT, UNCONFIRMED, UNREACHABLE, MusterError
from muster.client.transport import Timeouts
from tests.parts.cuttable_link import CuttableLink
from tests.parts.log_server import LogServer, running_log_server
from tests.parts.server import polls

from .conftest import unkindly_treated
from .receiver_faults import Faults, send_records
from .verdicts import all_of

JOBS = int(os.environ.get("MUSTER_RECEIVER_JOBS", "48"))
SEED = int(os.environ.get("MUSTER_FAULT_SEED", "1"))
THREADS = 3
SURELY_NOTHING = (UNREACHABLE, TIMED_OUT, "unavailable")


class Submitter:
    """Threads that share one client. A submission that surely came to nothing is repeated, and no other."""

    def __init__(self, client: Client) -> None:
        self.ids: dict[str, str] = {}
        self.unknown: dict[str, tuple[str, str]] = {}
        """By the name of the job, the server and the key that the client has named."""
        self.wrong: list[BaseException] = []
        self._client = client
        self._names = iter([f"job-{number}" for number in range(JOBS)])
        self._allowed = threading.Semaphore(0)
        self._turn = threading.Lock()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(THREADS)]
        for thread in self._threads:
            thread.start()

    def allow(self, amount: int) -> None:
        self._allowed.release(amount)

    def join(self) -> None:
        self.allow(THREADS)
        for thread in self._threads:
            thread.join(600)
        assert not any(thread.is_alive() for thread in self._threads), "some submissions were never answered"
        assert not self.wrong, self.wrong

    def _run(self) -> None:
        try:
            while True:
                self._allowed.acquire()
                with self._turn:
                    name = next(self._names, None)
                if name is None:
                    return
                self._submit(name)
        except BaseException as error:
            self.wrong.append(error)

    def _submit(self, name: str) -> None:
        for _ in polls(120):
            try:
                self.ids[name] = self._client.submit({"name": name, "command": "true", "hold": True}).id
                return
            except MusterError as error:
                if error.code == UNCONFIRMED:
                    self.unknown[name] = error.raw["server"], error.raw["requestKey"]
                    return
                if error.code not in SURELY_NOTHING:
                    raise
        raise AssertionError(f"{name} was not submitted")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_what_the_client_says_of_each_submission_is_true(tmp_path: Path) -> None:
    with ExitStack() as stack:
        log_server = stack.enter_context(running_log_server(tmp_path / "log"))
        servers = [stack.enter_context(unkindly_treated(tmp_path / name)) for name in ("one", "two", "three")]
        for server in servers:
            send_records(server.home, log_server)
            server.start()
        links = [CuttableLink("127.0.0.1", server.port) for server in servers]
        for link in links:
            stack.callback(link.cut)
        urls = [f"http://127.0.0.1:{link.port}" for link in links]
        tokens = [server.token for server in servers]
        submitter = Submitter(Client(",".join(urls), ",".join(tokens), timeouts=Timeouts(5.0, 15.0)))
        faults = Faults(servers, links, submitter.allow, SEED)
        faults.go_on_for(JOBS)
        submitter.join()
        print(f"seed {SEED}: {len(submitter.ids)} submitted, {len(submitter.unknown)} unknown; {faults.done}")
        assert len(submitter.ids) + len(submitter.unknown) == JOBS
        asked = {url: Client(url, token) for url, token in zip(urls, tokens, strict=True)}
        for _ in polls(60, every_s=0.5):  # a request may have been on its way when it was given up
            made = [job for server in servers for job in all_of(server, "/api/v1/jobs")]
            told = submitter.ids | found_by_key(asked, submitter.unknown)
            if {job["name"]: job["id"] for job in made} == told:
                break
        twice = {name: count for name, count in Counter(job["name"] for job in made).items() if count > 1}
        assert not twice, "jobs were submitted twice"
        assert {job["name"]: job["id"] for job in made} == told
        check_every_job_is_logged_once(log_server, set(told.values()))


def found_by_key(asked: Mapping[str, Client], unknown: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """The ids of those that there are, by their names."""
    found = {}
    for name, (url, key) in unknown.items():
        try:
            [job] = asked[url].made_by(key)
        except MusterError as error:
            if error.status != 404:
                raise
        else:
            assert job.name == name
            found[name] = job.id
    return found


def check_every_job_is_logged_once(log_server: LogServer, ids: set[str]) -> None:
    firsts: Counter[str] = Counter()
    for _ in polls(60, every_s=0.2):
        firsts = Counter(one["jobId"] for one in log_server.lines() if "config" in one)
        if set(firsts) >= ids:
            break
    assert firsts == Counter(ids), "the log server lacks a job, or has one twice"
