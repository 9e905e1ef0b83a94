"""Another Muster server: a process of its own with its own machine as a cluster, which places tasks by itself."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from muster.backends.muster_server.backend import OtherServerBackend
from muster.backends.muster_server.options import OtherServerOptions
from muster.domain.clusters import PhysicalCluster
from muster.domain.launch_requests import GangLaunch
from muster.ports.backend import Backend
from tests.contract.backends.harness import FolderArchives
from tests.contract.backends.programs import Programs
from tests.parts.server import MusterServer, end_all_jobs

_PROGRAM = """
exec 3<>"$1/$MUSTER_JOB_ID-$MUSTER_ROLE_INDEX"
echo started >>"$1/$MUSTER_JOB_ID-$MUSTER_ROLE_INDEX.starts"
while read -r order <&3; do eval "$order"; done
"""
_LAST_WORD = "filler"


class OtherPrograms(Programs):
    """Tasks know themselves by the job and the index that they have here. Their names are made there."""

    def command(self) -> tuple[str, ...]:
        return ("sh", "-c", _PROGRAM, "sh", self._inner)


class MusterHarness:
    node = ""
    folder = ""

    def __init__(self, folder: Path, server: MusterServer) -> None:
        self._server = server
        self._token = folder / "token"
        self._token.write_text(server.token)
        self._installation = secrets.token_hex(8)
        self.archives = FolderArchives(folder)
        self.tasks = OtherPrograms(folder / "programs")
        self.outage = ServerOutage(server)
        self.queue = Crowd(server)

    def backend(self) -> Backend:
        options = OtherServerOptions((self._server.url,), self._token, "local", poll_s=0.5)
        return OtherServerBackend(
            PhysicalCluster("there", "muster", options=options), self.archives, installation=self._installation
        )

    def refused(self, launch: GangLaunch) -> GangLaunch:
        """No node has such a GPU."""
        spec = launch.gang.spec
        roles = tuple(
            replace(role, resources=replace(role.resources, gpus=1, gpu_models=("t4",))) for role in spec.roles
        )
        return replace(launch, gang=replace(launch.gang, spec=replace(spec, roles=roles)))

    def measure(self) -> None:
        raise NotImplementedError("usage is not passed on")

    def close(self) -> None:
        self.outage.mend()
        end_all_jobs(self._server)
        self.tasks.close()


class ServerOutage:
    """Implements `harness.Outage`: the server is killed, and started again on its data."""

    def __init__(self, server: MusterServer) -> None:
        self._server = server

    def begin(self, backend: Backend) -> None:
        self._server.kill()

    def end(self, backend: Backend) -> None:
        self.mend()

    def mend(self) -> None:
        if not self._server.is_running:
            self._server.start()


class Crowd:
    """Implements `harness.QueueControl`: a job of somebody else takes all CPUs there."""

    def __init__(self, server: MusterServer) -> None:
        self._server = server
        self._job = ""

    def fill(self) -> None:
        _, found = self._server.call("GET", "/api/v1/nodes?cluster=local")
        cpu = found["items"][0]["cpu"]["total"]
        spec = {"name": _LAST_WORD, "command": "sleep infinity", "priority": "urgent", "resources": {"cpu": cpu}}
        self._job = self._server.submit(spec)["id"]
        self._server.wait_for_state(self._job, "Running")

    def free(self) -> None:
        self._server.call("POST", f"/api/v1/jobs/{self._job}/kill", {"grace": "0s"})


@contextmanager
def other_server(home: Path) -> Iterator[MusterServer]:
    server = MusterServer(home)
    server.start()
    try:
        yield server
    finally:
        if not server.is_running:
            server.start()
        end_all_jobs(server)
        server.stop()
