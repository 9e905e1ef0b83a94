"""A stop's grace belongs to every process of the task, not only to the one that the shim started."""

import sys
import time
from pathlib import Path

from tests.parts.leftovers import wait_until_nothing_runs
from tests.parts.server import MusterServer, polls

SAVES = """
import signal, sys, time
def save(*_):
    time.sleep(1)
    open("{folder}/saved", "w").write("all of it")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open("{folder}/ready", "w").close()
while True:
    signal.pause()
"""
IGNORES = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("{folder}/ready", "w").close()
while True:
    signal.pause()
"""


def start(server: MusterServer, folder: Path, name: str, program: str, grace: str) -> str:
    """Under a shell that waits for it and itself dies of the group's SIGTERM at once."""
    script = folder / "program.py"
    script.write_text(program.format(folder=folder))
    job = server.submit({"name": name, "command": f"{sys.executable} {script}; echo behind it", "grace": grace})
    for _ in polls(20):
        if (folder / "ready").exists():
            return str(job["id"])
    raise AssertionError("the program did not start")


def test_program_under_a_shell_saves_its_work_within_the_grace(shared_server: MusterServer, tmp_path: Path) -> None:
    job = start(shared_server, tmp_path, "saves", SAVES, "10m")
    shared_server.call("POST", f"/api/v1/jobs/{job}/kill", {})
    assert shared_server.wait(job)["state"] == "Cancelled"  # long before the grace is over
    assert (tmp_path / "saved").read_text() == "all of it", "killed before it could save"
    wait_until_nothing_runs(shared_server.home)


def test_program_under_a_shell_that_ignores_the_stop_is_killed_when_the_grace_ends(
    shared_server: MusterServer, tmp_path: Path
) -> None:
    job = start(shared_server, tmp_path, "ignores", IGNORES, "2s")
    began = time.monotonic()
    shared_server.call("POST", f"/api/v1/jobs/{job}/kill", {})
    assert shared_server.wait(job)["state"] == "Cancelled"
    assert time.monotonic() - began > 1.9
    wait_until_nothing_runs(shared_server.home)


def test_grace_goes_on_through_a_crash_of_the_server(server: MusterServer, tmp_path: Path) -> None:
    job = start(server, tmp_path, "saves", SAVES, "30s")
    server.call("POST", f"/api/v1/jobs/{job}/kill", {})
    server.kill()
    server.start()
    assert server.wait(job)["state"] == "Cancelled"
    assert (tmp_path / "saved").read_text() == "all of it"
