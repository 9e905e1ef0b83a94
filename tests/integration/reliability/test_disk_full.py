"""The home's disk fills up: clear errors meanwhile, and everything goes on by itself once there is space."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.server import MusterServer, polls

from .conftest import unkindly_treated
from .small_jobs import Spec, lines_by_task
from .stubborn_client import submit_once


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    return filler


def test_full_disk_gives_clear_errors_and_everything_goes_on_when_there_is_space(
    small_disk: Path, tmp_path: Path
) -> None:
    records = tmp_path / "records"
    records.mkdir()
    record = 'echo x >> "$RECORDS/$MUSTER_TASK_UID"'
    common: Spec = {"env": {"RECORDS": str(records)}, "resources": {"cpu": "50m"}}
    with unkindly_treated(small_disk / "home") as server:
        server.start()
        waits = f"{record}; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
        running = [server.submit({"name": f"runs-{n}", "command": waits, **common})["id"] for n in range(3)]
        for job in running:
            server.wait_for_state(job, "Running")
        filler = fill(small_disk)
        (tmp_path / "go").touch()

        late: Spec = {"name": "late", "command": record, **common}
        answers = [submit_once(server, late, "late", server.token) for _ in range(3)]
        refused = [answer for status, answer in answers if status not in (200, 201)]
        assert all(status in (200, 201, 507) for status, _ in answers), answers
        assert all("hint" in answer and "full" in answer for answer in refused), refused
        assert server.call("GET", "/healthz")[0] == 200
        uploaded = server.run("run", "--package", str(_package(tmp_path)), "--", "true")
        assert (uploaded.returncode, "Traceback" in uploaded.stderr) == (1, False)
        assert "error: the disk of the server is full" in uploaded.stderr
        assert "an admin must free space" in uploaded.stderr

        filler.unlink()
        for job in running:
            assert server.wait(job)["state"] == "Succeeded"
        accepted = _submit_until_accepted(server, late)
        assert server.wait(accepted)["state"] == "Succeeded"
        ran = lines_by_task(records)
        assert set(ran.values()) == {1}
        assert {task.split(".")[0] for task in ran} == {*running, accepted}


def test_a_package_that_the_disk_has_no_room_for_leaves_it_to_the_others(small_disk: Path, tmp_path: Path) -> None:
    with unkindly_treated(small_disk / "home") as server:
        server.start()
        uploaded = server.run("run", "--package", str(_package(tmp_path, 40 << 20)), "--", "true")
        assert uploaded.returncode == 1
        assert "error: the disk of the server is full" in uploaded.stderr
        assert list((small_disk / "home" / "packages" / "uploads").iterdir()) == []
        job = server.submit({"name": "next", "command": "true"})["id"]
        assert server.wait(job)["state"] == "Succeeded"


def _package(folder: Path, size: int = 2 << 20) -> Path:
    """A package that does not compress, and is larger than what the smallest file system keeps back."""
    package = folder / "package"
    package.mkdir()
    (package / "data.bin").write_bytes(os.urandom(size))
    return package


def _submit_until_accepted(server: MusterServer, spec: Spec) -> str:
    for _ in polls(20):
        status, answer = submit_once(server, spec, "late", server.token)
        if status in (200, 201):
            return str(answer["id"])
    raise AssertionError(f"still refused: {answer}")
