"""Metrics of jobs: a point that is delivered twice is stored once, what is beyond the limits is left out, and values
that are not finite come back as they were."""

import math
from dataclasses import replace

import pytest

from muster.domain.errors import NotFound
from muster.domain.experiments.job_metrics import (
    Extreme,
    MetricBatch,
    MetricCursor,
    MetricLimits,
    MetricPoint,
    MetricSeries,
)
from muster.domain.job_notes import JobNote, NoteKind
from muster.domain.jobs import ELSEWHERE, Job, Succeeded
from muster.domain.resources import Placement
from muster.domain.specs import Framework, Runtime
from muster.domain.tasks import Task
from muster.ports.store import Change, JobFilter, Reported, Store
from tests.contract.building import a_job, a_task
from tests.parts.building import a_role, a_spec

pytestmark = pytest.mark.anyio


async def put(store: Store, number: int = 1) -> Job:
    job = a_job(number, name=f"net{number}")
    await store.apply(Change(new_job=job))
    return job


def batch(job: Job, *points: MetricPoint, attempt: int = 1, limits: MetricLimits | None = None) -> Change:
    return Change(metrics=MetricBatch(job.id, attempt, points, limits=limits or MetricLimits()))


def loss(step: int, value: float, at: float | None = None) -> MetricPoint:
    return MetricPoint("loss", step, 100.0 + step if at is None else at, value)


async def test_points_come_back_in_the_order_of_their_steps(store: Store) -> None:
    job = await put(store)
    await store.apply(batch(job, loss(3, 0.25), loss(1, 0.75)))
    await store.apply(batch(job, loss(2, 0.5)))
    assert await store.metric_points(job.id, 1, "loss") == [loss(1, 0.75), loss(2, 0.5), loss(3, 0.25)]
    assert await store.metric_series([job.id]) == [
        MetricSeries(job.id, 1, "loss", 3, loss(3, 0.25), Extreme(3, 0.25), Extreme(1, 0.75))
    ]


async def test_a_batch_that_is_delivered_twice_is_stored_once(store: Store) -> None:
    job = await put(store)
    given = batch(job, loss(1, 0.75), loss(1, math.nan), loss(1, 0.75), loss(2, 0.0), loss(3, -0.0, 102.0))
    await store.apply(given)
    once = await store.metric_series([job.id])
    await store.apply_all([given, batch(job, loss(2, -0.0), loss(1, math.nan))])
    assert await store.metric_series([job.id]) == once
    assert once[0].points == len(await store.metric_points(job.id, 1, "loss")) == 4


async def test_points_far_apart_and_of_one_step_are_told_from_known_ones(store: Store) -> None:
    job = await put(store)
    many = [loss(step, 1.0) for step in range(500)] + [loss(7, value, 50.0) for value in (1.0, math.nan, math.inf)]
    await store.apply(batch(job, *many))
    await store.apply(
        batch(job, *many[::-1], loss(-3, 1.0), loss(7, 2.0, 50.0), loss(7, -math.inf, 50.0), loss(900, 1.0))
    )
    await store.apply(batch(job, loss(0, 1.0), loss(10**9, 1.0), loss(900, 1.0)))
    points = await store.metric_points(job.id, 1, "loss")
    assert len(points) == len({point.key for point in points}) == len(many) + 5
    (series,) = await store.metric_series([job.id])
    assert (series.points, series.last.step) == (len(points), 10**9)


async def test_values_that_are_not_finite_come_back_and_are_no_extremes(store: Store) -> None:
    job = await put(store)
    await store.apply(batch(job, loss(1, math.inf), loss(2, -math.inf), loss(3, math.nan)))
    values = [point.value for point in await store.metric_points(job.id, 1, "loss")]
    assert values[:2] == [math.inf, -math.inf]
    assert math.isnan(values[2])
    (series,) = await store.metric_series([job.id])
    assert math.isnan(series.last.value)
    assert (series.lowest, series.highest) == (None, None)


