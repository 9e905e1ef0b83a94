"""Prepares the folder of a task inside an allocation: files, package, inputs, links, and its environment.

What many tasks do not have is imported where it is needed: each import delays the start of a task.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, NamedTuple

from muster.agent.batch.given_secrets import take_variables
from muster.agent.batch.link import OWN_VARIABLES
from muster.agent.batch.spool import LOG, WORK, Gang, Spool
from muster.agent.errors import START_FAILED, AgentError
from muster.agent.system.disk import write
from muster.agent.system.removal import remove_tree
from muster.agent.tasks import symlinks
from muster.agent.tasks.task_folder import SETUP

_DEVICES = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK")


class Prepared(NamedTuple):
    argv: List[str]
    env: Dict[str, str]
    work: str
    log: str


def prepare(order: Mapping[str, Any], spool: Spool, gang: Gang) -> Prepared:
    """Raises AgentError for a package that is not what it should be, and OSError."""
    folder = gang.task_folder(str(order["id"]))
    work = os.path.join(folder, WORK)
    os.makedirs(folder, 0o700, exist_ok=True)
    _remove_found(work)
    for name, content in order["files"].items():
        write(os.path.join(folder, name), content.encode("utf-8"))
    if order["package"] or order["inputs"]:
        from muster.agent.batch.contents import place_contents

        place_contents(order, os.path.join(spool.root, "blobs"), folder, work)
    os.makedirs(work, 0o700, exist_ok=True)
    symlinks.make(work, order["links"])
    return Prepared(list(order["argv"]), environment(order, folder), work, os.path.join(folder, LOG))


def _remove_found(work: str) -> None:
    """Only what this job unpacks there is run."""
    remove_tree(work)
    if os.path.lexists(work):
        raise AgentError(START_FAILED, "{} was there before, and cannot be removed".format(work))


def environment(order: Mapping[str, Any], folder: str) -> Dict[str, str]:
    """What Slurm and the cluster's prolog set, then what the job is given, then what only this node knows."""
    env = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
    if order["has_steps"]:
        _share_with_steps(env)
    given = dict(order["env"])
    if order["gpus"]:
        given.update(_own_devices(int(order["gpus"])))
    env.update(given)
    env.update(take_variables(folder))
    env["MUSTER_TASK_DIR"] = folder
    env["MUSTER_NODE"] = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    if order["setup"]:
        from muster.agent.tasks.setup_order import SetupOrder
        from muster.agent.tasks.setups import make_in_task_folder

        entry = os.path.join(folder, SETUP)
        make_in_task_folder(str(order["id"]), SetupOrder(entry, False, 0, 0.0))
        env[order["setup"]] = entry
    return env


def _share_with_steps(env: Dict[str, str]) -> None:
    """`mpirun` starts steps by srun. They run beside the task, which has all that the job has on its node."""
    env.pop("SLURM_MEM_PER_CPU", None)
    env.update({"SLURM_OVERLAP": "1", "SLURM_MEM_PER_NODE": "0"})


def _own_devices(count: int) -> Dict[str, str]:
    """Where Slurm shows a task the GPUs of all tasks on its node, it takes those of its place among them."""
    place = int(os.environ.get("SLURM_LOCALID") or 0)
    found: Dict[str, str] = {}
    for name in _DEVICES:
        devices = [device for device in os.environ.get(name, "").split(",") if device]
        if len(devices) > count:
            own = devices[place * count : (place + 1) * count] or devices[:count]
            found[name] = ",".join(own)
    return found
