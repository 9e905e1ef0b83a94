"""The cost of isolation: how much later a task ends if it is started under an account or in namespaces.

Run as root: `python -m bench.isolation`. A real agent starts `/bin/true` in each way in turn, so that the load of the
machine hits all of them alike. The median of the differences to a plain start of the same round is what isolation adds.
The time is that from the request to the agent's message that the task has ended.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from muster.agent.system.frames import FrameDecoder, Message, encode

_ROUNDS = 200
_WARM_UP = 10
_UID = 79_998
_WAYS: dict[str, str | None] = {"plain": None, "user": "user", "namespace": "namespace"}
_SOURCES = Path(__file__).parents[1] / "src"


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="muster-bench-"))
    try:
        for name, mode in (("open to all accounts", 0o755), ("closed to other accounts", 0o700)):
            print(f"the agent's folder is {name}")
            root.chmod(mode)
            _show(_measure(root / f"{mode:o}"))
    finally:
        shutil.rmtree(root)


def _measure(folder: Path) -> dict[str, list[float]]:
    agent = _Agent(folder)
    taken: dict[str, list[float]] = {way: [] for way in _WAYS}
    for number in range(_WARM_UP + _ROUNDS):
        for way, mode in _WAYS.items():
            time_ms = agent.run(f"{way}-{number}", mode)
            if number >= _WARM_UP:
                taken[way].append(time_ms)
    agent.close()
    return taken


def _show(taken: dict[str, list[float]]) -> None:
    plain = taken["plain"]
    for way, times in taken.items():
        added = statistics.median(one - base for one, base in zip(times, plain, strict=True))
        print(f"  {way:12} {statistics.median(times):6.2f} ms   adds {added:6.2f} ms")


class _Agent:
    def __init__(self, root: Path) -> None:
        env = {**os.environ, "PYTHONPATH": str(_SOURCES)}
        command = [sys.executable, "-m", "muster.agent", "--root", str(root)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self._decoder = FrameDecoder()

    def run(self, task: str, mode: str | None) -> float:
        """The time in milliseconds until the task has ended."""
        order = {"argv": ["/bin/true"], "env": {}, "ports": [], "files": {}, "devices": []}
        began = time.perf_counter()
        self._send({"id": 1, "op": "launch", "task": task, "isolation": mode and _isolation(mode), **order})
        for message in self._messages():
            if not message.get("ok", True):
                raise RuntimeError(message["message"])
            if message.get("event") == "task" and message["status"]["phase"] == "ended":
                assert message["status"]["exit_code"] == 0, message
                break
        taken = (time.perf_counter() - began) * 1e3
        self._send({"id": 2, "op": "retire", "tasks": [task]})
        return taken

    def close(self) -> None:
        self._process.communicate()

    def _send(self, message: Message) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(encode(message))
        self._process.stdin.flush()

    def _messages(self) -> Iterator[Message]:
        assert self._process.stdout is not None
        while True:
            yield from self._decoder.feed(os.read(self._process.stdout.fileno(), 1 << 16))


def _isolation(mode: str) -> dict[str, Any]:
    return {"mode": mode, "owner": "bench", "uid": _UID, "first_uid": 70_000, "last_uid": 99_999, "folders": []}


if __name__ == "__main__":
    main()
