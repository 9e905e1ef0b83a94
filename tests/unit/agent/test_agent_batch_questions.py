"""Questions to the batch system: one that nobody can answer is given up soon, and a slow one is waited for."""

import time
from pathlib import Path

import pytest

from muster.agent.batch import programs as module
from muster.agent.batch.programs import Programs

pytestmark = pytest.mark.timeout(60)


def slurm(folder: Path, squeue: str, ping: str) -> Programs:
    for name, text in (("squeue", squeue), ("scontrol", ping)):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return Programs(str(folder), {})


def test_question_is_given_up_when_no_controller_is_there(tmp_path: Path) -> None:
    ping = "echo 'Slurmctld(primary) at ctl is DOWN'; echo 'Slurmctld(backup) at other is DOWN'; exit 1"
    began = time.monotonic()

    found = slurm(tmp_path, "exec sleep 35", ping).ask(["squeue"])

    assert found.is_away
    assert found.err == (
        "Slurm's controller does not answer: Slurmctld(primary) at ctl is DOWN, Slurmctld(backup) at other is DOWN"
    )
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "ping",
    [
        "echo 'Slurmctld(primary) at ctl is UP'",
        "echo 'Slurmctld(primary) at ctl is DOWN'; echo 'Slurmctld(backup) at other is UP'",
        "echo nonsense",
        "exit 1",
    ],
    ids=["up", "backup", "other words", "nothing"],
)
def test_slow_answer_is_waited_for(tmp_path: Path, ping: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PING_AFTER_S", 0.1)
    found = slurm(tmp_path, "echo first; sleep 1; echo second", ping).ask(["squeue"])
    assert (found.code, found.out) == (0, "first\nsecond\n")


def test_quick_answer_asks_nobody_else(tmp_path: Path) -> None:
    found = slurm(tmp_path, "echo job", f"touch {tmp_path}/pinged").ask(["squeue"])
    assert found.out == "job\n"
    assert not (tmp_path / "pinged").exists()
