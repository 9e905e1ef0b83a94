"""Runs another program for a short while, never on the loop's thread: a deadline, and no more output than asked for.

What does not end in time is killed. What cannot be killed either (it waits for a file server that is away) is left to
itself, so that whoever called is not held up by it.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from muster.agent.system.processes import send_group

_LOOK_EVERY_S = 0.05
_AFTER_KILL_S = 0.5
_READ_BYTES = 65536


class Called(NamedTuple):
    """`code` is None when it was killed for being late; output beyond what was asked for is dropped."""

    code: Optional[int]
    output: str
    errors: str

    @property
    def late(self) -> bool:
        return self.code is None

    @property
    def complaint(self) -> str:
        """The last line it had to say."""
        lines = (self.errors.strip() or self.output.strip()).splitlines()
        return lines[-1].strip()[:500] if lines else "exit code {}".format(self.code)


def call(
    argv: Sequence[str], deadline_s: float, *, env: Optional[Mapping[str, str]] = None, most_bytes: int = 1 << 20
) -> Called:
    """Raises OSError when there is no such program."""
    process = subprocess.Popen(
        argv,
        env=env,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output = _read(process, time.monotonic() + deadline_s, most_bytes)
        late = process.poll() is None
    finally:
        send_group(process.pid, signal.SIGKILL)  # with all that it left behind
        _wait_a_little(process)
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
    texts = [b"".join(output[name]).decode("utf-8", "replace") for name in ("stdout", "stderr")]
    return Called(None if late else process.returncode, texts[0], texts[1])


def _read(process: subprocess.Popen[bytes], deadline: float, most_bytes: int) -> Dict[str, List[bytes]]:
    """Reads until it has ended, or for as long as there is time. A child of its that holds the pipes open is not waited
    for."""
    found: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
    room = {"stdout": most_bytes, "stderr": most_bytes}
    with selectors.DefaultSelector() as selector:
        for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe.fileno(), selectors.EVENT_READ, name)
        ended = False
        while time.monotonic() < deadline:
            took = _take_ready(selector, found, room)
            if ended and not took:
                break
            ended = process.poll() is not None
    return found


def _take_ready(selector: Any, found: Dict[str, List[bytes]], room: Dict[str, int]) -> bool:
    took = False
    if not selector.get_map():
        time.sleep(_LOOK_EVERY_S)
        return False
    for key, _ in selector.select(_LOOK_EVERY_S):
        data = os.read(key.fd, _READ_BYTES)
        if not data:
            selector.unregister(key.fd)
            continue
        took = True
        kept = data[: room[key.data]]
        room[key.data] -= len(kept)
        found[key.data].append(kept)
    return took


def _wait_a_little(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_AFTER_KILL_S)
    except subprocess.TimeoutExpired:
        pass
