"""Uploads that nobody finishes: kept for a day, removed when the next one begins, never counted as somebody's files."""

import os
import threading
import time
from pathlib import Path

import pytest

from muster.agent.files.confined import listing
from muster.agent.files.leftovers import KEPT_S, PARTIAL_PREFIX, Leftovers
from tests.unit.agent.asking_filing import Files

pytestmark = pytest.mark.fast


class Clock:
    """Goes on from now by hand; files have the times of the disk."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def files(tmp_path: Path, clock: Clock) -> Files:
    (tmp_path / "root" / "folder").mkdir(parents=True)
    return Files(tmp_path / "root", Leftovers(clock))


def partials(folder: Path) -> list[str]:
    return sorted(path.name.removeprefix(PARTIAL_PREFIX) for path in folder.glob(f"{PARTIAL_PREFIX}*"))


def test_an_upload_that_nobody_goes_on_with_is_removed_when_another_begins(files: Files, clock: Clock) -> None:
    files.write("old", 0, b"half", upload="older000")
    clock.ahead = KEPT_S - 60
    files.write("new", 0, b"half", upload="newer000")
    assert partials(files.root) == ["newer000", "older000"]
    clock.ahead = 2 * KEPT_S
    os.utime(files.root / f"{PARTIAL_PREFIX}newer000", (clock(), clock()))
    files.write("newest", 0, b"half", upload="newest00")
    assert partials(files.root) == ["newer000", "newest00"]


def test_other_folders_and_other_names_are_left_alone(files: Files, clock: Clock) -> None:
    files.write("folder/old", 0, b"half", upload="older000")
    kept = [f"{PARTIAL_PREFIX}short", f"{PARTIAL_PREFIX}NOT-A-KEY", ".muster-marker", "old"]
    for name in kept:
        (files.root / name).touch()
    clock.ahead = 2 * KEPT_S
    files.write("new", 0, b"half", upload="newer000")
    assert partials(files.root / "folder") == ["older000"]
    assert all((files.root / name).exists() for name in kept)


def test_neither_links_nor_what_they_lead_to_are_removed(files: Files, clock: Clock, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / f"{PARTIAL_PREFIX}older000").touch()
    (files.root / f"{PARTIAL_PREFIX}link0000").symlink_to(outside / f"{PARTIAL_PREFIX}older000")
    (files.root / f"{PARTIAL_PREFIX}door0000").symlink_to(outside)
    (files.root / f"{PARTIAL_PREFIX}folder00").mkdir()
    clock.ahead = 2 * KEPT_S
    files.write("new", 0, b"half", upload="newer000")
    assert partials(files.root) == ["door0000", "folder00", "link0000", "newer000"]
    assert partials(outside) == ["older000"]


def test_an_upload_that_is_gone_on_with_after_days_is_kept(files: Files, clock: Clock) -> None:
    """Checking what is there of a large one takes long, and nothing is written meanwhile."""
    files.write("old", 0, b"half", upload="older000")
    clock.ahead = 2 * KEPT_S
    assert files.ask("fs_received", "old", upload="older000")["size"] == 4
    clock.ahead = 2 * KEPT_S + 3600
    files.write("new", 0, b"half", upload="newer000")
    assert partials(files.root) == ["newer000", "older000"]


def test_what_somebody_works_at_is_not_removed(tmp_path: Path, clock: Clock) -> None:
    for name in ("written0", "forgotten"):
        (tmp_path / f"{PARTIAL_PREFIX}{name}").touch()
    clock.ahead = 2 * KEPT_S
    turns = {f"{PARTIAL_PREFIX}written0": threading.Lock(), f"{PARTIAL_PREFIX}forgotten": threading.Lock()}
    folder = os.open(tmp_path, os.O_RDONLY)
    with turns[f"{PARTIAL_PREFIX}written0"], listing(folder) as fd:
        Leftovers(clock).remove_old(fd, turns.__getitem__)
    os.close(folder)
    assert partials(tmp_path) == ["written0"]
    assert not any(turn.locked() for turn in turns.values())


def test_a_folder_is_searched_once_in_a_while_and_not_without_end(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path, Leftovers(clock, most_names=3))
    searches: list[int] = []
    real = os.scandir

    def counted(folder: int) -> object:
        searches.append(folder)
        return real(folder)

    monkeypatch.setattr(os, "scandir", counted)
    for number in range(10):
        files.write(f"file{number}", 0, b"half", upload=f"upload{number:02}")
    assert len(searches) == 1
    clock.ahead = 2 * KEPT_S
    files.write("new", 0, b"half", upload="newer000")
    assert len(searches) == 2
    assert len(partials(files.root)) == 11 - 3


def test_uploads_are_no_files_in_lists_counts_and_copies(files: Files) -> None:
    (files.root / "folder" / "file").write_bytes(b"12345")
    (files.root / "folder" / ".muster-marker").write_bytes(b"marker")
    files.write("folder/new", 0, b"half of it")
    kinds = {entry["name"]: entry["kind"] for entry in files.ask("fs_list", "folder", limit=10)["entries"]}
    assert (kinds[f"{PARTIAL_PREFIX}upload00"], kinds["file"]) == ("upload", "file")
    used = files.whole("fs_usage", "folder")
    assert (used["files"], used["bytes"], used["unfinished"]) == (1, 5, 10)
    files.copy("folder", "copy", recursive=True)
    assert files.names("copy") == ["file"]


def test_a_folder_with_nothing_but_uploads_says_why_it_stays(files: Files) -> None:
    files.write("folder/new", 0, b"half")
    with pytest.raises(Exception, match="only uploads that nobody has finished"):
        files.ask("fs_remove", "folder")
    files.whole("fs_remove", f"folder/{PARTIAL_PREFIX}upload00")
    files.whole("fs_remove", "folder")
    assert files.names() == []


def test_nobody_puts_a_file_under_the_name_of_an_upload(files: Files) -> None:
    name = f"{PARTIAL_PREFIX}somebody"
    assert files.code("fs_write", name, upload="upload00", offset=0, data=b"\0") == "denied"
    assert files.code("fs_mkdir", name) == "denied"
    (files.root / "file").touch()
    assert files.move_code("file", name) == "denied"
