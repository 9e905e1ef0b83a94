"""Tasks in pods that do what a test says: each connects to the test and reads its orders from there."""

import os
import socket
import threading
from collections import Counter, defaultdict

from muster.domain.tasks import Task
from tests.contract.backends.programs import Programs

_PROGRAM = """
import os, socket
link = socket.create_connection((os.environ["MUSTER_TEST_HOST"], int(os.environ["MUSTER_TEST_PORT"])))
link.sendall((os.environ["MUSTER_TASK_NAME"] + "\\n").encode())
os.dup2(link.fileno(), 9, inheritable=True)
os.execvp("sh", ["sh", "-c", 'while read -r order <&9; do eval "$order"; done'])
"""


class PodPrograms(Programs):
    """Listens on an address of this machine that pods reach."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._listening = socket.create_server((host, 0))
        self._changed = threading.Condition()
        self._links: dict[str, socket.socket] = {}
        self._orders: defaultdict[str, list[str]] = defaultdict(list)
        self._starts: Counter[str] = Counter()
        threading.Thread(target=self._accept, daemon=True).start()

    def command(self) -> tuple[str, ...]:
        port = self._listening.getsockname()[1]
        script = f'export MUSTER_TEST_HOST={self._host} MUSTER_TEST_PORT={port}; exec python3 -c "$0"'
        return ("sh", "-c", script, _PROGRAM)

    def expect(self, task: Task) -> None:
        """Orders wait until the task connects."""

    def order(self, task: Task, line: str) -> None:
        with self._changed:
            if (link := self._links.get(task.name)) is not None:
                link.sendall(f"{line}\n".encode())
            else:
                self._orders[task.name].append(line)

    def starts(self, task: Task) -> int:
        with self._changed:
            return self._starts[task.name]

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._changed:
            for link in self._links.values():
                link.close()

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._greet, args=(link,), daemon=True).start()

    def _greet(self, link: socket.socket) -> None:
        name = b""
        while not name.endswith(b"\n"):
            if not (byte := link.recv(1)):
                link.close()
                return
            name += byte
        task = os.fsdecode(name[:-1])
        with self._changed:
            self._starts[task] += 1
            self._links[task] = link
            for line in self._orders.pop(task, []):
                link.sendall(f"{line}\n".encode())
