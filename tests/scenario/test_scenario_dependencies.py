"""Jobs that wait for others: they start in order, fail with their reason, and never wait for what cannot come."""

import pytest

from muster.domain.errors import Invalid
from muster.domain.jobs import Failed, Job
from muster.domain.specs import Dependency, JobSpec, Needed
from muster.engine.requests import commands
from muster.engine.requests.explaining import live_reason
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


def after(*names: str, name: str = "train", on: Needed = Needed.SUCCEEDED, **fields: object) -> JobSpec:
    return a_spec(a_role(), name=name, after=tuple(Dependency(one, on) for one in names), **fields)  # type: ignore[arg-type]


async def prepared(lab: Laboratory, name: str = "prep") -> str:
    job_id = await lab.submit(a_spec(a_role(), name=name))
    await lab.becomes(job_id, "Running")
    return job_id


def end(lab: Laboratory, job_id: str, exit_code: int = 0) -> None:
    lab.backend.end(f"{job_id}.1.worker.0", exit_code)


def why(job: Job) -> tuple[str, str]:
    assert isinstance(job.state, Failed)
    return job.state.fault.code, job.state.fault.cause


async def test_a_job_starts_when_the_one_it_waits_for_has_succeeded(lab: Laboratory) -> None:
    prep = await prepared(lab)
    train = await lab.submit(after("prep"))
    await lab.settled()
    job = await lab.job(train)
    assert job.state_name == "Queued"
    assert job.spec.after == (Dependency(prep),)
    reason = live_reason(lab.context, job)
    assert reason is not None
    assert (reason.code, reason.message) == ("dependency", "waits for prep (Running)")
    end(lab, prep)
    await lab.becomes(train, "Running")
    assert live_reason(lab.context, await lab.job(train)) is None


async def test_a_job_waits_for_all_that_it_names(lab: Laboratory) -> None:
    first, second = await prepared(lab, "first"), await prepared(lab, "second")
    train = await lab.submit(after("first", "second"))
    end(lab, first)
    await lab.becomes(first, "Succeeded")
    await lab.settled()
    reason = live_reason(lab.context, await lab.job(train))
    assert reason is not None
    assert reason.message == "waits for second (Running)"
    end(lab, second)
    await lab.becomes(train, "Running")


async def test_a_failed_dependency_fails_the_whole_chain_behind_it(lab: Laboratory) -> None:
    prep = await prepared(lab)
    train = await lab.submit(after("prep"))
    evaluate = await lab.submit(after("train", name="evaluate"))
    end(lab, prep, exit_code=127)
    assert why(await lab.becomes(train, "Failed")) == (
        "dependency-failed",
        "This job depends on the success of prep, which ended Failed.",
    )
    assert why(await lab.becomes(evaluate, "Failed"))[0] == "dependency-failed"
    assert lab.context.clusters["lab"].waiting == 0
    assert await lab.told(train) == ["job.queued", "job.failed"]


async def test_one_failure_decides_although_others_still_run(lab: Laboratory) -> None:
    first, _ = await prepared(lab, "first"), await prepared(lab, "second")
    train = await lab.submit(after("first", "second"))
    await commands.kill(lab.context, first, "amy")
    assert "the success of first, which ended Cancelled" in why(await lab.becomes(train, "Failed"))[1]


async def test_on_ended_takes_any_end(lab: Laboratory) -> None:
    prep = await prepared(lab)
    train = await lab.submit(after("prep", on=Needed.ENDED))
    end(lab, prep, exit_code=127)
    await lab.becomes(train, "Running")


async def test_a_queued_dependency_that_is_killed_fails_its_dependents(lab: Laboratory) -> None:
    prep = await lab.submit(a_spec(name="prep", held=True))
    train = await lab.submit(after("prep"))
    await commands.kill(lab.context, prep, "amy")
    await lab.becomes(train, "Failed")


async def test_a_job_that_ended_well_before_does_not_hold_anybody_up(lab: Laboratory) -> None:
    prep = await prepared(lab)
    end(lab, prep)
    await lab.becomes(prep, "Succeeded")
    await lab.becomes(await lab.submit(after("prep")), "Running")
    await lab.becomes(await lab.submit(after(prep, name="by-id")), "Running")


async def test_the_newest_job_of_a_name_is_meant(lab: Laboratory) -> None:
    old = await prepared(lab)
    end(lab, old, exit_code=127)
    await lab.becomes(old, "Failed")
    lab.pass_time(1.0)
    new = await prepared(lab)
    train = await lab.submit(after("prep"))
    assert (await lab.job(train)).spec.after == (Dependency(new),)


