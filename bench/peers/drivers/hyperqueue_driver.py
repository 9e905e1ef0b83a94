"""HyperQueue's Python LocalCluster: server, one worker with all cores and client in this one process."""

import os
import sys
from typing import Any

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig
from hyperqueue.ffi.protocol import ResourceRequest

from bench.peers.drivers.serving import serve

CPUS_PER_TASK = 0.25  # what a Muster job asks for by default, and faster here than HyperQueue's own default of 1


class HyperQueueClient:
    def __init__(self, folder: str) -> None:
        self._cluster = LocalCluster(server_dir=folder, worker_config=WorkerConfig(cores=os.cpu_count()))
        self._client = self._cluster.client()

    def submit(self, script: str, argument: str) -> Any:
        job = Job()
        job.program(["/bin/sh", script, argument], resources=ResourceRequest(cpus=CPUS_PER_TASK))
        return self._client.submit(job)

    def submit_together(self, script: str, argument: str, count: int) -> Any:
        job = Job()
        for _ in range(count):
            job.program(["/bin/sh", script, argument], resources=ResourceRequest(cpus=CPUS_PER_TASK))
        return self._client.submit(job)

    def wait(self, handles: list[Any]) -> None:
        self._client.wait_for_jobs(handles)

    def close(self) -> None:
        self._cluster.stop()


if __name__ == "__main__":
    serve(lambda: HyperQueueClient(sys.argv[1]))
