"""`sweep:` in a job spec: what it means, and what is wrong with it, with its line."""

import pytest

from muster.domain.errors import Invalid
from muster.domain.experiments.sweeps import (
    MAX_MEMBERS,
    Choice,
    Goal,
    Scale,
    Span,
    StopBy,
    StopEarly,
    Sweep,
    member_spec,
)
from muster.wire.specs import Reading, read_source, reading_of_any

pytestmark = pytest.mark.fast

JOB = "name: search\ncommand: train ${params.lr}\n"


def read(text: str, **more: object) -> Reading:
    return read_source(JOB + text, read=reading_of_any, **more)  # type: ignore[arg-type]


def problems(text: str, **more: object) -> list[str]:
    with pytest.raises(Invalid) as refused:
        read(text, **more)
    return [str(problem) for problem in refused.value.problems]


def test_every_kind_of_sweep_is_read() -> None:
    plan = read("sweep: {grid: {lr: [0.1, 1]}, seeds: 2, maxRunning: 4}").sweep
    assert plan is not None
    assert (plan.grid, plan.seeds, plan.max_running, plan.count) == ((("lr", (0.1, 1)),), (1, 2), 4, 4)
    plan = read("sweep: {random: {lr: {min: 0.1, max: 1.0, scale: log}, o: [a, b]}, samples: 3, seed: 5}").sweep
    assert plan is not None
    assert plan.random == (("lr", Span(0.1, 1.0, Scale.LOG)), ("o", Choice(("a", "b"))))
    assert (plan.samples, plan.seed, plan.count) == (3, 5, 3)
    plan = read("sweep: {list: [{lr: 1}, {lr: 2}], seeds: [7]}").sweep
    assert plan is not None
    assert (plan.listed, plan.seeds) == (({"lr": 1}, {"lr": 2}), (7,))


def test_a_metric_and_an_early_stop_are_read() -> None:
    text = "sweep: {grid: {lr: [1]}, metric: acc, goal: max, stopEarly: {by: halving, afterStep: 2, factor: 4}}"
    plan = read(text).sweep
    assert plan is not None
    assert (plan.metric, plan.goal) == ("acc", Goal.MAX)
    assert plan.stop_early == StopEarly(StopBy.HALVING, after_step=2, members=3, factor=4)


def test_params_of_the_file_are_defaults_and_the_sweep_wins() -> None:
    reading = read("params: {lr: 3, z: 9}\nsweep: {list: [{lr: 1}, {z: 2}]}")
    assert reading.sweep is not None
    sweep = Sweep("1", "amy", reading.spec, reading.sweep, 0.0)
    assert member_spec(reading.spec, sweep, 1).params == {"lr": 1, "z": 9}
    assert member_spec(reading.spec, sweep, 2).params == {"lr": 3, "z": 2}
    assert member_spec(reading.spec, sweep, 2).roles[0].command[-1] == "train 3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "sweep: {}",
            ["line 2: command: there is no param 'lr'", "line 3: sweep: says nothing that members differ in"],
        ),
        ("sweep: {grid: {lr: [1]}, list: [{lr: 1}]}", ["line 3: sweep.list: stands beside sweep.grid"]),
        ("sweep:\n  grid: {lr: [1]}\n  samples: 3", ["line 5: sweep.samples: is only for `random`"]),
        ("sweep:\n  random: {lr: [1]}", ["sweep.samples: is required with `random`"]),
        ("sweep: {random: {lr: {min: 2, max: 1}}, samples: 1}", ["sweep.random.lr: min is 2 and max is 1"]),
        (
            f"sweep: {{random: {{lr: {{min: 1, max: {10**400}}}}}, samples: 1}}",
            ["sweep.random.lr.max: is too large to draw numbers from (at most 1e100)"],
        ),
        (
            "sweep: {random: {lr: {min: 0, max: 1, scale: log}}, samples: 1}",
            ["sweep.random.lr.min: is 0 (with `scale: log` it must be more than 0)"],
        ),
        ("sweep: {grid: {lr: [1]}, metric: acc}", ["sweep.goal: is required with `metric`"]),
        ("sweep: {grid: {lr: [1]}, stopEarly: {by: median}}", ["sweep.stopEarly: needs a metric"]),
        ("sweep: {list: [{lr: 1}, {z: 2}]}", ["sweep.list[0]: does not set z, as others do"]),
        ("sweep: {grid: {lr: [1], seed: [1]}, seeds: 2}", ["sweep.seeds: sets the param `seed`"]),
        ("sweep: {grid: {lr: [1]}, seeds: 0}", ["sweep.seeds: is 0 (from 1 to 10000)"]),
        ("hold: true\nsweep: {grid: {lr: [1]}}", ["line 3: hold: a sweep cannot be submitted on hold"]),
        ("sweep: {grid: {lr: [1]}, sed: 3}", ["sweep.sed: unknown key (did you mean seed"]),
        ("sweep: {grid: {lr: 5}}", ["sweep.grid.lr: is 5"]),
        ("sweep: {grid: {momentum: [1]}}", ["command: there is no param 'lr'"]),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, expected: list[str]) -> None:
    found = problems(text)
    for one in expected:
        assert any(one in problem for problem in found), found
    assert len(found) == len(expected), found


def test_a_sweep_has_a_bounded_number_of_members_which_is_counted_without_making_them() -> None:
    values = list(range(100))
    found = problems(f"sweep: {{grid: {{lr: {values}, a: {values}, b: {values}}}, seeds: 10}}")
    assert found == [f"line 3: sweep: has 10000000 members (at most {MAX_MEMBERS}; `random` takes some of them)"]


def test_a_name_that_leaves_no_room_for_numbers_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        read_source(f"name: {'a' * 62}\ncommand: x\nsweep: {{seeds: 100}}", read=reading_of_any)
    assert [str(one) for one in refused.value.problems] == [
        "line 1: name: is too long for a sweep (at most 59 characters, since members are called NAME-100)"
    ]


def test_a_param_that_the_sweep_sets_cannot_be_given_for_all_members() -> None:
    (found,) = problems("sweep: {grid: {lr: [1]}}", params={"lr": 3})
    assert "params.lr: is set by the sweep (leave it out, or take it out of `sweep`)" in found


def test_where_one_job_is_expected_a_sweep_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        read_source(JOB + "sweep: {grid: {lr: [1]}}")
    assert [str(one) for one in refused.value.problems] == [
        "line 3: sweep: makes many jobs, and one is expected here (submit it alone: muster submit FILE)"
    ]
