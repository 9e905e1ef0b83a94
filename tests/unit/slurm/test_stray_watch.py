"""When jobs are looked for that came back with a controller that was killed."""

from typing import Any, cast

import pytest

from muster.backends.slurm.login.slurm_login import SlurmLogin
from muster.backends.slurm.stray_jobs import StrayJobs, StrayTimes
from muster.domain.errors import Unreachable

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
_WATCH_S = 60.0


class Login:
    """A login node that takes `takes_s` to say which jobs came back."""

    owner = ""

    def __init__(self) -> None:
        self.now, self.takes_s, self.is_away = 1000.0, 0.0, False
        self.came_back: list[str] = []
        self.cancelled: list[str] = []

    async def order(self, op: str, *, seen: list[str]) -> dict[str, Any]:
        assert op == "batch_strays"
        self.now += self.takes_s
        if self.is_away:
            raise Unreachable("the login node is away")
        self.cancelled += [job for job in seen if job in self.came_back]
        return {"strays": self.came_back}


@pytest.fixture
def login() -> Login:
    return Login()


@pytest.fixture
def strays(login: Login) -> StrayJobs:
    return StrayJobs("hpc", [cast("SlurmLogin", login)], StrayTimes(watch_s=_WATCH_S), lambda: login.now)


async def test_nothing_is_looked_for_while_slurm_is_not_asked(strays: StrayJobs, login: Login) -> None:
    login.now += _WATCH_S
    assert not strays.is_due(float("inf"))


async def test_two_looks_follow_the_last_question_to_slurm(strays: StrayJobs, login: Login) -> None:
    asked_at = login.now + 10
    due = []
    for _ in range(4):
        login.now += _WATCH_S
        due.append(strays.is_due(login.now - asked_at))
        if due[-1]:
            await strays.look()
    assert due == [True, True, False, False]


async def test_question_during_a_look_that_takes_long_is_followed_by_another(strays: StrayJobs, login: Login) -> None:
    login.takes_s = 5 * _WATCH_S
    asked_at = login.now + 1
    await strays.look()
    login.now += _WATCH_S
    assert strays.is_due(login.now - asked_at)


async def test_job_that_came_back_is_looked_for_until_it_is_gone(strays: StrayJobs, login: Login) -> None:
    login.came_back = ["8"]
    await strays.look()
    assert login.cancelled == []
    assert strays.is_due(float("inf"))
    await strays.look()
    assert login.cancelled == ["8"]
    login.came_back = []
    await strays.look()
    login.now += _WATCH_S
    assert not strays.is_due(float("inf"))


async def test_login_that_does_not_answer_is_asked_again(strays: StrayJobs, login: Login) -> None:
    login.is_away = True
    await strays.look()
    login.now += _WATCH_S
    assert strays.is_due(float("inf"))
