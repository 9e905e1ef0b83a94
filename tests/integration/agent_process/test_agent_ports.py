"""Ports: given once, held until the launch, free again afterwards."""

import socket
import sys
from pathlib import Path

import pytest

from .conftest import StartAgent
from .driver import Agent, Refused, private_ports

LISTEN = (
    "import os, socket; s = socket.socket(); s.bind(('', int(os.environ['PORT']))); s.listen(); "
    "print('listening', flush=True); open('ready', 'w').close(); import time; time.sleep(300)"
)


@pytest.fixture
def agent(start_agent: StartAgent) -> Agent:
    return start_agent(None, "--ports", private_ports(40))


def bindable(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True


def test_ports_lie_outside_the_ephemeral_range_and_are_never_given_twice(start_agent: StartAgent) -> None:
    agent = start_agent()
    given = [port for owner in "abcdef" for port in agent.ask("reserve_ports", owner=owner, count=20)["ports"]]
    assert len(set(given)) == 120
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert not [port for port in given if low <= port <= high]


def test_reserving_again_gives_the_same_ports(agent: Agent) -> None:
    first = agent.ask("reserve_ports", owner="a", count=3)["ports"]
    assert agent.ask("reserve_ports", owner="a", count=3)["ports"] == first


def test_reserved_port_is_held_until_the_launch_that_binds_it(agent: Agent) -> None:
    (port,) = agent.ask("reserve_ports", owner="a", count=1)["ports"]
    assert not bindable(port)
    agent.launch("t", sys.executable, "-c", LISTEN, env={"PORT": str(port)}, ports=[port], port_owner="a")
    agent.ask("watch_log", task="t")
    agent.read_until(lambda: any(event.get("size") for event in agent.events), "the task to listen")
    assert agent.log("t") == b"listening\n"
    assert agent.ask("stop", task="t", grace_s=0)["phase"] == "running"
    agent.wait_phase("t", "ended")
    assert bindable(port)


def test_released_ports_are_free_but_not_given_again_at_once(agent: Agent) -> None:
    first = agent.ask("reserve_ports", owner="a", count=5)["ports"]
    agent.ask("release_ports", owner="a")
    assert all(bindable(port) for port in first)
    assert not set(agent.ask("reserve_ports", owner="b", count=5)["ports"]) & set(first)


def test_port_of_another_owner_of_a_live_task_or_of_a_stranger_is_refused(agent: Agent) -> None:
    held, mine, stray = agent.ask("reserve_ports", owner="a", count=3)["ports"]
    agent.shell("live", "sleep 300", ports=[mine], port_owner="a")
    agent.ask("release_ports", owner="b")
    with pytest.raises(Refused) as refused:
        agent.launch("t", "/bin/true", ports=[held], port_owner="b")
    assert refused.value.code == "port-in-use"
    with pytest.raises(Refused) as refused:
        agent.launch("t", "/bin/true", ports=[mine], port_owner="a")
    assert refused.value.code == "port-in-use"
    agent.ask("release_ports", owner="a")
    with socket.socket() as stranger:
        stranger.bind(("0.0.0.0", stray))
        with pytest.raises(Refused) as refused:
            agent.launch("t", "/bin/true", ports=[stray], port_owner="a")
        assert refused.value.code == "port-in-use"
    assert agent.run("t", "/bin/true", ports=[stray], port_owner="a")["exit_code"] == 0
    agent.ask("stop", task="live", grace_s=0)


def test_running_out_of_ports_is_said_and_takes_none(start_agent: StartAgent) -> None:
    agent = start_agent(None, "--ports", private_ports(4))
    with pytest.raises(Refused) as refused:
        agent.ask("reserve_ports", owner="a", count=5)
    assert refused.value.code == "no-ports"
    assert len(agent.ask("reserve_ports", owner="b", count=2)["ports"]) == 2


def test_held_ports_are_in_no_table_of_open_files_that_a_new_process_could_share(agent: Agent) -> None:
    agent.ask("hello")  # after this it opens and closes nothing by itself
    agent.ask("reserve_ports", owner="a", count=3)
    process = Path(f"/proc/{agent.process.pid}")
    assert _sockets(process) == 0
    assert [_sockets(thread) for thread in (process / "task").iterdir() if _sockets(thread)] == [3]


def _sockets(owner: Path) -> int:
    return sum(_target(link).startswith("socket:") for link in (owner / "fd").iterdir())


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""  # a file that was open for a moment


def test_ports_of_one_task_are_free_though_others_start_at_the_same_moment(agent: Agent) -> None:
    """A process that is just being born must not hold on to a port that was given up for another."""
    for round_number in range(15):
        ports = agent.ask("reserve_ports", owner=str(round_number), count=2)["ports"]
        agent.send("launch", task=f"other{round_number}", argv=["/bin/true"], env={}, ports=[])
        agent.ask("release_ports", owner=str(round_number))
        assert all(bindable(port) for port in ports)


def test_port_that_is_asked_for_is_the_first_one_if_it_can_be_had(agent: Agent) -> None:
    (free,) = agent.ask("reserve_ports", owner="a", count=1)["ports"]
    agent.ask("release_ports", owner="a")

    assert agent.ask("reserve_ports", owner="b", count=2, first=free)["ports"][0] == free
    assert agent.ask("reserve_ports", owner="b", count=2, first=free)["ports"][0] == free
    (other,) = agent.ask("reserve_ports", owner="c", count=1, first=free)["ports"]
    assert other != free
    assert agent.ask("reserve_ports", owner="d", count=1, first=1)["ports"] != [1], "not one of the node's ports"
