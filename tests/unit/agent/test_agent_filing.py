"""What the agent does with files: listing, reading, writing in pieces, trees in steps."""

import hashlib
import os
from pathlib import Path

import pytest

from muster.agent.errors import AgentError
from muster.agent.files.folder_checks import MARKER
from muster.agent.files.stepwise import Runs, Work
from tests.unit.agent.asking_filing import Files

pytestmark = pytest.mark.fast


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "root").mkdir()
    return Files(tmp_path / "root")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_large_folder_is_listed_page_by_page_each_name_once(files: Files) -> None:
    names = sorted(f"file-{number}" for number in range(257))
    for name in names:
        (files.root / name).touch()
    listed: list[str] = []
    after: str | None = ""
    while after is not None:
        page = files.ask("fs_list", "", limit=100, after=after)
        listed += [entry["name"] for entry in page["entries"]]
        after = page["next"]
    assert listed == names


def test_a_list_tells_kinds_sizes_and_what_links_say(files: Files) -> None:
    (files.root / "folder").mkdir()
    (files.root / "file").write_bytes(b"12345")
    (files.root / "link").symlink_to("/somewhere/else")
    found = {entry["name"]: entry for entry in files.ask("fs_list", "", limit=10)["entries"]}
    assert [(name, entry["kind"]) for name, entry in found.items()] == [
        ("file", "file"),
        ("folder", "folder"),
        ("link", "link"),
    ]
    assert found["file"]["size"] == 5
    assert found["link"]["target"] == "/somewhere/else"


def test_the_marker_of_a_folder_is_not_listed(files: Files) -> None:
    (files.root / MARKER).write_text("muster one\n")
    (files.root / "mine").write_text("")
    assert [entry["name"] for entry in files.ask("fs_list", "", limit=10)["entries"]] == ["mine"]


def test_a_name_that_is_no_text_is_shown_and_removed_with_its_folder(files: Files) -> None:
    (files.root / "folder").mkdir()
    (files.root / "folder" / os.fsdecode(b"bad-\xff")).touch()
    (entry,) = files.ask("fs_list", "folder", limit=10)["entries"]
    assert (entry["name"], entry["kind"]) == ("bad-\\xff", "other")
    files.whole("fs_remove", "folder", recursive=True)
    assert files.names() == []


def test_pieces_become_a_file_when_the_last_one_is_committed(files: Files) -> None:
    assert files.write("new", 0, b"one ")["size"] == 4
    assert files.write("new", 4, b"two")["size"] == 7
    assert "new" not in files.names()
    files.whole("fs_commit", "new", upload="upload00", size=7, sha256=sha256(b"one two"))
    assert files.names() == ["new"]
    assert files.content("new") == b"one two"


@pytest.mark.parametrize("offset", [0, 3, 5])
def test_a_piece_at_a_wrong_place_is_told_where_to_go_on(files: Files, offset: int) -> None:
    files.write("new", 0, b"1234")
    assert files.write("new", offset, b"x") == {"size": 4, "written": False}
    assert files.ask("fs_received", "new", upload="upload00")["size"] == 4


def test_bytes_with_another_digest_get_no_name_and_are_dropped(files: Files) -> None:
    files.write("new", 0, b"wrong")
    assert files.code("fs_commit", "new", upload="upload00", size=5, sha256=sha256(b"right")) == "digest"
    assert files.names() == []


def test_a_commit_whose_answer_was_lost_may_be_repeated(files: Files) -> None:
    files.put("new", b"data")
    answer = files.whole("fs_commit", "new", upload="upload00", size=4, sha256=sha256(b"data"))
    assert answer["done"]


def test_nothing_is_overwritten_unless_asked(files: Files) -> None:
    (files.root / "old").write_bytes(b"old")
    assert files.code("fs_write", "old", upload="upload00", offset=0, data=b"\0\0\0") == "exists"
    files.put("new", b"new")
    assert files.move_code("new", "old") == "exists"
    assert files.code("fs_copy", "new", to_root=str(files.root), to_path="old") == "exists"
    assert files.content("old") == b"old"
    files.put("old", b"newer", overwrite=True)
    assert files.content("old") == b"newer"


def test_a_target_that_appears_before_the_commit_is_not_replaced(files: Files) -> None:
    files.write("new", 0, b"mine")
    (files.root / "new").write_bytes(b"theirs")
    assert files.code("fs_commit", "new", upload="upload00", size=4, sha256=sha256(b"mine")) == "exists"
    assert files.content("new") == b"theirs"
    files.whole("fs_commit", "new", upload="upload00", size=4, sha256=sha256(b"mine"), overwrite=True)
    assert files.content("new") == b"mine"


