"""Submits each job with a key of its own and does not give up until it has been answered."""

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from tests.parts.server import MusterServer, polls

from .small_jobs import Spec

_PATIENCE_S = 200.0


class StubbornClient:
    """Threads that submit what they are allowed to. `allow` lets more through; `join` waits for the last answer."""

    def __init__(self, server: MusterServer, spec_of: Callable[[int], Spec], count: int, threads: int = 3) -> None:
        self._server = server
        self._spec_of = spec_of
        self._numbers = iter(range(count))
        self._turn = threading.Lock()
        self._allowed = threading.Semaphore(0)
        self._count = count
        self.jobs: dict[int, Any] = {}
        self.refused = 0
        self.token = server.token
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def allow(self, amount: int) -> None:
        self._allowed.release(amount)

    def join(self) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        for thread in self._threads:
            self._allowed.release(self._count)
            thread.join(max(0.1, deadline - time.monotonic()))
        missing = sorted(set(range(self._count)) - set(self.jobs))
        assert not missing, f"never answered: {missing}"

    def _run(self) -> None:
        while True:
            self._allowed.acquire()
            with self._turn:
                number = next(self._numbers, None)
            if number is None:
                return
            self.jobs[number] = self._submit(number)

    def _submit(self, number: int) -> Any:
        for _ in polls(_PATIENCE_S):
            status, answer = submit_once(self._server, self._spec_of(number), f"job-{number}", self.token)
            if status in (200, 201):
                return answer
            assert status in (0, 503), f"{status}: {answer}"
            self.refused += 1
        raise AssertionError(f"job {number} was not accepted")


def submit_once(server: MusterServer, spec: Spec, key: str, token: str) -> tuple[int, Any]:
    """Status and answer; status 0 when there was none."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": key}
    request = urllib.request.Request(f"{server.url}/api/v1/jobs", json.dumps({"spec": spec}).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException, ValueError) as error:
        return 0, str(error)
