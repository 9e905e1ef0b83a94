"""Real SSH hosts on this machine as one cluster of a server. The only part of the bench that knows the tests' hosts."""

import math
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.measuring import percentile
from bench.muster.client import MusterClient
from bench.muster.server import MusterAbsent, MusterServer
from tests.parts.host import Host
from tests.parts.hosts import HostOptions, HostPool, hosts_unavailable
from tests.parts.ssh_cluster import CLUSTER, node_of, write_cluster

__all__ = ["CLUSTER", "Host", "HostPool"]

READY_WITHIN_S = 60.0
LOOK_S = 0.1
ROUND_TRIPS = 50
COMMAND_WITHIN_S = 120.0
DISK_MIB = 1024


@contextmanager
def pool_of(count: int) -> Iterator[HostPool]:
    if (reason := hosts_unavailable()) is not None:
        raise MusterAbsent(reason)
    # On a disk of their own: making a file on the overlay of a test host costs ten times what a real disk asks.
    with HostPool([HostOptions(disk_mib=DISK_MIB)] * count) as pool:
        yield pool


@contextmanager
def serving(pool: HostPool) -> Iterator[MusterServer]:
    """A server for which all hosts are Ready when it begins."""
    server = MusterServer()
    write_cluster(server.home, [node_of(host) for host in pool.hosts])
    with server:
        wait_for_ready(MusterClient(server.address), CLUSTER, len(pool.hosts))
        yield server


def wait_for_ready(client: MusterClient, cluster: str, count: int, within_s: float = READY_WITHIN_S) -> None:
    give_up = time.monotonic() + within_s
    ready = 0
    while time.monotonic() < give_up:
        ready = sum(node["state"] == "Ready" for node in client.nodes(cluster))
        if ready == count:
            return
        time.sleep(LOOK_S)
    raise TimeoutError(f"{ready} of {count} nodes were Ready after {within_s:.0f} s")


def share_of_host(tasks: int) -> float:
    """The CPU of which so many tasks fill a host: a gang that takes it lies on as many hosts as it should."""
    return math.floor(1000 * (os.cpu_count() or 1) / tasks) / 1000


def round_trip_s(host: Host) -> float:
    """Of the network alone: a connection is open when one packet went there and one came back."""
    return percentile([_connected_s(host) for _ in range(ROUND_TRIPS)], 50)


def ssh_command(program: str, host: Host, known_hosts: Path) -> list[str]:
    """`ssh` or `scp` as somebody would call it who has set it up well: one key, nothing to ask, nothing shared."""
    known_hosts.write_text(f"{host.known_hosts_line}\n")
    options = {
        "BatchMode": "yes",
        "ControlPath": "none",
        "IdentitiesOnly": "yes",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": str(known_hosts),
    }
    given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return [program, "-F", "none", "-i", str(host.key_file), *given]


def ran_s(arguments: Sequence[str]) -> float:
    """Seconds of one command, which must succeed."""
    began = time.monotonic()
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=COMMAND_WITHIN_S, check=False)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]}: {done.stderr.strip()}")
    return time.monotonic() - began


def _connected_s(host: Host) -> float:
    began = time.monotonic()
    with socket.create_connection((host.address, host.port), timeout=5):
        return time.monotonic() - began
