"""What a task left is found by one walk that never leaves its working folder, and what cannot be taken is counted."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.agent.errors import AgentError
from muster.agent.files.confined import MAX_DEPTH
from muster.agent.tasks import outputs
from muster.domain.output_patterns import matches
from tests.unit.agent.swapping import Swapping

pytestmark = pytest.mark.fast

_NOBODY = 65534
EVERYTHING = (outputs.Pattern("**"),)


def nested(work: Path, depth: int) -> str:
    """The path of a file that has so many parts."""
    path = "/".join([*["d"] * (depth - 1), "file"])
    (work / path).parent.mkdir(parents=True)
    (work / path).write_bytes(b"deep")
    return path


def test_the_deepest_file_that_can_be_taken_is_told_and_read(tmp_path: Path) -> None:
    path = nested(tmp_path, MAX_DEPTH)
    found = outputs.page(str(tmp_path), EVERYTHING, "")
    assert ([file["path"] for file in found["files"]], found["too_deep"]) == ([path], 0)
    assert outputs.read(str(tmp_path), path, 0, 100)["data"] == b"deep"


def test_folders_that_are_too_deep_are_counted_and_no_descriptor_stays_open(tmp_path: Path) -> None:
    path = nested(tmp_path, MAX_DEPTH + 2)
    (tmp_path / "link").symlink_to(path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    found = outputs.page(str(tmp_path), EVERYTHING, "")
    assert ([file["path"] for file in found["files"]], found["skipped"], found["too_deep"]) == ([], 0, 2)
    with pytest.raises(AgentError):
        outputs.read(str(tmp_path), path, 0, 100)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_folders_that_nobody_asked_for_are_not_counted(tmp_path: Path) -> None:
    nested(tmp_path, MAX_DEPTH + 1)
    assert outputs.page(str(tmp_path), [outputs.Pattern("model/")], "")["too_deep"] == 0


def test_what_may_not_be_read_is_counted() -> None:
    with tempfile.TemporaryDirectory() as name:  # not in tmp_path, which only its owner may enter
        work = Path(name)
        work.chmod(0o755)
        (work / "closed").mkdir(0o000)
        (work / "file").touch(0o000)
        with not_root():
            found = outputs.page(name, EVERYTHING, "")
        (work / "closed").chmod(0o700)
    assert (found["files"], found["skipped"]) == ([], 2)


@contextmanager
def not_root() -> Iterator[None]:
    """Root may read everything."""
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(_NOBODY)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)


def test_nothing_outside_is_told_or_read_while_a_folder_and_a_link_take_turns(tmp_path: Path) -> None:
    outside, work = tmp_path / "outside", tmp_path / "root"
    (outside / "below").mkdir(parents=True)
    (outside / "secret").write_bytes(b"secret")
    (outside / "below" / "secret").write_bytes(b"secret")
    (work / "work" / "below").mkdir(parents=True)
    (work / "work" / "below" / "mine").write_bytes(b"mine")
    (work / "to").symlink_to("work/secret")
    swapping = Swapping(work, outside)
    swapping.start()
    try:
        turns = 0
        while swapping.is_alive() and (turns < 300 or swapping.swaps < 200):
            found = outputs.page(str(work), EVERYTHING, "")["files"]
            assert {file["path"] for file in found} <= {"work/below/mine", "kept/below/mine"}
            for path in ("work/secret", "work/below/secret", "to", "link/secret"):
                with pytest.raises(AgentError):
                    outputs.read(str(work), path, 0, 100)
            turns += 1
    finally:
        swapping.stop()
    assert turns >= 300


@pytest.mark.parametrize(
    "pattern", ["model/", "model", "*", "**", "**/*.csv", "logs/*.csv", "a/**/z", "./a/", "[ab]/*"]
)
def test_a_pattern_matches_the_very_files_that_a_search_finds(tmp_path: Path, pattern: str) -> None:
    paths = ["model", "logs/1.csv", "logs/deep/2.csv", "3.csv", "a/z", "a/b/z", "a/b/c/z", "b/x", "modelling"]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    found = outputs.page(str(tmp_path), [outputs.Pattern(pattern)], "")["files"]
    assert {file["path"] for file in found} == {path for path in paths if matches(pattern, path)}
