"""Dropping the middle of a log: what stays, where it stays, and what an interruption leaves."""

import os
from pathlib import Path

import pytest

from muster.agent.system import holes
from muster.agent.tasks.log_limits import Dropped, drop_middle, dropped_of
from muster.agent.tasks.logs import line_start

pytestmark = pytest.mark.fast
LIMIT = 256 << 10
TEXT = b"".join(b"line %d\n" % number for number in range(100_000))


def cannot_punch(fd: int, start: int, length: int) -> bool:
    return False


@pytest.fixture(params=["punched", "cut"])
def punch(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    return holes.can_punch if request.param == "punched" else cannot_punch


def written(folder: Path, data: bytes) -> Path:
    log = folder / "log"
    with log.open("ab") as file:
        file.write(data)
    return log


def found(folder: Path) -> Dropped:
    dropped = missing(folder)
    assert dropped is not None
    return dropped


def missing(folder: Path) -> Dropped | None:
    with (folder / "log").open("rb") as log:
        return dropped_of(str(folder), log.fileno())


def test_a_log_within_its_limit_stays_as_it_is(tmp_path: Path) -> None:
    log = written(tmp_path, TEXT[:LIMIT])
    assert drop_middle(str(tmp_path), LIMIT) == LIMIT
    assert log.read_bytes() == TEXT[:LIMIT]
    assert missing(tmp_path) is None


def test_both_ends_stay_where_they_are_and_the_space_between_is_given_back(tmp_path: Path, punch) -> None:  # type: ignore[no-untyped-def]
    log = written(tmp_path, b"")
    for start in range(0, len(TEXT), 300_000):
        written(tmp_path, TEXT[start : start + 300_000])
        drop_middle(str(tmp_path), LIMIT, punch)
        now, dropped = log.read_bytes(), found(tmp_path)
        so_far = TEXT[: len(now)]
        assert now[: dropped.start] == so_far[: dropped.start]
        assert now[dropped.end :] == so_far[dropped.end :]
        assert so_far[dropped.start - 1 : dropped.start] == so_far[dropped.end - 1 : dropped.end] == b"\n"
        assert LIMIT * 3 // 4 <= len(now) - dropped.length <= LIMIT
    assert log.stat().st_size == len(TEXT)
    assert log.stat().st_blocks * 512 <= LIMIT + (64 << 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "log.dropped"]


def test_a_line_longer_than_the_log_is_cut_anywhere(tmp_path: Path) -> None:
    log = written(tmp_path, b"x" * (4 * LIMIT))
    drop_middle(str(tmp_path), LIMIT)
    dropped = found(tmp_path)
    assert log.read_bytes().count(b"x") == 4 * LIMIT - dropped.length <= LIMIT


def test_a_log_that_its_task_has_emptied_begins_anew(tmp_path: Path) -> None:
    log = written(tmp_path, TEXT)
    drop_middle(str(tmp_path), LIMIT)
    log.write_bytes(b"")
    written(tmp_path, TEXT[:1000])
    assert missing(tmp_path) is None
    assert drop_middle(str(tmp_path), LIMIT) == LIMIT
    written(tmp_path, TEXT[1000:])
    assert missing(tmp_path) is None, "nothing of what was written since is dropped yet"
    drop_middle(str(tmp_path), LIMIT)
    assert log.read_bytes()[found(tmp_path).end :] == TEXT[found(tmp_path).end :]


def test_a_log_that_was_made_huge_at_once_has_the_same_limit(tmp_path: Path) -> None:
    log = written(tmp_path, b"begin\n")
    os.truncate(log, 1 << 40)
    drop_middle(str(tmp_path), LIMIT)
    assert (1 << 40) - found(tmp_path).length <= LIMIT


@pytest.mark.parametrize("interrupted", ["before the cut", "between", "before the end"])
def test_a_cut_that_was_interrupted_is_completed(tmp_path: Path, interrupted: str) -> None:
    """Kills the process in effect: the next one finds the record, the saved end, and the log as far as it came."""
    log = written(tmp_path, TEXT)
    dropped, saved = Dropped(1000, len(TEXT) - 50_000), tmp_path / "log.saved"
    (tmp_path / "log.dropped").write_bytes(b"%019d %019d\n" % dropped)
    saved.write_bytes(TEXT[dropped.end :])
    if interrupted == "between":
        os.truncate(log, dropped.start)
    elif interrupted == "before the end":
        os.truncate(log, dropped.start)
        os.truncate(log, len(TEXT))
        written(tmp_path, b"and more\n")
    drop_middle(str(tmp_path), LIMIT, cannot_punch)
    end = TEXT[dropped.end :] + (b"and more\n" if interrupted == "before the end" else b"")
    assert log.read_bytes()[:1000] == TEXT[:1000]
    assert log.read_bytes()[dropped.end :] == end
    assert found(tmp_path) == dropped
    assert not saved.exists()


def test_links_and_other_files_in_place_of_a_log_are_left_alone(tmp_path: Path) -> None:
    victim = written(tmp_path, TEXT).rename(tmp_path / "victim")
    (tmp_path / "log").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        drop_middle(str(tmp_path), LIMIT)
    assert victim.read_bytes() == TEXT


def test_the_last_lines_are_looked_for_behind_what_was_dropped_only(tmp_path: Path) -> None:
    log = written(tmp_path, TEXT)
    drop_middle(str(tmp_path), LIMIT)
    end, fd = found(tmp_path).end, os.open(log, os.O_RDONLY)
    try:
        assert line_start(fd, len(TEXT), 1, end) == len(TEXT) - len(b"line 99999\n")
        assert line_start(fd, len(TEXT), 100_000, end) == end
    finally:
        os.close(fd)


def test_a_hole_that_the_task_made_counts_as_dropped_and_the_limit_holds_around_it(tmp_path: Path, punch) -> None:  # type: ignore[no-untyped-def]
    log = written(tmp_path, TEXT[:8192])
    size = 15 << 40
    os.truncate(log, size)
    written(tmp_path, b"end\n")
    assert found(tmp_path) == Dropped(8192, size), "before anything is dropped"
    drop_middle(str(tmp_path), LIMIT, punch)
    written(tmp_path, TEXT)
    drop_middle(str(tmp_path), LIMIT, punch)
    dropped = found(tmp_path)
    assert TEXT[:8192].rindex(b"\n") + 1 <= dropped.start <= 8192
    assert log.stat().st_size - dropped.length <= LIMIT
    assert log.stat().st_size == size + len(b"end\n" + TEXT)


def test_a_log_of_very_many_holes_is_dropped_from_the_first_to_its_end(tmp_path: Path) -> None:
    log = written(tmp_path, b"")
    with log.open("r+b") as file:
        for number in range(1000):
            os.pwrite(file.fileno(), b"data", (number * 2 + 1) << 20)
    assert found(tmp_path) == Dropped(0, log.stat().st_size)
