"""The end of the server after a signal."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from muster.bootstrap.home_folder import lock_home, note_stopping
from muster.domain.errors import Conflict, Invalid

BUSY = """
import sys, threading, time
import uvloop
from muster.bootstrap.home_folder import lock_home, make_home
from muster.bootstrap.wiring import serve
from muster.settings.server import load_settings

threading.Thread(target=time.sleep, args=(600,)).start()
settings = load_settings({"home": sys.argv[1], "port": 0})
make_home(settings.home)
with lock_home(settings.home):
    uvloop.run(serve(settings, has_home_lock=True, exit_within_s=0.2))
"""


def test_a_busy_thread_does_not_keep_the_server_alive_after_a_signal(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BUSY, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert any("Muster is at" in line for line in process.stdout)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGTERM
    assert "exits without waiting for its threads" in output
    assert (tmp_path / "server.lock").read_text() == f"{process.pid} stopping\n"


@pytest.mark.fast
def test_a_start_says_that_the_server_before_it_is_still_stopping(tmp_path: Path) -> None:
    with lock_home(tmp_path):
        with pytest.raises(Invalid, match="already using"), lock_home(tmp_path):
            pass
        note_stopping(tmp_path)
        with pytest.raises(Conflict, match=r"another server is still stopping, pid \d+"), lock_home(tmp_path):
            pass
    with lock_home(tmp_path), pytest.raises(Invalid, match="already using"), lock_home(tmp_path):
        pass
