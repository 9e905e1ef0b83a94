"""Which members a sweep has, and what each of them gets."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.experiments.sweeps import (
    OPEN_SWEEP_STATES,
    Choice,
    Goal,
    MemberCounts,
    Scale,
    Span,
    Sweep,
    SweepPlan,
    SweepState,
    member_spec,
    sweep_state,
)
from tests.parts.building import a_role, a_spec

pytestmark = pytest.mark.fast

TWO_BY_THREE = (("lr", (0.1, 0.2)), ("batch", (1, 2, 3)))


def test_a_grid_has_every_combination_and_the_last_param_changes_first() -> None:
    plan = SweepPlan(grid=TWO_BY_THREE)
    assert plan.count == 6
    assert [tuple(plan.values(number).values()) for number in range(1, 7)] == [
        *((0.1, batch) for batch in (1, 2, 3)),
        *((0.2, batch) for batch in (1, 2, 3)),
    ]


def test_seeds_repeat_each_combination() -> None:
    plan = SweepPlan(grid=(("lr", (0.1, 0.2)),), seeds=(7, 8))
    assert [plan.values(number) for number in range(1, 5)] == [
        {"lr": 0.1, "seed": 7},
        {"lr": 0.1, "seed": 8},
        {"lr": 0.2, "seed": 7},
        {"lr": 0.2, "seed": 8},
    ]


def test_seeds_alone_make_a_sweep() -> None:
    plan = SweepPlan(seeds=(1, 2, 3))
    assert [plan.values(number) for number in (1, 2, 3)] == [{"seed": 1}, {"seed": 2}, {"seed": 3}]


def test_a_list_says_what_each_member_gets() -> None:
    plan = SweepPlan(listed=({"lr": 1}, {"lr": 2, "batch": 3}))
    assert [plan.values(1), plan.values(2)] == [{"lr": 1}, {"lr": 2, "batch": 3}]
    assert plan.names == ("lr", "batch")


def test_random_values_are_the_same_for_the_same_seed_on_every_machine() -> None:
    plan = SweepPlan(
        random=(
            ("lr", Span(1e-4, 0.1, Scale.LOG)),
            ("layers", Span(1, 6)),
            ("width", Span(1, 1000, Scale.LOG)),
            ("optimizer", Choice(("sgd", "adam"))),
        ),
        samples=3,
        seed=7,
    )
    assert [plan.values(number) for number in (1, 2, 3)] == [
        {"lr": 0.000615726, "layers": 2, "width": 17, "optimizer": "sgd"},
        {"lr": 0.000193649, "layers": 6, "width": 91, "optimizer": "sgd"},
        {"lr": 0.046956, "layers": 3, "width": 8, "optimizer": "sgd"},
    ]


@given(
    low=st.integers(1, 1000),
    length=st.integers(1, 1000),
    scale=st.sampled_from(Scale),
    part=st.floats(0, 1, exclude_max=True),
)
def test_random_numbers_stay_between_their_bounds_and_whole_if_the_bounds_are(
    low: int, length: int, scale: Scale, part: float
) -> None:
    whole = Span(low, low + length, scale).at(part)
    assert isinstance(whole, int)
    assert low <= whole <= low + length
    assert low <= Span(float(low), float(low + length), scale).at(part) <= low + length


def test_both_ends_of_whole_bounds_are_taken() -> None:
    span = Span(1, 3)
    assert [span.at(0.0), span.at(0.5), span.at(0.999999)] == [1, 2, 3]


@given(seeds=st.integers(0, 4), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_no_two_members_of_a_grid_get_the_same(seeds: int, sizes: list[int]) -> None:
    grid = tuple((f"p{place}", tuple(range(size))) for place, size in enumerate(sizes))
    plan = SweepPlan(grid=grid, seeds=tuple(range(seeds)))
    given_ = {tuple(plan.values(number).items()) for number in range(1, plan.count + 1)}
    assert len(given_) == plan.count


def test_a_member_has_its_params_in_its_command_and_keeps_the_other_params() -> None:
    role = replace(a_role(), command_template=("echo", "${params.lr}", "${params.z}"))
    shared = a_spec(role, name="s", params={"z": True, "lr": 5})
    sweep = Sweep("1", "amy", shared, SweepPlan(grid=(("lr", (0.1, 0.2)),)), 0.0)
    made = member_spec(shared, sweep, 2)
    assert made.name == "s-2"
    assert made.params == {"z": True, "lr": 0.2}
    assert made.roles[0].command == ("echo", "0.2", "true")


@pytest.mark.parametrize(
    ("counts", "made", "stopped_by", "state"),
    [
        ({}, 0, "", SweepState.QUEUED),
        ({"Queued": 2}, 2, "", SweepState.QUEUED),
        ({"Held": 2}, 2, "", SweepState.QUEUED),
        ({"Queued": 1, "Starting": 1}, 2, "", SweepState.RUNNING),
        ({"Queued": 1, "Succeeded": 1}, 2, "", SweepState.RUNNING),
        ({"Succeeded": 1}, 1, "", SweepState.RUNNING),
        ({"Stopping": 1, "Succeeded": 1}, 2, "", SweepState.RUNNING),
        ({"Succeeded": 2}, 2, "", SweepState.SUCCEEDED),
        ({"Succeeded": 1, "Cancelled": 1}, 2, "", SweepState.SUCCEEDED),
        ({"Succeeded": 1, "Failed": 1}, 2, "", SweepState.FAILED),
        ({"Cancelled": 1, "Failed": 1}, 2, "", SweepState.FAILED),
        ({"Cancelled": 2}, 2, "", SweepState.CANCELLED),
        ({}, 2, "", SweepState.SUCCEEDED),
        ({"Running": 1, "Cancelled": 1}, 2, "amy", SweepState.STOPPING),
        ({"Cancelled": 1}, 1, "amy", SweepState.CANCELLED),
        ({"Succeeded": 1}, 1, "amy", SweepState.CANCELLED),
    ],
)
def test_the_state_follows_from_the_members(
    counts: dict[str, int], made: int, stopped_by: str, state: SweepState
) -> None:
    plan = SweepPlan(grid=(("lr", (1, 2)),))
    sweep = Sweep("1", "amy", a_spec(), plan, 0.0, made=made, stopped_by=stopped_by)
    assert sweep_state(sweep, MemberCounts(counts)) is state
    has_more = bool(MemberCounts(counts).is_open) or sweep.wants_more
    assert (state in OPEN_SWEEP_STATES) == has_more


def test_a_goal_knows_what_is_better() -> None:
    assert Goal.MAX.is_better(2, 1)
    assert Goal.MIN.is_better(1, 2)
    assert not Goal.MIN.is_better(1, 1)
    assert (Goal.MAX.best([1, 3, 2]), Goal.MIN.best([1, 3, 2])) == (3, 1)
