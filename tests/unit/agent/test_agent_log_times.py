"""Marks of when a log grew: bounded, continued by the next agent, and unimpressed by what a task puts there."""

import os
from pathlib import Path

import pytest

from muster.agent.tasks.log_times import MOST_BYTES, MarkFile, marks_of, read_marks

pytestmark = pytest.mark.fast


def marks(path: Path) -> list[tuple[int, int]]:
    return marks_of(read_marks(str(path)))


def test_marks_continue_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "log.times"
    MarkFile(str(path)).add(1000, 10)
    second = MarkFile(str(path))
    second.add(2000, 10)  # it has not grown
    second.add(900, 20)  # a clock that was set back
    assert marks(path) == [(1000, 10), (1000, 20)]


def test_the_newest_marks_stay_exact_and_old_ones_become_coarser(tmp_path: Path) -> None:
    path = tmp_path / "log.times"
    file = MarkFile(str(path))
    for second in range(1, 20_000):
        file.add(second * 1000, second)
    found = marks(path)
    assert path.stat().st_size <= MOST_BYTES
    assert found[-4000:] == [(second * 1000, second) for second in range(16_000, 20_000)]
    assert found[0][1] < 100


def test_what_a_task_puts_in_their_place_is_no_mark(tmp_path: Path) -> None:
    path = tmp_path / "log.times"
    path.write_bytes(b"anything at all, of any length")
    assert len(marks(path)) <= 1
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert marks(path) == []
    with pytest.raises(OSError, match="symbolic"):
        MarkFile(str(path)).add(1, 1)
    path.unlink()
    os.mkfifo(path)
    assert marks(path) == []
    with pytest.raises(OSError, match="No such device"):
        MarkFile(str(path)).add(1, 1)
