"""`muster monitor`: what is said before any monitor is started."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.calling import muster

pytestmark = pytest.mark.fast

MUSTER = Path(sys.executable).parent / "muster"


@pytest.mark.parametrize("words", [[], ["check"], ["status"]], ids=" ".join)
def test_a_file_is_needed(words: list[str]) -> None:
    outcome = muster(None, "monitor", *words)
    assert (outcome.code, "Missing option '--config'" in outcome.err) == (2, True)


def test_mistakes_in_the_file_are_told_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "monitor.yaml"
    file.write_text("receivers: [a:1]\nwarning_maillst: [li@example.org]\n")
    for act in ([], ["check"], ["status"]):
        done = subprocess.run(
            [MUSTER, "monitor", *act, "--config", file], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 2
        assert f"{file}, line 2: warning_maillst: unknown key (did you mean warning_maillist?)" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_state_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "monitor.yaml"
    (tmp_path / "home").write_text("a file where a folder should be")
    file.write_text(json.dumps({"receivers": ["127.0.0.1:9"], "warning_maillist": ["li@example.org"]}))
    done = subprocess.run(
        [MUSTER, "monitor", "--config", file],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "MUSTER_HOME": str(tmp_path / "home")},
    )
    assert done.returncode == 1
    assert "error: cannot write" in done.stderr
    assert "stateFile names a file that can be written" in done.stderr
