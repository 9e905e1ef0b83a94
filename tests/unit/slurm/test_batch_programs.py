"""Commands of the batch system whose caller is killed: what it held for them is held until they have ended."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from muster.agent.batch.programs import Programs
from tests.parts.server import polls

_CALLER = """
import fcntl, os, sys
from muster.agent.batch.programs import Programs
claim = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
fcntl.flock(claim, fcntl.LOCK_EX)
Programs(sys.argv[2], {"PATH": sys.argv[2]}).run(["sbatch"], data=b"x" * (1 << 20), user=sys.argv[3], held=(claim,))
"""
_SUDO = """#!{python} -IS
import os, sys
os.closerange(3, 1024)  # as sudo does before it becomes the command
command = sys.argv[sys.argv.index("--") + 1 :]
os.execv(command[0], command)
"""
_SBATCH = """#!{python} -IS
import os, pathlib, sys, time
folder = pathlib.Path(__file__).parent
(folder / "called").touch()
while not (folder / "go").exists():
    time.sleep(0.02)
(folder / "read").write_text(str(len(sys.stdin.buffer.read())))
"""


@pytest.mark.parametrize("user", ["", "amy"])
def test_claim_is_held_until_the_command_of_a_killed_agent_has_ended(tmp_path: Path, user: str) -> None:
    for name, text in (("sudo", _SUDO), ("sbatch", _SBATCH)):
        (tmp_path / name).write_text(text.format(python=sys.executable))
        (tmp_path / name).chmod(0o755)
    claim = tmp_path / "gang.claim"
    with subprocess.Popen([sys.executable, "-c", _CALLER, str(claim), str(tmp_path), user]) as caller:
        _await(tmp_path / "called")
        caller.kill()

    try:
        assert not _is_free(claim)
    finally:
        (tmp_path / "go").touch()  # else the command would never end
    _await_free(claim)
    assert (tmp_path / "read").read_text() == str(1 << 20), "the command has read only a part of its input"


def _await(path: Path) -> None:
    for _ in polls(30):
        if path.exists():
            return
    raise AssertionError(f"there is no {path}")


def _await_free(claim: Path) -> None:
    for _ in polls(30):
        if _is_free(claim):
            return
    raise AssertionError("the claim is still held")


def _is_free(claim: Path) -> bool:
    with claim.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_questions_are_answered_with_times_that_mean_the_same_in_every_time_zone(tmp_path: Path) -> None:
    squeue = tmp_path / "squeue"
    squeue.write_text('#!/bin/sh\necho "$SLURM_TIME_FORMAT"\n')
    squeue.chmod(0o755)
    programs = Programs(str(tmp_path), {"PATH": "/usr/bin:/bin"})

    assert (programs.run(["squeue"]).out, programs.asking().run(["squeue"]).out) == ("\n", "%s\n")
