"""Allocations that share no folder with the login node ask its relay. It serves gangs that it knows, and only them."""

from pathlib import Path

import pytest

from muster.agent.batch.link import connected_to, listening
from muster.agent.batch.relay import Relay
from muster.agent.batch.relayed import RelayedSpool, RelayLink
from muster.agent.batch.spool import Gang, Spool
from muster.agent.node.networks import network_addresses
from muster.agent.system.disk import write_json

pytestmark = pytest.mark.timeout(60)
KEY, TASK, TOKEN = "job.1", "job.1.worker.0", "a token"


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    spool = Spool(str(tmp_path / "login"))
    spool.make()
    return spool


@pytest.fixture
def gang(spool: Spool) -> Gang:
    gang = spool.gang(KEY)
    gang.write_facts({"tasks": [TASK], "token": TOKEN})
    gang.write_job("17")
    return gang


def test_gang_learns_that_it_was_forgotten(spool: Spool, gang: Gang, tmp_path: Path) -> None:
    relay = Relay(spool)
    own = RelayedSpool(str(tmp_path / "node"), RelayLink(f"127.0.0.1,{relay.port}", TOKEN, KEY).ask).gang(KEY)
    gang.add_orders({TASK: 3.0})
    assert own.orders() == {TASK: 3.0}
    assert own.facts() is not None

    gang.forget(TASK)

    assert own.orders() == {}
    assert own.is_gone
    assert own.facts() is None


@pytest.mark.parametrize(("key", "token"), [(KEY, "another token"), ("other.1", TOKEN)])
def test_stranger_does_not_learn_whether_a_gang_was_forgotten(spool: Spool, gang: Gang, key: str, token: str) -> None:
    """An agent of somebody else may listen where ours did before: it must not end a gang that it never knew."""
    gang.forget(TASK)
    link = connected_to(f"127.0.0.1,{Relay(spool).port}")

    link.send({"what": "orders", "key": key, "token": token})

    assert link.receive_one() is None


def test_next_relay_serves_gangs_that_run_where_the_one_before_it_did(spool: Spool, gang: Gang) -> None:
    """Also if that port is still taken when it begins: new gangs get another one, and both are served in the end."""
    with listening() as before:
        port = before.getsockname()[1]
        write_json(str(Path(spool.root, "relay.json")), {"ports": [port]})
        relay = Relay(spool)
        assert relay.port != port

    for known in (port, relay.port):
        assert RelayLink(f"127.0.0.1,{known}", TOKEN, KEY).ask({"what": "orders"}) == {"orders": {}}


def test_relay_is_reached_at_every_network_of_the_login_node(
    spool: Spool, gang: Gang, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.agent.batch.relay.network_addresses", lambda: ["10.0.0.5", "192.168.1.7"])
    relay = Relay(spool)
    assert relay.addresses()[-2:] == ["10.0.0.5", "192.168.1.7"]
    assert len(set(relay.addresses())) == len(relay.addresses())
    link = RelayLink(f"no-such-host.invalid,127.0.0.1,{relay.port}", TOKEN, KEY)
    assert link.ask({"what": "orders"}) == {"orders": {}}


def test_addresses_of_networks_are_those_that_others_reach() -> None:
    found = network_addresses()
    assert not any(address.startswith(("127.", "169.254.", "0.")) for address in found)


def test_a_port_that_somebody_else_has_is_refused(spool: Spool) -> None:
    with pytest.raises(OSError, match="in use"):
        Relay(spool, port=Relay(spool).port)
