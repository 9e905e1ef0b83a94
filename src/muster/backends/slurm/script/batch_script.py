"""The batch script of a gang: options, the cluster's own lines, and the order for the coordinator in the allocation."""

import base64
import json
import shlex
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.agent.batch.bootstrap import BOOTSTRAP
from muster.agent.batch.compiled import RUN
from muster.agent.batch.link import ADDRESSES, TOKEN
from muster.backends.slurm.options import SlurmOptions
from muster.backends.slurm.script.option_values import directive
from muster.backends.slurm.script.sbatch_options import (
    Component,
    GpuTypes,
    component_options,
    component_settings,
    components,
    job_options,
    srun_options,
)
from muster.backends.slurm.site_lines import site_lines
from muster.domain.launch_requests import GangLaunch, LaunchRequest
from muster.domain.specs import Framework
from muster.domain.tasks import Task
from muster.launch.setups import ENTRY_VARIABLE

HIDDEN = "(hidden)"
_WIDTH = 76
_END = "MUSTER_ORDER"


@dataclass(frozen=True, slots=True)
class Place:
    """Where things are on the cluster."""

    root: str
    """The folder of the agent on the login node."""
    archive: str
    identity: str
    relay: str = ""
    """Where nodes find the login node if they share no folder with it: names and at last a port, with commas."""
    token: str = ""
    """What a gang shows there."""
    log_bytes: int | None = None
    """How much is kept there of one task's log. None: everything."""

    def output(self, key: str) -> str:
        return "/dev/null" if self.relay else f"{self.root}/gangs/{key}/script.out"


def job_name(launch: GangLaunch) -> str:
    """What squeue shows. It has the key of the gang in it, by which the job is found again."""
    return f"{launch.gang.spec.name}.{launch.gang.key}"


def job_names(launch: GangLaunch) -> list[str]:
    """What squeue shows of this attempt and of all before it."""
    gang = launch.gang
    return [f"{gang.spec.name}.{gang.job_id}.{attempt}" for attempt in range(1, gang.attempt + 1)]


def batch_script(launch: GangLaunch, options: SlurmOptions, place: Place, gpu_types: GpuTypes) -> str:
    order = json.dumps(_order(launch, options, place, components(launch.gang, gpu_types), hides=False))
    packed = base64.b64encode(zlib.compress(order.encode())).decode()
    lines = [packed[start : start + _WIDTH] for start in range(0, len(packed), _WIDTH)]
    return _script(launch, options, place, gpu_types, "\n".join(lines))


def shown_script(launch: GangLaunch, options: SlurmOptions, place: Place, gpu_types: GpuTypes) -> str:
    """The script for people: the order is readable, and has no values of the user's variables."""
    order = _order(launch, options, place, components(launch.gang, gpu_types), hides=True)
    return _script(launch, options, place, gpu_types, json.dumps(order, indent=2))


def _script(launch: GangLaunch, options: SlurmOptions, place: Place, gpu_types: GpuTypes, order: str) -> str:
    program = [RUN.format("coordinator"), place.archive]
    way_back: list[str] = []
    if place.relay:
        program = [BOOTSTRAP, "coordinator", launch.gang.key]
        token = place.token or HIDDEN
        way_back = [f"export {ADDRESSES}={shlex.quote(place.relay)}", f"export {TOKEN}={shlex.quote(token)}"]
    python = [options.python, "-I", "-S", "-c", *program]
    return "\n".join(
        [
            "#!/bin/sh",
            *_directives(launch, options, place, gpu_types),
            "",
            *site_lines(options),
            *way_back,
            f"exec {shlex.join(python)} <<'{_END}'",
            order,
            _END,
            "",
        ]
    )


def _directives(launch: GangLaunch, options: SlurmOptions, place: Place, gpu_types: GpuTypes) -> list[str]:
    gang = launch.gang
    settings = options.submit_settings(gang.cluster)
    comment = f"muster:{place.identity}:{gang.key}"
    found: list[str] = []
    for number, component in enumerate(components(gang, gpu_types)):
        if number:
            found += ["hetjob", *component_settings(settings)]
        else:
            found += job_options(gang, job_name(launch), comment, settings, place.output(gang.key))
        found += component_options(component, gang.spec, settings)
    return [directive(one) for one in found]


def _order(
    launch: GangLaunch, options: SlurmOptions, place: Place, parts: tuple[Component, ...], *, hides: bool
) -> dict[str, Any]:
    requests = {request.task_id: request for request in launch.requests}
    spec = launch.gang.spec
    groups = [
        {
            "srun": srun_options(part, spec, options),
            "tasks": [_task(launch, task, requests[task.id], place, hides=hides) for task in part.tasks],
        }
        for part in parts
    ]
    return {
        "key": launch.gang.key,
        "root": None if place.relay else place.root,
        "is_shared": not place.relay,
        "archive": place.archive,
        "python": options.python,
        "srun": options.command("srun"),
        "groups": groups,
    }


_MPI_BY_SSH = {
    "OMPI_MCA_plm": "rsh",
    "OMPI_MCA_ras": "^slurm",
    "PRTE_MCA_plm": "ssh",
    "PRTE_MCA_ras": "^slurm",
    "HYDRA_LAUNCHER": "ssh",
    "I_MPI_HYDRA_BOOTSTRAP": "ssh",
}
"""The host file has the names of tasks that ssh knows. `mpirun` of Open MPI, MPICH and Intel MPI would look for them
among the nodes that Slurm has given the job."""


def _task(launch: GangLaunch, task: Task, request: LaunchRequest, place: Place, *, hides: bool) -> Mapping[str, Any]:
    spec = launch.gang.spec
    literal = sorted({*spec.env, *spec.role(task.role).env})
    is_mpi = spec.framework is Framework.MPI
    env = {name: HIDDEN if hides and name in literal else value for name, value in request.env.items()}
    return {
        "id": task.id,
        "rank": task.rank,
        "argv": list(request.argv),
        "env": {**(_MPI_BY_SSH if is_mpi and spec.ssh is not None else {}), **env},
        "has_steps": is_mpi,
        "literal": literal,
        "files": dict(request.files),
        "ports": len(request.ports),
        "package": request.package,
        "inputs": [{"digest": one.digest, "member": one.member, "target": one.target} for one in request.inputs],
        "links": dict(request.links),
        "gpus": spec.role(task.role).resources.gpus,
        "has_secrets": bool(request.secrets),
        "setup": ENTRY_VARIABLE if request.setup is not None else None,
        "outputs": list(spec.outputs),
        "log_bytes": place.log_bytes,
    }
