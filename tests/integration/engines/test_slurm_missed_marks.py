"""A job is over in Slurm before its login node has seen what the tasks wrote. The commands of Slurm are pretended."""

import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from muster.backends.slurm.answers.job_tables import _QUEUE
from muster.backends.slurm.backend import SlurmBackend
from muster.backends.slurm.options import SlurmOptions
from muster.domain.clusters import PhysicalCluster
from muster.domain.gangs import Gang, make_gang
from muster.domain.resources import Placement, Resources
from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task, TaskLaunching, task_id
from muster.launch.composing import compose
from muster.lib.ids import new_id
from muster.ports.backend import Phase
from tests.contract.backends.harness import FolderArchives
from tests.contract.backends.observing import Observer

pytestmark = pytest.mark.anyio
_SBATCH = "#!/bin/sh\n[ $1 = --version ] && exec echo slurm 22.05.8\necho 7\n"
_SQUEUE = "#!/bin/sh\ncat {folder}/queue\n"
_OTHERS = "#!/bin/sh\nexit 0\n"


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    folder = tmp_path / "commands"
    folder.mkdir()
    texts = {"sbatch": _SBATCH, "squeue": _SQUEUE.format(folder=folder)}
    for name in ("sbatch", "squeue", "sinfo", "sacct", "scontrol", "scancel"):
        (folder / name).write_text(texts.get(name, _OTHERS))
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
async def backend(commands: Path, tmp_path: Path) -> AsyncIterator[SlurmBackend]:
    options = SlurmOptions(root=str(tmp_path / "shared"), commands=str(commands))
    settings = PhysicalCluster("hpc", "slurm", options=options)
    backend = SlurmBackend(settings, FolderArchives(tmp_path), identity=secrets.token_hex(4), home=tmp_path / "home")
    await backend.start(Observer())
    yield backend
    await backend.close()


async def test_task_that_has_ended_is_not_lost_if_the_login_node_has_missed_its_marks(
    backend: SlurmBackend, commands: Path, tmp_path: Path
) -> None:
    gang = await _launched(backend)
    (folder,) = (tmp_path / "shared").glob(f"*/gangs/{gang.key}/tasks")
    task = folder / gang.tasks[0].id
    task.mkdir(exist_ok=True)
    for name, mark in {"begin": {"at": 1.0, "node": "n1"}, "end": {"at": 2.0, "code": 0, "node": "n1"}}.items():
        (task / name).write_text(json.dumps(mark))  # and no news of them, as if it had taken those too early
    (commands / "queue").write_text(_queue(gang, State="COMPLETED", EndTime="2026-11-18T02:00:00"))

    (seen,) = (await backend.observe_all()).observations

    assert (seen.phase, seen.exit_code, seen.node) == (Phase.ENDED, 0, "n1")


def _queue(gang: Gang, **cells: str) -> str:
    row = dict.fromkeys(_QUEUE, "") | {"JobID": "7", "Name": f"{gang.spec.name}.{gang.key}", "exit_code": "0"} | cells
    return "\x1f".join(row[name] for name in _QUEUE) + "\x1e\n"


async def _launched(backend: SlurmBackend) -> Gang:
    job_id = new_id()
    spec = JobSpec(job_id, (Role("worker", 1, ("true",), Resources(1000)),))
    task = Task(
        task_id(job_id, 1, "worker", 0), job_id, 1, job_id, "worker", 0, 0, Placement("", ""), TaskLaunching(0.0)
    )
    gang = make_gang(job_id, "ada", backend.cluster, 1, spec, [task])
    gang = replace(gang, tasks=await backend.assign(gang, {}))
    await backend.launch(compose(gang))
    return gang
