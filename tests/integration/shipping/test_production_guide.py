"""The production guide: all its commands, run in order on a machine of their own with PostgreSQL and nginx."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.parts.engines import EngineMissing
from tests.parts.postgres import PostgresMissing, postgres_binaries
from tests.parts.python_image import system_python
from tests.parts.wheels import WheelsMissing, locked_wheels
from tests.unit.docs.pages import ROOT, all_blocks

GUIDE = ROOT / "docs" / "guides" / "production.md"
SANDBOX = ROOT / "tests" / "parts" / "guide_sandbox.sh"
UNSHARED = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
BY_SYSTEMD = 13
"""Commands for systemd, which a stand-in executes here by what the units say."""
WITHIN_S = 900


def script() -> str:
    return "".join(body for kind, body in all_blocks(GUIDE) if kind == "sh")


def test_every_block_is_one_that_is_run_and_commands_for_systemd_are_marked() -> None:
    assert {kind for kind, _ in all_blocks(GUIDE)} == {"sh"}
    for line in script().splitlines():
        assert line.startswith("systemctl ") == line.endswith("# systemd"), line
    assert script().count("# systemd\n") == BY_SYSTEMD


@pytest.mark.shipping
@pytest.mark.timeout(WITHIN_S + 120)
def test_every_command_of_the_guide_works(tmp_path: Path) -> None:
    (tmp_path / "guide.sh").write_text(script())
    wheels = _wheels()
    done = subprocess.run(
        [*UNSHARED, "bash", str(SANDBOX), str(ROOT), str(wheels), str(tmp_path / "guide.sh")],
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    for words in ("trained\n", "by the standby\n", 'muster_jobs{state="Succeeded"} 1.0', '"held"', "wang"):
        assert words in done.stdout, f"{words!r} is missing\n{done.stdout[-3000:]}"
    assert re.search(r"^-rw------- .* muster muster .* /var/lib/muster/server.log$", done.stdout, re.MULTILINE)
    assert "serving" in done.stdout, "the log is shown"


def _wheels() -> Path:
    """Skips with the reason where the guide cannot be tried."""
    if os.geteuid() != 0 or subprocess.run([*UNSHARED, "true"], capture_output=True, check=False).returncode:
        pytest.skip("the guide needs root and namespaces of its own")
    if shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip("nginx is not installed (scripts/install-test-parts.sh)")
    try:
        postgres_binaries()
        return locked_wheels(system_python())
    except (EngineMissing, PostgresMissing, WheelsMissing) as missing:
        pytest.skip(str(missing))
