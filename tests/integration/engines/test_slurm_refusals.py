"""Jobs that sbatch refuses, and login nodes without Slurm's configuration. The commands of Slurm are pretended."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muster.backends.slurm.backend import SlurmBackend
from muster.backends.slurm.options import SlurmOptions, SubmitAs
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, NotFound, Rejected, Unreachable
from muster.domain.gangs import make_gang
from muster.domain.launch_requests import GangLaunch
from muster.domain.resources import Placement, Resources
from muster.domain.specs import JobSpec, Role
from muster.domain.tasks import Task, TaskLaunching, task_id
from muster.launch.composing import compose
from muster.lib.ids import new_id
from muster.ports.capabilities import LogChunk, TaskRef
from tests.contract.backends.harness import FolderArchives
from tests.contract.backends.observing import DEADLINE_S, LOOK_EVERY_S, Observer

pytestmark = pytest.mark.anyio
_SBATCH = """#!/bin/sh
if [ "$1" = --version ]; then
  if [ -e "{folder}/broken" ]; then cat "{folder}/broken" >&2; exit 1; fi
  echo slurm 22.05.8
  exit 0
fi
while [ ! -e "{folder}/refuses" ]; do sleep 0.02; done
cat "{folder}/refuses" >&2
exit 1
"""
_SUDO = """#!/bin/sh
echo "sudo: unknown user $3" >&2
echo "sudo: error initializing audit plugin sudoers_audit" >&2
exit 1
"""
_OTHERS = "#!/bin/sh\nexit 1\n"


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    folder = tmp_path / "commands"
    folder.mkdir()
    texts = {"sbatch": _SBATCH.format(folder=folder), "sudo": _SUDO}
    for name in ("sbatch", "squeue", "sinfo", "sacct", "scontrol", "scancel", "sudo"):
        (folder / name).write_text(texts.get(name, _OTHERS))
        (folder / name).chmod(0o755)
    return folder


async def test_whoever_watches_the_log_of_a_task_learns_that_it_was_refused(commands: Path, tmp_path: Path) -> None:
    async with _opened(commands, tmp_path) as backend:
        launch = await _launch(backend)
        task = TaskRef.of(launch.gang.tasks[0])
        logs = backend.capabilities.logs
        assert logs is not None
        submitting = asyncio.create_task(backend.launch(launch))
        async with asyncio.timeout(DEADLINE_S):
            while not await _has_log(backend, task):
                await asyncio.sleep(LOOK_EVERY_S)
            async with aclosing(logs.watch(task)) as sizes:
                assert await anext(sizes) == 0
                _refuse(commands, "sbatch: error: Batch job submission failed: Invalid feature specification\n")
                assert [size async for size in sizes] == []
            with pytest.raises(Rejected):
                await submitting
            with pytest.raises(NotFound):
                await logs.collect(task, tmp_path / "task.log")


@pytest.mark.parametrize(
    ("printed", "sentence"),
    [
        (
            "sbatch: error: Batch job submission failed: Invalid feature specification\n",
            "Slurm refused the job: Invalid feature specification (see where.labels in the job file, or constraint in "
            "the cluster file)",
        ),
        (
            "sbatch: error: invalid partition specified: x\n"
            "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
            "Slurm refused the job: invalid partition specified: x; Invalid partition name specified (see partition in "
            "the cluster file)",
        ),
        (
            "sbatch: unrecognized option '--nosuch'\nTry \"sbatch --help\" for more information\n",
            "Slurm refused the job: unrecognized option '--nosuch' (see options in the cluster file)",
        ),
        ("sbatch: error: The moon is full\n", "Slurm refused the job: The moon is full"),
    ],
)
async def test_refusal_is_one_sentence_that_names_the_keys(
    commands: Path, tmp_path: Path, printed: str, sentence: str
) -> None:
    _refuse(commands, printed)
    async with _opened(commands, tmp_path) as backend:
        with pytest.raises(Rejected) as refused:
            await backend.launch(await _launch(backend))
    assert refused.value.message == sentence


async def test_user_without_an_account_is_named(
    commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(commands), prepend=":")
    async with _opened(commands, tmp_path, submit_as=SubmitAs.USER, is_shared=False) as backend:
        with pytest.raises(Rejected) as refused:
            await backend.launch(await _launch(backend))
    assert refused.value.message == "There is no Unix account ghost on the login node"


async def test_missing_configuration_is_told_with_its_key(commands: Path, tmp_path: Path) -> None:
    said = "error: fetch_config: DNS SRV lookup failed", "fatal: Could not establish a configuration source"
    (commands / "broken").write_text("".join(f"sbatch: {line}\n" for line in said))
    async with _opened(commands, tmp_path) as backend:
        with pytest.raises(Unreachable, match="`conf` in the cluster file"):
            await backend.launch(await _launch(backend))


async def test_configuration_that_is_not_there_is_named_at_once(commands: Path, tmp_path: Path) -> None:
    async with _opened(commands, tmp_path, conf="/nonexistent/slurm.conf") as backend:
        with pytest.raises(Unreachable, match=r"/nonexistent/slurm.conf cannot be read.*`conf`"):
            await backend.launch(await _launch(backend))


@asynccontextmanager
async def _opened(commands: Path, folder: Path, **more: Any) -> AsyncIterator[SlurmBackend]:
    options = replace(SlurmOptions(root=str(folder / "shared"), commands=str(commands)), **more)
    settings = PhysicalCluster("hpc", "slurm", options=options)
    home = folder / "home"
    backend = SlurmBackend(settings, FolderArchives(folder), identity=secrets.token_hex(4), home=home)
    await backend.start(Observer())
    await asyncio.sleep(0)  # it connects from now on
    try:
        yield backend
    finally:
        await backend.close()


async def _launch(backend: SlurmBackend) -> GangLaunch:
    job_id = new_id()
    spec = JobSpec(job_id, (Role("worker", 1, ("true",), Resources(1000)),))
    where = Placement("", "")
    task = Task(task_id(job_id, 1, "worker", 0), job_id, 1, job_id, "worker", 0, 0, where, TaskLaunching(0.0))
    gang = make_gang(job_id, "ghost", backend.cluster, 1, spec, [task])
    return compose(replace(gang, tasks=await backend.assign(gang, {})))


async def _has_log(backend: SlurmBackend, task: TaskRef) -> LogChunk | None:
    logs = backend.capabilities.logs
    assert logs is not None
    try:
        return await logs.read(task, 0, 0)
    except (BackendError, NotFound):
        return None


def _refuse(commands: Path, words: str) -> None:
    beside = commands / "refuses.new"
    beside.write_text(words)
    beside.rename(commands / "refuses")