async def test_what_is_beyond_the_limits_is_left_out_of_the_curves_and_counts_in_the_summary(store: Store) -> None:
    job = await put(store)
    limits = MetricLimits(names=2, points=3)
    points = [loss(step, 1.0 / step) for step in range(1, 6)]
    others = [MetricPoint(name, 1, 1.0, 1.0) for name in ("acc", "third")]
    await store.apply(batch(job, *points, *others, limits=limits))
    found = {one.name: one for one in await store.metric_series([job.id])}
    assert set(found) == {"loss", "acc"}
    assert (found["loss"].points, found["acc"].points) == (3, 0)
    assert found["loss"].last == points[-1]
    assert await store.metric_points(job.id, 1, "loss") == points[:3]


async def test_a_source_that_was_read_so_far_already_adds_nothing(store: Store) -> None:
    job = await put(store)

    def read(begin: int, end: int, *points: MetricPoint) -> Change:
        return Change(metrics=MetricBatch(job.id, 1, points, MetricCursor("t1 file", begin, end)))

    assert await store.metric_cursor(job.id, "t1 file") == 0
    await store.apply(read(0, 40, loss(1, 0.75)))
    # The time of these is that of the reading, so that the points themselves differ.
    await store.apply(read(0, 40, loss(1, 0.75, 999.0)))
    await store.apply(read(60, 80, loss(9, 0.75)))
    assert await store.metric_cursor(job.id, "t1 file") == 40
    await store.apply(read(40, 60, loss(2, 0.5)))
    assert await store.metric_points(job.id, 1, "loss") == [loss(1, 0.75), loss(2, 0.5)]


async def test_attempts_and_jobs_have_series_of_their_own(store: Store) -> None:
    first, second = await put(store, 1), await put(store, 2)
    await store.apply(batch(first, loss(1, 0.75)))
    await store.apply(batch(first, loss(1, 0.5), MetricPoint("acc", 1, 1.0, 0.9), attempt=2))
    await store.apply(batch(second, loss(1, 0.25)))
    found = await store.metric_series([first.id, second.id], names=["loss"])
    assert [(one.job_id, one.attempt, one.last.value) for one in found] == [
        (first.id, 1, 0.75),
        (first.id, 2, 0.5),
        (second.id, 1, 0.25),
    ]
    assert [one.name for one in await store.metric_series([first.id], attempt=2)] == ["acc", "loss"]


async def test_metrics_go_with_their_job(store: Store) -> None:
    job = await put(store)
    note = JobNote(job.id, NoteKind.PARAM, "lr", "0.1")
    await store.apply(Change(metrics=MetricBatch(job.id, 1, [loss(1, 1.0)], MetricCursor("s", 0, 9)), notes=[note]))
    await store.apply(Change(job=replace(job, state=Succeeded(9.0), ended_at=9.0, version=job.version + 1)))
    await store.apply(Change(removed_job=job.id))
    assert await store.metric_series([job.id]) == []
    assert await store.metric_points(job.id, 1, "loss") == []
    assert await store.metric_cursor(job.id, "s") == 0
    assert await store.notes([job.id]) == []
    with pytest.raises(NotFound):
        await store.apply(batch(job, loss(1, 1.0)))


async def test_a_note_replaces_the_one_before_it(store: Store) -> None:
    job = await put(store)

    def note(value: str) -> JobNote:
        return JobNote(job.id, NoteKind.PARAM, "lr", value)

    tag = JobNote(job.id, NoteKind.TAG, "lr", "chosen")
    await store.apply(Change(notes=[note("0.1"), tag, note("0.2")]))
    assert await store.notes([job.id]) == [note("0.2"), tag]
    await store.apply(Change(notes=[note("0.3")]))
    assert await store.notes([job.id]) == [note("0.3"), tag]


