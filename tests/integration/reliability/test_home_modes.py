"""The modes of what the server and its agent leave in the home folder, whatever the umask they were started with."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.server import MusterServer, polls


@pytest.fixture
def careless_server(tmp_path: Path) -> Iterator[MusterServer]:
    """A server that was started with umask 000."""
    server = MusterServer(tmp_path / "home")
    before = os.umask(0)
    try:
        server.start()
    finally:
        os.umask(before)
    yield server
    server.stop()


def test_others_can_reach_nothing_in_the_home_folder_even_if_it_is_open(
    careless_server: MusterServer, tmp_path: Path
) -> None:
    server, code = careless_server, tmp_path / "code"
    code.mkdir()
    (code / "data").write_text("data")
    spec = code / "job.yaml"
    spec.write_text(
        "name: modes\ncommand: echo hello | tee said\noutputs: [said]\ninputs: [{source: ./data, target: in}]\n"
    )
    server.run("submit", str(spec), "--wait", check=True, cwd=code)
    assert any(server.json("outputs", "modes")["complete"] for _ in polls(60))
    server.run("logs", "modes", check=True)
    (server.home / "stderr.log").chmod(0o600)  # it belongs to the test, not to the server
    assert [f"{stat.S_IMODE(path.lstat().st_mode):o} {path}" for path in _open_to_others(server.home)] == []


def _open_to_others(folder: Path) -> Iterator[Path]:
    """What others can use if they can look into the folder. Nothing below a closed folder can be reached."""
    for path in folder.iterdir():
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) or not stat.S_IMODE(mode) & 0o077:
            continue
        yield path
        if stat.S_ISDIR(mode):
            yield from _open_to_others(path)
