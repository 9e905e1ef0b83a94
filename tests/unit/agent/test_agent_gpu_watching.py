"""What takes a card out of service, seen from the node."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from muster.agent.gpus.discovery import NOTHING_FOUND, FoundGpus
from muster.agent.gpus.fake import FakeGpuFile
from muster.agent.gpus.monitoring import GpuWatch

pytestmark = pytest.mark.fast

Holder = Callable[..., int]


@pytest.fixture
def cards(tmp_path: Path) -> Path:
    return tmp_path / "cards"


@pytest.fixture
def watch(cards: Path, tmp_path: Path) -> GpuWatch:
    cards.write_text("2xA100\n")
    source = FakeGpuFile(str(cards))
    return GpuWatch(FoundGpus(source, tuple(source.gpus())), str(tmp_path / "tasks"))


@pytest.fixture
def holder() -> Iterator[Holder]:
    """A process in a session of its own; answers its pid."""
    with ExitStack() as stack:

        def start(**env: str) -> int:
            process = subprocess.Popen(
                [sys.executable, "-c", "print(flush=True); input()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **env},
                start_new_session=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
            return process.pid

        yield start


def foreign(watch: GpuWatch, **leaders: int) -> list[int]:
    card = watch.read({pid: task for task, pid in leaders.items()})[1]
    return [process["pid"] for process in card["foreign_pids"]]


def test_a_process_that_is_not_ours_counts_when_it_is_seen_twice(watch: GpuWatch, cards: Path, holder: Holder) -> None:
    pid = holder()
    cards.write_text(f"2xA100\nprocess 1 {pid}\n")
    assert foreign(watch) == []
    assert foreign(watch) == [pid]
    name = watch.read({})[1]["foreign_pids"][0]["name"]
    assert name
    assert "print" not in name  # the program, not its arguments
    cards.write_text("2xA100\n")
    assert foreign(watch) == []


def test_a_process_is_ours_by_its_session_or_an_ancestors(watch: GpuWatch, cards: Path, holder: Holder) -> None:
    pid = holder()
    cards.write_text(f"2xA100\nprocess 1 {pid}\n")
    assert [foreign(watch, t=pid), foreign(watch, t=pid)] == [[], []]
    assert [foreign(watch, t=os.getsid(0)), foreign(watch, t=os.getsid(0))] == [[], []]


def test_a_process_is_ours_by_its_mark_unless_it_is_another_agents(
    watch: GpuWatch, cards: Path, holder: Holder, tmp_path: Path
) -> None:
    mine = holder(MUSTER_TASK_DIR=str(tmp_path / "tasks" / "t1"))
    theirs = holder(MUSTER_TASK_DIR=str(tmp_path / "tasks-of-another" / "t1"))
    cards.write_text(f"2xA100\nprocess 1 {mine}\nprocess 1 {theirs}\n")
    assert [foreign(watch), foreign(watch)] == [[], [theirs]]


def test_a_process_that_is_over_holds_nothing(watch: GpuWatch, cards: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    cards.write_text(f"2xA100\nprocess 1 {gone.pid}\n")
    assert [foreign(watch), foreign(watch)] == [[], []]


def test_a_card_is_missing_when_the_driver_leaves_it_out_twice(watch: GpuWatch, cards: Path) -> None:
    cards.write_text("2xA100\ngone 0\n")
    assert [card["missing"] for card in watch.read({})] == [False, False]
    told = watch.read({})
    assert [card["missing"] for card in told] == [True, False]
    assert (told[0]["load"], told[0]["memory_total_bytes"]) == (None, 80 << 30)
    cards.write_text("2xA100\n")
    assert [card["missing"] for card in watch.read({})] == [False, False]


def test_memory_errors_are_told_at_once(watch: GpuWatch, cards: Path) -> None:
    cards.write_text("2xA100\necc 1 3\n")
    assert [card["ecc_errors"] for card in watch.read({})] == [0, 3]


def test_a_machine_without_cards_has_nothing_to_tell() -> None:
    assert GpuWatch(NOTHING_FOUND, "/nowhere").read({}) == []
