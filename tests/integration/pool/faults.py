"""Hosts that a test may break, and a server that notices soon: what tests of faults begin with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.parts.host import Host
from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer, end_all_jobs
from tests.parts.ssh_cluster import node_of, wait_for_nodes, wait_for_note, write_cluster

from .gangs import SHARED, Gang

SOON = {"unreachableAfter": "2s", "lostAfter": "4s"}
"""Tasks of a node that is away are lost after seconds."""
LATE = {"unreachableAfter": "2s", "lostAfter": "90s"}
"""A time of grace that no test uses up."""


class Scene:
    """A server, its hosts, and the folder that all hosts share, as this machine sees it."""

    def __init__(self, server: MusterServer, pool: HostPool, control: Path) -> None:
        self.server = server
        self.pool = pool
        self.control = control

    def begin(self, kind: str) -> Gang:
        """A gang that is in the middle of its work."""
        gang = Gang(self.server, self.pool, self.control, kind)
        gang.wait_until_working()
        return gang

    def wait_for(self, host: Host, state: str, words: str = "") -> str:
        """The node's note, once it is in this state and says these words."""
        return wait_for_note(self.server, host.name, words, state)

    def restart(self) -> None:
        """As after a power cut of the server."""
        self.server.kill()
        self.server.start()


@contextmanager
def scene(server: MusterServer, pool: HostPool, control: Path, **settings: Any) -> Iterator[Scene]:
    """All hosts are Ready when it begins; when it ends they are mended, and no task of it is left on them."""
    (control / "records").mkdir(parents=True)
    pool.share(control, SHARED)
    write_cluster(server.home, [node_of(host) for host in pool.hosts], **settings)
    if not server.is_running:
        server.start()
    wait_for_nodes(server, {host.name: "Ready" for host in pool.hosts})
    try:
        yield Scene(server, pool, control)
    finally:
        for host in pool.hosts:
            restore(host)
            server.run("node", "uncordon", host.name)
        end_all_jobs(server)


def restore(host: Host) -> None:
    """On, reachable, listening, with an empty disk."""
    if not host.is_on:
        host.power_on()
    host.mend()
    if not host.processes(r"^sshd: .*\[listener\]"):
        host.start_sshd()
    host.free_disk()
