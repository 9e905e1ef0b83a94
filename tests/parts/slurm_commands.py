"""Slurm's commands in a folder of their own: with an `sbatch` whose first call waits until a test lets it go on, or
with an `srun` that does, with one that says that it is another release, or with all of them noting their calls."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
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
        _write(folder / "sbatch", _SBATCH.format(folder=folder, sbatch=_found("sbatch")))

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


_SRUN = """#!/bin/sh
touch {folder}/held
while [ ! -e {folder}/go ]; do sleep 0.1; done
exec {srun} "$@"
"""


class HeldSrun:
    """Its `srun` waits until the test lets it go on, so that jobs run whose tasks have not started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        folder.chmod(0o777)
        for name in ("sbatch", *_COMMANDS):
            if name != "srun":
                (folder / name).symlink_to(_found(name))
        _write(folder / "srun", _SRUN.format(folder=folder, srun=_found("srun")))

    def await_held(self) -> None:
        for _ in polls(60):
            if (self.folder / "held").exists():
                return
        raise AssertionError("nobody has called srun")


_FAILS_ONCE = """#!/bin/sh
case " $* " in *" --het-group={part} "*) mkdir {folder}/failed 2> /dev/null && exit 1 ;; esac
exec {srun} "$@"
"""


class FailingSrun:
    """Its `srun` fails once, for this part of a heterogeneous job."""

    def __init__(self, folder: Path, part: int) -> None:
        self.folder = folder
        folder.mkdir()
        for name in ("sbatch", *_COMMANDS):
            if name != "srun":
                (folder / name).symlink_to(_found(name))
        _write(folder / "srun", _FAILS_ONCE.format(folder=folder, part=part, srun=_found("srun")))


_VERSION = """#!/bin/sh
[ "$1" = --version ] && exec echo slurm {version}
exec {sbatch} "$@"
"""
_NOTING = """#!/bin/sh
echo "$@" | tr -d '\\036\\037' >> {folder}/queries
exec {squeue} "$@"
"""


class OtherRelease:
    """Its `sbatch` says that it is this release, and its `squeue` notes how it is called."""

    def __init__(self, folder: Path, version: str) -> None:
        self.folder = folder
        folder.mkdir()
        for name in _COMMANDS:
            if name != "squeue":
                (folder / name).symlink_to(_found(name))
        sbatch, squeue = _found("sbatch"), _found("squeue")
        _write(folder / "sbatch", _VERSION.format(version=version, sbatch=sbatch))
        _write(folder / "squeue", _NOTING.format(folder=folder, squeue=squeue))

    @property
    def forms(self) -> list[str]:
        """How squeue was asked to print what it knows of jobs by their numbers, in the order of the calls."""
        queries = self.folder / "queries"
        lines = queries.read_text().splitlines() if queries.exists() else []
        return ["json" if "--json" in line else "text" for line in lines if "--jobs=" in line]


_NOTED = """#!/bin/sh
echo {name} "$@" | tr -d '\\036\\037' >> {folder}/calls
exec {program} "$@"
"""


class NotedCommands:
    """Each notes how it is called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in ("sbatch", *_COMMANDS):
            _write(folder / name, _NOTED.format(name=name, folder=folder, program=_found(name)))

    def count(self, words: str) -> int:
        """How often one was called with these words."""
        calls = self.folder / "calls"
        return sum(words in line for line in calls.read_text().splitlines()) if calls.exists() else 0


def login_agent_of(server_pid: int) -> int:
    """The process of the agent on the login node, which is the server's own machine."""
    for pid, words in _children(server_pid):
        if "--root" in words and words[words.index("--root") + 1].endswith(f"-{CLUSTER}"):
            return pid
    raise AssertionError("the server has no agent on the login node")


def command_of(agent_pid: int, program: str, option: str) -> int:
    """The process of a command of Slurm, with this option, that the agent has started."""
    for pid, words in _children(agent_pid):
        if Path(words[0]).name == program and option in words:
            return pid
    raise AssertionError(f"the agent has started no {program} {option}")


def _children(parent: int) -> Iterator[tuple[int, list[str]]]:
    """With their command lines. Others than the one that is looked for may end meanwhile."""
    for thread in Path(f"/proc/{parent}/task").glob("*"):
        with suppress(OSError):
            for pid in (thread / "children").read_text().split():
                with suppress(OSError):
                    yield int(pid), Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")


def _write(path: Path, script: str) -> None:
    path.write_text(script)
    path.chmod(0o755)


def _found(name: str) -> str:
    path = shutil.which(name, path=PATH)
    assert path is not None, f"there is no {name}"
    return path
