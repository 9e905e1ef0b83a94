import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.mail_server import MailServer, running_mail_server
from tests.parts.server import MusterServer, end_all_jobs


@pytest.fixture
def mails() -> Iterator[MailServer]:
    with running_mail_server() as server:
        yield server


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[MusterServer]:
    """A server that the test may kill and pause."""
    server = MusterServer(tmp_path / "home")
    server.start()
    yield server
    if server.is_running:
        end_all_jobs(server)
    server.stop()


@pytest.fixture
def token_file(tmp_path: Path, receiver: MusterServer) -> Path:
    file = tmp_path / "token"
    file.write_text(receiver.token)
    file.chmod(0o600)
    return file


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)
