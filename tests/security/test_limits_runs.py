"""What one user may report of runs and experiments, and how much of it is read at once."""

from collections.abc import Mapping

import pytest

from muster.domain.errors import Invalid, TooLarge
from muster.domain.job_notes import JobNote, NoteKind
from muster.domain.jobs import Job, Succeeded
from muster.domain.limits import Limits
from muster.engine.context import Context
from muster.engine.requests import commands, experiments, reported_runs
from muster.engine.requests.reported_room import reported_by
from muster.engine.requests.reported_runs import NewRun
from muster.ports.store import JobFilter, Reported
from muster.server import run_pages
from muster.server.run_pages import read_runs, read_whole_runs
from tests.security.clock import SetClock

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
LONG = "x" * 900


async def ended(context: Context, owner: str = "amy", tags: Mapping[str, str] | None = None) -> Job:
    """A run that is over, so that it does not count among those under way."""
    asked = NewRun("run", "0", context.clock(), "mlflow")
    notes = [(NoteKind.TAG, name, value) for name, value in (tags or {}).items()]
    job = await reported_runs.begin(context, owner, asked, notes, None)
    return await reported_runs.end(context, job, Succeeded(context.clock()), "")


async def test_a_user_has_a_bounded_number_of_runs_outside_and_deleting_makes_room(bare_context: Context) -> None:
    bare_context.limits = Limits(outside_runs_per_user=2)
    first, _ = await ended(bare_context), await ended(bare_context)
    with pytest.raises(Invalid, match="amy has 2 runs outside of Muster, 2 are allowed") as refused:
        await ended(bare_context)
    assert "muster delete job/RUN" in refused.value.hint
    await ended(bare_context, "bob")
    await commands.delete(bare_context, first, "amy")
    await ended(bare_context)
    with pytest.raises(Invalid):
        await ended(bare_context)


async def test_the_params_and_tags_of_a_user_have_a_bounded_size_in_all_runs(bare_context: Context) -> None:
    bare_context.limits = Limits(note_bytes_per_user=2000)
    first = await ended(bare_context, tags={"a": LONG})
    second = await ended(bare_context, tags={"a": LONG})
    more = JobNote(second.id, NoteKind.PARAM, "b", LONG)
    with pytest.raises(TooLarge, match="amy has params and tags of 1802 bytes in all runs, 2000 are allowed"):
        await reported_runs.note(bare_context, second, [more])
    with pytest.raises(TooLarge):
        await ended(bare_context, tags={"a": LONG})
    await reported_runs.note(bare_context, first, [JobNote(first.id, NoteKind.TAG, "a", "short")])
    await reported_runs.note(bare_context, second, [more])
    assert await reported_by(bare_context, "amy") == Reported(2, 6 + 901 + 901)
    await reported_runs.forget_tag(bare_context, second, "a")
    assert await reported_by(bare_context, "amy") == Reported(2, 6 + 901) == await bare_context.store.reported_by("amy")


async def test_who_is_over_the_limit_does_not_make_the_store_count_at_every_call(
    bare_context: Context, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare_context.limits = Limits(outside_runs_per_user=1)
    await ended(bare_context)
    counted: list[str] = []
    count = bare_context.store.reported_by

    async def noted(owner: str) -> Reported:
        counted.append(owner)
        return await count(owner)

    monkeypatch.setattr(bare_context.store, "reported_by", noted)
    for _ in range(20):
        with pytest.raises(Invalid):
            await ended(bare_context)
    assert len(counted) <= 1
    clock.now += 60
    with pytest.raises(Invalid):
        await ended(bare_context)
    assert 1 <= len(counted) <= 2


async def test_runs_are_read_until_an_answer_is_full(bare_context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_pages, "MOST_BYTES", 8000)
    made = [(await ended(bare_context, tags={"a": LONG, "b": LONG})).id for _ in range(5)]
    store, read = bare_context.store, []
    runs = store.runs

    async def noted(where: JobFilter, **more: object) -> object:
        read.append(where.ids)
        return await runs(where, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "runs", noted)
    page = await read_runs(store, made)
    assert 1 < page.taken < 5
    assert [run.id for run in page.runs] == made[: page.taken]
    assert read == [tuple(made[: page.taken])]
    whole = await read_whole_runs(store, made)
    assert 0 < whole.taken <= page.taken
    monkeypatch.setattr(run_pages, "MOST_BYTES", 10)
    assert (await read_runs(store, made)).taken == (await read_whole_runs(store, made)).taken == 1
    assert (await read_runs(store, [])).taken == (await read_whole_runs(store, [])).taken == 0


async def test_a_run_that_was_deleted_meanwhile_is_passed_over(bare_context: Context) -> None:
    kept = await ended(bare_context)
    page = await read_runs(bare_context.store, ["gone", kept.id, "gone too"])
    assert ([run.id for run in page.runs], page.taken) == ([kept.id], 3)


async def test_the_tags_of_an_experiment_have_a_bounded_size(bare_context: Context) -> None:
    tags = {f"t{number}": "x" * 8000 for number in range(9)}
    with pytest.raises(Invalid, match="72018 bytes, 65536 are allowed"):
        await experiments.create(bare_context, "amy", "nets", tags)
    made = await experiments.create(bare_context, "amy", "nets", {})
    with pytest.raises(Invalid):
        await experiments.change(bare_context, made, tags=tags)


async def test_making_an_experiment_does_not_read_the_others(
    bare_context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    await experiments.create(bare_context, "amy", "nets", {})

    async def refuse(*_: object, **__: object) -> None:
        raise AssertionError("all were read")

    monkeypatch.setattr(bare_context.store, "experiments", refuse)
    await experiments.create(bare_context, "amy", "trees", {})
