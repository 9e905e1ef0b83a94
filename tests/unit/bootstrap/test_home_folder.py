"""The server's home folder is closed to all other accounts, whoever made it and whatever the umask is."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.bootstrap.home_folder import archive_key, identity, lock_home, make_home

pytestmark = pytest.mark.fast


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(home: Path) -> list[str]:
    return [str(path.relative_to(home)) for path in home.rglob("*") if stat.S_IMODE(path.stat().st_mode) & 0o077]


@pytest.mark.usefixtures("open_umask")
def test_nothing_in_the_home_folder_is_open_to_other_accounts(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make_home(home)
    identity(home)
    archive_key(home)
    with lock_home(home):
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert open_to_others(home) == []


def test_folders_that_were_left_open_are_closed(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir(mode=0o755)
    (tmp_path / "server.lock").write_text("")
    make_home(tmp_path)
    with lock_home(tmp_path):
        assert open_to_others(tmp_path) == []
