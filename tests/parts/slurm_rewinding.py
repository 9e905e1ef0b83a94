"""A controller of Slurm that forgets: it goes back to what it had written down last."""

import shutil
from pathlib import Path

from tests.parts.slurm import RealSlurm


class Rewound:
    """What slurmctld has written down when this is made, with a job that it must have in it."""

    def __init__(self, slurm: RealSlurm, folder: Path, saved_job: str) -> None:
        self._slurm, self._state, self._kept = slurm, slurm.folder / "state", folder / "state"
        slurm.wait_until_saved(saved_job)
        slurm.freeze_controller()  # it replaces these files all the time
        try:
            shutil.copytree(self._state, self._kept, ignore=shutil.ignore_patterns("*.new"))
        finally:
            slurm.thaw_controller()

    def go_back(self) -> None:
        """The controller is killed. Whoever starts it again finds it as it was."""
        self._slurm.kill_controller()
        shutil.copytree(self._kept, self._state, dirs_exist_ok=True)
