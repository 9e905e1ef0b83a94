"""A real `muster monitor` in its own process, with a file, for tests that kill it and what it watches."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.parts.server import PATIENCE, polls

PATIENT = "5s"
"""How long a check may take, so that a busy machine makes no outage that the test did not cause."""
_MUSTER = Path(sys.executable).parent / "muster"


class Watcher:
    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self.state_file = folder / "state.json"
        self.config = folder / "monitor.yaml"
        folder.mkdir(parents=True, exist_ok=True)
        own = {"interval": PATIENT, "timeout": PATIENT, "stateFile": str(self.state_file)}
        self.config.write_text(json.dumps({**own, **settings}))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            command = [str(_MUSTER), "monitor", "--config", str(self.config)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(number)
        code = self._process.wait(PATIENCE * 30)
        self._process = None
        return code

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def state(self) -> Any:
        try:
            return json.loads(self.state_file.read_text())
        except FileNotFoundError:
            return {"receivers": {}, "rounds": 0}

    def wait_for_rounds(self, more: int) -> None:
        """As many rounds as begin and end from now on."""
        last = self.state["rounds"] + more + 1
        for _ in polls(60):
            if self.state["rounds"] >= last:
                return
        raise AssertionError(f"no {more} rounds: {self.state}\n{self.log}")

    def wait_until_down(self, title: str, is_down: bool) -> None:
        for _ in polls(60):
            if self.state["receivers"].get(title, {}).get("is_down") is is_down:
                return
        raise AssertionError(f"{title}: {self.state}\n{self.log}")

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [str(_MUSTER), "monitor", *words, "--config", str(self.config)]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * 60, check=False)


@contextmanager
def watching(folder: Path, settings: Mapping[str, Any]) -> Iterator[Watcher]:
    watcher = Watcher(folder, settings)
    watcher.start()
    try:
        yield watcher
    finally:
        watcher.end()
