"""How a runner writes down the end of its command."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muster.agent.batch.spool import END, Spool

pytestmark = pytest.mark.fast

_TASK = "job.1.worker.0"
_RUN = """
import json, socket, sys
from muster.agent.batch.link import Link
from muster.agent.batch.runner import Asking, Runner
from muster.agent.batch.spool import Spool
link = Link(socket.create_connection(("127.0.0.1", int(sys.argv[3]))))
sys.exit(Runner(json.loads(sys.argv[2]), 0, Spool(sys.argv[1]), link, "token", Asking(link, "token")).run())
"""


@pytest.mark.parametrize("ends_by", ["kill -TERM $$", "exit 3"], ids=["signal", "exit code"])
def test_a_signal_that_comes_with_the_end_of_the_command_is_written_down(tmp_path: Path, ends_by: str) -> None:
    gang = Spool(str(tmp_path)).gang_of(_TASK)
    Spool(str(tmp_path)).make()
    gang.write_facts({"tasks": [_TASK]})
    order: dict[str, Any] = {
        **{"id": _TASK, "argv": ["/bin/sh", "-c", f"trap '' TERM; kill -TERM $PPID; trap - TERM; {ends_by}"]},
        **{
            "env": {},
            "files": {},
            "links": {},
            "inputs": [],
            "package": None,
            "gpus": 0,
            "setup": None,
            "has_steps": False,
        },
    }
    with socket.create_server(("127.0.0.1", 0)) as coordinator:
        port = str(coordinator.getsockname()[1])
        argv = [sys.executable, "-c", _RUN, str(tmp_path), json.dumps(order), port]
        subprocess.run(argv, check=False, timeout=60)
    end = gang.mark(_TASK, END)
    assert end is not None
    assert end["from_outside"] == signal.SIGTERM
