"""Ray Jobs through its Python SDK, against the head node whose address is the first argument."""

import sys
import time
from typing import Any

from ray.job_submission import JobStatus, JobSubmissionClient

from bench.peers.drivers.serving import serve

POLL_S = 0.1  # the SDK has no call that waits


class RayClient:
    def __init__(self, address: str) -> None:
        self._client = JobSubmissionClient(address)

    def submit(self, script: str, argument: str) -> Any:
        return self._client.submit_job(entrypoint=f"/bin/sh {script} {argument}")

    def wait(self, handles: list[Any]) -> None:
        for handle in handles:
            while not (status := self._client.get_job_status(handle)).is_terminal():
                time.sleep(POLL_S)
            if status is not JobStatus.SUCCEEDED:
                raise RuntimeError(f"{handle} ended as {status}")

    def close(self) -> None:
        """The head node is stopped by whoever started it."""


if __name__ == "__main__":
    serve(lambda: RayClient(sys.argv[1]))
