"""Ports that jobs on one node claim."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from muster.agent.batch.node_ports import ClaimedPorts
from muster.agent.errors import NO_PORTS, AgentError

pytestmark = pytest.mark.fast
RANGE = range(29000, 29400)


def test_two_jobs_on_one_node_never_get_the_same_port() -> None:
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(_claimed, range(100)))
    found = [port for claim in claims for port in claim.ports]
    for claim in claims:
        claim.close()
    assert len(found) == len(set(found)) == 300


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


def _claimed(_: int) -> ClaimedPorts:
    claim = ClaimedPorts()
    claim.claim(3, RANGE)
    return claim
