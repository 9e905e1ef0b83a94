"""The loop that lets the bench drive a peer's Python client from another process.

A request is {"do": name, ...arguments}; the answer {"result": value} or {"error": text}. It ends, and the peer is
stopped, when standard input closes: a bench that dies takes its drivers with it.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from bench.workload import Workload, check_marks, rest, wait_for_marks, wait_for_stamp


class Client(Protocol):
    """The peer's own client, connected."""

    def submit(self, script: str, argument: str) -> Any:
        """Submit `sh script argument` as one job and return a handle."""

    def wait(self, handles: list[Any]) -> None:
        """Return when all of them have ended; raise when one failed."""

    def close(self) -> None: ...


@runtime_checkable
class TogetherClient(Protocol):
    def submit_together(self, script: str, argument: str, count: int) -> Any:
        """Submit `sh script argument` as so many tasks of one job and return its handle."""


def submit_to_start(client: Client, folder: str, count: int) -> list[float]:
    """One after another, each waited for, so that the machine is idle at every submission."""
    workload = Workload.create(Path(folder))
    seconds = []
    for index in range(count):
        out = workload.stamp_file(index)
        before = time.time()
        handle = client.submit(str(workload.stamp_script), str(out))
        started = wait_for_stamp(out)
        seconds.append(started - before)
        client.wait([handle])
        rest(started)
    return seconds


def run_many(client: Client, folder: str, count: int) -> float:
    """Seconds from the first submission until the last job has done its work."""
    workload = Workload.create(Path(folder))
    marks = workload.marks_file("many")
    began = time.monotonic()
    handles = [client.submit(str(workload.mark_script), str(marks)) for _ in range(count)]
    seconds = wait_for_marks(marks, count) - began
    client.wait(handles)
    check_marks(marks, count)
    return seconds


def run_together(client: Client, folder: str, count: int) -> float:
    """The same of one job with so many tasks, for peers that have such jobs."""
    assert isinstance(client, TogetherClient), "it has no jobs of many tasks"
    workload = Workload.create(Path(folder))
    marks = workload.marks_file("together")
    began = time.monotonic()
    handle = client.submit_together(str(workload.mark_script), str(marks), count)
    seconds = wait_for_marks(marks, count) - began
    client.wait([handle])
    check_marks(marks, count)
    return seconds


def serve(connect: Callable[[], Client]) -> None:
    # The peers print to standard output as they please; the answers keep the real one for themselves.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    client = connect()
    actions = {"submit_to_start": submit_to_start, "run_many": run_many, "run_together": run_together}
    try:
        print(json.dumps({"result": "ready"}), file=answers)
        for line in sys.stdin:
            request = json.loads(line)
            action = actions[request.pop("do")]
            try:
                answer: dict[str, Any] = {"result": action(client, **request)}
            except Exception as problem:
                traceback.print_exc()
                answer = {"error": f"{type(problem).__name__}: {problem}"}
            print(json.dumps(answer), file=answers)
    finally:
        client.close()
