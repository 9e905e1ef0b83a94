"""Waiting until a node that was added is ready, or until it is known why it is not."""

import time
from typing import TYPE_CHECKING

from muster.cli.failures import Failure
from muster.cli.session import say

if TYPE_CHECKING:
    from muster.client.client import Client
    from muster.client.views import NodeView

_LOOK_EVERY_S = 0.3
_PATIENCE_S = 120.0


def follow_joining(client: "Client", cluster: str, name: str) -> None:
    """Says each new state. Raises Failure with the node's own words."""
    deadline = time.monotonic() + _PATIENCE_S
    told = ""
    while time.monotonic() < deadline:
        node = _look(client, cluster, name)
        state = node.state if node else "Joining"
        if state != told:
            say(f"{name} is {state}")
            told = state
        if node is not None and state == "Ready":
            say(_described(node))
            return
        if node is not None and state == "Unreachable":
            raise Failure(
                f"{name} cannot be reached: {node.note}",
                hint=f"it is tried again by itself; `muster node remove {name}` takes it out",
            )
        time.sleep(_LOOK_EVERY_S)
    raise Failure(f"{name} is still {told}", hint=f"`muster describe node/{name}` says how it goes on")


def _look(client: "Client", cluster: str, name: str) -> "NodeView | None":
    """None until the server has taken it in, a moment after it was added."""
    return next((node for node in client.nodes() if (node.cluster, node.name) == (cluster, name)), None)


def _described(node: "NodeView") -> str:
    models = sorted({str(gpu.get("model")) for gpu in node.gpus})
    gpus = f", {len(node.gpus)} GPUs ({', '.join(models)})" if models else ", no GPU"
    return f"{node.cpu_total:g} cores, {node.memory_total / (1 << 30):.0f} GiB{gpus}"
