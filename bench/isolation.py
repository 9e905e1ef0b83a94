"""The cost of isolation: how much later a task's command ends if it is started under an account or in namespaces.

Run as root: `python -m bench.isolation`. Each way starts `/bin/true` in turn, from a process like the shim, so that the
load of the machine hits all of them alike. The median of the differences to a plain start is what isolation adds.
"""

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from muster.agent.isolation.confined_start import Command, Confinement, spawn
from muster.agent.system.orphans import adopt_orphans
from muster.agent.tasks import command
from muster.agent.tasks.cgroups import Joining

_ROUNDS = 200
_UID = 79_998
_ARGV = ("/bin/true",)


def main() -> None:
    adopt_orphans()
    root = Path(tempfile.mkdtemp(prefix="muster-bench-"))
    try:
        _measure(_ways(_task_folder(root / "open"), _task_folder(root / "closed/below")))
    finally:
        shutil.rmtree(root)


def _measure(ways: dict[str, Callable[[], int]]) -> None:
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(_ROUNDS):
        for name, start in ways.items():
            began = time.perf_counter()
            _, status = os.waitpid(start(), 0)
            taken[name].append((time.perf_counter() - began) * 1e3)
            assert status == 0, f"{name} ended with {status}"
    plain = statistics.median(taken["plain"])
    for name, times in taken.items():
        print(f"{name:28} {statistics.median(times):6.2f} ms   adds {statistics.median(times) - plain:6.2f} ms")


def _ways(folder: Path, closed: Path) -> dict[str, Callable[[], int]]:
    own = (_UID, _UID, (_UID,))
    closed.parent.chmod(0o700)
    work = [(str(folder / "work"), False)]
    return {
        "plain": lambda: command.spawn(str(folder), str(folder / "work"), Joining("", "", ()), _ARGV, {}),
        "user": lambda: spawn(_command(folder), Confinement(own, False, None, (), ())),
        "user, below a closed folder": lambda: spawn(
            _command(closed), Confinement(own, False, str(closed.parent), [(str(closed), False)], ())
        ),
        "namespace": lambda: spawn(_command(folder), Confinement(None, True, None, work, ())),
        "namespace and user": lambda: spawn(_command(folder), Confinement(own, True, None, work, ())),
    }


def _command(folder: Path) -> Command:
    return Command(str(folder), str(folder / "log"), str(folder / "work"), (), _ARGV, {})


def _task_folder(folder: Path) -> Path:
    (folder / "work").mkdir(parents=True)
    (folder / "log").touch()
    for path in (*folder.parents, folder):
        if path.stat().st_mode & 0o001 == 0:
            path.chmod(0o711)
    os.chown(folder / "work", _UID, _UID)
    return folder


if __name__ == "__main__":
    main()
