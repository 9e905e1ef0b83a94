"""When the folders of retired tasks are removed: on a quiet node, or when there are too many of them."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from muster.agent.system.loop import Loop
from muster.agent.tasks.retirement import Retiring
from muster.agent.tasks.table import ENDED, Task, TaskBook

pytestmark = pytest.mark.fast
NEVER_S = 3600.0


@pytest.fixture
def loop() -> Loop:
    return Loop(ThreadPoolExecutor(1))


@pytest.fixture
def book(tmp_path: Path) -> TaskBook:
    (tmp_path / "tasks").mkdir()
    return TaskBook(str(tmp_path / "tasks"), lambda task: None)


def add_ended(book: TaskBook, uid: str, left: str | None = None) -> None:
    work = Path(book.folder_of(uid)) / "work"
    work.mkdir(parents=True)
    if left is not None:
        (work / left).touch()
    task = Task(uid, str(work.parent))
    task.phase = ENDED
    book.add(task)


def run_until_only(loop: Loop, folder: Path, *names: str) -> None:
    """Let the loop run, once, until the folder has these entries alone."""
    give_up = time.monotonic() + 30

    def look() -> None:
        if sorted(path.name for path in folder.iterdir()) == list(names) or time.monotonic() > give_up:
            loop.stop()
        else:
            loop.call_later(0.005, look)

    look()
    loop.run()
    assert sorted(path.name for path in folder.iterdir()) == list(names)


def test_empty_folders_go_once_the_node_is_quiet(loop: Loop, book: TaskBook, tmp_path: Path) -> None:
    retiring = Retiring(loop, book, str(tmp_path), quiet_s=0.01)
    for uid in ("a", "b"):
        add_ended(book, uid)
        assert retiring.retire([uid]) == 1
    add_ended(book, "kept", left="model")
    assert retiring.retire(["kept"]) == 1
    run_until_only(loop, tmp_path / "ended", "kept")


def test_empty_folders_do_not_pile_up_on_a_node_that_is_never_quiet(loop: Loop, book: TaskBook, tmp_path: Path) -> None:
    retiring = Retiring(loop, book, str(tmp_path), quiet_s=NEVER_S, most_retired=3)
    for uid in ("a", "b", "c"):
        add_ended(book, uid)
        retiring.retire([uid])
    run_until_only(loop, tmp_path / "ended")


def test_folders_stay_while_the_node_is_busy(loop: Loop, book: TaskBook, tmp_path: Path) -> None:
    retiring = Retiring(loop, book, str(tmp_path), quiet_s=NEVER_S)
    add_ended(book, "a")
    retiring.retire(["a"])
    assert [path.name for path in (tmp_path / "ended").iterdir()] == ["a"]


def test_a_retired_task_that_was_forgotten_meanwhile_is_no_trouble(loop: Loop, book: TaskBook, tmp_path: Path) -> None:
    retiring = Retiring(loop, book, str(tmp_path), quiet_s=0.01)
    for uid in ("a", "b"):
        add_ended(book, uid)
        retiring.retire([uid])
    retiring.forget("a")
    assert [path.name for path in (tmp_path / "ended").iterdir()] == ["b"]
    run_until_only(loop, tmp_path / "ended")
