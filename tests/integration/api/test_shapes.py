"""What the API answers is what its entities say: no key more, none less, in every state."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.accounts import TokenList, TokenOut, UserList, UserOut, WhoAmIOut
from muster.api.artifacts import OutputList, PackageOut
from muster.api.events import EventOut, EventPage
from muster.api.explanations import ExplainOut, FaultOut, ReasonOut
from muster.api.files import DigestOut, FileList, FileOut, FolderList, ProgressOut
from muster.api.job_metrics import JobMetricsOut
from muster.api.job_stacks import StacksList
from muster.api.job_usage import JobHistoryOut, JobUseOut
from muster.api.jobs import JobOut, JobPage, QueueOut, SpecDiffOut, SpecOut, TaskEnvironmentOut, TaskList, TaskOut
from muster.api.logs import LogLinesOut, LogSearchOut
from muster.api.models import ModelList, ModelOut
from muster.api.nodes import ClusterList, NodeDetailOut, NodeList, NodeOut
from muster.api.sharing import ClusterProblemOut, QuotaList, QuotaOut, VirtualClusterList, VirtualClusterOut
from muster.api.sweeps import SweepMemberPage, SweepOut, SweepPage
from muster.api.usage import UsageOut
from muster.api.usage_report import ReportOut
from muster.domain.accounts import Package, Token, User, UserRole
from muster.domain.errors import Problem
from muster.domain.events import Event
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.jobs import JOB_STATES, Cancelled, Failed, Job, Outcome, Running, Stopping, Succeeded, Verdict
from muster.domain.nodes import Node, NodeState
from muster.domain.reasons import Reason
from muster.domain.resources import Capacity, Device, ExtendedDevice, Placement, Resources
from muster.domain.specs import JobSpec, Mount, Role, Runtime
from muster.domain.tasks import TASK_STATES, Task, TaskFailed, TaskLost
from muster.domain.virtual_clusters import Defaults, Limits, Share, VirtualCluster
from muster.scheduling.allocations.usage_views import Quota, ShareView
from muster.wire import cluster_views, views
from muster.wire.response_models import response_model
from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import People
from tests.integration.api.world import World

NOW = 1_700_000_000.25
FAULT = Fault(FaultKind.USER, "exit-code", "It ended.", "Look.", task="a-worker-0", exit_code=1)
JOB_FIELDS: dict[type[Any], dict[str, Any]] = {
    Stopping: {"since": NOW, "verdict": Verdict(Outcome.FAIL, "why", FAULT)},
    Succeeded: {"at": NOW},
    Failed: {"at": NOW, "fault": FAULT},
    Cancelled: {"at": NOW},
}


def shown(view: Mapping[str, Any], entity: type) -> None:
    """Validates without turning anything into anything else, and back to the same."""
    model = response_model(entity).model_validate(view, strict=True)
    assert model.model_dump(by_alias=True, exclude_unset=True) == view


@pytest.mark.fast
@pytest.mark.parametrize("state", JOB_STATES.values(), ids=list(JOB_STATES))
def test_a_job_in_every_state_is_what_its_entity_says(state: type[Any]) -> None:
    spec = JobSpec("a", (Role("worker", 2, ("x",)),), labels={"k": "v"}, time_limit_s=90.0)
    job = Job("1", "me", "local", spec, state(**JOB_FIELDS.get(state, {"since": NOW})), NOW, ended_at=NOW)
    shown(views.job_view(job), JobOut)


@pytest.mark.fast
@pytest.mark.parametrize(("share", "sizes", "gpu", "tasks"), [(250, (), 0.5, 2), (500, (("worker", 4),), 2, 4)])
def test_a_job_shows_the_parts_of_gpus_that_its_tasks_have(
    share: int, sizes: tuple[tuple[str, int], ...], gpu: float, tasks: int
) -> None:
    role = Role("worker", 2, ("x",), Resources(250, 0, 1, (), share), max_replicas=4)
    view = views.job_view(Job("1", "me", "local", JobSpec("a", (role,)), Running(NOW), NOW, sizes=sizes))
    shown(view, JobOut)
    assert (view["tasks"], str(view["resources"]["gpu"])) == (tasks, str(gpu))


@pytest.mark.fast
@pytest.mark.parametrize("state", TASK_STATES.values(), ids=list(TASK_STATES))
def test_a_task_in_every_state_is_what_its_entity_says(state: type[Any]) -> None:
    at = "at" if state.__name__ in ("TaskSucceeded", "TaskFailed", "TaskStopped", "TaskLost") else "since"
    fault = {"fault": FAULT} if state in (TaskFailed, TaskLost) else {}
    place = Placement("node", "127.0.0.1", (0,), (2000,))
    task = Task("1.1.worker.0", "1", 1, "a-worker-0", "worker", 0, 0, place, state(**{at: NOW}, **fault))
    shown(views.task_view(task), TaskOut)


@pytest.mark.fast
def test_everything_else_is_what_its_entity_says() -> None:
    shown(views.event_view(Event("job.queued", NOW, "1", "me", "me", {"a": 1}, 7)), EventOut)
    shown(views.fault_view(FAULT), FaultOut)
    shown(views.reason_view(Reason("wait", "because", "less", {"free": 1})), ReasonOut)
    shown(views.user_view(User("me", UserRole.ADMIN, NOW, groups=("a",))), UserOut)
    shown(views.token_view(Token("1", "me", "x", "hash", NOW, NOW, NOW)), TokenOut)
    shown(views.package_view(Package("0" * 64, "me", 5, NOW)), PackageOut)
    extended = (ExtendedDevice("a.b/c", 0, ("/dev/c0",)), ExtendedDevice("a.b/c", 1, ("/dev/c1",), "gone"))
    capacity = Capacity(2000, 1 << 30, (Device(0, "A100"), Device(1, "A100")), extended=extended)
    node = Node("node", "local", "127.0.0.1", capacity, NodeState.READY, labels={"rack": "a"})
    given: Any = {"cpu_m": 500, "memory_bytes": 5, "device_jobs": {0: "a"}, "tasks": 1, "usage": {"load1": 0.5}}
    given |= {"device_owners": {0: "me"}, "login": "me@host", "extended_jobs": {("a.b/c", 0): "a"}}
    whole, shared = (views.node_view(node, **given, device_shares=shares) for shares in ({}, {0: 750}))
    shown(whole, NodeOut)
    shown(shared, NodeOut)
    assert [(one["paths"], one["job"], one["outOfService"]) for one in whole["devices"]] == [
        (["/dev/c0"], "a", None),
        (["/dev/c1"], None, "gone"),
    ]
    assert [(gpu["job"], gpu["owner"], gpu["used"]) for gpu in whole["gpus"]] == [("a", "me", 1), (None, None, 0)]
    assert [(gpu["job"], gpu["used"]) for gpu in shared["gpus"]] == [("a", 0.75), (None, 0)]


@pytest.mark.fast
@pytest.mark.parametrize("names_people", [True, False])
def test_a_virtual_cluster_is_what_its_entity_says(names_people: bool) -> None:
    share = Share({"": 1, "A100": 4}, 1500, 1 << 30)
    limits = Limits(1, 2, 3.5, 4)
    given = Defaults({"A": "1"}, Runtime(conda="x"), (Mount("a", "/b"),), Resources(250, 1 << 30, 1, ("A100",)))
    full = VirtualCluster("a", "lab", share, share, users=("li",), limits=limits, user_limits=limits, defaults=given)
    now = ShareView("a", share, share, Share(), share, 1, 2, 0.25)
    for vc, state in ((full, now), (VirtualCluster("b", "lab"), None)):
        view = cluster_views.virtual_cluster_view(vc, state, names_people=names_people)
        shown(view, VirtualClusterOut)
    shown(cluster_views.problem_view(Problem("a", "wrong", "mend", 3, "a.yaml")), ClusterProblemOut)
    for limit in (4, 0.5):
        shown(cluster_views.quota_view(Quota("a", "", "runningGpus", limit, 1.25, ("1",)), ["x"]), QuotaOut)


@pytest.mark.fast
@given(at=st.floats(min_value=0, max_value=4e9))
def test_every_time_is_in_utc_with_milliseconds(at: float) -> None:
    text = views.event_view(Event("x", at, None, None, None, {}, 1))["at"]
    assert len(text) == len("2026-01-02T03:04:05.678Z")
    assert text.endswith("Z")


ANSWERS: list[tuple[str, type]] = [
    ("/jobs", JobPage),
    ("/jobs/{ran}", JobOut),
    ("/jobs/{ran}/wait", JobOut),
    ("/jobs/{ran}/spec", SpecOut),
    ("/jobs/{ran}/tasks", TaskList),
    ("/jobs/{ran}/diff?with={held}", SpecDiffOut),
    ("/jobs/{ran}/tasks/worker-0/environment", TaskEnvironmentOut),
    ("/jobs/{ran}/usage", JobUseOut),
    ("/jobs/{held}/usage", JobUseOut),
    ("/jobs/{ran}/usage/history", JobHistoryOut),
    ("/jobs/{ran}/metrics", JobMetricsOut),
    ("/jobs/{ran}/stacks", StacksList),
    ("/sweeps", SweepPage),
    ("/sweeps/{sweep}", SweepOut),
    ("/sweeps/{sweep}/members", SweepMemberPage),
    ("/models", ModelList),
    ("/models/{model}", ModelOut),
    ("/jobs/{ran}/explain", ExplainOut),
    ("/jobs/{held}/explain", ExplainOut),
    ("/jobs/{ran}/events", EventPage),
    ("/jobs/{ran}/outputs", OutputList),
    ("/jobs/{ran}/logs/lines?worker=worker-0", LogLinesOut),
    ("/jobs/{ran}/logs/search?q=e", LogSearchOut),
    ("/events", EventPage),
    ("/nodes", NodeList),
    ("/nodes/{node}", NodeDetailOut),
    ("/clusters", ClusterList),
    ("/virtual-clusters", VirtualClusterList),
    ("/virtual-clusters/{virtual_cluster}", VirtualClusterOut),
    ("/quotas", QuotaList),
    ("/usage", UsageOut),
    ("/report?by=node", ReportOut),
    ("/queue", QueueOut),
    ("/users", UserList),
    ("/tokens", TokenList),
    ("/whoami", WhoAmIOut),
    ("/packages/{package}", PackageOut),
    ("/clusters/{cluster}/files/folders", FolderList),
    ("/clusters/{cluster}/files?path={folder}", FileList),
    ("/clusters/{cluster}/files/stat?path={file}", FileOut),
    ("/clusters/{cluster}/files/digest?path={file}", DigestOut),
    ("/clusters/{cluster}/files/usage?path={folder}", ProgressOut),
]


@pytest.fixture(scope="module")
def world(people: People) -> World:
    return World(people)


@pytest.mark.parametrize(("path", "entity"), ANSWERS, ids=[path for path, _ in ANSWERS])
def test_a_real_answer_is_what_its_entity_says(path: str, entity: type, world: World) -> None:
    me: Caller = world.people.owner
    for kind in ("ran", "held", "node", "package", "virtual_cluster", "cluster", "folder", "file", "sweep", "model"):
        if f"{{{kind}}}" in path:
            path = path.replace(f"{{{kind}}}", world.thing(kind))
    shown(ok(me.get(path)), entity)