@pytest.mark.parametrize("name", ["nobody", "train", "0123456789abcdef"])
async def test_what_is_not_there_is_refused_so_that_no_circle_can_arise(lab: Laboratory, name: str) -> None:
    with pytest.raises(Invalid) as caught:
        await lab.submit(after(name, name="train"))
    assert [(one.path, one.message) for one in caught.value.problems] == [("after[0].job", f"amy has no job {name!r}")]


async def test_jobs_of_others_are_not_there(lab: Laboratory) -> None:
    prep = await prepared(lab)
    for ref in ("prep", prep):
        with pytest.raises(Invalid):
            await commands.submit(lab.context, after(ref), "bob")


async def test_a_job_that_could_never_start_is_refused(lab: Laboratory) -> None:
    prep = await prepared(lab)
    end(lab, prep, exit_code=127)
    await lab.becomes(prep, "Failed")
    with pytest.raises(Invalid) as caught:
        await lab.submit(after("prep"))
    assert "prep ended Failed" in caught.value.problems[0].message


async def test_a_dependency_that_ends_while_the_server_is_away_is_seen_at_its_start(lab: Laboratory) -> None:
    prep, other = await prepared(lab), await prepared(lab, "other")
    train = await lab.submit(after("prep"))
    waits = await lab.submit(after("other", name="waits"))
    await lab.close()
    end(lab, prep)
    await lab.open()
    await lab.becomes(train, "Running")
    await lab.settled()
    assert (await lab.job(waits)).state_name == "Queued"
    end(lab, other)
    await lab.becomes(waits, "Running")


async def test_a_held_dependent_learns_of_a_failure_when_it_is_resumed(lab: Laboratory) -> None:
    prep = await prepared(lab)
    train = await lab.submit(after("prep", held=True))
    end(lab, prep, exit_code=127)
    await lab.becomes(prep, "Failed")
    assert (await lab.job(train)).state_name == "Held"
    await commands.resume(lab.context, train, "amy")
    assert why(await lab.becomes(train, "Failed"))[0] == "dependency-failed"


async def test_a_deleted_dependency_ends_the_wait(lab: Laboratory) -> None:
    prep = await prepared(lab)
    train = await lab.submit(after("prep", held=True))
    end(lab, prep)
    job = await lab.becomes(prep, "Succeeded")
    await commands.delete(lab.context, job, "amy")
    await commands.resume(lab.context, train, "amy")
    assert why(await lab.becomes(train, "Failed"))[0] == "dependency-gone"


async def test_a_job_that_has_started_is_not_asked_for_its_dependencies_again(lab: Laboratory) -> None:
    prep = await prepared(lab)
    train = await lab.submit(after("prep", retry_max=1))
    end(lab, prep)
    await lab.becomes(train, "Running")
    await commands.delete(lab.context, await lab.job(prep), "amy")
    lab.backend.end(f"{train}.1.worker.0", exit_code=1)
    await lab.becomes(train, "Queued")
    await lab.restart()
    lab.pass_time(60.0)
    await lab.becomes(train, "Running", attempt=2)


async def test_jobs_submitted_together_wait_for_each_other_in_any_order(lab: Laboratory) -> None:
    earlier = await prepared(lab, "prep")
    end(lab, earlier)
    await lab.becomes(earlier, "Succeeded")
    (train, prep), _ = await commands.submit_all(lab.context, [after("prep"), a_spec(a_role(), name="prep")], "amy")
    assert train.spec.after == (Dependency(prep.id),), "the one beside it, and not the earlier one"
    await lab.becomes(prep.id, "Running")
    assert (await lab.job(train.id)).state_name == "Queued"
    await lab.restart()
    end(lab, prep.id)
    await lab.becomes(train.id, "Running")


async def test_what_is_wrong_with_all_jobs_of_a_set_is_told_and_none_is_stored(lab: Laboratory) -> None:
    specs = [after("nobody", name="a"), after("a", name="b"), a_spec(a_role(), name="c", cluster="moon")]
    with pytest.raises(Invalid) as refused:
        await commands.submit_all(lab.context, specs, "amy")
    assert [problem.path for problem in refused.value.problems] == ["after[0].job", "cluster"]
    assert await lab.context.store.counts() == {}
