"""Jobs on a Slurm cluster that note their starts, and go on until a test lets them go."""

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_server import CLUSTER

_PROGRAM = """
echo started >> {folder}/starts.$MUSTER_RANK
while [ ! -e {folder}/go ]; do sleep 0.1; done
echo finished
"""


@dataclass(frozen=True)
class NotingJob:
    server: MusterServer
    slurm: RealSlurm
    id: str
    folder: Path

    def let_go(self) -> None:
        (self.folder / "go").touch()

    @property
    def starts(self) -> dict[str, int]:
        """How often each task has started, by its rank."""
        return {path.suffix[1:]: len(path.read_text().split()) for path in self.folder.glob("starts.*")}

    @property
    def slurm_job(self) -> str:
        """The number of its latest job in Slurm; the job's name there ends with the id and attempt."""
        return self._in_slurm[0]

    @property
    def node(self) -> str:
        """Where its only task runs."""
        return self._in_slurm[1]

    @property
    def _in_slurm(self) -> list[str]:
        rows = self.slurm.run("squeue", "--noheader", "--states=all", "--sort=i", "--format=%A|%N|%j").splitlines()
        found = [row.split("|") for row in rows if self.id in row]
        assert found, f"{self.id} is not in Slurm: {rows}"
        return found[-1]

    def await_running(self, tasks: int = 1, times: int = 1) -> None:
        """Until all tasks have started so often, and the server knows."""
        for _ in polls(60):
            if len(self.starts) == tasks and all(count >= times for count in self.starts.values()):
                self.server.wait_for_state(self.id, "Running")
                return
        raise AssertionError(f"not all of {tasks} tasks have started: {self.starts}\n{self._known}")

    def await_waiting(self, words: str) -> Any:
        """Until the server says with these words why it waits."""
        job: Any = None
        for _ in polls(60):
            _, job = self.server.call("GET", f"/api/v1/jobs/{self.id}")
            if words in str(job):
                return job
        raise AssertionError(f"nobody says {words!r}: {job}\n{self._known}")

    @property
    def _known(self) -> str:
        """All that may say why it is not as it should be."""
        outputs = sorted(self.slurm.folder.glob(f"shared/*/gangs/{self.id}.*/script.out"))
        said = [self.server.run("explain", self.id).stdout, self.slurm.run("squeue", "--states=all", check=False)]
        return "\n".join([*said, *(f"{path}:\n{path.read_text()[-1000:]}" for path in outputs[-2:])])


def submit_noting(server: MusterServer, slurm: RealSlurm, name: str = "noting", **more: Any) -> NotingJob:
    spec, folder = noting_job(slurm, name, **more)
    return NotingJob(server, slurm, server.submit(spec)["id"], folder)


def noting_job(slurm: RealSlurm, name: str = "noting", **more: Any) -> tuple[dict[str, Any], Path]:
    """The spec of such a job, and the folder in which it notes its starts, whoever runs it."""
    folder = slurm.folder / "data" / f"{name}-{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    spec = {
        "name": name,
        "cluster": CLUSTER,
        "command": _PROGRAM.format(folder=folder),
        "resources": {"cpu": 1},
        **more,
    }
    return spec, folder
