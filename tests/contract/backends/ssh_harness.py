"""The SSH backend, over a real sshd on a host that the tests of a worker share."""

import re
from pathlib import Path

from muster.backends.logins.options import Login
from muster.backends.ssh.backend import SshBackend
from muster.backends.ssh.machine_identity import Machine, MachineIdentities
from muster.backends.ssh.options import SshNode
from muster.domain.clusters import PhysicalCluster
from muster.domain.launch_requests import GangLaunch
from muster.lib.ids import new_id
from muster.ports.backend import Backend
from tests.contract.backends.harness import LOG_BYTES, OWNER, FolderArchives
from tests.contract.backends.local_harness import without_commands
from tests.contract.backends.programs import Programs
from tests.parts.host import Host
from tests.parts.host_files import DISK

_CONNECT_WITHIN_S = 2.0


class SshHarness:
    queue = None

    def __init__(self, folder: Path, host: Host) -> None:
        self.archives = FolderArchives(folder)
        self.node = host.name
        self.outage = SshOutage(host)
        self._host = host
        self._kept_keys = folder / "kept_keys"
        self._inner = f"{DISK}/contract-{new_id()}"
        self.folder = f"{self._inner}/files"
        self.tasks = Programs(host.path(f"{self._inner}/programs"), f"{self._inner}/programs")
        host.path(self.folder).mkdir()

    def backend(self) -> Backend:
        host = self._host
        login = Login(host.address, user=host.user, key_file=str(host.key_file), host_key=host.host_key)
        node = SshNode(host.name, login, root=f"{self._inner}/node")
        return SshBackend(
            PhysicalCluster("lab", "ssh", (node,)),
            self.archives,
            identity="contract",
            host_keys=self._kept_keys,
            machines=MachineIdentities(Machine.of_this_server()),
            connect_within_s=_CONNECT_WITHIN_S,
            own_user=OWNER,
            log_bytes=LOG_BYTES,
        )

    def refused(self, launch: GangLaunch) -> GangLaunch:
        return without_commands(launch)

    def measure(self) -> None:
        """Agents do so by themselves."""

    def close(self) -> None:
        self.outage.make_sure_it_is_over()
        self._host.kill(re.escape(self._inner))
        self.tasks.close()


class SshOutage:
    """Implements `harness.Outage`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def begin(self, backend: Backend) -> None:
        self._host.kill_sshd()

    def end(self, backend: Backend) -> None:
        self._host.start_sshd()
        assert backend.capabilities.node_administration is not None
        backend.capabilities.node_administration.reconnect(self._host.name)

    def make_sure_it_is_over(self) -> None:
        """For a test that failed in the middle: the next one needs the host."""
        if not self._host.processes(r"^sshd: .*\[listener\]"):
            self._host.start_sshd()
