"""The agent makes its folders only where no other account can put something in their place."""

import os
import pwd
import stat
from pathlib import Path

import pytest

from muster.agent.own_folders import UnsafeFolder, own_folder, shared_root

pytestmark = pytest.mark.fast
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders to others")
NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return _folder(tmp_path / "shared", 0o1777)


def test_own_folders_are_made_for_this_account_only_and_used_again(shared: Path) -> None:
    assert shared_root(str(shared)) == str(shared)
    for _ in range(2):
        made = Path(own_folder(str(shared), "agents"))
        assert stat.S_IMODE(made.lstat().st_mode) == 0o700


def test_shared_folder_is_made_if_the_folder_around_it_is_there(tmp_path: Path) -> None:
    assert shared_root(str(tmp_path / "new")) == str(tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) & 0o022 == 0


def test_shared_folder_is_not_made_if_the_folder_around_it_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFolder, match=f"{tmp_path}/nope/x does not exist, and neither does {tmp_path}/nope: make"):
        shared_root(str(tmp_path / "nope/x"))
    assert not (tmp_path / "nope").exists()


def test_file_in_place_of_the_shared_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnsafeFolder, match="file is not a folder"):
        shared_root(str(tmp_path / "file"))


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_shared_folder_that_all_can_write_is_refused_without_the_sticky_bit(tmp_path: Path, mode: int) -> None:
    open_to_all = _folder(tmp_path / "open", mode)
    with pytest.raises(UnsafeFolder, match=rf"{open_to_all} of \S+ can be written by other accounts.*chmod \+t"):
        shared_root(str(open_to_all))


@pytest.mark.parametrize("mode", [0o755, 0o711, 0o775, 0o1777])
def test_shared_folder_whose_entries_nobody_else_can_replace_is_taken(tmp_path: Path, mode: int) -> None:
    assert shared_root(str(_folder(tmp_path / "fine", mode)))


@as_root
def test_shared_folder_that_another_group_can_write_is_refused(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "group", 0o775)
    os.chown(folder, -1, NOBODY.pw_gid)
    with pytest.raises(UnsafeFolder, match="can be written by other accounts"):
        shared_root(str(folder))


@as_root
def test_shared_folder_of_somebody_else_is_refused(shared: Path) -> None:
    os.chown(shared, NOBODY.pw_uid, -1)
    with pytest.raises(UnsafeFolder, match=f"the folder {shared} belongs to nobody, .*: remove it, or name another"):
        shared_root(str(shared))


@as_root
@pytest.mark.parametrize("inside", ["m", "a/b/m"])
def test_shared_folder_in_a_folder_of_somebody_else_is_refused(tmp_path: Path, inside: str) -> None:
    theirs = _folder(tmp_path / "theirs", 0o755)
    (theirs / inside).mkdir(parents=True)
    os.chown(theirs, NOBODY.pw_uid, -1)
    with pytest.raises(UnsafeFolder, match=f"the folder {theirs}, on the way to {theirs}/{inside}, belongs to nobody"):
        shared_root(str(theirs / inside))


@as_root
def test_shared_folder_is_not_made_in_a_folder_of_somebody_else(tmp_path: Path) -> None:
    theirs = _folder(tmp_path / "theirs", 0o755)
    os.chown(theirs, NOBODY.pw_uid, -1)
    with pytest.raises(UnsafeFolder, match="belongs to nobody"):
        shared_root(str(theirs / "m"))
    assert list(theirs.iterdir()) == []


def test_shared_folder_in_a_folder_that_all_can_write_needs_the_sticky_bit(tmp_path: Path) -> None:
    around = _folder(tmp_path / "around", 0o777)
    inside = _folder(around / "m", 0o755)
    with pytest.raises(UnsafeFolder, match=rf"the folder {around}, on the way to .*chmod \+t"):
        shared_root(str(inside))
    around.chmod(0o1777)
    assert shared_root(str(inside)) == str(inside)


@as_root
def test_folder_of_somebody_else_in_a_sticky_one_is_refused_on_the_way(tmp_path: Path) -> None:
    theirs = _folder(_folder(tmp_path / "sticky", 0o1777) / "theirs", 0o755)
    _folder(theirs / "m", 0o755)
    os.chown(theirs, NOBODY.pw_uid, -1)
    with pytest.raises(UnsafeFolder, match=f"the folder {theirs}, on the way"):
        shared_root(str(theirs / "m"))


@as_root
def test_link_on_the_way_does_not_hide_a_folder_of_somebody_else(tmp_path: Path) -> None:
    theirs = _folder(tmp_path / "theirs", 0o755)
    _folder(_folder(theirs / "inside", 0o755) / "m", 0o755)
    os.chown(theirs, NOBODY.pw_uid, -1)
    (tmp_path / "link").symlink_to("theirs/inside")
    with pytest.raises(UnsafeFolder, match=f"the folder {theirs}, on the way to {tmp_path}/link/m"):
        shared_root(str(tmp_path / "link/m"))


def test_links_on_the_way_are_followed(tmp_path: Path) -> None:
    _folder(_folder(tmp_path / "real", 0o755) / "m", 0o755)
    (tmp_path / "absolute").symlink_to(tmp_path / "real")
    (tmp_path / "real/back").symlink_to("../absolute/m")
    assert shared_root(str(tmp_path / "absolute/back")) == str(tmp_path / "real/m")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UnsafeFolder, match="too many links"):
        shared_root(str(tmp_path / "loop"))


def test_own_link_to_the_shared_folder_is_followed(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("shared")
    assert shared_root(str(tmp_path / "link")) == str(shared)


@as_root
def test_link_of_somebody_else_to_the_shared_folder_is_refused(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").symlink_to(shared)
    os.lchown(tmp_path / "theirs", NOBODY.pw_uid, -1)
    (tmp_path / "ours").symlink_to("theirs")
    for name in ("theirs", "ours"):
        with pytest.raises(UnsafeFolder, match=f"the link {tmp_path}/theirs belongs to nobody"):
            shared_root(str(tmp_path / name))


def test_link_in_place_of_an_own_folder_is_refused(shared: Path, tmp_path: Path) -> None:
    (shared / "agents").symlink_to(_folder(tmp_path / "elsewhere", 0o700))
    with pytest.raises(UnsafeFolder, match=f"{shared}/agents, which belongs to .* is not a folder: .*remove it"):
        own_folder(str(shared), "agents")


def test_link_that_leads_nowhere_is_not_followed(shared: Path, tmp_path: Path) -> None:
    (shared / "agents").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafeFolder, match="is not a folder"):
        own_folder(str(shared), "agents")
    assert not (tmp_path / "elsewhere").exists()


@as_root
def test_own_folder_that_somebody_else_has_prepared_is_refused(shared: Path) -> None:
    os.chown(_folder(shared / "agents", 0o755), NOBODY.pw_uid, -1)
    with pytest.raises(UnsafeFolder, match=f"{shared}/agents, which belongs to nobody, is not of root"):
        own_folder(str(shared), "agents")


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_own_folder_that_others_can_write_is_refused(shared: Path, mode: int) -> None:
    _folder(shared / "agents", mode)
    with pytest.raises(UnsafeFolder, match="can be written by other accounts"):
        own_folder(str(shared), "agents")


def _folder(path: Path, mode: int) -> Path:
    path.mkdir()
    path.chmod(mode)
    return path
