"""Ray Jobs on a head node of one machine, through the Python SDK."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.measuring import process_tree
from bench.peers import children
from bench.peers.driven import DrivenPeer
from bench.peers.driver import Driver
from bench.peers.peer import Command, PeerFailed
from bench.peers.ports import free_port, wait_for_port
from bench.peers.venvs import installed_version, python_with

REQUIREMENT = "ray[default]==2.60.0"
START_DEADLINE_S = 90.0


class Ray(DrivenPeer):
    name = "Ray Jobs"
    method = "Python SDK, head node on this machine"
    many = 40

    def __init__(self) -> None:
        super().__init__()
        self._head: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        python = python_with("ray", REQUIREMENT)
        folder = self.make_folder()
        self._program = python.parent / "ray"
        dashboard = free_port()
        # Ray's own folder holds sockets, whose paths may not be long; below /tmp it is.
        self._head = children.start(self._arguments(free_port(), dashboard, folder), folder / "head.log")
        self._address = f"http://127.0.0.1:{dashboard}"
        wait_for_port(dashboard, self._head, folder / "head.log", START_DEADLINE_S)
        self.driver = Driver(python, "ray_driver", folder, self._address)

    def stop(self) -> None:
        if self._head is not None:
            left = process_tree(self._head.pid)
            children.stop(self._head)
            children.end_all(left)
            self._head = None
        super().stop()

    def version(self) -> str:
        return installed_version(python_with("ray", REQUIREMENT), "ray")

    def pids(self) -> Sequence[int]:
        if self._head is None:
            raise PeerFailed("Ray is not running")
        return [self._head.pid]

    def commands(self) -> Sequence[Command]:
        env = {**os.environ, "RAY_ADDRESS": self._address}
        program = str(self._program)
        return (
            Command("ray --help", (program, "--help"), env),
            Command("ray job list", (program, "job", "list"), env),
        )

    def _arguments(self, port: int, dashboard: int, folder: Path) -> list[str]:
        return [
            str(self._program),
            "start",
            "--head",
            "--block",
            "--disable-usage-stats",
            "--node-ip-address=127.0.0.1",
            f"--port={port}",
            f"--dashboard-port={dashboard}",
            f"--temp-dir={folder}/ray",
        ]
