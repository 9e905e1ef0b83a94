"""A task can make its log appear as long as it likes: no request searches all of it."""

import os
from pathlib import Path

import pytest

from muster.agent.tasks.logs import line_start
from muster.domain.dropped_bytes import DroppedBytes
from muster.lib.sparse_files import holes_of
from tests.parts.server import MusterServer

SIZE = 15 << 40


def test_the_last_lines_of_a_log_with_a_hole_of_terabytes_are_searched_for_near_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    size = 15 << 40
    os.truncate(log, size)
    with log.open("rb") as file:
        assert size - (64 << 20) <= line_start(file.fileno(), size, 100) <= size


@pytest.mark.fast
def test_the_holes_of_a_file_are_found_as_one_range(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+b", buffering=0) as file:
        file.write(b"x" * 8192)
        assert holes_of(file.fileno()) is None
        file.truncate(SIZE)
        assert holes_of(file.fileno()) == (8192, SIZE)
        os.pwrite(file.fileno(), b"end", SIZE)
        assert holes_of(file.fileno()) == (8192, SIZE)
        for number in range(1000):
            os.pwrite(file.fileno(), b"data", (number * 2 + 1) << 20)
        assert holes_of(file.fileno()) == (8192, SIZE + 3), "a file of very many holes ends in one"


@pytest.mark.fast
@pytest.mark.parametrize("missing", [None, DroppedBytes(0, SIZE // 2), DroppedBytes(5 << 20, SIZE // 2)])
def test_no_more_than_the_limit_is_collected(missing: DroppedBytes | None) -> None:
    most = 100 << 20
    dropped = DroppedBytes.beyond(most, SIZE, missing)
    assert dropped is not None
    assert SIZE - dropped.length == most
    assert DroppedBytes.beyond(most, most, None) is None
    assert DroppedBytes.beyond(most, SIZE, DroppedBytes(10, SIZE - 10)) == DroppedBytes(10, SIZE - 10)


def test_a_log_with_a_hole_of_terabytes_is_read_collected_and_diagnosed_without_it(muster_server: MusterServer) -> None:
    said = "torch.OutOfMemoryError: CUDA out of memory."
    command = f"truncate -s {SIZE} $MUSTER_TASK_DIR/log; echo '{said}'; exit 1"
    job = muster_server.submit({"name": "sparse", "command": command})["id"]
    failed = muster_server.wait(job)
    assert failed["reason"] == "The GPU ran out of memory.", "the last lines are found behind the hole"
    first, *rest = muster_server.run("logs", job).stdout.splitlines()
    assert first.startswith("[muster: 15.0 TiB of this log were dropped here")
    assert rest == [said]
    status, raw = muster_server.call("GET", f"/api/v1/jobs/{job}/logs/raw?task=worker-0")
    assert status == 200
    assert str(raw).endswith(f"dropped here; its beginning and its end are kept]\n{said}\n")
