"""What every Store promises about reading: pages, open work, events. Run on both databases."""

import base64
from collections.abc import Callable
from dataclasses import replace

import pytest

from muster.domain.errors import Invalid, Unavailable
from muster.domain.events import Event
from muster.domain.jobs import Failed, Held, Job, Queued, Running, Succeeded
from muster.domain.resources import Placement, Resources
from muster.domain.specs import JobSpec, Priority, Role
from muster.domain.tasks import TaskSucceeded
from muster.ports.store import NEWEST_FIRST, Change, JobFilter, JobOrder, JobSort, Spent, Store
from muster.stores.opening import open_store
from tests.contract.building import FAULT, a_job, a_task, an_event, next_version, submission

pytestmark = pytest.mark.anyio


async def everything(store: Store, where: JobFilter, limit: int, order: JobOrder = NEWEST_FIRST) -> list[int]:
    """The numbers of all jobs that match, page by page."""
    numbers: list[int] = []
    cursor: str | None = None
    while True:
        page = await store.jobs(where, limit=limit, cursor=cursor, order=order)
        assert len(page.items) <= limit
        numbers += [int(job.id.removeprefix("id-")) for job in page.items]
        if page.next_cursor is None:
            return numbers
        cursor = page.next_cursor


def varied(number: int) -> Job:
    """Owner by 2, cluster by 3, state by 4, label by 5; every pair of neighbours has the same time."""
    states = (Queued(1.0), Running(1.0), Succeeded(1.0), Failed(1.0, FAULT))
    labels = {"mod": str(number % 5), "all": "yes"}
    return a_job(
        number,
        owner=("amy", "Bob")[number % 2],
        cluster=("lab", "big", "far")[number % 3],
        state=states[number % 4],
        created_at=float(number // 2),
        labels=labels,
        vc=("", "vision")[number % 7 == 0],
    )


WHERE: dict[str, tuple[JobFilter, Callable[[int], bool]]] = {
    "everything": (JobFilter(), lambda n: True),
    "a state": (JobFilter(states=("Running",)), lambda n: n % 4 == 1),
    "several states": (JobFilter(states=("Running", "Failed", "Running")), lambda n: n % 4 in (1, 3)),
    "an unknown state": (JobFilter(states=("Nothing",)), lambda n: False),
    "an owner": (JobFilter(owner="Bob"), lambda n: n % 2 == 1),
    "an owner and a state": (JobFilter(owner="amy", states=("Queued",)), lambda n: n % 4 == 0),
    "a cluster": (JobFilter(cluster="far"), lambda n: n % 3 == 2),
    "a virtual cluster": (JobFilter(vc="vision"), lambda n: n % 7 == 0),
    "a name": (JobFilter(name="job-17"), lambda n: n == 17),
    "a label": (JobFilter(labels=(("mod", "3"),)), lambda n: n % 5 == 3),
    "two labels": (JobFilter(labels=(("all", "yes"), ("mod", "3"))), lambda n: n % 5 == 3),
    "a label and states": (
        JobFilter(labels=(("mod", "3"),), states=("Queued", "Running")),
        lambda n: n in (8, 13, 28, 33),
    ),
    "text of the name": (JobFilter(text="OB-1"), lambda n: n == 1 or 10 <= n <= 19),
    "text of the owner": (JobFilter(text="bOB"), lambda n: n % 2 == 1),
    "text of the id": (JobFilter(text="d-00002"), lambda n: 20 <= n <= 29),
    "text that is a pattern elsewhere": (JobFilter(text="job%"), lambda n: False),
    "a time span": (JobFilter(created_after=5.0, created_before=10.0), lambda n: 12 <= n <= 19),
}


@pytest.mark.parametrize("case", WHERE)
async def test_pages_hold_exactly_what_matches_newest_first(store: Store, case: str) -> None:
    where, matches = WHERE[case]
    await store.apply_all([submission(varied(number)) for number in range(1, 41)])
    expected = [number for number in range(40, 0, -1) if matches(number)]
    assert await everything(store, where, limit=7) == expected
    assert await everything(store, where, limit=100) == expected


def sortable(number: int) -> Job:
    """Names, owners, clusters and virtual clusters repeat; some jobs have not started, others not ended."""
    job = varied(number)
    role = Role("worker", 1, ("true",), Resources(gpus=number % 4))
    spec = replace(job.spec, name=f"name{number % 9}.{number}", roles=(role,), priority=list(Priority)[number % 4])
    started = None if number % 6 == 0 else float(100 - number)
    ended = None if number % 6 < 2 else float(200 + number % 3)
    return replace(job, spec=spec, started_at=started, ended_at=ended)


FAR = float("inf")
ORDERS: dict[JobSort, Callable[[Job], object]] = {
    JobSort.CREATED: lambda job: job.created_at,
    JobSort.STARTED: lambda job: FAR if job.started_at is None else job.started_at,
    JobSort.ENDED: lambda job: FAR if job.ended_at is None else job.ended_at,
    JobSort.NAME: lambda job: job.name,
    JobSort.OWNER: lambda job: job.owner,
    JobSort.CLUSTER: lambda job: job.cluster,
    JobSort.VC: lambda job: job.vc,
    JobSort.STATE: lambda job: job.state_name,
    JobSort.PRIORITY: lambda job: job.spec.priority.rank,
    JobSort.GPUS: lambda job: job.spec.roles[0].resources.gpus,
}


@pytest.mark.parametrize("by", JobSort)
@pytest.mark.parametrize("is_descending", [True, False])
async def test_pages_in_any_order_have_every_job_once(store: Store, by: JobSort, is_descending: bool) -> None:
    jobs = [replace(sortable(number), owner=("amy", "bob")[number % 2]) for number in range(1, 41)]
    await store.apply_all([submission(job) for job in jobs])
    order = JobOrder(by, is_descending)
    for where in (
        JobFilter(),
        JobFilter(owner="amy", states=("Queued", "Succeeded")),
        JobFilter(labels=(("mod", "3"),)),
    ):
        expected = sorted(
            (job for job in jobs if _is_wanted(job, where)),
            key=lambda job: (ORDERS[by](job), job.created_at, job.id),
            reverse=is_descending,
        )
        assert await everything(store, where, 7, order) == [int(job.id.removeprefix("id-")) for job in expected]
        assert await store.count_jobs(where, most=100) == len(expected)


def _is_wanted(job: Job, where: JobFilter) -> bool:
    labels = all(job.spec.labels.get(key) == value for key, value in where.labels)
    return labels and where.owner in (None, job.owner) and (not where.states or job.state_name in where.states)


async def test_the_order_follows_what_becomes_of_a_job(store: Store) -> None:
    first, second = a_job(1), a_job(2)
    await store.apply_all([submission(first), submission(second)])
    order = JobOrder(JobSort.STARTED, is_descending=False)
    assert await everything(store, JobFilter(), 9, order) == [1, 2]
    await store.apply(Change(job=replace(next_version(second, Running(50.0)), started_at=50.0)))
    assert await everything(store, JobFilter(), 9, order) == [2, 1]


async def test_jobs_are_counted_up_to_a_bound(store: Store) -> None:
    await store.apply_all([submission(varied(number)) for number in range(1, 41)])
    for where, matches in WHERE.values():
        assert await store.count_jobs(where, most=1000) == sum(1 for number in range(1, 41) if matches(number))
    assert await store.count_jobs(JobFilter(), most=15) == 15


async def test_jobs_are_found_by_reason(store: Store) -> None:
    ended = [
        replace(a_job(number, state=Failed(1.0, FAULT)), reason=reason, ended_at=1.0)
        for number, reason in ((1, "Out of memory"), (2, "100% wrong"), (3, ""))
    ]
    waiting = [replace(a_job(number), reason="out of memory before") for number in (4, 5)]
    await store.apply_all([submission(job) for job in (*ended, *waiting)])
    assert await everything(store, JobFilter(reason="MEMORY"), 2) == [1]
    assert await everything(store, JobFilter(reason="0%"), 2) == [2]
    assert await everything(store, JobFilter(reason="memory", open_with_reason=("id-000005",)), 1) == [5, 1]


@pytest.mark.parametrize("order", [JobOrder(JobSort.NAME), JobOrder(JobSort.GPUS, is_descending=False), JobOrder()])
async def test_a_cursor_of_another_order_is_invalid(store: Store, order: JobOrder) -> None:
    await store.apply_all([submission(a_job(number)) for number in range(1, 6)])
    page = await store.jobs(JobFilter(), limit=2, order=JobOrder(JobSort.GPUS))
    with pytest.raises(Invalid, match="cursor"):
        await store.jobs(JobFilter(), limit=2, cursor=page.next_cursor, order=order)


@pytest.mark.parametrize(
    "place",
    [
        '["name", true, 7, 1.0, "id"]',
        '["name", true, "\\ud800", 1.0, "id"]',
        '["name", true, "a", NaN, "id"]',
        "[]",
        "{}",
    ],
)
async def test_a_forged_cursor_is_invalid(store: Store, place: str) -> None:
    cursor = base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")
    with pytest.raises(Invalid, match="cursor"):
        await store.jobs(JobFilter(), limit=2, cursor=cursor, order=JobOrder(JobSort.NAME))


async def test_pages_stay_stable_while_jobs_are_added(store: Store) -> None:
    await store.apply_all([submission(a_job(number)) for number in range(1, 11)])
    first = await store.jobs(JobFilter(), limit=4)
    await store.apply_all([submission(a_job(number)) for number in range(11, 21)])
    second = await store.jobs(JobFilter(), limit=4, cursor=first.next_cursor)
    assert [job.name for job in first.items + second.items] == [f"job-{number}" for number in range(10, 2, -1)]


@pytest.mark.parametrize("cursor", ["", "x", "!!", "bm8tdGltZQ", "bmFuIGlk", "MS4wIA", "é"])
async def test_a_bad_cursor_is_invalid(store: Store, cursor: str) -> None:
    with pytest.raises(Invalid, match="cursor"):
        await store.jobs(JobFilter(), limit=5, cursor=cursor)


async def test_the_newest_job_of_a_name_is_found(store: Store) -> None:
    old = a_job(1, name="train", state=Succeeded(1.0))
    new, others = a_job(2, name="train"), a_job(3, name="train", owner="bob")
    await store.apply_all([submission(job) for job in (old, new, others)])
    assert await store.find_job("amy", "train") == new
    assert await store.find_job(None, "train") == others
    assert await store.find_job("amy", "nothing") is None


async def test_open_jobs_are_those_that_have_not_ended_oldest_first(store: Store) -> None:
    jobs = [a_job(3), a_job(1, state=Held(1.0)), a_job(2, state=Succeeded(1.0))]
    await store.apply_all([submission(job) for job in jobs])
    assert await store.open_jobs() == [jobs[1], jobs[0]]
    assert await store.counts() == {"Queued": 1, "Held": 1, "Succeeded": 1}


async def test_open_tasks_are_those_of_the_current_attempt_of_open_jobs(store: Store) -> None:
    open_job = replace(a_job(1, state=Running(1.0)), attempt=2)
    ended = replace(a_job(2, state=Succeeded(1.0)), attempt=2)
    current = [a_task(open_job, 0, attempt=2, state=TaskSucceeded(3.0)), a_task(open_job, 1, attempt=2)]
    tasks = [a_task(open_job, attempt=1), *reversed(current), a_task(ended, attempt=2)]
    await store.apply_all([submission(open_job), submission(ended), Change(tasks=tasks)])
    assert await store.open_tasks() == current
    assert await store.tasks(open_job.id) == [tasks[0], *current]
    assert await store.tasks(open_job.id, attempt=2) == current


async def test_ended_jobs_are_found_by_the_time_of_their_end(store: Store) -> None:
    jobs = [replace(a_job(number, state=Succeeded(1.0)), ended_at=100.0 - number) for number in range(1, 6)]
    await store.apply_all([submission(job) for job in [*jobs, a_job(9)]])
    assert await store.ended_before(98.0, limit=2) == [jobs[4], jobs[3]]
    assert await store.ended_before(95.0, limit=2) == []


async def test_the_last_jobs_that_ended_come_newest_last(store: Store) -> None:
    ends = {1: 30.0, 2: 10.0, 3: 20.0}
    for number, end in ends.items():
        await store.apply(Change(new_job=replace(a_job(number, state=Succeeded(end)), ended_at=end)))
    await store.apply(submission(a_job(4)))
    assert [job.id for job in await store.last_ended(limit=2)] == ["id-000003", "id-000001"]
    assert [job.ended_at for job in await store.last_ended(limit=9)] == [10.0, 20.0, 30.0]


async def test_gpu_time_is_told_by_attempt_and_only_what_lies_after_the_instant(store: Store) -> None:
    with_gpus = Role("worker", 2, ("true",), Resources(gpus=2))
    sharing = Role("helper", 1, ("true",), Resources(gpus=1, gpu_share=250))
    job = replace(a_job(1, vc="vision"), spec=JobSpec("train", (with_gpus, sharing)))
    ran = [
        replace(a_task(job, 0, attempt=1), placement=Placement("n1", devices=(0, 1)), started_at=90.0, ended_at=110.0),
        replace(a_task(job, 0, attempt=2), placement=Placement("n1", devices=(0, 1)), started_at=120.0, ended_at=130.0),
        replace(a_task(job, 1, attempt=2), placement=Placement("n1", devices=(2, 3)), started_at=120.0, ended_at=140.0),
        replace(
            a_task(job, 9, attempt=2),
            role="helper",
            placement=Placement("n1", devices=(4,)),
            started_at=120.0,
            ended_at=124.0,
        ),
        replace(a_task(job, 0, attempt=3), placement=Placement("n1", devices=(0, 1)), started_at=150.0),
    ]
    idle = a_job(2)
    without = replace(a_task(idle), placement=Placement("n1"), started_at=120.0, ended_at=130.0)
    old = replace(a_job(3, state=Succeeded(80.0)), spec=job.spec, ended_at=80.0)
    before = replace(a_task(old), placement=Placement("n1", devices=(0, 1)), started_at=10.0, ended_at=80.0)
    for one, tasks in ((job, ran), (replace(idle, spec=replace(idle.spec, name="idle")), [without]), (old, [before])):
        await store.apply(Change(new_job=one, tasks=tasks))
    assert await store.spent_since(100.0) == [
        Spent("lab", "vision", "amy", 2 * 10.0, 110.0),
        Spent("lab", "vision", "amy", 2 * 10.0 + 2 * 20.0 + 0.25 * 4.0, 140.0),
    ]


async def test_events_are_read_by_number_job_and_kind(store: Store) -> None:
    job = a_job()
    rich = Event("audit.login", 2.5, actor="amy", owner="bob", data={"ok": True, "n": 1, "f": 1.5, "路": [None, "x"]})
    changes = [
        submission(job),
        Change(events=[rich, an_event("task.assigned", job)]),
        Change(events=[an_event("auditx")]),
    ]
    queued, audit, task, other = [event for answer in await store.apply_all(changes) for event in answer]
    assert audit == replace(rich, seq=audit.seq)
    assert await store.events() == [queued, audit, task, other]
    assert await store.events(after=audit.seq) == [task, other]
    assert await store.events(job_id=job.id) == [queued, task]
    assert await store.events(prefix="audit.") == [audit]
    assert await store.events(prefix="audit_") == []
    assert await store.events(limit=2) == [queued, audit]
    assert await store.last_event() == other.seq


async def test_reads_see_what_was_committed_by_another_server(store: Store, store_url: str) -> None:
    other = await open_store(store_url)
    try:
        job = a_job()
        [first] = await other.apply(submission(job))
        [second] = await store.apply(Change(job=next_version(job, Held(2.0)), events=[an_event("job.held", job)]))
        assert second.seq > first.seq
        assert (await other.job(job.id)).state == Held(2.0)
    finally:
        await other.close()


async def test_a_closed_store_is_unavailable(store: Store) -> None:
    await store.ping()
    await store.close()
    await store.close()
    with pytest.raises(Unavailable, match="closed"):
        await store.ping()
    with pytest.raises(Unavailable, match="closed"):
        await store.apply(Change())
