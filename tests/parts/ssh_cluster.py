"""A real server with a cluster of real SSH hosts, with which most tests of the pool start."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.parts.host import Host
from tests.parts.host_files import DISK
from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer, polls, running_server

CLUSTER = "lab"
ROOT = f"{DISK}/node"
"""The folder of Muster on the nodes. It is on a separate disk, which a test may fill."""


def node_of(host: Host, **more: Any) -> dict[str, Any]:
    """The entry of a host in the cluster file, with its host key."""
    return {
        "name": host.name,
        "host": host.address,
        "user": host.user,
        "keyFile": str(host.key_file),
        "hostKey": host.host_key,
        **more,
    }


def write_cluster(home: Path, nodes: Iterable[Mapping[str, Any]], **more: Any) -> Path:
    """Writes `clusters.d/lab.yaml` atomically, by renaming a new file."""
    settings = {"name": CLUSTER, "backend": "ssh", "defaults": {"root": ROOT}, "nodes": list(nodes)} | more
    folder = home / "clusters.d"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{CLUSTER}.yaml"
    partial = folder / f".{CLUSTER}.yaml"
    partial.write_text(yaml.safe_dump(settings, sort_keys=False))
    partial.replace(path)
    return path


@contextmanager
def serving(home: Path, pool: HostPool, hosts: Iterable[Host] | None = None, **more: Any) -> Iterator[MusterServer]:
    """A server with these hosts, which are all Ready at the start."""
    taken = list(pool.hosts if hosts is None else hosts)
    write_cluster(home, [node_of(host) for host in taken], **more)
    with running_server(home) as server:
        wait_for_nodes(server, {host.name: "Ready" for host in taken})
        yield server


def wait_for_nodes(server: MusterServer, states: Mapping[str, str | None], timeout_s: float = 60.0) -> dict[str, Any]:
    """Waits until each node has its state, or no longer exists if the state is None."""
    found: dict[str, Any] = {}
    for _ in polls(timeout_s):
        found = nodes(server)
        if all((found.get(name) or {}).get("state") == state for name, state in states.items()):
            return found
    shown = {name: (found.get(name) or {}).get("state") for name in states}
    notes = json.dumps({name: node.get("note") for name, node in found.items()}, indent=1)
    raise AssertionError(f"nodes are {shown}, not {dict(states)}, after {timeout_s} s: {notes}")


def wait_for_note(server: MusterServer, name: str, words: str, state: str = "Unreachable") -> str:
    """Waits until the node has this state and these words in its note, and returns the note."""
    node: dict[str, Any] = {}
    for _ in polls(60):
        node = nodes(server).get(name) or {}
        if node.get("state") == state and words in node["note"]:
            return str(node["note"])
    raise AssertionError(f"{name} is not {state}, saying {words!r}: {node}")


def nodes(server: MusterServer) -> dict[str, Any]:
    _, page = server.call("GET", "/api/v1/nodes")
    return {node["name"]: node for node in page["items"] if node["cluster"] == CLUSTER}


def on_hosts(name: str, replicas: int, command: str, **more: Any) -> dict[str, Any]:
    """A spec whose tasks each run on a separate host."""
    return {
        "name": name,
        "cluster": CLUSTER,
        "replicas": replicas,
        "command": command,
        "resources": {"cpu": 0.1},
        "where": {"spread": "apart"},
        **more,
    }


def log_of(server: MusterServer, ref: str, task: str) -> str:
    _, text = server.call("GET", f"/api/v1/jobs/{ref}/logs/raw?task={task}")
    return str(text)
