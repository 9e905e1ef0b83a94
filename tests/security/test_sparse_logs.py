"""A task can make its log appear as long as it likes: no request searches all of it."""

import os
from pathlib import Path

from muster.agent.tasks.logs import line_start


def test_the_last_lines_of_a_log_with_a_hole_of_terabytes_are_searched_for_near_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    size = 15 << 40
    os.truncate(log, size)
    with log.open("rb") as file:
        assert size - (64 << 20) <= line_start(file.fileno(), size, 100) <= size
