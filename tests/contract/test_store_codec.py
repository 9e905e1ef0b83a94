"""Whatever a spec, a state or a placement holds comes back from its columns exactly."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Row

from muster.domain.events import Event
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.jobs import JOB_STATES, Job, Outcome, Stopping, Tally, Verdict
from muster.domain.resources import Placement, Resources
from muster.domain.specs import Completion, Dependency, JobSpec, Mount, Needed, Role, Runtime, Spread, Together, Where
from muster.domain.tasks import TASK_STATES, Task
from muster.domain.used_resources import UsageSum, UsedGpu, UsedResources
from muster.stores.codec import event_of, event_row, job_of, job_row, task_of, task_row

pytestmark = pytest.mark.fast

# Lone surrogates are no text: the store refuses them.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBER = st.integers(0, 2**53)
# Not a number is kept too, but equals nothing, so it cannot be compared here.
INSTANT = st.floats(allow_nan=False)
MAYBE_INSTANT = st.none() | INSTANT
SCALAR = st.text(max_size=3, alphabet="ab1") | st.integers(-(2**53), 2**53) | INSTANT | st.booleans()


def mappings(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(TEXT, values, max_size=3)


def tuples(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, max_size=3).map(tuple)


FAULTS = st.builds(
    Fault, st.sampled_from(FaultKind), TEXT, TEXT, TEXT, st.booleans(), st.none() | TEXT, st.none() | NUMBER
)
VERDICTS = st.builds(Verdict, st.sampled_from(Outcome), TEXT, st.none() | FAULTS, st.none() | TEXT)
ROLES = st.builds(
    Role,
    name=TEXT,
    replicas=NUMBER,
    command=tuples(TEXT),
    resources=st.builds(Resources, NUMBER, NUMBER, NUMBER, tuples(TEXT), NUMBER),
    env=mappings(TEXT),
    ports=NUMBER,
    completion=st.builds(Completion, st.none() | NUMBER, st.none() | NUMBER),
    min_replicas=st.none() | NUMBER,
    max_replicas=st.none() | NUMBER,
)
SPECS = st.builds(
    JobSpec,
    name=TEXT,
    roles=tuples(ROLES),
    cluster=st.none() | TEXT,
    time_limit_s=MAYBE_INSTANT,
    grace_s=INSTANT,
    retry_max=NUMBER,
    env=mappings(TEXT),
    params=mappings(SCALAR),
    labels=mappings(TEXT),
    description=TEXT,
    package=st.none() | TEXT,
    runtime=st.builds(Runtime, st.none() | TEXT, st.none() | TEXT, st.none() | TEXT),
    mounts=tuples(st.builds(Mount, TEXT, TEXT, st.booleans())),
    gloo=NUMBER,
    held=st.booleans(),
    after=tuples(st.builds(Dependency, TEXT, st.sampled_from(Needed))),
    where=st.builds(
        Where, tuples(TEXT), tuples(TEXT), mappings(TEXT), st.sampled_from(Spread), st.sampled_from(Together)
    ),
    preemptible=st.booleans(),
)
FIELDS = {
    "since": INSTANT,
    "at": INSTANT,
    "not_before": MAYBE_INSTANT,
    "by": st.none() | TEXT,
    "fault": FAULTS,
    "reason": TEXT,
    "starts_at": MAYBE_INSTANT,
    "needs_action": st.booleans(),
}


def states(classes: dict[str, type[Any]]) -> st.SearchStrategy[Any]:
    simple = [cls for cls in classes.values() if cls is not Stopping]
    return st.one_of([st.builds(cls, **{name: FIELDS[name] for name in cls.__dataclass_fields__}) for cls in simple])


JOBS = st.builds(
    Job,
    id=TEXT,
    owner=TEXT,
    cluster=TEXT,
    spec=SPECS,
    state=states(JOB_STATES) | st.builds(Stopping, INSTANT, VERDICTS),
    created_at=INSTANT,
    tally=st.builds(Tally, NUMBER, NUMBER, NUMBER),
    vc=TEXT,
    ran_s=INSTANT,
    run_time_s=INSTANT,
    running_since=MAYBE_INSTANT,
    checkpoint_at=MAYBE_INSTANT,
    preemptions=NUMBER,
    sizes=tuples(st.tuples(TEXT, NUMBER)),
    used=st.none() | st.builds(UsageSum),
)
TASKS = st.builds(
    Task,
    id=TEXT,
    job_id=TEXT,
    attempt=NUMBER,
    name=TEXT,
    role=TEXT,
    index=NUMBER,
    rank=NUMBER,
    placement=st.builds(Placement, TEXT, TEXT, tuples(NUMBER), tuples(NUMBER)),
    state=states(TASK_STATES),
    used=st.none() | st.builds(UsedResources, gpus=tuples(st.builds(UsedGpu))),
)


def as_row(values: dict[str, Any]) -> Row[Any]:
    return cast("Row[Any]", SimpleNamespace(**values))


@settings(max_examples=60, deadline=None)
@given(JOBS)
def test_a_job_comes_back_from_its_row(job: Job) -> None:
    back = job_of(as_row(job_row(job)))
    assert back == job
    # 1 == 1.0 == True: equality alone would not see a parameter change its type.
    assert [type(value) for value in back.spec.params.values()] == [type(value) for value in job.spec.params.values()]


@settings(max_examples=60, deadline=None)
@given(TASKS)
def test_a_task_comes_back_from_its_row(task: Task) -> None:
    assert task_of(as_row(task_row(task))) == task


@settings(max_examples=60, deadline=None)
@given(st.builds(Event, kind=TEXT, at=INSTANT, data=mappings(st.none() | SCALAR | mappings(SCALAR))))
def test_an_event_comes_back_from_its_row(event: Event) -> None:
    assert event_of(as_row(event_row(event))) == event
