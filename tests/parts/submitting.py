"""Submits jobs through a client that knows several servers, while something is done to these."""

import threading
from collections import Counter
from pathlib import Path

from muster.client.client import Client
from muster.client.errors import TIMED_OUT, UNCONFIRMED, UNREACHABLE, MusterError
from tests.parts.server import PATIENCE, polls

_RECORD = 'echo "$MUSTER_TASK_UID $MUSTER_ATTEMPT $$" >> "$RECORDS/$MUSTER_TASK_UID"'


class Submitting:
    """Threads that share one client, and submit what they are allowed to. What the client cannot know is asked for by
    the key, as a person would do."""

    def __init__(self, client: Client, records: Path, jobs: int, threads: int) -> None:
        self.jobs: dict[int, str] = {}
        self.answers: Counter[str] = Counter()
        self.wrong: list[BaseException] = []
        self._client = client
        self._records = records
        self._numbers = iter(range(jobs))
        self._allowed = threading.Semaphore(0)
        self._turn = threading.Lock()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def allow(self, amount: int) -> None:
        self._allowed.release(amount)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE * 120)
        assert not any(thread.is_alive() for thread in self._threads), "some submissions were never answered"

    def _run(self) -> None:
        try:
            while True:
                self._allowed.acquire()
                with self._turn:
                    number = next(self._numbers, None)
                if number is None:
                    return
                self.jobs[number] = self._submitted(number)
        except BaseException as error:
            self.wrong.append(error)

    def _submitted(self, number: int) -> str:
        spec = {
            "name": f"job-{number}",
            "command": _RECORD,
            "env": {"RECORDS": str(self._records)},
            "resources": {"cpu": "50m"},
        }
        for _ in polls(120):
            try:
                job = self._client.submit(spec)
            except MusterError as error:
                self.answers[error.code] += 1
                if error.code not in (UNCONFIRMED, UNREACHABLE, TIMED_OUT, "unavailable"):
                    raise
                if error.code == UNCONFIRMED and (found := self._asked(str(error.raw["requestKey"]))):
                    return found
            else:
                self.answers["submitted"] += 1
                return job.id
        raise AssertionError(f"job {number} was not submitted")

    def _asked(self, key: str) -> str:
        for _ in polls(60):
            try:
                return self._client.made_by(key)[0].id
            except MusterError as error:
                if error.status == 404:
                    return ""
        raise AssertionError(f"nobody tells what became of request {key}")
