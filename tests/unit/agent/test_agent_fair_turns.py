"""Who is served next when several owners have blocking work."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from muster.agent.system.fair_turns import FairTurns

pytestmark = pytest.mark.fast


class Held(Executor):
    """Work begins at once and ends when the test says so."""

    def __init__(self) -> None:
        self.begun: dict[str, Future[Any]] = {}

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.begun[work()] = future
        return future


class Desk:
    def __init__(self) -> None:
        self.pool = Held()
        self.ended: list[str] = []
        self._posted: deque[Callable[[], None]] = deque()
        self.turns = FairTurns(self.pool, self._posted.append, threads=4, kept_free=2)

    def bring(self, *names: str) -> None:
        for name in names:
            self.turns.run(name[0], lambda name=name: name, lambda future: self.ended.append(future.result()))  # type: ignore[misc]

    def end(self, name: str) -> None:
        self.pool.begun[name].set_result(name)
        while self._posted:
            self._posted.popleft()()

    @property
    def running(self) -> set[str]:
        return {name for name in self.pool.begun if name not in self.ended}


def test_one_owner_leaves_threads_to_others() -> None:
    desk = Desk()
    desk.bring("a1", "a2", "a3", "a4")
    assert desk.running == {"a1", "a2"}
    desk.bring("b1", "b2")
    assert desk.running == {"a1", "a2", "b1"}
    desk.bring("c1")
    assert desk.running == {"a1", "a2", "b1", "c1"}


def test_owners_take_turns_when_all_threads_are_taken() -> None:
    desk = Desk()
    desk.bring("a1", "a2", "a3", "b1", "c1", "c2", "d1")
    assert desk.running == {"a1", "a2", "b1", "c1"}
    desk.end("a1")
    assert "d1" in desk.running
    desk.end("c1")
    assert "c2" in desk.running
    assert "a3" not in desk.running


def test_all_work_ends_and_is_handed_back_once() -> None:
    desk = Desk()
    names = [owner + str(number) for owner in "abc" for number in range(5)]
    desk.bring(*names)
    while desk.running:
        desk.end(min(desk.running))
    assert sorted(desk.ended) == names


def test_work_that_fails_makes_room_for_the_next() -> None:
    desk = Desk()
    failures: list[BaseException | None] = []
    desk.turns.run("a", lambda: "a1", lambda future: failures.append(future.exception()))
    desk.bring("a2", "a3")
    desk.pool.begun["a1"].set_exception(ValueError("bad"))
    desk.end("a2")
    assert [type(failure) for failure in failures] == [ValueError]
    assert desk.running >= {"a3"}
