"""What every Store promises about writing: whole or not at all, in order, refused with a reason. Run on both
databases."""

import asyncio
from dataclasses import replace

import pytest

from muster.domain.errors import Conflict, Invalid, NotFound, StaleWrite
from muster.domain.events import Event
from muster.domain.jobs import (
    JOB_STATES,
    Cancelled,
    Failed,
    Held,
    Job,
    JobState,
    Outcome,
    Queued,
    Running,
    Starting,
    Stopping,
    Succeeded,
    Tally,
    Verdict,
)
from muster.domain.resources import Placement
from muster.domain.tasks import (
    TASK_STATES,
    TaskFailed,
    TaskLaunching,
    TaskLost,
    TaskPreparing,
    TaskRunning,
    TaskState,
    TaskStopped,
    TaskStopping,
    TaskSucceeded,
    TaskWaiting,
)
from muster.ports.store import Change, JobFilter, RequestKey, Store
from tests.contract.building import FAULT, FULL_SPEC, a_job, a_task, an_event, next_version, submission

pytestmark = pytest.mark.anyio

EVERY_JOB_STATE: tuple[JobState, ...] = (
    Queued(1.5),
    Queued(1.5, not_before=9.25),
    Held(2.0, by="root"),
    Starting(3.0),
    Running(4.0),
    Stopping(5.0, Verdict(Outcome.RETRY, "node lost", FAULT, by="amy")),
    Stopping(5.0, Verdict(Outcome.SUCCEED)),
    Succeeded(6.0),
    Failed(7.0, FAULT),
    Cancelled(8.0, by="bob"),
)
EVERY_TASK_STATE: tuple[TaskState, ...] = (
    TaskLaunching(1.0),
    TaskWaiting(2.0, "(Resources)", 99.5),
    TaskPreparing(3.0),
    TaskRunning(4.0),
    TaskStopping(5.0),
    TaskSucceeded(6.0),
    TaskFailed(7.0, FAULT),
    TaskStopped(8.0),
    TaskLost(9.0, FAULT),
)


def test_the_tables_of_this_suite_name_every_state() -> None:
    assert {type(state) for state in EVERY_JOB_STATE} == set(JOB_STATES.values())
    assert {type(state) for state in EVERY_TASK_STATE} == set(TASK_STATES.values())


async def test_a_job_comes_back_as_it_was_stored_in_every_state(store: Store) -> None:
    for number, state in enumerate(EVERY_JOB_STATE, 1):
        job = replace(
            a_job(number, owner=f"owner-{number}"),
            spec=FULL_SPEC,
            state=state,
            attempt=4,
            retries=2,
            platform_retries=3,
            started_at=1700000000.123456,
            ended_at=1700000001.654321,
            reason="waits for 2 GPUs",
            tally=Tally(succeeded=1, failed=2, active=3),
            vc="vision",
            ran_s=12.5,
            checkpoint_at=1700000000.5,
            preemptions=6,
            sizes=(("worker", 2),),
        )
        await store.apply(Change(new_job=job))
        assert await store.job(job.id) == job


async def test_an_update_reaches_every_state_with_every_changing_field(store: Store) -> None:
    job = a_job()
    await store.apply(Change(new_job=job))
    for version, state in enumerate(EVERY_JOB_STATE, 2):
        job = replace(
            job,
            state=state,
            version=version,
            cluster=f"lab-{version}",
            attempt=version,
            retries=version,
            platform_retries=version,
            started_at=1.0 * version,
            ended_at=2.0 * version,
            reason=f"reason {version}",
            tally=Tally(version, version, version),
            vc=f"vc-{version}",
            ran_s=3.0 * version,
            checkpoint_at=4.0 * version,
            preemptions=version,
            sizes=(("worker", version),),
        )
        await store.apply(Change(job=job))
        assert await store.job(job.id) == job


async def test_a_rewritten_job_has_its_new_spec_and_is_found_by_its_new_labels(store: Store) -> None:
    job = a_job(1, labels={"team": "ads"}, package="old")
    await store.apply(submission(job))
    spec = replace(FULL_SPEC, name=job.name, labels={"team": "maps", "stage": "dev"})
    changed = replace(next_version(job, Held(9.0)), spec=spec, cluster="far", vc="vision")
    await store.apply(Change(rewritten_job=changed, events=[an_event("job.held", job)]))
    assert await store.job(job.id) == changed
    assert await store.packages_in_use() == {spec.package}
    found = {team: await store.jobs(JobFilter(labels=(("team", team),)), limit=9) for team in ("ads", "maps")}
    assert {team: [one.id for one in page.items] for team, page in found.items()} == {"ads": [], "maps": [job.id]}


async def test_a_stale_rewrite_is_refused_and_writes_nothing(store: Store) -> None:
    job = a_job(1, labels={"team": "ads"})
    await store.apply(submission(job))
    moved = next_version(job, Running(2.0))
    await store.apply(Change(job=moved))
    with pytest.raises(StaleWrite):
        await store.apply(
            Change(rewritten_job=replace(next_version(job, Held(9.0)), spec=replace(job.spec, labels={})))
        )
    assert await store.job(job.id) == moved
    assert (await store.jobs(JobFilter(labels=(("team", "ads"),)), limit=9)).items == [moved]


