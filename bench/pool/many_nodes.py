"""What one server costs with hundreds of nodes that all tell how busy they are, and how soon it notices a silent one.

The nodes are simulated (`bench.pool.simulated`): real SSH connections and real messages, in a process of their own.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import yaml

from bench.measuring import Footprint, compare
from bench.muster.case import Case, Figures
from bench.muster.client import MusterClient
from bench.muster.server import MusterServer, first_line
from bench.peers import children
from bench.peers.venvs import ROOT
from bench.pool.hosts import wait_for_ready
from bench.pool.simulated import address_of, name_of
from bench.pool.simulated_usage import GPUS
from bench.scale import Scale
from bench.table import Row, Unit, at_most

CLUSTER = "fleet"
MEGABYTE = 1_000_000
READY_WITHIN_S = 180.0
LARGE_READY_WITHIN_S = 900.0
SETTLE_S = 5.0
FILLED_WITHIN_S = 120.0
QUICK_ANSWERS = 5
QUICK_S = 0.1
NODES_EVERY_S = 5.0
METRICS_EVERY_S = 15.0
NOTICED_WITHIN_S = 60.0
LOOK_S = 0.25
CPU = Row("CPU of the server, nodes telling their usage", Unit.PERCENT, bar=at_most(50))
MEMORY = Row("memory of the server, samples of 5 minutes kept", Unit.MEGABYTES, bar=at_most(400))
LARGE = Row("CPU of the server, 1,000 nodes telling their usage", Unit.PERCENT, bar=at_most(50))
SILENCE = Row("a node's silence until it is Unreachable", Unit.SECONDS, bar=at_most(15))


@dataclass
class Asked:
    """What reading the server from outside took, in seconds."""

    nodes: list[float]
    metrics: list[float]
    metrics_bytes: int = 0


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    server = MusterServer()
    with simulated_nodes(server.home, scale.fleet_nodes) as fleet, server:
        client = MusterClient(server.address)
        began = time.monotonic()
        wait_for_ready(client, CLUSTER, scale.fleet_nodes, READY_WITHIN_S)
        ready_s = time.monotonic() - began
        time.sleep(SETTLE_S)
        _fill(fleet, client)
        seen, asked = _watched(server, client, scale.fleet_s)
        client.nodes(CLUSTER)
        noticed_s = _silence(fleet, client, name_of(scale.fleet_nodes // 2))
        wait_for_ready(client, CLUSTER, scale.fleet_nodes - 1)
    return _rows(scale, seen, asked, ready_s, noticed_s)


@contextmanager
def simulated_nodes(home: Path, count: int) -> Iterator[subprocess.Popen[str]]:
    """The nodes, and a cluster file in `home` that names them."""
    for name in ("key", "host_key"):
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(home / name)
        (home / name).chmod(0o600)
        key.write_public_key(home / f"{name}.pub")
    log = home / "simulated.log"
    arguments = [sys.executable, "-m", "bench.pool.simulated", str(home), str(count)]
    process, _, said = children.start_piped(arguments, log, {}, ROOT)
    try:
        line = said.readline()
        if not line:
            raise RuntimeError(f"the simulated nodes did not start: {log.read_text()[-300:]}")
        _write_cluster(home, count, int(json.loads(line)["port"]))
        yield process
    finally:
        children.stop(process)


def _write_cluster(home: Path, count: int, port: int) -> None:
    kind, key = (home / "host_key.pub").read_text().split()[:2]
    login = {"port": port, "user": "bench", "keyFile": str(home / "key"), "hostKey": f"{kind} {key}"}
    nodes = [{"name": name_of(index), "host": address_of(index), **login} for index in range(count)]
    folder = home / "clusters.d"
    folder.mkdir()
    (folder / f"{CLUSTER}.yaml").write_text(yaml.safe_dump({"name": CLUSTER, "backend": "ssh", "nodes": nodes}))


def _tell(fleet: subprocess.Popen[str], line: str) -> None:
    assert fleet.stdin is not None
    fleet.stdin.write(f"{line}\n")
    fleet.stdin.flush()


def _fill(fleet: subprocess.Popen[str], client: MusterClient) -> None:
    """Until the server has taken in as many samples as it keeps: then it answers at once, again and again."""
    _tell(fleet, "fill")
    assert fleet.stdout is not None
    if not first_line(fleet.stdout, FILLED_WITHIN_S):
        raise TimeoutError(f"the server did not take all samples within {FILLED_WITHIN_S:.0f} s")
    quick, give_up = 0, time.monotonic() + FILLED_WITHIN_S
    while quick < QUICK_ANSWERS and time.monotonic() < give_up:
        time.sleep(1.0)
        asked = time.monotonic()
        client.health()
        quick = quick + 1 if time.monotonic() - asked < QUICK_S else 0


def _watched(server: MusterServer, client: MusterClient, window_s: float) -> tuple[Footprint, Asked]:
    """The server over the window, while somebody looks at the nodes and Prometheus scrapes."""
    asked = Asked([], [])
    (before, _), began = server.processes(), time.monotonic()
    next_nodes, next_metrics = began, began
    while (now := time.monotonic()) < began + window_s:
        if now >= next_nodes:
            next_nodes += NODES_EVERY_S
            client.nodes(CLUSTER)
            asked.nodes.append(time.monotonic() - now)
        elif now >= next_metrics:
            next_metrics += METRICS_EVERY_S
            asked.metrics_bytes = len(client.metrics())
            asked.metrics.append(time.monotonic() - now)
        time.sleep(LOOK_S)
    (after, _), passed = server.processes(), time.monotonic() - began
    return compare(before, after, passed), asked


def _silence(fleet: subprocess.Popen[str], client: MusterClient, name: str) -> float:
    _tell(fleet, f"silence {name}")
    began = time.monotonic()
    while time.monotonic() < began + NOTICED_WITHIN_S:
        if any(node["name"] == name and node["state"] == "Unreachable" for node in client.nodes(CLUSTER)):
            return time.monotonic() - began
        time.sleep(LOOK_S)
    raise TimeoutError(f"{name} was silent for {NOTICED_WITHIN_S:.0f} s and is not Unreachable")


def _rows(scale: Scale, seen: Footprint, asked: Asked, ready_s: float, noticed_s: float) -> Sequence[Row]:
    note = f"{scale.fleet_nodes} nodes, over {scale.fleet_s:.0f} s; /nodes every 5 s, /metrics every 15 s"
    size = f"{asked.metrics_bytes / MEGABYTE:.1f} MB"
    return [
        Row(CPU.what, CPU.unit, seen.cpu_percent, bar=CPU.bar, note=note),
        Row(MEMORY.what, MEMORY.unit, seen.rss_bytes / MEGABYTE, bar=MEMORY.bar),
        Row(SILENCE.what, SILENCE.unit, noticed_s, bar=SILENCE.bar),
        Row("start until all nodes are Ready", Unit.SECONDS, ready_s),
        Row("GET /nodes of them all, slowest", Unit.MILLISECONDS, 1000 * max(asked.nodes)),
        Row("GET /metrics of them all, slowest", Unit.MILLISECONDS, 1000 * max(asked.metrics), note=size),
    ]


CASE = Case("fleet", "a server with 200 simulated nodes", run, lambda figures: [CPU, MEMORY, SILENCE])


def run_large(scale: Scale, figures: Figures) -> Sequence[Row]:
    """1,000 nodes with 8 GPUs each, which tell their usage every 2 s, as the server asks them to. Nobody looks."""
    server = MusterServer()
    with simulated_nodes(server.home, scale.large_fleet_nodes), server:
        client = MusterClient(server.address)
        wait_for_ready(client, CLUSTER, scale.large_fleet_nodes, LARGE_READY_WITHIN_S)
        time.sleep(SETTLE_S)
        (before, _), began = server.processes(), time.monotonic()
        time.sleep(scale.fleet_s)
        (after, _), passed = server.processes(), time.monotonic() - began
    seen = compare(before, after, passed)
    note = f"{scale.large_fleet_nodes} nodes with {GPUS} GPUs, each telling its usage every 2 s, over {passed:.0f} s"
    return [Row(LARGE.what, LARGE.unit, seen.cpu_percent, bar=LARGE.bar, note=note)]


LARGE_CASE = Case("large-fleet", "a server with 1,000 simulated nodes", run_large, lambda figures: [LARGE])
