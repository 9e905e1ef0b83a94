"""A log file that is rotated: nothing is lost that could be written, and readers find all of it."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.lib.rotated_reading import NOWHERE, Position, lines_after, position_before
from muster.lib.rotating_file import RotatingFile, rotated

pytestmark = pytest.mark.fast


def rotating(path: Path, max_bytes: int = 100, keep: int = 3) -> RotatingFile:
    return RotatingFile(path, max_bytes, keep, lambda count, why: f"lost {count}: {why}\n".encode())


def line(number: int) -> bytes:
    return f"line {number:04}\n".encode()


def read_all(path: Path, position: Position = NOWHERE) -> list[bytes]:
    found = []
    while lines := lines_after(path, position):
        found += [line for line, _ in lines]
        position = lines[-1][1]
    return found


@contextmanager
def no_file_may_grow_beyond(size: int) -> Iterator[None]:
    """What a full disk does too: the beginning of a line is written, and then an error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_full_files_are_kept_up_to_the_number_and_all_are_private(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    file = rotating(path)
    for number in range(100):
        file.write(line(number))
    file.close()
    assert sorted(found.name for found in tmp_path.iterdir()) == [path.name, *(f"{path.name}.{n}" for n in (1, 2, 3))]
    assert all(found.stat().st_mode & 0o777 == 0o600 and found.stat().st_size <= 100 for found in tmp_path.iterdir())
    assert read_all(path) == [line(number).strip() for number in range(100 - 10 - 30, 100)]


def test_a_line_longer_than_the_file_is_written_whole(tmp_path: Path) -> None:
    file = rotating(tmp_path / "log", keep=0)
    file.write(500 * b"x" + b"\n")
    file.write(b"next\n")
    file.close()
    assert [found.name for found in tmp_path.iterdir()] == ["log"]
    assert read_all(tmp_path / "log") == [b"next"]


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_file_that_was_moved_or_removed_is_opened_anew(tmp_path: Path, is_removed: bool) -> None:
    path = tmp_path / "log"
    file = rotating(path)
    file.write(b"before\n")
    if is_removed:
        path.unlink()
    else:
        path.rename(tmp_path / "elsewhere")
    file.write(b"after\n")
    file.close()
    assert path.read_bytes() == b"after\n"


def test_a_full_disk_loses_lines_and_says_so_as_soon_as_there_is_space(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = rotating(path, max_bytes=1000)
    file.write(line(1))
    with no_file_may_grow_beyond(15):
        file.write(line(2))
        file.write(line(3))
    file.write(line(4))
    file.close()
    assert [found.split(b":")[0] for found in read_all(path)] == [b"line 0001", b"line ", b"lost 2", b"line 0004"]


def test_a_folder_that_is_away_for_a_while_stops_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = rotating(folder / "log")
    folder.rename(tmp_path / "away")
    file.write(line(1))
    folder.mkdir()
    file.write(line(2))
    file.close()
    assert read_all(folder / "log")[1:] == [b"line 0002"]


def test_a_path_that_can_never_be_used_is_refused_at_once(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no-folder" / "log"):
        with pytest.raises(OSError, match=str(path)):
            rotating(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe"):
        rotating(tmp_path / "pipe")


def test_two_processes_with_one_name_have_a_file_each(tmp_path: Path) -> None:
    first, second = rotating(tmp_path / "server.log"), rotating(tmp_path / "server.log")
    assert [first.path.name, second.path.name] == ["server.log", "server-2.log"]
    first.close()
    second.close()


def test_a_reader_goes_on_where_it_was_although_the_file_was_rotated_twice(tmp_path: Path) -> None:
    path = tmp_path / "log"
    file = rotating(path)
    for number in range(5):
        file.write(line(number))
    at = lines_after(path, position_before(path, 2))[0][1]
    for number in range(5, 25):
        file.write(line(number))
    file.close()
    parsed = Position.parse(str(at))
    assert parsed is not None
    assert read_all(path, parsed) == [line(number).strip() for number in range(4, 25)]
    assert Position.parse("12-x") is None


@pytest.mark.parametrize("lines", [0, 1, 10, 11, 25, 1000])
def test_the_last_lines_are_found_in_several_files(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "log"
    file = rotating(path)
    for number in range(25):
        file.write(line(number))
    file.close()
    assert rotated(path, 2).exists()
    assert read_all(path, position_before(path, lines)) == [line(n).strip() for n in range(max(25 - lines, 0), 25)]


def test_a_file_that_is_not_there_yet_has_no_lines(tmp_path: Path) -> None:
    assert position_before(tmp_path / "log", 5) == NOWHERE
    assert lines_after(tmp_path / "log", NOWHERE) == []
