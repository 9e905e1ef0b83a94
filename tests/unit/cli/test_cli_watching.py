"""`--watch` in a pipe ends when its reader does, also if nothing changes any more."""

import subprocess
import sys

import pytest

from tests.unit.cli.calling import with_job
from tests.unit.client.tiny_server import Answer, TinyServer

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


def test_watching_a_sweep_ends_with_the_sweep(server: TinyServer) -> None:
    raw = {"id": "s1", "name": "search", "owner": "amy", "members": 1, "made": 1, "counts": {}, "params": ["lr"]}
    running, ended = ({**raw, "state": state} for state in ("Running", "Succeeded"))
    server.on("GET", "/sweeps/search", Answer(200, running))
    server.on("GET", "/sweeps/s1", Answer(200, running), Answer(200, ended))
    server.on("GET", "/sweeps/s1/members", Answer(200, {"items": [], "nextMember": None}))
    script = "from muster.cli.main import main; main()"
    words = [sys.executable, "-c", script, "--server", server.url, "sweep", "describe", "search", "--watch"]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("State:") == 2
