"""HyperQueue: a single-user task runner in Rust without history; the fastest of the peers."""

from bench.peers.driven import DrivenPeer
from bench.peers.driver import Driver
from bench.peers.venvs import installed_version, python_with

REQUIREMENT = "hyperqueue==0.27.0"


class HyperQueue(DrivenPeer):
    name = "HyperQueue"
    method = "Python LocalCluster, one job of one task per submit"

    def start(self) -> None:
        python = python_with("hyperqueue", REQUIREMENT)
        folder = self.make_folder()
        server = folder / "server"
        server.mkdir()
        self.driver = Driver(python, "hyperqueue_driver", folder, str(server))

    def version(self) -> str:
        return installed_version(python_with("hyperqueue", REQUIREMENT), "hyperqueue")
