"""A real Slurm cluster: the tasks are processes in allocations, and the engine is slurmctld."""

import secrets
from dataclasses import replace
from pathlib import Path

from muster.backends.slurm.backend import SlurmBackend
from muster.backends.slurm.options import SlurmOptions
from muster.domain.clusters import PhysicalCluster
from muster.domain.launch_requests import GangLaunch
from muster.ports.backend import Backend
from tests.contract.backends.harness import LOG_BYTES, FolderArchives
from tests.contract.backends.programs import Programs
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_settling import settle


class SlurmHarness:
    node = ""
    folder = ""

    def __init__(self, folder: Path, slurm: RealSlurm, *, is_shared: bool = True) -> None:
        self._folder, self._slurm, self._is_shared = folder, slurm, is_shared
        self._identity = secrets.token_hex(4)
        self.archives = FolderArchives(folder)
        self.tasks = Programs(folder / "programs")
        self.outage = SlurmOutage(slurm)
        self.queue = Crowd(slurm)

    def backend(self) -> Backend:
        root = str(self._folder / "shared") if self._is_shared else ""
        options = SlurmOptions(root=root, is_shared=self._is_shared, conf=str(self._slurm.conf), poll_s=0.2)
        settings = PhysicalCluster("hpc", "slurm", options=options)
        return SlurmBackend(
            settings,
            self.archives,
            identity=self._identity,
            home=self._folder / "home",
            log_bytes=LOG_BYTES,
            usage_every_s=0.5,
        )

    def refused(self, launch: GangLaunch) -> GangLaunch:
        """No node has such a GPU."""
        spec = launch.gang.spec
        roles = tuple(
            replace(role, resources=replace(role.resources, gpus=1, gpu_models=("t4",))) for role in spec.roles
        )
        return replace(launch, gang=replace(launch.gang, spec=replace(spec, roles=roles)))

    def measure(self) -> None:
        """The runners of tasks do so by themselves."""

    def close(self) -> None:
        self.outage.mend()
        self.queue.free()
        settle(self._slurm)
        self.tasks.close()


class SlurmOutage:
    """Implements `harness.Outage`: the controller is killed, and started again."""

    def __init__(self, slurm: RealSlurm) -> None:
        self._slurm = slurm
        self._is_away = False

    def begin(self, backend: Backend) -> None:
        live = self._slurm.run("squeue", "--noheader", "--states=PENDING,RUNNING", "--format=%A").split()
        if live:
            self._slurm.wait_until_saved(live[0])  # and the others with it
        self._slurm.kill_controller()
        self._is_away = True

    def end(self, backend: Backend) -> None:
        self.mend()

    def mend(self) -> None:
        if self._is_away:
            self._slurm.start_controller()
        self._is_away = False


class Crowd:
    """Implements `harness.QueueControl`: a job of somebody else takes everything."""

    def __init__(self, slurm: RealSlurm) -> None:
        self._slurm = slurm

    def fill(self) -> None:
        self._slurm.fill()

    def free(self) -> None:
        self._slurm.free()
