"""The systemd units: they are valid, and give the services no more rights than they need."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[3] / "deploy"
UNIT = DEPLOY / "muster.service"
MONITOR = DEPLOY / "muster-monitor.service"
PROGRAM = Path(sys.executable).parent / "muster"
MOST_EXPOSURE = {UNIT: 45, MONITOR: 15}
"""Tenths of systemd's scale from 0 (safe) to 10 (exposed). What keeps it from 0 is said in the unit."""

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")


def analyze(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("file", [UNIT, MONITOR], ids=lambda file: file.name)
def test_the_unit_is_valid(tmp_path: Path, file: Path) -> None:
    unit = tmp_path / file.name
    unit.write_text(file.read_text().replace("/opt/muster/.venv/bin/muster", str(PROGRAM)))
    checked = analyze("verify", "--man=no", str(unit))
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("file", [UNIT, MONITOR], ids=lambda file: file.name)
def test_the_unit_is_hardened(file: Path) -> None:
    judged = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSURE[file]}", str(file))
    assert judged.returncode == 0, judged.stdout[-2000:]


def test_the_unit_keeps_what_tasks_need() -> None:
    settings = dict(line.split("=", 1) for line in UNIT.read_text().splitlines() if "=" in line and line[0] != "#")
    assert settings["KillMode"] == "process", "a restart of the server must not end the tasks"
    assert settings["Delegate"] == "yes", "the limits of tasks are control groups below that of the service"
    assert settings["UMask"] == "0077"
    assert settings["ProtectSystem"] == "strict"
    assert not settings.keys() & {"PrivateDevices", "MemoryDenyWriteExecute", "RestrictNamespaces"}
