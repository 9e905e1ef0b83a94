"""Answers the server's requests about the task of this pod: its outputs, and to stop it.

It runs in the container `outputs`, which shares the working directory and the processes of the task. Requests come on
the standard input and answers go to the standard output, as frames, each after the one before.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, cast

from muster.agent import requests
from muster.agent.errors import BAD_REQUEST, AgentError, from_os_error
from muster.agent.pods import container_processes
from muster.agent.system.frames import FrameDecoder, Message, encode
from muster.agent.tasks.outputs import Outputs

if TYPE_CHECKING:
    import io

_READ_BYTES = 1 << 16


def main(work: str) -> None:
    """`work` is the working directory of the task."""
    operations = {**Outputs(lambda task: work).operations(), "stop": _stop}
    decoder = FrameDecoder()
    received = cast("io.BufferedReader", sys.stdin.buffer)
    while True:
        data = received.read1(_READ_BYTES)
        if not data:
            return
        for request in decoder.feed(data):
            sys.stdout.buffer.write(encode(_answer(operations, request)))
            sys.stdout.buffer.flush()


def _stop(request: Mapping[str, Any]) -> Callable[[], Message]:
    grace_s = requests.seconds(request, "grace_s")
    return lambda: {"processes": container_processes.stop(grace_s)}


def _answer(operations: Dict[str, Callable[[Mapping[str, Any]], Callable[[], Message]]], request: Message) -> Message:
    try:
        operation = operations.get(str(request.get("op")))
        if operation is None:
            raise AgentError(BAD_REQUEST, "there is no operation {!r}".format(request.get("op")))
        return operation(request)()
    except AgentError as error:
        return {"error": error.code, "message": error.message}
    except OSError as error:
        found = from_os_error(error)
        return {"error": found.code, "message": found.message}
