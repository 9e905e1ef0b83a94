"""A Slurm cluster as the next test may rely on it: nobody has a job there, and all nodes are idle.

A controller that was killed forgets what it had not written down yet. Afterwards it may believe that a job runs which
was cancelled before, or that a node still has to end one.
"""

import time
from collections import Counter
from collections.abc import Sequence

from tests.parts.server import polls
from tests.parts.slurm import RealSlurm

_SETTLE_S = 60.0
_STUCK_S = 15.0
_LOOK_EVERY_S = 0.1
_LOOKS = 10
"""How often jobs whose processes are killed are looked at before Slurm is told to cancel them."""
_UNUSABLE = ("down", "drain", "drng", "fail")


def settle(slurm: RealSlurm) -> None:
    """Ends the jobs of everybody, and brings back nodes that are down or drained."""
    began = time.monotonic()
    seen, cancelled = Counter[str](), set[str]()
    for _ in polls(_SETTLE_S, _LOOK_EVERY_S):
        jobs, nodes = _jobs(slurm), _nodes(slurm)
        if not jobs and set(nodes.values()) == {"idle"}:
            return
        if jobs:
            slurm.kill_tasks()
        seen.update(jobs.keys())
        stays = {job for job, state in jobs.items() if state == "PENDING" or seen[job] > _LOOKS}
        if new := sorted(stays - cancelled):
            slurm.run("scancel", *new, check=False)
            cancelled.update(new)
        if "COMPLETING" in jobs.values() and time.monotonic() - began > _STUCK_S:
            began = time.monotonic()
            _give_up(slurm, [name for name, state in nodes.items() if state == "comp"])
        for name, state in nodes.items():
            if state.rstrip("*").startswith(_UNUSABLE):
                slurm.run("scontrol", "update", f"nodename={name}", "state=resume", check=False)
    raise AssertionError(f"the cluster is not empty again:\n{slurm.picture()}")


def _jobs(slurm: RealSlurm) -> dict[str, str]:
    """Those that hold something or wait, with Slurm's word for their state."""
    return _pairs(slurm.run("squeue", "--noheader", "--format=%A %T"))


def _nodes(slurm: RealSlurm) -> dict[str, str]:
    return _pairs(slurm.run("sinfo", "--noheader", "--Node", "--format=%N %t"))


def _pairs(table: str) -> dict[str, str]:
    return {words[0]: words[1] for words in map(str.split, table.splitlines())}


def _give_up(slurm: RealSlurm, nodes: Sequence[str]) -> None:
    """Slurm waits for no job on a node that is down."""
    for name in nodes:
        slurm.set_node(name, "down")
