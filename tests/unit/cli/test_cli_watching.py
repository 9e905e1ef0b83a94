"""`--watch` in a pipe ends when its reader does, also if nothing changes any more."""

import subprocess
import sys

import pytest

from tests.unit.cli.calling import with_job
from tests.unit.client.tiny_server import TinyServer

pytestmark = pytest.mark.fast


def test_watching_ends_with_its_reader(server: TinyServer) -> None:
    with_job(server)
    script = "from muster.cli.main import main; main()"
    words = [sys.executable, "-c", script, "--server", server.url, "get", "jobs", "--watch", "-o", "name"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == b"mnist\n"
        watching.stdout.close()
        watching.wait(timeout=60)
        assert watching.stderr is not None
        assert b"Traceback" not in watching.stderr.read()
