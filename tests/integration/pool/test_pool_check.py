"""`muster cluster check --connect` with real hosts, without a server."""

from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer
from tests.parts.ssh_cluster import node_of, write_cluster


def test_nodes_are_logged_in_to_and_those_that_cannot_be_used_are_named(server: MusterServer, pool: HostPool) -> None:
    good, no_python, stranger = pool[0], pool[1], pool[2]
    write_cluster(
        server.home,
        [node_of(good), node_of(no_python, python="python3.99"), node_of(stranger, hostKey=good.host_key)],
    )
    done = server.run("cluster", "check", "--connect")
    assert done.returncode == 0, done.stderr
    assert "cluster lab: 1 of 3 nodes can be used" in done.stderr
    assert f"warning: cluster lab: node {no_python.name} cannot be used: python3.99 does not run there" in done.stderr
    assert f"warning: cluster lab: node {stranger.name} cannot be used: the host key of" in done.stderr
    assert good.name not in done.stderr


def test_a_cluster_without_a_node_that_can_be_used_is_a_mistake(server: MusterServer, pool: HostPool) -> None:
    write_cluster(server.home, [node_of(pool[0], port=1)])
    done = server.run("cluster", "check", "--connect")
    assert done.returncode == 1
    assert f"node {pool[0].name} cannot be used: cannot connect to" in done.stdout
    assert "no mistakes" not in done.stderr
