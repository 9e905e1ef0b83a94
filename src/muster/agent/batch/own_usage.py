"""What a task of an allocation uses, sampled by its runner: the machine, the task's processes, and its GPUs.

The driver of a GPU may take its time, so that a thread of its own samples, and the runner passes on what it has found.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence

from muster.agent.gpus.discovery import find_gpus
from muster.agent.gpus.monitoring import GpuWatch
from muster.agent.node.usage import Sampler
from muster.agent.tasks.used_resources import Counted, of_devices, to_json, with_end, with_sample

EVERY_S = 5.0
_FIRST_AFTER_S = 1.0
_JOBS_GPUS = ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS")
_OWN_GPUS = "CUDA_VISIBLE_DEVICES"


class OwnUsage:
    """`environ` is that of the task, in which Slurm says which GPUs it has."""

    def __init__(self, uid: str, pid: int, folder: str, environ: Mapping[str, str]) -> None:
        self._uid, self._pid, self._folder, self._environ = uid, pid, folder, dict(environ)
        self._used = of_devices(())
        self._new: Optional[Dict[str, Any]] = None
        threading.Thread(target=self._run, daemon=True).start()

    def take(self) -> Optional[Dict[str, Any]]:
        """The newest sample, if it was not taken before."""
        found, self._new = self._new, None
        return found

    def ended(self, cpu_s: float, largest_bytes: int) -> Dict[str, Any]:
        """All that the task has used. The kernel has counted these for its processes."""
        return to_json(with_end(self._used, Counted(cpu_s, largest_bytes)))

    def _run(self) -> None:
        sampler = Sampler(self._folder, GpuWatch(find_gpus(os.environ), self._folder))
        time.sleep(_FIRST_AFTER_S)
        while True:
            try:
                self._take_sample(sampler.sample({self._pid: self._uid}, {}))
            except OSError:
                return  # the folder is gone, and the task is about to be
            time.sleep(EVERY_S)

    def _take_sample(self, sample: Dict[str, Any]) -> None:
        gpus, own = numbered(sample["node"]["gpus"], self._environ)
        if len(own) > len(self._used.gpus):
            self._used = of_devices(own)
        task = sample["tasks"][self._uid]
        self._used = with_sample(self._used, sample["at"], task, gpus)
        node = {**sample["node"], "gpus": [gpu for gpu in gpus if gpu["index"] in own]}
        self._new = {"at": sample["at"], "node": node, "task": {**task, "used": to_json(self._used)}}


def numbered(gpus: Sequence[Mapping[str, Any]], environ: Mapping[str, str]) -> "tuple[List[Dict[str, Any]], List[int]]":
    """The GPUs with the numbers that they have on the node, and the numbers of the task's own. Where Slurm hides the
    GPUs of others, the driver counts those of the job from 0, and so does the variable of the task."""
    of_job = next((found for found in (_numbers(environ.get(name)) for name in _JOBS_GPUS) if found), [])
    own = _numbers(environ.get(_OWN_GPUS))
    if of_job and len(of_job) == len(gpus):
        known = [{**gpu, "index": number} for gpu, number in zip(gpus, of_job)]  # noqa: B905 - not in Python 3.8
        own = [of_job[place] for place in own if place < len(of_job)]
    else:
        known = [dict(gpu) for gpu in gpus]
    there = {gpu["index"] for gpu in known}
    # What runs there besides is the business of Slurm.
    quiet = [{**gpu, "foreign_pids": [], "missing": False} for gpu in known]
    return quiet, [number for number in own if number in there]


def _numbers(text: Optional[str]) -> List[int]:
    words = [word.strip() for word in (text or "").split(",")]
    return [int(word) for word in words] if all(word.isdigit() for word in words) else []
