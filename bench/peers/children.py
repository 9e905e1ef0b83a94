"""Processes the bench starts: each in its own session, each ended by pid, politely first."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from bench.measuring import ProcessSample, sample_process

STOP_GRACE_S = 10.0
LOOK_S = 0.05


def start(arguments: Sequence[str], log: Path, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a program that writes to `log`. Its own session keeps Ctrl-C with the bench, which then stops it."""
    with log.open("ab") as stream:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )


def start_piped(
    arguments: Sequence[str], log: Path, env: dict[str, str], folder: Path
) -> tuple[subprocess.Popen[str], IO[str], IO[str]]:
    """The same with its standard input and output as text pipes."""
    with log.open("ab") as stream:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stream,
            env={**os.environ, **env},
            cwd=folder,
            text=True,
            bufsize=1,
            start_new_session=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    return process, process.stdin, process.stdout


def stop(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(STOP_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_all(samples: Sequence[ProcessSample]) -> None:
    """End what is left of a tree that was seen before its root was stopped.

    A pid that now belongs to another program is not touched.
    """
    for sign in (signal.SIGTERM, signal.SIGKILL):
        give_up = time.monotonic() + STOP_GRACE_S / 2
        for sample in _left(samples):
            try:
                os.kill(sample.pid, sign)
            except ProcessLookupError:
                continue
        while _left(samples) and time.monotonic() < give_up:
            time.sleep(LOOK_S)


def _left(samples: Sequence[ProcessSample]) -> list[ProcessSample]:
    return [sample for sample in samples if _same(sample, sample_process(sample.pid))]


def _same(sample: ProcessSample, now: ProcessSample | None) -> bool:
    return now is not None and now.started == sample.started and now.state != "Z"
