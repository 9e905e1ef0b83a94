"""Whether the kernel has killed a process of a task for memory, by the control groups that Slurm has made for it.

The program may go on without that process, and exit as if nothing had happened; Slurm calls its step out of memory.
"""

from __future__ import annotations

import os
from typing import List

from muster.agent.system.group_counters import counter, mounted, paths_of, read


def killed_by_the_kernel(job: str, root: str = "/") -> int:
    """How many processes of the group of this process. Other groups than those of the job count for others, too: then
    it is 0. `root` lets tests use another file tree."""
    kills = (counter(read(path), "oom_kill") for path in _counters(job, root))
    return max(kills, default=0)


def _counters(job: str, root: str) -> List[str]:
    mounts, own = mounted(root), paths_of("self", root)
    found = []
    for controller, name in (("memory", "memory.oom_control"), ("", "memory.events")):
        path = own.get(controller, "")
        if controller in mounts and "job_{}".format(job) in path.split("/"):
            found.append(os.path.join(mounts[controller], path.lstrip("/"), name))
    return found
