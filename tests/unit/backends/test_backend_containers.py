"""What a dry run says of containers: what is known of the node's engine, and nothing that is secret."""

from dataclasses import replace
from typing import Any, NoReturn

import pytest

from muster.backends.agents.connection import AgentNode
from muster.backends.agents.containers import ContainerAccount, Engines, Found
from muster.domain.launch_requests import LaunchRequest
from muster.domain.specs import Input, Mount
from muster.launch.containers import APPTAINER, DOCKER, PODMAN, Engine
from muster.ports.backend import ContainerCommand

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
REQUEST = LaunchRequest(
    task_id="j1.1.worker.0",
    node="gpu1",
    argv=("python", "train.py"),
    env={"TOKEN": "hunter2", "LINES": "one\nhunter2"},
    image="paddle:2.6",
    mounts=(Mount("/mnt/data", "/data", read_only=True),),
)


class Knowing(Engines):
    def __init__(self, **found: Found) -> None:
        super().__init__()
        self._found = found


def a_node(**hello: Any) -> AgentNode:
    def unreachable() -> NoReturn:
        raise AssertionError("a dry run asks nobody")

    agent = AgentNode("gpu1", "lab", unreachable, on_push=_nothing, on_change=_nothing, on_ready=_nothing)
    agent.hello = hello
    return agent


def _nothing(*_: object) -> None:
    return None


@pytest.mark.parametrize("name", [PODMAN, DOCKER, APPTAINER])
def test_command_is_the_engines_own_without_values_of_variables(name: str) -> None:
    engines = Knowing(gpu1=Found(Engine(name, f"/usr/bin/{name}"), {}))
    told = engines.command(a_node(root="/home/lab/node", uid=1000, gid=1000), REQUEST)
    assert (told.engine, told.argv[0], told.why) == (name, f"/usr/bin/{name}", "")
    assert told.argv[-2:] == ("python", "train.py")
    assert any("/mnt/data" in word for word in told.argv)
    assert not any("hunter2" in word for word in told.argv)


def test_node_that_was_not_asked_yet_is_said_to_be_so() -> None:
    told = Engines().command(a_node(), REQUEST)
    assert told == ContainerCommand(why="node gpu1 has not reported yet which container engine it has")


def test_node_without_an_engine_says_why() -> None:
    engines = Knowing(gpu1=Found(None, {"docker": "no daemon"}))
    told = engines.command(a_node(root="/home/lab/node", uid=1000, gid=1000), REQUEST)
    assert told.why == "node gpu1 has no container engine that works; docker: no daemon"


async def test_a_container_runs_under_the_account_of_its_owner_and_mounts_only_its_own_inputs() -> None:
    """The folder with the inputs of all tasks was mounted, and the program ran under the account of the agent."""
    digest = "a" * 64
    request = replace(REQUEST, inputs=(Input(f"{digest}/rows.csv", "rows"),))
    engines = Knowing(gpu1=Found(Engine(DOCKER, "/usr/bin/docker"), {}))
    node = a_node(root="/srv/node", uid=0, gid=0, memory_bytes=1 << 30)
    started, _ = await engines.contained(node, request, ContainerAccount(70_001, 70_001, "5ec"), is_isolated=True)
    assert started.argv[started.argv.index("--user") + 1] == "70001:70001"
    own = f"/srv/node/inputs/{digest}.5ec"
    assert f"type=bind,source={own},target={own},readonly" in started.argv
    assert not any("source=/srv/node/inputs," in word for word in started.argv)
