"""Sweeps on a pretended cluster, whose members have reported a metric."""

import time
from typing import Any

from tests.parts.pretend_cluster.seeding import call
from tests.parts.server import MusterServer

WITHIN_S = 60.0
BEST = 3
_AT = "2026-01-01T00:00:00Z"
_STEPS = 5


def reported_sweep(server: MusterServer, name: str, members: int, *, seconds: float = 1800.0) -> str:
    """The id of a sweep whose members run so long. Member 3 has the lowest loss, 0.1, and each one away from it has 0.1
    more."""
    spec = {
        "name": name,
        "cluster": "lab",
        "command": "python train.py --lr ${params.lr}",
        "env": {"PRETEND_S": f"{seconds:.0f}"},
        "resources": {"cpu": 1},
        "sweep": {"grid": {"lr": [0.1 * (one + 1) for one in range(members)]}, "metric": "loss", "goal": "min"},
    }
    sweep = str(call(server, "POST", "/sweeps", {"spec": spec})["id"])
    for member in _made(server, sweep, members):
        last = 0.1 * (1 + abs(member["member"] - BEST))
        points = [{"name": "loss", "step": step, "at": _AT, "value": last * _STEPS / step} for step in range(1, 6)]
        call(server, "POST", f"/jobs/{member['job']}/metrics", {"points": points})
    return sweep


def _made(server: MusterServer, sweep: str, members: int) -> list[dict[str, Any]]:
    """Waits until all members are jobs: the server makes them some at a time."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        found = call(server, "GET", f"/sweeps/{sweep}/members?limit=1000")["items"]
        if len(found) == members:
            return list(found)
        assert time.monotonic() < deadline, f"only {len(found)} of {members} members were made"
        time.sleep(0.1)
