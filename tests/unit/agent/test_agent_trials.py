"""How many environments are tested at once, and for whom."""

import os
import threading
from pathlib import Path

import pytest

from muster.agent.environments.trials import EnvironmentTests, Trial
from muster.agent.errors import STILL_RUNNING, AgentError
from muster.agent.tasks.cgroups import Groups

pytestmark = pytest.mark.fast


def environment(tmp_path: Path, name: str, script: str, user: str) -> Trial:
    python = tmp_path / name / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\nexit 1\n")
    python.chmod(0o755)
    return Trial(str(tmp_path / name), "", "", (), "", None, user)


def test_a_user_tests_one_environment_at_a_time_and_leaves_room_for_another(tmp_path: Path) -> None:
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    os.mkfifo(begun)
    os.mkfifo(gate)
    tests = EnvironmentTests(Groups(0, None, None, ""))
    slow = environment(tmp_path, "slow", f"echo begun > {begun}; read line < {gate}", "amy")
    quick = environment(tmp_path, "quick", "", "bob")
    running = threading.Thread(target=tests.test, args=(slow,))
    running.start()
    begun.read_text()
    with pytest.raises(AgentError) as refused:
        tests.test(quick._replace(user="amy"))
    assert refused.value.code == STILL_RUNNING
    assert "exit code 1" in tests.test(quick)["error"]
    gate.write_text("go\n")
    running.join()
    assert "exit code 1" in tests.test(quick._replace(user="amy"))["error"]
