"""Which runs match, and which of them are the best."""

from dataclasses import replace

import pytest

from muster.domain.errors import Invalid
from muster.domain.experiments.runs import Goal, Param, Run, RunMetric, Value, best_by, condition, matching

_RUN = Run("j", "net", "ada", "lab", "", "Succeeded", "", 0.0, None, None, 3600.0, 2000, None, "", 1)


def run(number: int, lr: Param | None, acc: float | None, last: float = 0.0) -> Run:
    metrics = {} if acc is None else {"acc": RunMetric(3, 2, last, 0.0, acc)}
    params = {} if lr is None else {"lr": lr}
    return replace(_RUN, id=f"j{number}", created_at=float(number), params=params, metrics=metrics)


RUNS = [run(1, 0.1, 0.8, 0.7), run(2, 0.1, 0.9, 0.6), run(3, 0.01, 0.85, 0.85), run(4, "auto", None), run(5, None, 0.5)]


def test_the_best_of_each_value_of_a_parameter_comes_with_the_best_value_first() -> None:
    found = best_by(RUNS, "acc", "lr", Goal.MAX, Value.BEST)
    assert [(one.group, one.runs, one.best.id, one.value) for one in found] == [
        (0.1, 2, "j2", 0.9),
        (0.01, 1, "j3", 0.85),
        (None, 1, "j5", 0.5),
    ]
    assert found[0].mean == pytest.approx(0.85)


def test_the_last_value_may_count_and_less_may_be_better() -> None:
    assert [one.best.id for one in best_by(RUNS, "acc", "lr", Goal.MAX, Value.LAST)] == ["j3", "j1", "j5"]
    assert best_by(RUNS, "acc", None, Goal.MIN, Value.LAST)[0].best.id == "j5"


def test_without_a_parameter_the_runs_are_ranked() -> None:
    found = best_by(RUNS, "acc", None, Goal.MAX, Value.BEST)
    assert [(one.best.id, one.value, one.runs, one.group) for one in found] == [
        ("j2", 0.9, 1, None),
        ("j3", 0.85, 1, None),
        ("j1", 0.8, 1, None),
        ("j5", 0.5, 1, None),
    ]


def test_equal_numbers_are_one_group_also_if_one_is_a_text() -> None:
    runs = [run(1, "1", 0.1), run(2, 1, 0.2), run(3, 1.0, 0.3), run(4, True, 0.4), run(5, "one", 0.5), run(6, "nan", 0)]
    found = best_by(runs, "acc", "lr", Goal.MAX, Value.BEST)
    assert [(one.group, one.runs) for one in found] == [("one", 1), (True, 1), (1, 3), ("nan", 1)]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("lr<0.1", ["j3"]),
        ("lr=0.10", ["j1", "j2"]),
        ("lr>=0.01", ["j1", "j2", "j3"]),
        ("lr=AUTO", ["j4"]),
        ("lr!=auto", ["j1", "j2", "j3"]),
        ("lr>auto", []),
        ("depth=1", []),
    ],
)
def test_conditions_on_parameters(text: str, ids: list[str]) -> None:
    assert [one.id for one in matching(RUNS, [condition(text)], [])] == ids


def test_conditions_on_metrics_are_about_last_values() -> None:
    assert [one.id for one in matching(RUNS, [], [condition("acc > 0.65")])] == ["j1", "j3"]


@pytest.mark.parametrize("text", ["", "acc", "=1", "acc>", ">=", "lr<<", "lr==1", "lr<=>2"])
def test_what_is_no_condition_is_said(text: str) -> None:
    with pytest.raises(Invalid, match="is not a condition"):
        condition(text)


def test_gpu_hours_count_all_gpus_and_the_commit_is_that_which_was_noted() -> None:
    assert _RUN.gpu_hours == 2.0
    assert replace(_RUN, labels={"git-commit": "abc"}).commit == "abc"
    assert replace(_RUN, labels={"git-commit": "abc"}, tags={"mlflow.source.git.commit": "def"}).commit == "def"


def test_what_still_runs_has_run_up_to_now() -> None:
    running = replace(_RUN, ran_s=100.0, running_since=50.0)
    assert (running.as_of(60.0).ran_s, running.as_of(60.0).gpu_hours) == (110.0, 110 * 2 / 3600)
    assert (running.as_of(40.0).ran_s, _RUN.as_of(60.0).ran_s) == (100.0, 3600.0)
