"""Waits until a new node is ready or cannot be reached."""

import time
from typing import TYPE_CHECKING

from muster.cli.failures import Failure
from muster.cli.session import say

if TYPE_CHECKING:
    from muster.client.client import Client
    from muster.client.node_views import NodeView


def wait_until_ready(
    client: "Client", cluster: str, name: str, *, poll_every_s: float = 0.3, timeout_s: float = 120.0
) -> None:
    """Prints each new state. Raises Failure if the node cannot be reached or is not ready in time."""
    deadline = time.monotonic() + timeout_s
    printed = ""
    while time.monotonic() < deadline:
        node = _find(client, cluster, name)
        state = node.state if node else "Joining"
        if state != printed:
            say(f"{name} is {state}")
            printed = state
        if node is not None and state == "Ready":
            say(_described(node))
            return
        if node is not None and state == "Unreachable":
            raise Failure(
                f"{name} cannot be reached: {node.note}",
                hint=f"Muster keeps trying; `muster node remove {name}` removes the node",
            )
        time.sleep(poll_every_s)
    raise Failure(f"{name} is still {printed}", hint=f"`muster describe node/{name}` shows its current state")


def _find(client: "Client", cluster: str, name: str) -> "NodeView | None":
    """The node; None in the moment before the server has loaded it."""
    return next((node for node in client.nodes() if (node.cluster, node.name) == (cluster, name)), None)


def _described(node: "NodeView") -> str:
    models = sorted({str(gpu.get("model")) for gpu in node.gpus})
    gpus = f", {len(node.gpus)} GPUs ({', '.join(models)})" if models else ", no GPU"
    return f"{node.cpu_total:g} cores, {node.memory_total / (1 << 30):.0f} GiB{gpus}"