async def test_a_task_comes_back_as_it_was_stored_in_every_state(store: Store) -> None:
    job = a_job()
    placement = Placement("node-1", "10.0.0.1", devices=(0, 3), ports=(4000, 4001))
    tasks = [
        replace(
            a_task(job, index, state=state),
            placement=placement,
            handle="4711:99",
            started_at=1.25,
            ended_at=2.5,
            exit_code=3,
            signal=15,
            log="logs/worker",
        )
        for index, state in enumerate(EVERY_TASK_STATE)
    ]
    await store.apply(Change(new_job=job, tasks=tasks))
    assert await store.tasks(job.id) == tasks


async def test_a_task_is_replaced_whole_by_its_id(store: Store) -> None:
    job = a_job()
    first = replace(a_task(job), handle="old", exit_code=1)
    await store.apply(Change(new_job=job, tasks=[first]))
    second = replace(a_task(job, state=TaskRunning(7.0)), placement=Placement("node-2"))
    await store.apply(Change(tasks=[second]))
    assert await store.tasks(job.id) == [second]


async def test_the_name_of_an_open_job_is_taken(store: Store) -> None:
    await store.apply(submission(a_job(1, name="train", state=Running(1.0))))
    with pytest.raises(Conflict, match="job train of amy is still Running; kill it or choose another name"):
        await store.apply(submission(a_job(2, name="train")))
    await store.apply(submission(a_job(3, name="train", owner="bob")))


async def test_a_name_is_free_once_its_job_has_ended(store: Store) -> None:
    old = a_job(1, name="train")
    await store.apply(submission(old))
    await store.apply(Change(job=next_version(old, Cancelled(9.0))))
    new = a_job(2, name="train")
    await store.apply(submission(new))
    assert await store.find_job("amy", "train") == new


async def test_a_stale_write_is_refused_and_writes_nothing(store: Store) -> None:
    job = a_job()
    await store.apply(submission(job))
    await store.apply(Change(job=next_version(job, Starting(2.0))))
    late = Change(job=next_version(job, Held(3.0)), tasks=[a_task(job)], events=[an_event("job.held", job)])
    with pytest.raises(StaleWrite, match="changed in the meantime"):
        await store.apply(late)
    assert (await store.job(job.id)).state == Starting(2.0)
    assert await store.tasks(job.id) == []
    assert [event.kind for event in await store.events()] == ["job.queued"]


async def test_an_update_of_several_steps_is_guarded_by_the_version_that_was_loaded(store: Store) -> None:
    job = a_job()
    await store.apply(Change(new_job=job))
    await store.apply(Change(job=next_version(job, Starting(2.0), steps=3), steps=3))
    assert (await store.job(job.id)).version == 4


async def test_a_job_that_is_not_there_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound, match="no job id-000001"):
        await store.job("id-000001")
    with pytest.raises(NotFound, match="no job id-000001"):
        await store.apply(Change(job=next_version(a_job(), Held(1.0))))
    with pytest.raises(NotFound, match="one of id-000001"):
        await store.apply(Change(tasks=[a_task(a_job())]))


async def test_a_change_whose_last_part_fails_leaves_nothing(store: Store) -> None:
    job, nobody = a_job(1), a_job(2)
    broken = Change(
        new_job=job,
        request_key=RequestKey("amy", "k"),
        tasks=[a_task(job), a_task(nobody)],
        events=[an_event("job.queued", job)],
    )
    with pytest.raises(NotFound, match="one of id-000001, id-000002"):
        await store.apply(broken)
    with pytest.raises(NotFound):
        await store.job(job.id)
    assert await store.job_by_request(RequestKey("amy", "k")) is None
    assert await store.events() == []


async def test_all_changes_of_one_call_are_written_or_none(store: Store) -> None:
    first, second = a_job(1, name="same"), a_job(2, name="same")
    with pytest.raises(Conflict):
        await store.apply_all([submission(first), submission(second)])
    assert await store.counts() == {}
    answers = await store.apply_all([submission(first), Change(), submission(a_job(3))])
    assert [[event.kind for event in events] for events in answers] == [["job.queued"], [], ["job.queued"]]
    assert await store.counts() == {"Queued": 2}
    assert await store.apply_all([]) == []


async def test_changes_of_one_call_build_on_each_other_in_order(store: Store) -> None:
    old, new = a_job(1, name="same"), a_job(2, name="same")
    ended = Change(job=next_version(old, Cancelled(9.0)))
    await store.apply_all([submission(old), ended, submission(new), Change(removed_job=old.id)])
    assert await store.open_jobs() == [new]
    assert await store.counts() == {"Queued": 1}