async def test_runs_have_parameters_notes_and_the_metrics_of_the_newest_attempt(store: Store) -> None:
    first, second = await put(store, 1), await put(store, 2)
    await store.apply(batch(first, loss(1, 0.75)))
    await store.apply(batch(first, loss(1, math.nan), MetricPoint("acc", 1, 1.0, 0.9), attempt=2))
    notes = [JobNote(first.id, NoteKind.PARAM, "lr", "0.2"), JobNote(first.id, NoteKind.TAG, "git.commit", "abc")]
    await store.apply(Change(notes=notes))
    newest, oldest = await store.runs(JobFilter(), limit=10)
    assert (newest.id, oldest.id) == (second.id, first.id)
    assert newest.params == second.spec.params
    assert oldest.params == {**first.spec.params, "lr": "0.2"}
    assert (oldest.commit, newest.commit, newest.metrics) == ("abc", "", {})
    assert math.isnan(oldest.metrics["loss"].last)
    assert oldest.metrics["acc"].highest == 0.9
    assert [one.id for one in await store.runs(JobFilter(), limit=1)] == [second.id]
    (only,) = await store.whole_runs(JobFilter(ids=(first.id,)), limit=10, metrics=["acc"])
    assert (only.id, set(only.metrics), only.env, only.labels) == (
        first.id,
        {"acc"},
        first.spec.env,
        first.spec.labels,
    )
    (again,) = await store.runs(JobFilter(ids=(first.id,)), limit=10, metrics=["acc"])
    assert again == replace(only, env={}, labels={})


async def test_what_runs_ran_in_is_in_their_specs_and_in_the_tasks_of_their_last_attempts(store: Store) -> None:
    two, one = (a_role(gpus=1, models=models) for models in (("A100", "V100"), ("H100",)))
    spec = a_spec(two, name="a", framework=Framework.TORCH, runtime=Runtime("ml"))
    placed = replace(a_job(1), spec=spec, attempt=2)
    asked = replace(a_job(2), spec=a_spec(one, name="b", runtime=Runtime(image="torch:2")))
    plain = replace(a_job(3), spec=a_spec(name="c"))
    for job in (placed, asked, plain):
        await store.apply(Change(new_job=job))
    await store.apply(Change(tasks=[placed_on(placed, 1, "V100"), placed_on(placed, 2, "A100")]))
    assert await store.run_environments([placed.id, asked.id, plain.id]) == {
        placed.id: {"conda": "ml", "framework": "torch", "gpu": "A100"},
        asked.id: {"image": "torch:2", "gpu": "H100"},
        plain.id: {},
    }
    assert await store.run_environments([]) == {}


def placed_on(job: Job, attempt: int, model: str) -> Task:
    placement = Placement("n1", devices=(0,), models=(model,))
    return replace(a_task(job, attempt=attempt), placement=placement)


async def test_values_of_runs_are_those_by_which_they_are_chosen(store: Store) -> None:
    first, second = await put(store, 1), await put(store, 2)
    await store.apply(batch(first, loss(1, 0.75), MetricPoint("acc", 1, 1.0, 0.9)))
    await store.apply(batch(first, loss(1, math.nan), attempt=2))
    await store.apply(Change(notes=[JobNote(first.id, NoteKind.PARAM, "lr", "0.2")]))
    names = [*first.spec.params, "lr"]
    newest, oldest = await store.run_values(JobFilter(), limit=10, metrics=["loss", "acc"], params=names)
    whole = await store.runs(JobFilter(), limit=10)
    assert (newest, oldest.id, oldest.created_at) == (
        (second.id, whole[0].created_at, second.spec.params, {}),
        first.id,
        whole[1].created_at,
    )
    assert (oldest.params, oldest.metrics["acc"]) == (whole[1].params, whole[1].metrics["acc"])
    assert math.isnan(oldest.metrics["loss"].last)
    (only,) = await store.run_values(JobFilter(ids=(first.id,)), limit=1, metrics=[], params=["lr"])
    assert (only.id, only.params, only.metrics) == (first.id, {"lr": "0.2"}, {})
    (bare,) = await store.run_values(JobFilter(ids=(first.id,)), limit=1, metrics=[], params=[])
    assert (bare.params, bare.metrics) == ({}, {})


