"""Ports that jobs on one node claim."""

import json
import socket
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from muster.agent.batch.node_ports import ClaimedPorts
from muster.agent.errors import NO_PORTS, AgentError

pytestmark = pytest.mark.fast
RANGE = range(29000, 29400)
_NARROW = range(29400, 29408)
_JOB = """
import json, socket, sys
from muster.agent.batch.node_ports import ClaimedPorts
for line in sys.stdin:
    claim = ClaimedPorts()
    ports = claim.claim(4, json.loads(line))
    servers = [socket.create_server(("", port)) for port in ports]
    print(json.dumps(ports), flush=True)
    sys.stdin.readline()
    for one in (*servers, claim):
        one.close()
    print("over", flush=True)
"""
"""Listens at ports of its own from one line that it reads until the next one."""


def test_two_jobs_on_one_node_never_get_the_same_port() -> None:
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(_claimed, range(100)))
    found = [port for claim in claims for port in claim.ports]
    for claim in claims:
        claim.close()
    assert len(found) == len(set(found)) == 300


def test_two_jobs_that_take_all_ports_of_a_node_never_collide() -> None:
    """They are processes of their own, as on a node, which begin at the same time. Every port that one of them has
    claimed is in the way of the other."""
    pipes, argv = subprocess.PIPE, [sys.executable, "-c", _JOB]
    with (
        subprocess.Popen(argv, stdin=pipes, stdout=pipes, text=True) as first,
        subprocess.Popen(argv, stdin=pipes, stdout=pipes, text=True) as second,
    ):
        for _ in range(100):
            found = [json.loads(told) for told in _told((first, second), json.dumps([*_NARROW]))]
            assert sorted(found[0] + found[1]) == [*_NARROW]
            assert _told((first, second), "let go") == ["over\n"] * 2


def test_a_port_that_somebody_uses_is_not_given() -> None:
    with socket.socket() as other:
        other.bind(("", 0))
        claim = ClaimedPorts()
        with pytest.raises(AgentError) as refused:
            claim.claim(1, [other.getsockname()[1]])
    assert refused.value.code == NO_PORTS


def test_a_port_is_free_again_when_its_job_is_gone() -> None:
    first, second = ClaimedPorts(), ClaimedPorts()
    (port,) = first.claim(1, RANGE)
    first.close()
    assert second.claim(1, [port]) == [port]
    second.close()


def _told(jobs: Sequence["subprocess.Popen[str]"], line: str) -> list[str]:
    """What each prints when all have read this line."""
    for job in jobs:
        assert job.stdin is not None
        print(line, file=job.stdin, flush=True)
    return [job.stdout.readline() for job in jobs if job.stdout is not None]


def _claimed(_: int) -> ClaimedPorts:
    claim = ClaimedPorts()
    claim.claim(3, RANGE)
    return claim
