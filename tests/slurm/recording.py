"""Writes down what the Slurm of this machine prints, for the tests of what reads it.

python -m tests.slurm.recording tests/unit/slurm/recorded
"""

import json
import socket
import sys
import tempfile
from pathlib import Path

from muster.agent.batch.programs import TIMES
from muster.backends.slurm.answers.job_tables import past_command, queue_command
from muster.backends.slurm.answers.node_tables import NODES_COMMAND, PARTITIONS_COMMAND
from tests.parts.server import polls
from tests.parts.slurm import RealSlurm, SlurmOptions
from tests.parts.slurm_settings import URGENT_PARTITION

STRANGE_NAME = "a|b c = d\ne"
STRANGE_COMMENT = "muster 'key'=\"1\" | UserId=nobody(1)\nsecond line"


def main(target: Path) -> None:
    temporary = tempfile.TemporaryDirectory(prefix="muster-slurm-", ignore_cleanup_errors=True)
    with temporary as folder, RealSlurm(Path(folder), SlurmOptions(accounting=True, min_job_age_s=600)) as slurm:
        version = slurm.run("sbatch", "--version").split()[1]
        jobs = _jobs(slurm)
        _write(slurm, target / version, jobs)


def _jobs(slurm: RealSlurm) -> dict[str, str]:
    """One job for every state that takes no failure of the machine, by what is special about it."""
    long = "sleep 1000"
    jobs = {
        "late": slurm.submit(long, "--time=1", "--nodelist=n4"),
        "strange": slurm.submit(
            long, "--nodelist=n[1-2]", "--gpus-per-node=1", f"--job-name={STRANGE_NAME}", f"--comment={STRANGE_COMMENT}"
        ),
        "failed": slurm.submit("exit 3", "--nodelist=n3"),
        "killed": slurm.submit("kill -9 $$", "--nodelist=n3"),
        "cancelled": slurm.submit(long, "--nodelist=n3"),
        "broken": slurm.submit(long, "--nodelist=n4", "--no-requeue", "--mem=1000"),
        "array": slurm.submit(long, "--array=0-3%1", "--nodelist=n1"),
        "het": _het(slurm),
        "preempted": slurm.submit(long, "--nodelist=n3", "--exclusive"),
        "held": slurm.submit(long, "--hold"),
        "later": slurm.submit(long, "--begin=now+1days"),
        "impossible": slurm.submit(long, f"--partition={URGENT_PARTITION}", "--time=2:00:00"),
        "large": slurm.submit(long, "--constraint=a100", "--exclusive", "--time=60"),
        "behind": slurm.submit(long, "--constraint=a100", "--exclusive", "--time=60"),
        "all": slurm.submit(long, "--nodes=4", "--exclusive", "--time=60"),
    }
    jobs["dependent"] = slurm.submit(long, f"--dependency=afterok:{jobs['strange']}")
    jobs["hopeless"] = slurm.submit(long, f"--dependency=afterok:{jobs['failed']}")
    for name in ("strange", "het", "broken", "late"):
        slurm.wait_for_job(jobs[name], "RUNNING")
    slurm.run("scancel", jobs["cancelled"])
    slurm.wait_for_job(jobs["late"], "TIMEOUT", timeout_s=120)
    slurm.set_node("n4", "down", "no power = no node")
    slurm.wait_for_job(jobs["broken"], "NODE_FAIL")
    jobs["urgent"] = slurm.submit(long, "--nodelist=n3", "--exclusive", f"--partition={URGENT_PARTITION}")
    slurm.wait_for_job(jobs["urgent"], "RUNNING")
    slurm.set_node("n2", "drain", "disk: 1 error")
    for _ in polls(30):
        reasons = slurm.run("squeue", "--format=%r")
        if all(word in reasons for word in ("Priority", "Resources", "NeverSatisfied")):
            break
    for _ in polls(30):  # the database learns of ends a moment later
        past = slurm.run("sacct", "--allocations", "--noheader", "--parsable2", "--format=State,Partition")
        if all(row in past for row in ("TIMEOUT|", "NODE_FAIL|", "PREEMPTED|", f"RUNNING|{URGENT_PARTITION}")):
            break
    return jobs


def _het(slurm: RealSlurm) -> str:
    first, second = ("--ntasks=1", "--nodelist=n1", "--job-name=het"), ("--ntasks=2", "--nodelist=n2")
    said = slurm.run("sbatch", "--parsable", "--output=/dev/null", *first, ":", *second, "--wrap=sleep 1000")
    return said.strip()


def _write(slurm: RealSlurm, folder: Path, jobs: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    commands = {
        "squeue.txt": queue_command(),
        "squeue.json": ["squeue", "--json"],
        "sacct.txt": past_command(sorted(jobs.values(), key=int)),
        "show_node.txt": list(NODES_COMMAND),
        "show_partition.txt": list(PARTITIONS_COMMAND),
    }
    host = socket.gethostname().partition(".")[0]
    settings = [f"{name}={value}" for name, value in TIMES.items()]
    for name, command in commands.items():
        said = slurm.run("env", *settings, *command)
        for before, after in ((f"={host} ", "=machine "), (f'"{host}"', '"machine"')):
            said = said.replace(before, after)
        (folder / name).write_text(said)
    (folder / "jobs.json").write_text(json.dumps(jobs, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
