"""Real tasks that do what a test says: each reads its orders from a named pipe, so nobody has to poll."""

import os
import shlex
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from muster.domain.tasks import Task

_PROGRAM = """
exec 3<>"$1/$MUSTER_TASK_NAME"
echo started >>"$1/$MUSTER_TASK_NAME.starts"
while read -r order <&3; do eval "$order"; done
"""


class Programs:
    """Implements `harness.TaskControl`. `folder` is where the test finds the pipes, and `inner` is the same folder as
    the tasks see it."""

    are_processes = True

    def __init__(self, folder: Path, inner: str | None = None) -> None:
        self._folder = folder
        self._inner = inner or str(folder)
        self._pipes: dict[str, int] = {}
        self._stack = ExitStack()
        folder.mkdir(parents=True)

    def command(self) -> tuple[str, ...]:
        return ("sh", "-c", _PROGRAM, "sh", self._inner)

    def expect(self, task: Task) -> None:
        """The pipe stays open on this side until the end, so an order may be given before the task reads it."""
        if task.name in self._pipes:
            return
        path = self._folder / task.name
        os.mkfifo(path)
        self._pipes[task.name] = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._stack.callback(os.close, self._pipes[task.name])

    def finish(self, task: Task, exit_code: int) -> None:
        self.order(task, f"exit {exit_code}")

    def kill(self, task: Task, signal: int) -> None:
        self.order(task, f"kill -{signal} $$")

    def says(self, task: Task, line: str) -> None:
        self.order(task, f"echo {shlex.quote(line)}")

    def leaves(self, task: Task, files: Mapping[str, str]) -> None:
        for name, content in files.items():
            folder = shlex.quote(str(Path(name).parent))
            self.order(task, f"mkdir -p {folder}; printf %s {shlex.quote(content)} >{shlex.quote(name)}")

    def order(self, task: Task, line: str) -> None:
        """Have the task's shell do this next."""
        os.write(self._pipes[task.name], f"{line}\n".encode())

    def starts(self, task: Task) -> int:
        path = self._folder / f"{task.name}.starts"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def close(self) -> None:
        self._stack.close()
