"""The way into a running task of an allocation: the runner writes down what it takes, and the login node takes it.

The step that enters a task runs the same Python and the same archive as the task's runner, which are there for as long
as the task runs, with a shared folder and without one.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, List, Mapping, Optional

from muster.agent.batch.compiled import RUN
from muster.agent.system.processes import boot_id, identity_of

ENTRY = "entry"
"""Its name in the mark of a task's beginning."""
STEP_NAME = "muster-session"
_LIBRARIES = "LD_LIBRARY_PATH"
_START_WITHIN_S = 30


def entry(pid: int, component: int, folder: str) -> Dict[str, Any]:
    """What somebody has to know who enters the task with this process. To be called by its runner."""
    return {
        "process": list(identity_of(pid, boot_id())),
        "folder": folder,
        "python": sys.executable,
        "archive": os.path.abspath(sys.argv[1]),
        "libraries": os.environ.get(_LIBRARIES) or "",
        "component": component if os.environ.get("SLURM_HET_SIZE") else None,
    }


def without_entry(begin: Optional[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    """The mark as the server needs it."""
    return None if begin is None else {name: value for name, value in begin.items() if name != ENTRY}


def srun_command(job: str, task: str, begin: Mapping[str, Any]) -> List[str]:
    """The step shares all that the job has on the node, CPUs and GPUs, too: nothing of it needs to be free."""
    way = begin[ENTRY]
    component = [] if way["component"] is None else ["--het-group={}".format(way["component"])]
    where = ["--jobid={}".format(job), *component, "--nodelist={}".format(begin["node"]), "--nodes=1", "--ntasks=1"]
    shared = ["--overlap", "--mem=0", "--cpu-bind=none", "--immediate={}".format(_START_WITHIN_S)]
    target = json.dumps({"task": task, "process": way["process"], "folder": way["folder"]})
    libraries = ["env", "{}={}".format(_LIBRARIES, way["libraries"])] if way["libraries"] else []
    python = [str(way["python"]), "-I", "-S", "-c", RUN.format("task_session"), str(way["archive"]), target]
    return ["srun", *where, *shared, "--mpi=none", "--quiet", "--job-name=" + STEP_NAME, *libraries, *python]
