"""A folder becomes the same archive everywhere, holds what it should, and the agent that unpacks it agrees."""

import hashlib
import os
import socket
import tarfile
from pathlib import Path

import pytest

from muster.agent.tasks.packages import unpack
from muster.client import MusterError
from muster.client.packing import list_entries, pack

pytestmark = pytest.mark.fast


def folder(root: Path, **files: str) -> Path:
    """`a__b=…` is the file a/b."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    root.mkdir(exist_ok=True)
    return root


def names(root: Path) -> list[str]:
    return [entry.relative for entry in list_entries(root)]


def digest(root: Path) -> str:
    with pack(root) as package:
        return package.digest


def test_digest_depends_on_contents_alone(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", a="1", sub__b="2")
    two = folder(tmp_path / "two", sub__b="2", a="1")
    os.utime(two / "a", (1, 1))
    (two / "a").chmod(0o600)
    assert digest(one) == digest(two)


def test_digest_changes_with_content_name_and_execution(tmp_path: Path) -> None:
    base = folder(tmp_path / "base", a="1")
    seen = {digest(base)}
    (base / "a").write_text("2")
    seen.add(digest(base))
    (base / "a").rename(base / "b")
    seen.add(digest(base))
    (base / "b").chmod(0o755)
    seen.add(digest(base))
    assert len(seen) == 4


def test_digest_is_of_the_archive(tmp_path: Path) -> None:
    with pack(folder(tmp_path / "f", a="1")) as package:
        content = package.file.read()
    assert hashlib.sha256(content).hexdigest() == package.digest
    assert len(content) == package.size


def test_archive_names_no_person_and_no_time(tmp_path: Path) -> None:
    with (
        pack(folder(tmp_path / "f", sub__a="1")) as package,
        tarfile.open(fileobj=package.file, mode="r:gz") as tar,
    ):
        members = tar.getmembers()
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members} == {(0, 0, "", "", 0)}
    assert [m.name for m in members] == ["sub", "sub/a"]


def test_agent_unpacks_what_was_packed(tmp_path: Path) -> None:
    source = folder(tmp_path / "f", run__sh="#!/bin/sh", data="x" * 100_000, **{"名字": "字"})
    (source / "run/sh").chmod(0o755)
    (source / "link").symlink_to(source / "run" / "sh")
    (source / "empty").mkdir()
    with pack(source) as package:
        (tmp_path / "archive").write_bytes(package.file.read())
    target = tmp_path / "target"
    unpack(str(tmp_path / "archive"), package.digest, str(target))
    assert (target / "data").read_text() == "x" * 100_000
    assert (target / "名字").read_text() == "字"
    assert os.access(target / "run/sh", os.X_OK)
    assert (target / "link").readlink() == Path("run/sh")
    assert (target / "empty").is_dir()


def test_ignored_files_stay_at_home(tmp_path: Path) -> None:
    root = folder(tmp_path / "f", a__py="1", a__x="1", data__big="1")
    (root / "notes.log").write_text("")
    (root / "keep.log").write_text("")
    (root / ".gitignore").write_text("# comment\n*.log\n!keep.log\n/data/\n")
    assert names(root) == [".gitignore", "a", "a/py", "a/x", "keep.log"]


def test_musterignore_speaks_after_gitignore(tmp_path: Path) -> None:
    root = folder(tmp_path / "f", weights="1", docs__a="1", code="1")
    (root / ".gitignore").write_text("weights\n")
    (root / ".musterignore").write_text("!weights\ndocs/\n")
    assert names(root) == [".gitignore", ".musterignore", "code", "weights"]


def test_ignore_file_of_a_subfolder_holds_there_only(tmp_path: Path) -> None:
    root = folder(tmp_path / "f", a__tmp="1", b__tmp="1")
    (root / "a/.gitignore").write_text("/tmp\n")
    assert names(root) == ["a", "a/.gitignore", "b", "b/tmp"]


def test_subfolder_can_bring_back_what_a_folder_above_ignores(tmp_path: Path) -> None:
    root = folder(tmp_path / "f", a__x="1", b__x="1")
    (root / ".gitignore").write_text("x\n")
    (root / "a/.gitignore").write_text("!x\n")
    assert names(root) == [".gitignore", "a", "a/.gitignore", "a/x", "b"]


def test_histories_caches_and_environments_are_always_left_out(tmp_path: Path) -> None:
    root = folder(tmp_path / "f", main="1", sub__x="1")
    for name in (".git", "__pycache__", ".venv", "sub/__pycache__"):
        (root / name).mkdir()
        (root / name / "inside").write_text("")
    assert names(root) == ["main", "sub", "sub/x"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "sub/../../outside"])
def test_link_that_leads_out_is_refused_by_name(tmp_path: Path, target: str) -> None:
    root = folder(tmp_path / "f", sub__a="1")
    (root / "away").symlink_to(target)
    with pytest.raises(MusterError, match="away is a link that leads out") as caught:
        pack(root)
    assert ".musterignore" in caught.value.hint


def test_ignored_link_may_lead_anywhere(tmp_path: Path) -> None:
    root = folder(tmp_path / "f", a="1")
    (root / "away").symlink_to("/etc")
    (root / ".musterignore").write_text("away\n")
    assert names(root) == [".musterignore", "a"]


def test_link_to_a_folder_inside_is_kept_as_a_link(tmp_path: Path) -> None:
    root = folder(tmp_path / "f", sub__a="1")
    (root / "loop").symlink_to(root)
    (root / "sub" / "up").symlink_to(root / "sub")
    assert {entry.relative: entry.link for entry in list_entries(root) if entry.link} == {"loop": ".", "sub/up": "."}


def test_sockets_and_pipes_are_passed_over(tmp_path: Path) -> None:
    root = folder(tmp_path / "f", a="1")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
        assert names(root) == ["a"]


def test_too_large_a_folder_is_refused_with_its_biggest_files(tmp_path: Path) -> None:
    root = folder(tmp_path / "f", small="1", big="x" * 3000, bigger="x" * 5000)
    with pytest.raises(MusterError) as caught:
        pack(root, limit_bytes=4096)
    assert caught.value.code == "too-large"
    assert caught.value.hint.index("bigger (4.9 KiB)") < caught.value.hint.index("big (2.9 KiB)")


def test_missing_folder_and_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("absent", "file"):
        with pytest.raises(MusterError, match="is not a folder"):
            pack(tmp_path / name)