def test_an_aborted_upload_leaves_nothing(files: Files) -> None:
    files.write("new", 0, b"1234")
    files.ask("fs_abort", "new", upload="upload00")
    files.ask("fs_abort", "new", upload="upload00")
    assert list(files.root.iterdir()) == []


def test_an_executable_is_one_afterwards(files: Files) -> None:
    files.put("script", b"#!/bin/sh\n", executable=True)
    assert files.ask("fs_stat", "script")["mode"] & 0o111 == 0o111 & ~_umask()


def test_the_digest_of_a_beginning_and_of_a_part_that_was_received(files: Files) -> None:
    (files.root / "file").write_bytes(b"abcdef")
    files.write("new", 0, b"abc")
    assert files.whole("fs_digest", "file")["sha256"] == sha256(b"abcdef")
    assert files.whole("fs_digest", "file", length=3)["sha256"] == sha256(b"abc")
    assert files.whole("fs_digest", "new", upload="upload00")["sha256"] == sha256(b"abc")
    assert files.code("fs_digest", "file", length=7) == "changed"


def test_a_file_that_was_written_to_has_another_digest(files: Files) -> None:
    path = files.root / "file"
    for content in (b"one", b"two"):
        path.write_bytes(content)
        os.utime(path, (1000, 1000))
        assert files.whole("fs_digest", "file")["sha256"] == sha256(content)


def test_a_reader_is_told_when_the_file_changes(files: Files) -> None:
    (files.root / "file").write_bytes(b"before")
    version = files.ask("fs_read", "file", offset=0, limit=3)["version"]
    assert files.code("fs_read", "file", offset=3, limit=3, version=version) == "done"
    (files.root / "file").write_bytes(b"and after")
    assert files.code("fs_read", "file", offset=3, limit=3, version=version) == "changed"


def test_folders_are_made_with_those_above_only_when_asked(files: Files) -> None:
    assert files.code("fs_mkdir", "a/b/c") == "not-found"
    files.ask("fs_mkdir", "a/b/c", parents=True)
    files.ask("fs_mkdir", "a/b/c", parents=True)
    assert files.code("fs_mkdir", "a/b") == "exists"


def test_a_tree_is_copied_with_links_as_links_to_another_root(files: Files, tmp_path: Path) -> None:
    (files.root / "a" / "b").mkdir(parents=True)
    (files.root / "a" / "b" / "file").write_bytes(b"data")
    (files.root / "a" / "link").symlink_to("b/file")
    (tmp_path / "other").mkdir()
    done = files.copy("a", "copy", to_root=tmp_path / "other", recursive=True)
    assert (done["files"], done["folders"], done["bytes"]) == (2, 2, 4)
    assert (tmp_path / "other" / "copy" / "b" / "file").read_bytes() == b"data"
    assert (tmp_path / "other" / "copy" / "link").readlink() == Path("b/file")


def test_a_folder_is_copied_only_recursively_and_never_into_itself(files: Files) -> None:
    (files.root / "a" / "b").mkdir(parents=True)
    root = str(files.root)
    assert files.code("fs_copy", "a", to_root=root, to_path="x") == "is-a-folder"
    assert files.code("fs_copy", "a", to_root=root, to_path="a/b/x", recursive=True) == "bad-request"
    assert files.move_code("a", "a/b/x") == "bad-request"


def test_a_copy_over_a_tree_merges_when_asked(files: Files) -> None:
    for folder, text in (("new", b"new"), ("old", b"old")):
        (files.root / folder).mkdir()
        (files.root / folder / "both").write_bytes(text)
    (files.root / "old" / "only").write_bytes(b"only")
    files.copy("new", "old", recursive=True, overwrite=True)
    assert files.content("old/both") == b"new"
    assert files.content("old/only") == b"only"


def test_removing_takes_links_and_leaves_what_they_lead_to(files: Files) -> None:
    (files.root / "kept").mkdir()
    (files.root / "kept" / "file").touch()
    (files.root / "gone").mkdir()
    (files.root / "gone" / "link").symlink_to("../kept")
    (files.root / "link").symlink_to("kept")
    assert files.code("fs_remove", "kept") == "not-empty"
    files.whole("fs_remove", "gone", recursive=True)
    files.whole("fs_remove", "link", recursive=True)
    assert files.names() == ["kept"]
    assert files.names("kept") == ["file"]


