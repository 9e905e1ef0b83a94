"""What the processes of an allocation load before the command of a task: each import makes the task start later."""

import subprocess
import sys
from pathlib import Path

import pytest

import muster

pytestmark = pytest.mark.fast

_SOURCES = str(Path(muster.__file__).parent.parent)
_SCRIPT = "import sys; sys.path.insert(0, sys.argv[1]); import muster.agent.batch.{}; print(*sys.modules)"
_NOT_BEFORE_THE_COMMAND = {
    "asyncio",
    "concurrent.futures",
    "ctypes",
    "dataclasses",
    "inspect",
    "logging",
    "random",
    "shutil",
    "tarfile",
    "zipfile",
    "muster.agent.batch.contents",
    "muster.agent.batch.gang_secrets",
    "muster.agent.gpus",
    "muster.agent.isolation",
    "muster.agent.tasks.launch_request",
}


@pytest.mark.parametrize(("part", "more"), [("coordinator", set()), ("runner", {"subprocess", "threading"})])
def test_a_task_waits_for_no_module_that_its_start_does_not_need(part: str, more: set[str]) -> None:
    argv = [sys.executable, "-I", "-S", "-c", _SCRIPT.format(part), _SOURCES]
    loaded = set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())
    assert f"muster.agent.batch.{part}" in loaded
    assert loaded & (_NOT_BEFORE_THE_COMMAND | more) == set()