async def test_outlines_of_runs_have_what_was_asked_for_only(store: Store) -> None:
    job = await put(store, 1)
    await store.apply(batch(job, loss(1, 0.75), MetricPoint("acc", 1, 1.0, 0.9)))
    notes = [("lr", NoteKind.PARAM), ("long", NoteKind.PARAM), ("team", NoteKind.TAG), ("note", NoteKind.TAG)]
    await store.apply(Change(notes=[JobNote(job.id, kind, name, "x") for name, kind in notes]))
    (found,) = await store.run_outlines(JobFilter(), limit=10, metrics=["acc"], notes=["lr", "team"])
    assert (found.id, set(found.metrics), found.params, found.tags) == (job.id, {"acc"}, {"lr": "x"}, {"team": "x"})
    (bare,) = await store.run_outlines(JobFilter(), limit=10, metrics=[], notes=[])
    assert (bare.metrics, bare.params, bare.tags) == ({}, {}, {})


async def test_the_bytes_of_runs_grow_with_their_texts_and_metrics(store: Store) -> None:
    job, other = await put(store, 1), await put(store, 2)
    before = await store.run_bytes([job.id, "gone"])
    await store.apply(Change(notes=[JobNote(job.id, NoteKind.TAG, "team", "é" * 1000)]))
    noted = await store.run_bytes([job.id, other.id])
    assert set(before) == {job.id}
    assert 2000 < noted[job.id] - before[job.id] < 2100
    assert noted[other.id] == before[job.id]
    await store.apply(batch(job, loss(1, 0.75), MetricPoint("acc", 1, 1.0, 0.9)))
    measured = await store.run_bytes([job.id])
    of_one = await store.run_bytes([job.id], metrics=["acc"])
    assert noted[job.id] < of_one[job.id] < measured[job.id]
    assert (await store.run_bytes([job.id], with_specs=True))[job.id] > measured[job.id]


async def test_what_was_reported_by_an_owner_is_counted(store: Store) -> None:
    job = await put(store, 1)
    outside = replace(a_job(2), cluster=ELSEWHERE, owner=job.owner)
    await store.apply(Change(new_job=outside))
    notes = [JobNote(job.id, NoteKind.PARAM, "lr", "0.2"), JobNote(outside.id, NoteKind.TAG, "é", "ab")]
    await store.apply(Change(notes=notes))
    assert await store.reported_by(job.owner) == Reported(1, 5 + 4)
    assert await store.reported_by("nobody") == Reported(0, 0)


async def test_points_that_are_only_summed_up_change_the_summary_and_not_the_curve(store: Store) -> None:
    job = await put(store)
    await store.apply(batch(job, loss(1, 0.75), loss(5, 0.5)))
    summed = [loss(3, -2.0, 105.0), loss(4, 9.0, 105.0), loss(5, 0.5), MetricPoint("acc", 1, 1.0, 0.9)]
    for _ in range(2):
        await store.apply(Change(metrics=MetricBatch(job.id, 1, summed=summed)))
    acc, found = await store.metric_series([job.id])
    assert found == MetricSeries(job.id, 1, "loss", 2, loss(5, 0.5), Extreme(3, -2.0), Extreme(4, 9.0))
    assert (acc.name, acc.points, await store.metric_points(job.id, 1, "acc")) == ("acc", 0, [])


async def test_points_are_counted_by_job_and_read_from_a_step_on(store: Store) -> None:
    first, second, empty = await put(store, 1), await put(store, 2), await put(store, 3)
    await store.apply(batch(first, *(loss(step, 1.0) for step in range(4)), MetricPoint("acc", 1, 1.0, 0.9)))
    await store.apply(batch(second, loss(1, 1.0)))
    await store.apply(batch(second, loss(1, 1.0), loss(2, 1.0), attempt=2))
    ids = [first.id, second.id, empty.id]
    assert await store.metric_counts(ids, attempt=1) == {first.id: 5, second.id: 1}
    assert await store.metric_counts(ids, attempt=2) == {second.id: 2}
    assert [point.step for point in await store.metric_points(first.id, 1, "loss", first_step=2)] == [2, 3]