@pytest.mark.parametrize("path", ["", "/", ".", "./."])
def test_the_root_itself_is_not_removed_moved_or_replaced(files: Files, path: str) -> None:
    assert files.code("fs_remove", path, recursive=True) == "bad-request"
    assert files.move_code(path, "x") == "bad-request"
    assert files.code("fs_mkdir", path, parents=True) == "bad-request"
    assert files.code("fs_write", path, upload="upload00", offset=0, data=b"") == "bad-request"


def test_files_of_the_platform_itself_are_not_changed(files: Files) -> None:
    (files.root / ".muster-marker").touch()
    assert files.code("fs_remove", ".muster-marker") == "denied"
    assert files.move_code(".muster-marker", "x") == "denied"


def test_usage_counts_links_as_themselves(files: Files) -> None:
    (files.root / "a").mkdir()
    (files.root / "a" / "file").write_bytes(b"12345")
    (files.root / "a" / "loop").symlink_to("..")
    done = files.whole("fs_usage", "")
    assert (done["files"], done["folders"]) == (2, 2)
    assert done["bytes"] == 5 + len("..")


def test_long_work_is_done_in_steps_and_goes_on_where_it_was() -> None:
    now = [0.0]

    def work() -> Work:
        for number in range(1, 6):
            now[0] += 0.6
            yield {"count": number}

    runs = Runs(lambda: now[0], step_s=1.0)
    answers: list[dict[str, object]] = []
    while not answers or not answers[-1]["done"]:
        answers.append(runs.step("key", work))
    assert [answer["count"] for answer in answers] == [2, 4, 5]
    assert runs.step("key", work)["count"] == 2


def test_work_whose_last_word_came_at_the_end_of_a_step_is_told_again_when_it_is_done() -> None:
    now = [0.0]

    def work() -> Work:
        now[0] += 2.0
        yield {"count": 1}

    runs = Runs(lambda: now[0], step_s=1.0)
    assert [runs.step("key", work) for _ in range(2)] == [{"count": 1, "done": False}, {"count": 1, "done": True}]


def test_what_nobody_asks_for_any_more_is_closed() -> None:
    now = [0.0]
    closed = []

    def work() -> Work:
        try:
            while True:
                now[0] += 1
                yield {}
        finally:
            closed.append(True)

    runs = Runs(lambda: now[0])
    runs.step("one", work)
    now[0] += 1000
    runs.step("two", work)
    assert closed == [True]


def test_one_user_leaves_room_for_the_long_operations_of_others() -> None:
    now = [0.0]

    def work() -> Work:
        while True:
            now[0] += 2.0
            yield {}

    runs = Runs(lambda: now[0], step_s=1.0)
    for number in range(4):
        runs.step(f"alice {number}", work, "alice")
    with pytest.raises(AgentError, match="4 long operations of yours"):
        runs.step("alice 4", work, "alice")
    assert runs.step("alice 0", work, "alice") == {"done": False}
    assert runs.step("bob", work, "bob") == {"done": False}


def test_work_that_fails_is_not_kept() -> None:
    def work() -> Work:
        yield {}
        raise AgentError("x", "failed")

    runs = Runs(step_s=1000)
    for _ in range(100):
        with pytest.raises(AgentError):
            runs.step("key", work)


def _umask() -> int:
    before = os.umask(0)
    os.umask(before)
    return before


def test_what_is_written_in_place_stays_in_its_folder_whatever_links_say(files: Files, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"kept")
    (files.root / "link").symlink_to(outside)
    (files.root / "dangling").symlink_to(tmp_path / "new")
    (files.root / "inside").symlink_to("file")
    (files.root / "file").write_bytes(b"12345")
    for name in ("link", "dangling"):
        with pytest.raises(AgentError):
            files.ask("fs_resize", name, size=1)
        with pytest.raises(AgentError):
            files.ask("fs_write_at", name, offset=0, data=b"bad")
    assert outside.read_bytes() == b"kept"
    assert not (tmp_path / "new").exists()
    files.ask("fs_write_at", "inside", offset=3, data=b"xyz")
    assert (files.root / "file").read_bytes() == b"123xyz"
    with pytest.raises(AgentError):
        files.ask("fs_resize", ".muster-own", size=1)
