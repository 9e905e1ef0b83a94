"""What an agent says about its machine, and what the server says about it to people."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from muster.backends.agents.connection import AgentNode
from muster.backends.agents.isolation import PoolIsolation
from muster.domain.clusters import PhysicalCluster
from muster.domain.isolation import IsolationMode

pytestmark = pytest.mark.fast

CAN = {"user": True, "namespace": True, "why": "", "groups": "", "devices": ""}
OTHER_GPUS = "tasks can open GPUs that were allocated to others"
GPU = [{"index": 0}]


def gaps(*, gpus: Any = GPU, source: str = "nvml", **can: Any) -> tuple[IsolationMode | None, tuple[str, ...]]:
    hello = {"gpus": gpus, "gpu_source": source, "uid": 0, "isolation": {**CAN, **can}}
    agent = cast("AgentNode", SimpleNamespace(node=SimpleNamespace(name="n1"), hello=hello))
    given = PoolIsolation(lambda: PhysicalCluster("lab", "ssh"), lambda: [agent], "me", "server").given()
    return given.mode, given.gaps


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


def test_devices_are_no_matter_without_gpus_or_where_each_task_has_its_own() -> None:
    assert gaps(gpus=[], devices="no controller")[1] == ()
    assert gaps(user=False, devices="no controller", groups="no groups") == (IsolationMode.NAMESPACE, ())
