"""What is done to receivers while a client submits jobs to them, and how they come to send their records."""

import os
import random
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.parts.cuttable_link import CuttableLink
from tests.parts.log_server import TOKEN, LogServer
from tests.parts.server import MusterServer

JOBS_OF_A_FAULT = 6


class Faults:
    """One thing after another, to one receiver at a time. Some jobs are submitted while it lasts."""

    def __init__(
        self, servers: Sequence[MusterServer], links: Sequence[CuttableLink], allow: Callable[[int], None], seed: int
    ) -> None:
        self._servers = servers
        self._links = links
        self._allow = allow
        self._chance = random.Random(seed)
        self._pause = threading.Event()
        self.done: list[str] = []

    def go_on_for(self, jobs: int) -> None:
        for _ in range(-(-jobs // JOBS_OF_A_FAULT)):
            self.step()

    def step(self) -> None:
        action = self._chance.choice((self._kill, self._stop_and_continue, self._cut))
        place = self._chance.randrange(len(self._servers))
        self.done.append(f"{action.__name__} {place}")
        action(place)

    def _kill(self, place: int) -> None:
        self._servers[place].kill()
        self._let_others_work()
        self._servers[place].start()

    def _stop_and_continue(self, place: int) -> None:
        os.kill(self._servers[place].pid, signal.SIGSTOP)
        try:
            self._let_others_work()
        finally:
            os.kill(self._servers[place].pid, signal.SIGCONT)

    def _cut(self, place: int) -> None:
        self._links[place].cut()
        self._let_others_work()
        self._links[place].mend()

    def _let_others_work(self) -> None:
        self._allow(JOBS_OF_A_FAULT)
        self._pause.wait(self._chance.choice((0.2, 1.0, 5.0)))


def send_records(home: Path, log_server: LogServer) -> None:
    home.mkdir(mode=0o700)
    token = home / "log-token"
    token.touch(mode=0o600)
    token.write_text(TOKEN)
    (home / "config.yaml").write_text(f"logServer: {{url: '{log_server.url}', tokenFile: '{token}'}}\n")
