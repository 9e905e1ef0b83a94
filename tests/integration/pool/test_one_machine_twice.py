"""Two names for one machine: an alert, until one of them has left."""

from collections.abc import Iterator

import pytest
import yaml

from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import node_of, nodes, wait_for_nodes, write_cluster

SAME = "it is the same machine as node"


@pytest.fixture(scope="module")
def pool(can_make_hosts: None) -> Iterator[HostPool]:
    with HostPool(1) as made:
        yield made


def wait_for_alerts(server: MusterServer, names: set[str]) -> None:
    """Exactly these say that they are somebody else."""
    found: dict[str, list[str]] = {}
    for _ in polls(60):
        found = {name: node["alerts"] for name, node in nodes(server).items()}
        if {name for name, alerts in found.items() if any(SAME in alert for alert in alerts)} == names:
            return
    raise AssertionError(f"not {names}, but {found}")


def test_the_second_name_says_so_until_the_first_has_left(server: MusterServer, pool: HostPool) -> None:
    first, second = node_of(pool[0]), node_of(pool[0]) | {"name": "alias"}
    write_cluster(server.home, [first])
    server.start()
    wait_for_nodes(server, {pool[0].name: "Ready"})
    write_cluster(server.home, [first, second])
    wait_for_alerts(server, {"alias"})
    wait_for_nodes(server, {pool[0].name: "Ready", "alias": "Ready"})
    write_cluster(server.home, [second])
    wait_for_nodes(server, {pool[0].name: None, "alias": "Ready"})
    wait_for_alerts(server, set())


def test_a_machine_of_another_cluster_says_so_too(server: MusterServer, pool: HostPool) -> None:
    write_cluster(server.home, [node_of(pool[0])])
    server.start()
    wait_for_nodes(server, {pool[0].name: "Ready"})
    attic = {"name": "attic", "backend": "ssh", "nodes": [node_of(pool[0]) | {"name": "alias"}]}
    (server.home / "clusters.d" / "attic.yaml").write_text(yaml.safe_dump(attic))
    for _ in polls(60):
        _, page = server.call("GET", "/api/v1/nodes?cluster=attic")
        if any(SAME in alert for node in page.get("items", ()) for alert in node["alerts"]):
            return
    raise AssertionError(page)
