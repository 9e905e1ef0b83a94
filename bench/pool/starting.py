"""Starts one task at a time: here, on another machine, and there by `ssh`. It judges nothing."""

import http.client
import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.muster.client import MusterClient, headers
from bench.muster.server import Address, MusterServer
from bench.pool.hosts import CLUSTER, COMMAND_WITHIN_S, HostPool, ssh_command
from bench.workload import rest, wait_for_stamp

SCRIPT = '#!/bin/sh\nnow=$(date +%s.%N)\necho $now\necho $now > "$1"\n'


@dataclass(frozen=True)
class Start:
    """Seconds from the submission: to the task's own clock, and to its first line in the client's hand."""

    started_s: float
    line_s: float


class Starter:
    """Each way of starting takes its own time, by the clock of what was started, and rests."""

    def __init__(self, server: MusterServer, pool: HostPool) -> None:
        self._folder = server.home / "starts"
        self._folder.mkdir()
        self._script = self._folder / "start.sh"
        self._script.write_text(SCRIPT)
        pool.share(self._folder)
        self._address = server.address
        self._client = MusterClient(server.address)
        self._count = 0
        self._ssh = [*ssh_command("ssh", pool[0], self._folder / "known_hosts"), f"root@{pool[0].address}"]

    def local(self) -> Start:
        return self._timed(lambda: self._submitted({}))

    def remote(self) -> Start:
        return self._timed(lambda: self._submitted({"cluster": CLUSTER}))

    def ssh(self) -> Start:
        return self._timed(self._sshed)

    def _timed(self, started: Callable[[], tuple[Path, float, float]]) -> Start:
        self._count += 1
        stamp, before, line_at = started()
        started_at = wait_for_stamp(stamp)
        rest(time.time())
        return Start(started_at - before, line_at - before)

    def _submitted(self, where: dict[str, str]) -> tuple[Path, float, float]:
        stamp = self._folder / f"stamp-{self._count}"
        spec = {"name": f"start-{self._count}", "command": ["/bin/sh", str(self._script), str(stamp)], **where}
        with_lines = _connected(self._address)
        before = time.time()
        job = self._client.submit(spec)
        line_at = _first_line_at(with_lines, self._address, job["id"])
        self._client.wait(job["id"])
        return stamp, before, line_at

    def _sshed(self) -> tuple[Path, float, float]:
        stamp = self._folder / f"stamp-{self._count}"
        before = time.time()
        with subprocess.Popen(
            [*self._ssh, f"/bin/sh {self._script} {stamp}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            line_at = time.time()
            process.wait(COMMAND_WITHIN_S)
        return stamp, before, line_at


def _connected(address: Address) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=60)
    connection.connect()
    return connection


def _first_line_at(connection: http.client.HTTPConnection, address: Address, job_id: str) -> float:
    """When the first line of its log was here."""
    connection.request("GET", f"/api/v1/jobs/{job_id}/logs?follow=true", headers=headers(address))
    try:
        with connection.getresponse() as stream:
            for line in stream:
                if line.startswith(b"data:") and "text" in json.loads(line[5:]):
                    return time.time()
    finally:
        connection.close()
    raise RuntimeError(f"job {job_id} printed nothing")
