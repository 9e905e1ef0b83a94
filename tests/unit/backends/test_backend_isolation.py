"""What an agent says about its machine, and what the server says about it to people."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from muster.backends.agents.connection import AgentNode
from muster.backends.agents.isolation import PoolIsolation
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.isolation import IsolationMode, IsolationSettings
from muster.launch.containers import DOCKER, PODMAN, Engine
from tests.parts.building import a_node, a_spec, with_extended

pytestmark = pytest.mark.fast

CAN = {"user": True, "namespace": True, "why": "", "groups": "", "devices": ""}
OTHER_GPUS = "tasks can open GPUs that were allocated to others"
GPU = [{"index": 0}]


def alerts(mode: IsolationMode, engine: Engine | None, uid: int = 1000) -> list[str]:
    """The alerts of a node whose agent found this engine."""
    noted: list[str] = []
    hello = {"uid": uid, "isolation": CAN}
    node = a_node("n1")
    agent = SimpleNamespace(node=node, hello=hello, note_alerts=lambda source, found: noted.extend(found))
    cluster = PhysicalCluster("lab", "ssh", isolation=IsolationSettings(mode))
    PoolIsolation(lambda: cluster, lambda: [], "me", "server").engine_found(cast("AgentNode", agent), engine)
    return noted


def gaps(
    *, gpus: Any = GPU, source: str = "nvml", fpgas: int = 0, **can: Any
) -> tuple[IsolationMode | None, tuple[str, ...]]:
    hello = {"gpus": gpus, "gpu_source": source, "uid": 0, "isolation": {**CAN, **can}}
    agent = cast("AgentNode", SimpleNamespace(node=with_extended(a_node("n1"), fpgas), hello=hello))
    given = PoolIsolation(lambda: PhysicalCluster("lab", "ssh"), lambda: [agent], "me", "server").given()
    return given.mode, given.gaps


def test_devices_other_than_gpus_that_are_not_closed_are_a_gap() -> None:
    assert gaps(gpus=[], fpgas=1) == (IsolationMode.USER, ())
    told = "tasks can open devices that were allocated to others: no controller"
    assert gaps(gpus=[], fpgas=1, devices="no controller") == (IsolationMode.USER, (f"node n1: {told}",))


def test_what_a_sound_node_gives_has_no_gap() -> None:
    assert gaps() == (IsolationMode.USER, ())


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"devices": "no controller"}, f"{OTHER_GPUS}: no controller"),
        ({"source": "rocm-smi"}, f"{OTHER_GPUS}: the device files of AMD GPUs are not told apart"),
        ({"groups": "no groups"}, "processes that hide from their session can outlive their task: no groups"),
    ],
)
def test_what_a_node_does_not_enforce_is_said(facts: dict[str, Any], words: str) -> None:
    assert gaps(**facts)[1] == (f"node n1: {words}",)


def test_a_node_without_root_that_has_the_task_helper_gives_accounts() -> None:
    assert gaps(user=False, helper="", gpus=[]) == (IsolationMode.USER, ())
    assert gaps(user=False, helper="sudo: a password is required", gpus=[])[0] is IsolationMode.NAMESPACE


def test_devices_are_no_matter_without_gpus_or_where_each_task_has_its_own() -> None:
    assert gaps(gpus=[], devices="no controller")[1] == ()
    assert gaps(user=False, devices="no controller", groups="no groups") == (IsolationMode.NAMESPACE, ())


DOCKER_OF_ROOT = Engine(DOCKER, "/usr/bin/docker")


@pytest.mark.parametrize("mode", [IsolationMode.CONTAINER, IsolationMode.NONE])
def test_a_docker_of_root_that_the_account_of_tasks_may_call_is_an_alert(mode: IsolationMode) -> None:
    [alert] = alerts(mode, DOCKER_OF_ROOT)
    assert "any task there could become root" in alert


@pytest.mark.parametrize(
    ("mode", "engine", "uid"),
    [
        (IsolationMode.CONTAINER, Engine(DOCKER, "/usr/bin/docker", rootless=True), 1000),
        (IsolationMode.CONTAINER, Engine(PODMAN, "/usr/bin/podman", rootless=True), 1000),
        (IsolationMode.CONTAINER, None, 1000),
        (IsolationMode.CONTAINER, DOCKER_OF_ROOT, 0),
        (IsolationMode.NAMESPACE, DOCKER_OF_ROOT, 1000),
    ],
)
def test_other_engines_are_no_alert(mode: IsolationMode, engine: Engine | None, uid: int) -> None:
    assert alerts(mode, engine, uid) == []


def refused(owner: str, *abilities: bool) -> Problem | None:
    """What is said of a job where the file wants accounts, and each node can start tasks under them or not."""
    agents = [
        SimpleNamespace(node=a_node(f"n{n}"), hello={"gpus": [], "isolation": {**CAN, "user": can}})
        for n, can in enumerate(abilities)
    ]
    cluster = PhysicalCluster("lab", "ssh", isolation=IsolationSettings(IsolationMode.USER))
    isolation = PoolIsolation(lambda: cluster, lambda: cast("list[AgentNode]", agents), "me", "server")
    return isolation.refusal(a_spec(), owner)


def test_a_job_that_no_node_can_isolate_is_refused_at_once() -> None:
    problem = refused("amy", False, False)
    assert problem is not None
    assert "the agent there is not root" in problem.message
    assert refused("me", False) is None


def test_a_job_that_some_node_can_isolate_is_accepted() -> None:
    assert refused("amy", False, True) is None
    assert refused("amy") is None


async def ordered(owner_id: str) -> dict[str, Any]:
    hello = {"gpus": [], "isolation": CAN}
    agent = cast("AgentNode", SimpleNamespace(node=a_node("n1"), hello=hello))

    async def user_ids(name: str) -> str:
        return owner_id

    cluster = PhysicalCluster("lab", "ssh")
    order = await PoolIsolation(lambda: cluster, lambda: [agent], "me", "server", user_ids).account_order(agent, "amy")
    assert order is not None
    return order


@pytest.mark.anyio
async def test_the_number_of_a_user_is_derived_from_the_id_and_that_of_an_older_user_from_the_name() -> None:
    former, later = await ordered("u-1"), await ordered("u-2")
    assert (former["owner_id"], later["owner_id"]) == ("u-1", "u-2")
    assert former["uid"] != later["uid"]
    assert (await ordered("0123456789abcdef"))["uid"] == (await ordered(""))["uid"]
