"""`python -m bench.slurm.port_pairs`: pairs of real jobs on one node of a real Slurm cluster, whose tasks all listen at
the ports that they were given, at the same time. Says how many ports collided.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.parts.server import MusterServer
from tests.parts.slurm import RealSlurm, slurm_unavailable
from tests.parts.slurm_server import CLUSTER, serving_slurm

_NODE = "n1"
_TASKS_EACH = 2
_LISTEN = """
import os, pathlib, socket, sys, time
folder, tasks = pathlib.Path(sys.argv[1]), int(sys.argv[2])
own = os.environ["PADDLE_CURRENT_ENDPOINT"].rpartition(":")[2]
server = socket.create_server(("", int(own)))
(folder / f"{os.environ['MUSTER_JOB_ID']}.{os.environ['MUSTER_RANK']}.{own}").touch()
give_up = time.monotonic() + 120
while len(list(folder.iterdir())) < tasks:
    assert time.monotonic() < give_up, "the other job does not come"
    time.sleep(0.05)
"""


@dataclass(frozen=True)
class Pair:
    states: tuple[str, ...]
    ports: tuple[str, ...]
    """Of all tasks that listened."""

    @property
    def is_right(self) -> bool:
        return set(self.states) == {"Succeeded"} and len(set(self.ports)) == 2 * _TASKS_EACH


def run_pairs(folder: Path, count: int) -> Iterator[Pair]:
    with (
        RealSlurm(folder / "slurm") as slurm,
        serving_slurm(folder / "home", slurm, options=[f"--nodelist={_NODE}"]) as server,
    ):
        for number in range(count):
            yield _run_pair(server, slurm.folder / "pairs" / str(number), number)


def _run_pair(server: MusterServer, folder: Path, number: int) -> Pair:
    folder.mkdir(parents=True)
    spec = {
        "cluster": CLUSTER,
        "framework": "paddle",
        "replicas": _TASKS_EACH,
        "command": ["python3", "-c", _LISTEN, str(folder), str(2 * _TASKS_EACH)],
        "resources": {"cpu": 1},
        "retry": {"max": 0},
    }
    jobs = [server.submit({**spec, "name": f"pair-{number}-{which}"})["id"] for which in ("a", "b")]
    states = tuple(str(server.wait(job)["state"]) for job in jobs)
    return Pair(states, tuple(sorted(path.suffix[1:] for path in folder.iterdir())))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.slurm.port_pairs", description=__doc__)
    parser.add_argument("--pairs", type=int, default=100)
    count = parser.parse_args().pairs
    if missing := slurm_unavailable():
        sys.exit(missing)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="muster-pairs-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        wrong = [pair for pair in run_pairs(Path(name), count) if not pair.is_right]
    took_s = time.monotonic() - began
    print(f"{count} pairs of jobs on {_NODE}, {4 * count} tasks: {len(wrong)} wrong, in {took_s:.0f} s")
    for pair in wrong:
        print(f"  {', '.join(pair.states)}: ports {', '.join(pair.ports)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
