"""Ctrl-C while the modules of the server are still loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast


def test_it_ends_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "uvloop.py").write_text("raise KeyboardInterrupt\n")
    done = subprocess.run(
        [sys.executable, "-m", "muster.bootstrap"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "MUSTER_HOME": str(tmp_path / "home")},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
