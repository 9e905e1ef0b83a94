"""No path gets out of its root: not by `..`, not by links, not by somebody who swaps folders and links meanwhile."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.agent.errors import AgentError
from muster.agent.files.confined import MAX_DEPTH
from tests.unit.agent.asking_filing import Files
from tests.unit.agent.swapping import Swapping

pytestmark = pytest.mark.fast

SECRET = b"nobody may read this"
READERS = ("fs_list", "fs_stat", "fs_read")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Beside the root; looks the same before and after each test."""
    folder = tmp_path / "outside"
    (folder / "below").mkdir(parents=True)
    (folder / "secret").write_bytes(SECRET)
    (folder / "below" / "file").write_bytes(SECRET)
    return folder


@pytest.fixture
def files(tmp_path: Path, outside: Path) -> Files:
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "file").write_bytes(b"inside")
    (root / "a" / "b" / "deep").write_bytes(b"deep")
    return Files(root)


def looks(folder: Path) -> list[tuple[str, bytes]]:
    return sorted((str(path), path.read_bytes() if path.is_file() else b"") for path in folder.rglob("*"))


def every_code(files: Files, path: str) -> set[str]:
    """How each operation on the path is refused."""
    root = str(files.root)
    upload = {"upload": "upload00"}
    return {
        files.code("fs_list", path, limit=10),
        files.code("fs_stat", path),
        files.code("fs_read", path, offset=0, limit=10),
        files.code("fs_digest", path),
        files.code("fs_usage", path),
        files.code("fs_received", f"{path}/x", **upload),
        files.code("fs_write", f"{path}/x", offset=0, data=b"", **upload),
        files.code("fs_commit", f"{path}/x", size=0, sha256="0" * 64, **upload),
        files.code("fs_abort", f"{path}/x", **upload),
        files.code("fs_mkdir", f"{path}/x"),
        files.code("fs_mkdir", f"{path}/x/y", parents=True),
        files.code("fs_move", f"{path}/secret", to_root=root, to_path="stolen"),
        files.code("fs_move", "a/file", to_root=root, to_path=f"{path}/x"),
        files.code("fs_copy", path, to_root=root, to_path="stolen", recursive=True),
        files.code("fs_copy", "a/file", to_root=root, to_path=f"{path}/x"),
        files.code("fs_remove", f"{path}/secret", recursive=True),
    }


@pytest.mark.parametrize("path", ["..", "../outside", "a/../../outside", "a/b/../../../outside", "./../outside"])
def test_dots_lead_nowhere(files: Files, outside: Path, path: str) -> None:
    before = looks(outside)
    assert every_code(files, path) == {"outside"}
    assert looks(outside) == before


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("depth", ["", "a/", "a/b/"])
def test_a_link_to_outside_is_refused_by_every_operation(
    files: Files, outside: Path, absolute: bool, depth: str
) -> None:
    place = files.root / f"{depth}door"
    place.symlink_to(outside if absolute else os.path.relpath(outside, place.parent))
    before = looks(outside)
    assert every_code(files, f"{depth}door") == {"outside"}
    assert every_code(files, f"{depth}door/below") == {"outside"}
    assert looks(outside) == before


def test_links_that_lean_on_each_other_do_not_get_out(files: Files, outside: Path) -> None:
    (files.root / "one").symlink_to("a/b")
    (files.root / "two").symlink_to("one/../../../outside")
    (files.root / "three").symlink_to("two")
    assert every_code(files, "three") == {"outside"}


def test_a_path_that_only_begins_like_the_root_is_outside(files: Files, tmp_path: Path) -> None:
    (tmp_path / "root-too").mkdir()
    (files.root / "door").symlink_to(tmp_path / "root-too")
    assert files.code("fs_list", "door", limit=1) == "outside"


@pytest.mark.parametrize("target", ["a", "./a/b/..", "a/../a", "{root}/a", "{root}/a/b/../../a", "{root}/./a/"])
def test_a_link_that_stays_inside_is_followed(files: Files, target: str) -> None:
    (files.root / "door").symlink_to(target.format(root=files.root))
    assert files.content("door/file") == b"inside"
    assert files.names("door") == ["b", "file"]


def test_a_link_below_a_root_that_is_itself_behind_a_link_is_followed(files: Files, tmp_path: Path) -> None:
    (tmp_path / "shown").symlink_to(files.root)
    (files.root / "door").symlink_to(files.root / "a")
    assert Files(tmp_path / "shown").content("door/file") == b"inside"


def test_links_in_a_circle_end(files: Files) -> None:
    (files.root / "one").symlink_to("two")
    (files.root / "two").symlink_to("one")
    assert files.code("fs_stat", "one") == "not-a-folder"
    assert files.code("fs_list", "one/x", limit=1) == "not-a-folder"