async def test_concurrent_changes_are_all_committed_with_increasing_numbers(store: Store) -> None:
    jobs = [a_job(number) for number in range(1, 201)]
    changes = [
        Change(new_job=job, tasks=[a_task(job)], events=[an_event("job.queued", job), an_event("task.assigned", job)])
        for job in jobs
    ]
    answers = await asyncio.gather(*(store.apply(change) for change in changes))
    stored = await store.events(limit=1000)
    numbers = [event.seq for event in stored]
    assert len(numbers) == 400
    assert numbers == sorted(set(numbers))
    assert sorted((event for answer in answers for event in answer), key=lambda event: event.seq) == stored
    assert all(first.seq < second.seq for first, second in answers)
    assert await store.open_jobs() == jobs
    assert await store.last_event() == numbers[-1]


async def test_bad_changes_do_not_harm_the_others_of_their_batch(store: Store) -> None:
    await store.apply(submission(a_job(1, name="taken")))
    good = [submission(a_job(number)) for number in range(10, 60)]
    stale = Change(job=replace(a_job(1, name="taken"), version=7), events=[an_event("job.held")])
    unstorable = Change(events=[Event("audit.x", 1.0, data={"x": object()})])
    nonsense = Change(events=[an_event("job.held"), Event("audit.x", 1.0, actor="lone surrogate \ud800")])
    bad = [submission(a_job(2, name="taken")), stale, unstorable, nonsense]
    mixed = [*good[:20], bad[0], *good[20:30], *bad[1:], *good[30:]]
    outcomes = await asyncio.gather(*(store.apply(change) for change in mixed), return_exceptions=True)
    failures = {index: type(outcome) for index, outcome in enumerate(outcomes) if isinstance(outcome, BaseException)}
    assert failures == {20: Conflict, 31: StaleWrite, 32: Invalid, 33: Invalid}
    assert await store.counts() == {"Queued": 51}
    assert len(await store.events()) == 51


async def test_listeners_hear_every_event_in_order_before_its_apply_returns(store: Store) -> None:
    heard: list[Event] = []
    store.listen(heard.extend)

    async def submit_and_look(number: int) -> None:
        [event] = await store.apply(submission(a_job(number)))
        assert event in heard

    await asyncio.gather(*(submit_and_look(number) for number in range(50)))
    with pytest.raises(Conflict):
        await store.apply(submission(a_job(1)))
    assert heard == await store.events()


async def test_a_listener_that_fails_leaves_nobody_waiting(store: Store) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))

    def fail(_: object) -> None:
        raise RuntimeError("a bug")

    store.listen(fail)
    await store.apply(submission(a_job()))
    assert complaints == ["a store listener failed"]


async def test_a_repeated_request_finds_the_first_ones_job(store: Store) -> None:
    key, job = RequestKey("amy", "key-1"), a_job()
    assert await store.job_by_request(key) is None
    await store.apply(Change(new_job=job, request_key=key))
    assert await store.job_by_request(key) == job
    assert await store.job_by_request(RequestKey("bob", "key-1")) is None
    with pytest.raises(Conflict, match="amy has already used request key key-1"):
        await store.apply(Change(new_job=replace(job, id="other"), request_key=key))


async def test_an_ended_job_is_removed_with_all_but_its_audit_events(store: Store) -> None:
    job, other = a_job(1, labels={"a": "b"}), a_job(2)
    kinds = ("job.queued", "task.assigned", "audit.submit")
    key = RequestKey("amy", "k")
    events = [an_event(kind, job) for kind in kinds]
    await store.apply(Change(new_job=job, request_key=key, tasks=[a_task(job)], events=events))
    await store.apply(submission(other))
    with pytest.raises(Conflict, match="only a job that has ended can be removed"):
        await store.apply(Change(removed_job=job.id))
    await store.apply(Change(job=next_version(job, Succeeded(9.0))))
    await store.apply(Change(removed_job=job.id, events=[an_event("audit.remove", job)]))
    with pytest.raises(NotFound):
        await store.job(job.id)
    assert await store.tasks(job.id) == []
    assert await store.job_by_request(key) is None
    assert [event.kind for event in await store.events(job_id=job.id)] == ["audit.submit", "audit.remove"]
    assert await store.job(other.id) == other
    with pytest.raises(NotFound):
        await store.apply(Change(removed_job=job.id))


async def test_event_numbers_are_not_used_again_after_a_removal(store: Store) -> None:
    job = replace(a_job(state=Succeeded(1.0)))
    [queued] = await store.apply(submission(job))
    await store.apply(Change(removed_job=job.id))
    [later] = await store.apply(Change(events=[an_event("node.ready")]))
    assert later.seq > queued.seq


async def test_a_value_the_database_cannot_hold_is_invalid_and_harms_nobody(store: Store) -> None:
    broken: Job = a_job(1, name="lone surrogate \ud800")
    with pytest.raises(Invalid, match="cannot be stored"):
        await store.apply(submission(broken))
    await store.apply(submission(a_job(2)))
    assert await store.counts() == {"Queued": 1}
