"""The script around a container engine, run by a real shell."""

import subprocess
from pathlib import Path

from muster.launch.container_script import ContainerRun, script_of


def test_a_client_that_is_killed_leaves_only_its_own_words_in_the_log(tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    engine.write_text('#!/bin/sh\n[ "$1" = run ] || exit 0\necho out\necho err >&2\nkill -9 $$\n')
    engine.chmod(0o755)
    run = ContainerRun(str(engine), "name", str(tmp_path / "state"), (), "image", ("sh", "-c", "true"))
    shell = subprocess.Popen(script_of(run), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output, _ = shell.communicate(timeout=30)
    assert (output, shell.returncode) == ("out\nerr\n", 137)
