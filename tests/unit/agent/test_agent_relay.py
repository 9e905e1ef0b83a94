"""Allocations that share no folder with the login node ask its relay. It serves gangs that it knows, and only them."""

import base64
import socket
from pathlib import Path
from typing import Any

import pytest

from muster.agent.batch.gang_secrets import batch_secrets, keep
from muster.agent.batch.given_secrets import take_variables
from muster.agent.batch.link import Link, connected_to, listening
from muster.agent.batch.relay import Relay
from muster.agent.batch.relayed import RelayedSpool, RelayLink
from muster.agent.batch.spool import SEALED, Gang, Spool
from muster.agent.node.networks import network_addresses
from muster.agent.system.disk import write_json
from muster.agent.tasks.port_ranges import ephemeral_range

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
    with pytest.raises(ConnectionError, match="does not know this job"):
        connected_to(f"127.0.0.1,{Relay(spool).port}", token, key)


def test_gang_of_an_earlier_release_shows_its_token(spool: Spool, gang: Gang) -> None:
    answer = _said(Relay(spool), {"what": "orders", "key": KEY, "token": TOKEN})
    assert answer == {"orders": {}}


def test_gang_of_this_release_never_shows_its_token(spool: Spool, gang: Gang) -> None:
    gang.write_facts({"tasks": [TASK], "token": TOKEN, SEALED: True})
    assert _said(Relay(spool), {"what": "orders", "key": KEY, "token": TOKEN}) is None


def test_next_relay_serves_gangs_that_run_where_the_one_before_it_did(spool: Spool, gang: Gang) -> None:
    """Also if that port is still taken when it begins: new gangs get another one, and both are served in the end."""
    with listening() as before:
        port = before.getsockname()[1]
        write_json(str(Path(spool.root, "relay.json")), {"ports": [port]})
        relay = Relay(spool)
        assert relay.port != port

    for known in (port, relay.port):
        assert RelayLink(f"127.0.0.1,{known}", TOKEN, KEY).ask({"what": "orders"}) == {"orders": {}}


def test_relay_listens_where_no_outgoing_connection_can_take_its_port(spool: Spool) -> None:
    low, high = ephemeral_range()
    assert not low <= Relay(spool).port <= high


def test_relay_finds_a_port_also_if_all_are_for_outgoing_connections(
    spool: Spool, gang: Gang, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.agent.batch.relay.ephemeral_range", lambda: (1024, 65535))
    link = RelayLink(f"127.0.0.1,{Relay(spool).port}", TOKEN, KEY)
    assert link.ask({"what": "orders"}) == {"orders": {}}


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


def test_task_gets_its_secrets_from_the_relay_until_its_end_is_known(spool: Spool, gang: Gang, tmp_path: Path) -> None:
    told = {"files": {"a/key": _text(b"value")}, "masked": [_text(b"value")], "variables": {"KEY": "value"}}
    paths = {"MUSTER_SECRETS": "", "KEY_FILE": "a/key"}
    keep(gang.task_folder(TASK), batch_secrets({TASK: {**told, "paths": paths}})[TASK])
    node = RelayedSpool(str(tmp_path / "node"), RelayLink(f"127.0.0.1,{Relay(spool).port}", TOKEN, KEY).ask)
    own, folder = node.gang(KEY), Path(node.gang(KEY).task_folder(TASK))

    node.fetch_secrets(own, TASK)

    assert (folder / "secrets/a/key").read_bytes() == b"value"
    variables = {"KEY": "value", "MUSTER_SECRETS": f"{folder}/secrets", "KEY_FILE": f"{folder}/secrets/a/key"}
    assert take_variables(str(folder)) == variables
    node.write_mark(own, TASK, "end", {"at": 1.0})
    assert _files_with(tmp_path, b"value") == []
    with pytest.raises(OSError, match="cannot be had"):
        node.fetch_secrets(own, TASK)


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _files_with(folder: Path, value: bytes) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if value in path.read_bytes() or base64.b64encode(value) in path.read_bytes()]


def _said(relay: Relay, message: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to a message that is not sealed."""
    with socket.create_connection(("127.0.0.1", relay.port), 30) as connection:
        link = Link(connection)
        link.send(message)
        return link.receive_one()
