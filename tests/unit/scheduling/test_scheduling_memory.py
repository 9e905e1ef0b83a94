"""A server runs for years: what is learnt and counted stays of a size."""

import pytest

from muster.domain.virtual_clusters import WEEK_S
from muster.scheduling.allocations.accounting import Account
from muster.scheduling.demand import similarity_of
from muster.scheduling.ordering import runtime_prediction
from muster.scheduling.ordering.runtime_prediction import Predictor
from tests.parts.building import a_job, a_role, a_spec

pytestmark = pytest.mark.fast


def test_kinds_of_jobs_that_came_once_are_forgotten_and_the_common_ones_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_prediction, "_MOST_KINDS", 100)
    predictor = Predictor()
    for number in range(1000):
        predictor.learn((f"once-{number}", "often"), 3600.0)
    assert predictor.median(("often",)) == pytest.approx(3600.0)
    assert sum(predictor.median((f"once-{number}", "often")) is not None for number in range(1000)) == 1000
    assert len(predictor._kinds) <= 101


def test_a_long_command_makes_no_long_key() -> None:
    job = a_job(a_spec(a_role()))
    assert max(map(len, similarity_of(job))) < 200
    assert similarity_of(job) == similarity_of(a_job(a_spec(a_role()), job_id="another"))


def test_use_of_more_than_a_week_ago_is_forgotten() -> None:
    account = Account()
    for day in range(30):
        account.charge(3600.0, day * 86400.0)
    assert len(account.week) == 7
    assert account.week_used(29 * 86400.0) == 7 * 3600.0
    assert account.week_used(29 * 86400.0 + WEEK_S) == 0.0
