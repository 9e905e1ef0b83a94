"""`muster fs`, as people type it, against a real server and its node."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster.cli.main import cli
from muster.client.files import Files
from muster.client.piece_upload import CHUNK_BYTES
from tests.integration.api.people import unique
from tests.integration.files.conftest import Cabinet


@pytest.fixture
def top(cabinet: Cabinet) -> str:
    """The name of a folder for one test."""
    name = unique("top")
    (cabinet.data / name).mkdir()
    return name


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    for number in range(3):
        (folder / f"d{number}" / "deep").mkdir(parents=True)
        (folder / f"d{number}" / "deep" / "file").write_text(f"{number}" * number)
    (folder / "empty").mkdir()
    return folder


NOTHING_ELSE = {"skipped": 0, "unfinished": 0, "complete": True}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(cabinet: Cabinet, *words: str, code: int = 1) -> str:
    done = cabinet.server.run("fs", *words)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr


def test_folders_and_files_are_listed(cabinet: Cabinet, top: str) -> None:
    (cabinet.data / top / "file").write_bytes(b"12345")
    (cabinet.data / top / "folder").mkdir()
    (cabinet.data / top / ".hidden").touch()
    (cabinet.data / top / "link").symlink_to("file")
    folders = cabinet.server.json("fs", "ls", "local:")["items"]
    assert [folder["name"] for folder in folders] == ["data", "scratch"]
    path = f"local:data/{top}"
    assert cabinet.server.run("fs", "ls", path, check=True).stdout.split() == ["file", "folder/", "link"]
    assert ".hidden" in cabinet.server.run("fs", "ls", "-a", path, check=True).stdout
    long = cabinet.server.run("fs", "ls", "-l", path, check=True).stdout
    assert "link -> file" in long
    assert [item["size"] for item in cabinet.server.json("fs", "ls", f"{path}/file")["items"]] == [5]


def test_a_tree_goes_there_and_comes_back_the_same(cabinet: Cabinet, top: str, tree: Path, tmp_path: Path) -> None:
    cabinet.server.run("fs", "put", "-r", str(tree), f"local:data/{top}/", check=True)
    assert contents(cabinet.data / top / "tree") == contents(tree)
    assert (cabinet.data / top / "tree" / "empty").is_dir()
    cabinet.server.run("fs", "get", "-r", f"local:data/{top}/tree", str(tmp_path / "back"), check=True)
    assert contents(tmp_path / "back") == contents(tree)


def test_a_tree_put_again_sends_only_what_is_new_and_refuses_what_differs(
    cabinet: Cabinet, top: str, tree: Path
) -> None:
    cabinet.server.run("fs", "put", "-r", str(tree), f"local:data/{top}/", check=True)
    cabinet.server.run("fs", "put", "-r", str(tree), f"local:data/{top}/", check=True)
    (tree / "d1" / "deep" / "file").write_text("changed")
    (tree / "new").write_text("new")
    told = refused(cabinet, "put", "-r", str(tree), f"local:data/{top}/")
    assert "1 of 4 files were not transferred" in told
    assert f"local:data/{top}/tree/d1/deep/file: it exists already" in told
    assert (cabinet.data / top / "tree" / "new").read_text() == "new"
    cabinet.server.run("fs", "put", "-r", "--force", str(tree), f"local:data/{top}/", check=True)
    assert contents(cabinet.data / top / "tree") == contents(tree)


def linked(folder: Path, outside: Path) -> None:
    """A folder with one file, three names for it, and four things that cannot travel."""
    outside.mkdir()
    (outside / "far").write_text("far")
    (folder / "sub").mkdir(parents=True)
    (folder / "file").write_text("data")
    (folder / "near").symlink_to("file")
    (folder / "sub" / "up").symlink_to("../file")
    (folder / "door").symlink_to("sub")
    (folder / "nowhere").symlink_to("no-such")
    (folder / "circle").symlink_to("circle")
    os.mkfifo(folder / "pipe")


LEFT = {"door": "is a link to a folder", "nowhere": "", "circle": "", "pipe": "is not a regular file"}


def check_left_out(said: str, document: dict[str, Any]) -> None:
    assert "4 left out, see the warnings above" in said
    told = {Path(lack["path"].rpartition(":")[2]).name: lack["why"] for lack in document["leftOut"]}
    assert told.keys() == LEFT.keys()
    for name, why in LEFT.items():
        assert why in told[name]
        assert f"/{name} {told[name]}" in said
    assert (document["files"], document["bytes"], document["refused"]) == (3, 12, [])


def test_links_to_files_are_put_as_files_and_all_else_is_left_out_and_counted(
    cabinet: Cabinet, top: str, tmp_path: Path
) -> None:
    linked(tmp_path / "tree", tmp_path / "outside")
    (tmp_path / "tree" / "file").chmod(0o644)
    done = cabinet.server.run("fs", "put", "-r", str(tmp_path / "tree"), f"local:data/{top}/", "-o", "json")
    assert done.returncode == 1
    check_left_out(done.stderr, json.loads(done.stdout))
    assert contents(cabinet.data / top / "tree") == {"file": b"data", "near": b"data", "sub/up": b"data"}


def test_links_to_files_come_as_files_and_all_else_is_left_out_and_counted(
    cabinet: Cabinet, top: str, tmp_path: Path
) -> None:
    linked(cabinet.data / top / "tree", tmp_path / "outside")
    done = cabinet.server.run("fs", "get", "-r", f"local:data/{top}/tree", str(tmp_path / "back"), "-o", "json")
    assert done.returncode == 1
    check_left_out(done.stderr, json.loads(done.stdout))
    assert contents(tmp_path / "back") == {"file": b"data", "near": b"data", "sub/up": b"data"}
    (cabinet.data / top / "tree" / "out").symlink_to(tmp_path / "outside" / "far")
    assert "tree/out cannot be read" in refused(cabinet, "get", "-r", f"local:data/{top}/tree", str(tmp_path / "2"))
    assert not (tmp_path / "2" / "out").exists()


def test_a_tree_without_oddities_is_told_in_json(cabinet: Cabinet, top: str, tree: Path, tmp_path: Path) -> None:
    all_of_it = {"files": 3, "bytes": 3, "leftOut": [], "refused": []}
    assert cabinet.server.json("fs", "put", "-r", str(tree), f"local:data/{top}/") == all_of_it
    assert cabinet.server.json("fs", "get", "-r", f"local:data/{top}/tree", str(tmp_path / "back")) == all_of_it
    (tree / "d1" / "deep" / "file").write_text("changed")
    done = cabinet.server.run("fs", "put", "-r", str(tree), f"local:data/{top}/", "-o", "json")
    assert done.returncode == 1
    (lack,) = json.loads(done.stdout)["refused"]
    assert (lack["path"], json.loads(done.stdout)["files"]) == (str(tree / "d1" / "deep" / "file"), 2)


def test_pipes_are_not_copied_and_that_is_said(cabinet: Cabinet, top: str) -> None:
    (cabinet.data / top / "tree").mkdir()
    os.mkfifo(cabinet.data / top / "tree" / "pipe")
    assert "1 left out" in refused(cabinet, "cp", "-r", f"local:data/{top}/tree", f"local:data/{top}/copy")


def test_a_move_to_another_disk_that_cannot_take_all_removes_nothing(cabinet: Cabinet, top: str) -> None:
    if cabinet.scratch.stat().st_dev == cabinet.data.stat().st_dev:
        pytest.skip("there is no other disk")
    (cabinet.data / top / "file").write_text("data")
    os.mkfifo(cabinet.data / top / "pipe")
    assert "nothing is removed" in refused(cabinet, "mv", f"local:data/{top}", "local:scratch/")
    assert (cabinet.data / top / "pipe").exists()
    assert (cabinet.scratch / top / "file").read_text() == "data"


def test_existing_targets_are_not_overwritten_without_force(cabinet: Cabinet, top: str, tmp_path: Path) -> None:
    (cabinet.data / top / "file").write_text("theirs")
    mine = tmp_path / "file"
    mine.write_text("mine")
    path = f"local:data/{top}/file"
    assert "it exists already" in refused(cabinet, "put", str(mine), path)
    assert "exists already" in refused(cabinet, "get", path, str(mine))
    (cabinet.data / top / "other").write_text("other")
    assert "it exists already" in refused(cabinet, "cp", f"local:data/{top}/other", path)
    assert "it exists already" in refused(cabinet, "mv", f"local:data/{top}/other", path)
    assert ((cabinet.data / top / "file").read_text(), mine.read_text()) == ("theirs", "mine")
    cabinet.server.run("fs", "get", "--force", path, str(mine), check=True)
    assert mine.read_text() == "theirs"


def test_copy_move_count_print_and_remove(cabinet: Cabinet, top: str) -> None:
    run = cabinet.server.run
    run("fs", "mkdir", "-p", f"local:data/{top}/a/b", check=True)
    (cabinet.data / top / "a" / "b" / "file").write_text("12345")
    run("fs", "cp", "-r", f"local:data/{top}/a", f"local:data/{top}/c", check=True)
    run("fs", "mv", f"local:data/{top}/c/b/file", f"local:data/{top}/moved", check=True)
    assert run("fs", "cat", f"local:data/{top}/moved", f"local:data/{top}/a/b/file", check=True).stdout == "1234512345"
    (used,) = cabinet.server.json("fs", "du", f"local:data/{top}")["items"]
    assert used == {"path": f"local:data/{top}", "bytes": 10, "files": 2, "folders": 5, **NOTHING_ELSE}
    assert "not empty" in refused(cabinet, "rm", f"local:data/{top}/a")
    run("fs", "rm", "-r", f"local:data/{top}/a", f"local:data/{top}/c", check=True)
    assert [path.name for path in (cabinet.data / top).iterdir()] == ["moved"]


def test_a_copy_from_folder_to_folder(cabinet: Cabinet, top: str) -> None:
    (cabinet.data / top / "file").write_text("x")
    cabinet.server.run("fs", "cp", "-r", f"local:data/{top}", "local:scratch", check=True)
    assert (cabinet.scratch / top / "file").read_text() == "x"


def test_a_node_may_be_named(cabinet: Cabinet, top: str) -> None:
    (node,) = cabinet.client.nodes()
    (cabinet.data / top / "file").write_text("x")
    assert cabinet.server.run("fs", "ls", f"local/{node.name}:data/{top}", check=True).stdout == "file\n"
    assert "has no node 'nobody'" in refused(cabinet, "ls", f"local/nobody:data/{top}")


ODD_NAMES = (
    "a b",
    "new\nline",
    "ünï-日本語",
    "-dash",
    "x" * 255,
    "é" * 127,
    "q?&=#t%41+",
    "b\\s",
    "\x1b[31mred",
    "c:d",
)


def test_odd_names_travel_both_ways(cabinet: Cabinet, top: str, tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    for size, name in enumerate(ODD_NAMES):
        (tmp_path / "odd" / name).write_bytes(b"x" * size)
    cabinet.server.run("fs", "put", "-r", str(tmp_path / "odd"), f"local:data/{top}/", check=True)
    cabinet.server.run("fs", "get", "-r", f"local:data/{top}/odd", str(tmp_path / "back"), check=True)
    assert contents(cabinet.data / top / "odd") == contents(tmp_path / "odd") == contents(tmp_path / "back")
    listed = cabinet.server.json("fs", "ls", f"local:data/{top}/odd")["items"]
    assert {item["name"] for item in listed} == set(ODD_NAMES)


@pytest.mark.parametrize("name", ["-dash", "x" * 255, "new\nline", "\x1b[31mred"])
def test_one_file_of_an_odd_name_can_be_worked_with(cabinet: Cabinet, top: str, tmp_path: Path, name: str) -> None:
    """And no control character of it reaches the terminal."""
    run, path = cabinet.server.run, f"local:data/{top}/{name}"
    (tmp_path / name).write_text("data")
    said = [run("fs", "put", "--", name, f"local:data/{top}/", check=True, cwd=tmp_path)]
    said.append(run("fs", "mv", path, f"local:data/{top}/other", check=True))
    said.append(run("fs", "cp", f"local:data/{top}/other", path, check=True))
    assert run("fs", "cat", path, check=True).stdout == "data"
    said.append(run("fs", "du", path, check=True))
    (tmp_path / name).unlink()
    said.append(run("fs", "get", path, str(tmp_path), check=True))
    assert (tmp_path / name).read_text() == "data"
    said.append(run("fs", "rm", path, check=True))
    lines = "".join(done.stdout + done.stderr for done in said)
    assert not set(lines) & {"\x1b"}
    assert len(lines.splitlines()) == len(said)


def test_a_name_that_is_no_text_is_left_out_and_told_in_text(cabinet: Cabinet, top: str, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / os.fsdecode(b"bad-\xff")).touch()
    (tmp_path / "tree" / "good").write_text("good")
    done = cabinet.server.run("fs", "put", "-r", str(tmp_path / "tree"), f"local:data/{top}/", "-o", "json")
    (lack,) = json.loads(done.stdout)["leftOut"]
    assert lack == {"path": str(tmp_path / "tree" / "bad-\\xff"), "why": "has a name that is not valid UTF-8"}
    assert contents(cabinet.data / top / "tree") == {"good": b"good"}
    assert "must be text" in refused(cabinet, "rm", os.fsdecode(b"local:data/bad-\xff"), code=2)


def test_a_link_is_put_under_its_own_name(cabinet: Cabinet, top: str, tmp_path: Path) -> None:
    (tmp_path / "model-7").write_text("data")
    (tmp_path / "latest").symlink_to("model-7")
    cabinet.server.run("fs", "put", str(tmp_path / "latest"), f"local:data/{top}/", check=True)
    assert contents(cabinet.data / top) == {"latest": b"data"}


def test_a_device_is_not_read_for_ever(cabinet: Cabinet, top: str) -> None:
    assert "is not a regular file" in refused(cabinet, "put", "/dev/zero", f"local:data/{top}/zero")


def test_a_tree_under_a_new_name_is_gone_on_with_by_naming_the_target_itself(
    cabinet: Cabinet, top: str, tree: Path, tmp_path: Path
) -> None:
    run = cabinet.server.run
    for _ in range(2):
        run("fs", "put", "-r", "-T", str(tree), f"local:data/{top}/new", check=True)
        assert contents(cabinet.data / top / "new") == contents(tree)
        run("fs", "get", "-r", "-T", f"local:data/{top}/new", str(tmp_path / "back"), check=True)
        assert contents(tmp_path / "back") == contents(tree)


def test_all_paths_are_tried_even_if_one_fails(cabinet: Cabinet, top: str) -> None:
    for name in ("one", "two"):
        (cabinet.data / top / name).touch()
    told = refused(cabinet, "rm", *(f"local:data/{top}/{name}" for name in ("one", "nothing", "two")))
    assert "1 of 3 failed" in told
    assert list((cabinet.data / top).iterdir()) == []


def test_folders_that_are_not_there_are_not_made_by_the_way(cabinet: Cabinet, top: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (cabinet.data / top / "file").touch()
    path = f"local:data/{top}"
    assert f"muster fs mkdir -p {path}/no/" in refused(cabinet, "put", str(tmp_path / "file"), f"{path}/no/")
    assert "there is no folder" in refused(cabinet, "get", f"{path}/file", f"{tmp_path}/no/")
    assert "with -p an existing folder is not an error" in refused(cabinet, "mkdir", path)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("get", "-r", "local:", "."), 2, "does not name a folder"),
        (("rm", "-r", "local:"), 2, "does not name a folder"),
        (("du", "local:"), 2, "does not name a folder"),
        (("ls", "nothing"), 2, "is not a path on a cluster"),
        (("ls", "nothing:"), 1, "there is no cluster 'nothing'"),
        (("ls", "local:dta"), 1, "did you mean data?"),
        (("ls", "local:data/../.."), 1, "may not contain '..'"),
        (("put", ".", "local:data/x"), 2, "add -r"),
        (("get", "local:data", "."), 2, "add -r"),
        (("cp", "local:data/x", "elsewhere:data/x"), 1, "elsewhere"),
        (("cat", "local:data/no-such"), 1, "there is no such file"),
        (("rm", "-r", "local:data"), 1, "the folder itself"),
        (("du", "--within", "soon", "local:data"), 2, "expected a duration"),
    ],
)
def test_what_is_wrong_is_said_with_its_exit_code(
    cabinet: Cabinet, words: tuple[str, ...], code: int, said: str
) -> None:
    assert said in refused(cabinet, *words, code=code)


def test_ctrl_c_leaves_what_can_be_gone_on_with_and_says_so(
    cabinet: Cabinet, top: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = tmp_path / "large"
    local.write_bytes(os.urandom(2 * CHUNK_BYTES))
    pieces = []
    real = Files.put_piece

    def interrupted(*given: object) -> tuple[int, bool]:
        pieces.append(given)
        if len(pieces) == 2:
            raise KeyboardInterrupt
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setenv("MUSTER_HOME", str(tmp_path))
    monkeypatch.setenv("MUSTER_TOKEN", cabinet.server.token)
    monkeypatch.setattr(Files, "put_piece", interrupted)
    words = ["--server", cabinet.server.url, "fs", "put", str(local), f"local:data/{top}/large"]
    first = CliRunner().invoke(cli, words, prog_name="muster")
    assert first.exit_code == 130
    assert "the uploaded part is kept on the cluster for a day" in first.stderr
    assert "the same command resumes the transfer" in first.stderr
    (part,) = (cabinet.data / top).iterdir()
    assert cabinet.server.run("fs", "ls", f"local:data/{top}", check=True).stdout == ""
    (shown,) = cabinet.server.json("fs", "ls", "-a", f"local:data/{top}")["items"]
    assert shown["kind"] == "upload"
    counted = cabinet.server.run("fs", "du", f"local:data/{top}", check=True)
    assert counted.stdout.split()[:4] == ["0", "B", "0", "files"]
    assert "unfinished uploads take another 4.0 MiB" in counted.stderr
    assert part.stat().st_size == CHUNK_BYTES
    inode = part.stat().st_ino
    second = CliRunner().invoke(cli, words, prog_name="muster")
    assert second.exit_code == 0, second.stderr
    target = cabinet.data / top / "large"
    assert hashlib.sha256(target.read_bytes()).digest() == hashlib.sha256(local.read_bytes()).digest()
    assert target.stat().st_ino == inode


@pytest.mark.parametrize(
    ("words", "place", "offers"),
    [
        ("muster fs ls lo", 3, "local:"),
        ("muster fs ls local:", 3, "local:data/"),
        ("muster fs ls local:da", 3, "local:data/"),
        ("muster fs ls local:data/{top}/f", 3, "local:data/{top}/file"),
        ("muster fs put here local:data/{top}/s", 4, "local:data/{top}/sub/"),
    ],
)
def test_bash_completes_remote_paths(cabinet: Cabinet, top: str, words: str, place: int, offers: str) -> None:
    (cabinet.data / top / "file").touch()
    (cabinet.data / top / "sub").mkdir()
    asked = {"_MUSTER_COMPLETE": "bash_complete", "COMP_WORDS": words.format(top=top), "COMP_CWORD": str(place)}
    reached = {"MUSTER_SERVER": cabinet.server.url, "MUSTER_TOKEN": cabinet.server.token}
    command = str(Path(sys.executable).parent / "muster")
    done = subprocess.run([command], env={**os.environ, **asked, **reached}, capture_output=True, text=True, check=True)
    assert f"plain,{offers.format(top=top)}" in done.stdout.split()


def test_the_bash_script_takes_a_path_for_one_word() -> None:
    script = CliRunner().invoke(cli, ["completion", "bash"], prog_name="muster").stdout
    assert "COMP_WORDBREAKS" in script
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
