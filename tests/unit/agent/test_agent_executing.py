"""What is left of an agent before us is ended; what we start ourselves is not."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muster.agent.execution.executions import Executions
from muster.agent.execution.marks import Marks
from muster.agent.execution.node_commands import NodeCommands
from muster.agent.system.loop import Loop
from muster.agent.system.process_exits import ExitWatch
from muster.agent.system.processes import EXEC_MARK, Identity, boot_id, is_alive, kill_all, read_stat

pytestmark = pytest.mark.fast


class LateLoop(Loop):
    """Blocking work is done when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.late: list[Callable[[], Any]] = []

    def run_blocking(self, work: Callable[[], Any], done: Callable[..., None]) -> None:
        self.late.append(work)


def test_a_command_that_starts_before_the_sweep_is_done_outlives_it(tmp_path: Path) -> None:
    loop = LateLoop()
    marks = Marks(loop, str(tmp_path))
    commands = NodeCommands(loop, ExitWatch(loop, boot_id()), marks, Executions(loop, lambda number, answer: None))
    left = subprocess.Popen(["sleep", "1000"], env={**os.environ, EXEC_MARK: str(tmp_path / "exec" / "earlier")})
    marks.sweep()
    started = int(commands.start({"argv": ["sleep", "1000"], "timeout_s": 1000})["exec"].partition("-")[0])
    try:
        (sweep,) = loop.late
        sweep()
        assert left.wait(60) == -signal.SIGKILL
        stat = read_stat(started)
        assert stat is not None
        assert is_alive(Identity(started, stat.start_ticks, boot_id()), boot_id())
    finally:
        kill_all([started])
        os.waitpid(started, 0)
        left.kill()
        left.wait()