def test_folders_that_are_too_deep_are_refused_and_no_descriptor_stays_open(files: Files) -> None:
    folder = os.open(files.root, os.O_RDONLY)
    for _ in range(MAX_DEPTH + 5):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    (files.root / "long").symlink_to("d/" * 50 + "x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert files.code("fs_stat", "/".join("d" * (MAX_DEPTH + 1))) == "too-deep"
    assert files.code("fs_remove", "d", recursive=True) == "too-deep"
    assert files.code("fs_stat", "long") == "not-found"
    assert files.code("fs_stat", "d/d/d") == "done"
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_devices_pipes_and_sockets_are_never_opened(files: Files, tmp_path: Path) -> None:
    """A pipe without a writer would hold whoever opens it for ever."""
    os.mkfifo(files.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(files.root)
        listening.bind("socket")
        os.chdir(here)
    for name in ("pipe", "socket"):
        assert files.ask("fs_stat", name)["kind"] == "other"
        assert files.code("fs_read", name, offset=0, limit=1) == "not-a-file"
        assert files.code("fs_digest", name) == "not-a-file"
        assert files.code("fs_copy", name, to_root=str(files.root), to_path="x") == "not-a-file"
    os.mkfifo(files.root / ".muster-upload-upload00")
    assert files.code("fs_write", "new", upload="upload00", offset=0, data=b"") == "not-a-file"
    assert files.copy("", "copy", to_root=tmp_path, recursive=True)["skipped"] == 2


def test_a_second_name_of_a_file_outside_is_not_written_through(files: Files, outside: Path) -> None:
    os.link(outside / "secret", files.root / ".muster-upload-upload00")
    size = len(SECRET)
    assert files.code("fs_write", "new", upload="upload00", offset=size, data=b"\0\0\0") == "not-a-file"
    assert (outside / "secret").read_bytes() == SECRET


def test_a_link_in_place_of_the_partial_file_is_not_followed(files: Files, outside: Path) -> None:
    (files.root / ".muster-upload-upload00").symlink_to(outside / "new")
    assert files.code("fs_write", "new", upload="upload00", offset=0, data=b"\0\0\0") != "done"
    assert not (outside / "new").exists()


INSIDE = ("..", ".", "", "a", "b", "file", "door", "abs", "loop", "up", "outside", "\0", "\udcff", "...")
NEW_PATHS = st.one_of(st.lists(st.sampled_from(INSIDE), max_size=8).map("/".join), st.text(max_size=40))
PATHS = st.one_of(NEW_PATHS, st.lists(st.sampled_from((*INSIDE, "secret", "below")), max_size=8).map("/".join))


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=PATHS, to=NEW_PATHS)
def test_no_path_string_escapes(files: Files, outside: Path, path: str, to: str) -> None:
    for name, target in (("door", outside), ("abs", "/"), ("loop", "loop"), ("up", "..")):
        if not os.path.lexists(files.root / name):
            (files.root / name).symlink_to(target)
    before = looks(outside)
    siblings = sorted(files.root.parent.iterdir())
    for op in READERS:
        more = {"limit": 100, "offset": 0}
        try:
            answer = files.ask(op, path, **more)
        except AgentError:
            continue
        assert "secret" not in [entry["name"] for entry in answer.get("entries", ())]
    changes: tuple[Callable[[], object], ...] = (
        lambda: files.put(to, b"x", overwrite=True),
        lambda: files.ask("fs_mkdir", to, parents=True),
        lambda: files.copy(path, to, recursive=True, overwrite=True),
        lambda: files.ask("fs_move", path, to_root=str(files.root), to_path=to, overwrite=True),
        lambda: files.whole("fs_remove", path, recursive=True),
    )
    for change in changes:
        try:
            change()
        except AgentError:
            continue
    assert looks(outside) == before
    assert sorted(files.root.parent.iterdir()) == siblings
    copies = [path for path in files.root.rglob("*") if not path.is_symlink() and path.is_file()]
    assert all(SECRET not in path.read_bytes() for path in copies)


def test_nothing_outside_is_touched_while_a_folder_and_a_link_take_turns(tmp_path: Path, outside: Path) -> None:
    root = tmp_path / "root"
    (root / "work" / "below").mkdir(parents=True)
    files = Files(root)
    before = looks(outside)
    swapping = Swapping(root, outside)
    swapping.start()
    try:
        turns = 0
        while swapping.is_alive() and (turns < 300 or swapping.swaps < 200):
            _tries_everything(files)
            turns += 1
    finally:
        swapping.stop()
    assert turns >= 300
    assert swapping.swaps >= 200
    assert looks(outside) == before
    copies = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert all(path.read_bytes() != SECRET for path in copies)


def _tries_everything(files: Files) -> None:
    """With the names that there are outside, too."""
    root = str(files.root)
    for op, path, more in (
        ("fs_list", "work", {"limit": 100}),
        ("fs_list", "work/below", {"limit": 100}),
        ("fs_read", "work/secret", {"offset": 0, "limit": 100}),
        ("fs_read", "work/below/file", {"offset": 0, "limit": 100}),
        ("fs_digest", "work/secret", {}),
        ("fs_usage", "", {}),
        ("fs_mkdir", "work/made", {}),
        ("fs_mkdir", "work/below/more/and/more", {"parents": True}),
        ("fs_write", "work/new", {"upload": "upload00", "offset": 0, "data": b"\0\0\0", "overwrite": True}),
        ("fs_commit", "work/new", {"upload": "upload00", "size": 3, "sha256": "0" * 64}),
        ("fs_copy", "work", {"to_root": root, "to_path": "copy", "recursive": True, "overwrite": True}),
        ("fs_copy", "copy", {"to_root": root, "to_path": "work/copy", "recursive": True, "overwrite": True}),
        ("fs_move", "work/secret", {"to_root": root, "to_path": "stolen"}),
        ("fs_move", "work/below/file", {"to_root": root, "to_path": "stolen"}),
        ("fs_remove", "work/below", {"recursive": True}),
        ("fs_remove", "work/secret", {}),
        ("fs_remove", "copy", {"recursive": True}),
        ("fs_remove", "work/copy", {"recursive": True}),
    ):
        try:
            answer = files.ask(op, path, **more)
        except AgentError:
            continue
        assert "secret" not in [entry["name"] for entry in answer.get("entries", ())]
        assert "data" not in answer
