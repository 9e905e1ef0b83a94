"""Slurm's commands in a folder of their own, with an `sbatch` whose first call waits until a test lets it go on."""

import shutil
from pathlib import Path

from tests.parts.host_claims import PATH
from tests.parts.server import polls
from tests.parts.slurm_server import CLUSTER

_COMMANDS = ("squeue", "sacct", "sinfo", "scontrol", "scancel", "srun", "sacctmgr", "sdiag")
_SBATCH = """#!/bin/sh
[ "$1" = --version ] && exec {sbatch} --version
echo $$ >> {folder}/calls
if mkdir {folder}/held 2> /dev/null; then
    while [ ! -e {folder}/go ]; do sleep 0.1; done
fi
exec {sbatch} "$@"
"""


class HeldSbatch:
    def __init__(self, folder: Path) -> None:
        """The folder is for all accounts, as jobs may be submitted by several."""
        self.folder = folder
        folder.mkdir()
        folder.chmod(0o777)
        for name in _COMMANDS:
            (folder / name).symlink_to(_found(name))
        script = folder / "sbatch"
        script.write_text(_SBATCH.format(folder=folder, sbatch=_found("sbatch")))
        script.chmod(0o755)

    @property
    def calls(self) -> int:
        calls = self.folder / "calls"
        return len(calls.read_text().split()) if calls.exists() else 0

    def await_held(self) -> None:
        for _ in polls(60):
            if (self.folder / "held").exists():
                return
        raise AssertionError("nobody has called sbatch")

    def let_go(self) -> None:
        (self.folder / "go").touch()


def login_agent_of(server_pid: int) -> int:
    """The process of the agent on the login node, which is the server's own machine."""
    for children in Path(f"/proc/{server_pid}/task").glob("*/children"):
        for pid in children.read_text().split():
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if "--root" in words and words[words.index("--root") + 1].endswith(f"-{CLUSTER}"):
                return int(pid)
    raise AssertionError("the server has no agent on the login node")


def _found(name: str) -> str:
    path = shutil.which(name, path=PATH)
    assert path is not None, f"there is no {name}"
    return path
