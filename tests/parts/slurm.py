"""A real Slurm cluster of four nodes on this one machine: `with RealSlurm(folder) as slurm: slurm.run("sinfo")`.

Each node has a name and processes of its own, and pretend GPUs that are really scheduled. Clusters run beside each
other. All files are below the folder, and nothing outlives the test, even when that is killed. Needs root and Slurm:
`slurm_unavailable()` says what is missing.
"""

import os
import re
import secrets
import shutil
import subprocess
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.parts.host_claims import PATH, CommandFailed, command
from tests.parts.pens import Pen, Program
from tests.parts.server import polls
from tests.parts.slurm_accounting import SlurmAccounting
from tests.parts.slurm_numbers import claimed_number
from tests.parts.slurm_settings import (
    NODES,
    SlurmOptions,
    cgroup_conf,
    controller_host,
    gres_conf,
    munge_socket,
    node_address,
    slurm_conf,
)

__all__ = ["NODES", "RealSlurm", "SlurmOptions", "slurm_unavailable"]

OTHER_PERSON = "nobody"
_PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged", "nsenter", "unshare", "setpriv")
_START_S = 60.0
_STEP, _BATCH = re.compile(r"slurmstepd: \[[0-9.+]+\]"), re.compile(r"slurmstepd: \[.*batch")


class RealSlurm:
    def __init__(self, folder: Path, options: SlurmOptions | None = None) -> None:
        self.folder = folder.resolve()
        self.options = options or SlurmOptions()
        self.conf = self.folder / "slurm.conf"
        self.nodes = {node.name: node for node in NODES}
        self._stack = ExitStack()
        self._pens: dict[str, Pen] = {}
        self._daemons: dict[str, Program] = {}
        self._others: list[str] = []
        self.accounting: SlurmAccounting | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._number = stack.enter_context(claimed_number())
            self._write_files()
            self._control = self._new_pen(stack, controller_host())
            self._start_munge()
            if self.options.accounting:
                self.accounting = SlurmAccounting(self.folder, self._number, self._control)
                self.accounting.prepare()
                self.accounting.start()
            for name in self.nodes:
                self._pens[name] = self._new_pen(stack, name, self.folder / "hosts")
                self.start_node(name)
            self.start_controller()
            self.wait_for_nodes("idle")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def env(self) -> dict[str, str]:
        """The variables of whoever uses this cluster from this machine."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "SBATCH_"))}
        return kept | {"SLURM_CONF": str(self.conf), "PATH": PATH}

    def run(self, *argv: str, as_user: str | None = None, check: bool = True) -> str:
        """Runs a command of Slurm and returns what it printed."""
        if as_user is not None:
            argv = ("setpriv", f"--reuid={as_user}", f"--regid={_group(as_user)}", "--clear-groups", *argv)
        done = subprocess.run(
            argv, env=self.env(), cwd="/", capture_output=True, text=True, timeout=180, check=False, errors="replace"
        )
        if check and done.returncode:
            raise CommandFailed(f"{' '.join(argv)} exited {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def submit(self, script: str, *options: str, as_user: str | None = None) -> str:
        """Hands in a batch job of one shell line and returns its number."""
        words = ["sbatch", "--parsable", "--output=/dev/null", *options, f"--wrap={script}"]
        return self.run(*words, as_user=as_user).strip().partition(";")[0]

    def job_state(self, job: str) -> str:
        """Slurm's own word, such as RUNNING; nothing for a job that it has forgotten."""
        found = self.run("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T", check=False).split()
        return found[0] if found else ""

    def wait_for_job(self, job: str, *states: str, timeout_s: float = 60.0) -> str:
        state = ""
        for _ in polls(timeout_s):
            state = self.job_state(job)
            if state in states:
                return state
        shown = self.run("scontrol", "show", "job", job, check=False)
        raise AssertionError(f"job {job} is {state}, not {states}: {shown}\n{self.picture()}")

    def wait_until_empty(self, timeout_s: float = 120.0) -> None:
        """No job holds anything on a node any more, nor waits."""
        said = ""
        for _ in polls(timeout_s):
            said = self.run("squeue", "--noheader", "--format=%A %T %R")
            if not said:
                return
        raise AssertionError(f"jobs are left: {said}\n{self.picture()}")

    def picture(self) -> str:
        """All that may say why the cluster is not as it should be."""
        jobs = self.run("squeue", "--states=all", "--format=%A %j %u %T %R %M", check=False)
        nodes = self.run("sinfo", "--Node", "--format=%N %T %E", check=False)
        logs = [f"{name}:\n{daemon.said[-1500:]}" for name, daemon in self._daemons.items()]
        return "\n".join([jobs, nodes, *logs])

    def wait_until_saved(self, job: str) -> None:
        """The controller writes all its jobs to disk up to five seconds late, and when it is killed before that, it
        forgets what became of them."""
        token = secrets.token_hex(8)
        self.run("scontrol", "update", f"jobid={job}", f"admincomment={token}")
        saved = self.folder / "state" / "job_state"
        for _ in polls(20):
            if saved.exists() and token.encode() in saved.read_bytes():
                return
        raise AssertionError(f"job {job} is not in {saved}")

    def fill(self) -> str:
        """Starts a job of another person that takes everything, and returns its number."""
        whole = ("--exclusive", f"--nodes={len(self.nodes)}", "--job-name=somebody-else", "--no-requeue")
        job = self.submit("sleep 100000", *whole, "--mem=0", as_user=OTHER_PERSON)
        self._others.append(job)
        self.wait_for_job(job, "RUNNING")
        return job

    def free(self) -> None:
        """Ends what `fill` started."""
        while self._others:
            job = self._others.pop()
            self.run("scancel", job)
            self.wait_for_job(job, "CANCELLED", "")

    def start_controller(self) -> None:
        self._start("slurmctld", self._control, "slurmctld", "-D", "-f", str(self.conf))
        for _ in polls(_START_S):
            assert self._daemons["slurmctld"].is_running, self._daemons["slurmctld"].said
            if "UP" in self.run("scontrol", "ping", check=False):
                return
        raise AssertionError(self._daemons["slurmctld"].said)

    def kill_controller(self) -> None:
        """Kills slurmctld without warning; jobs and nodes go on."""
        self._daemons["slurmctld"].kill()

    def freeze_controller(self) -> None:
        """It accepts connections and never answers."""
        self._daemons["slurmctld"].freeze()

    def thaw_controller(self) -> None:
        self._daemons["slurmctld"].thaw()

    def mend(self) -> None:
        """Starts what was killed, lets go on what was frozen, and gives back what was reserved."""
        if self._daemons["slurmctld"].is_running:
            self.thaw_controller()
        else:
            self.start_controller()
        for name in self.nodes:
            if not self._daemons[f"slurmd-{name}"].is_running:
                self.start_node(name)
        for line in self.run("scontrol", "--oneliner", "show", "reservation").splitlines():
            if line.startswith("ReservationName="):
                self.run("scontrol", "delete", line.split()[0])

    def kill_tasks(self) -> None:
        """Kills what jobs run on the nodes, without grace: their steps, or their batch scripts if no step runs. Slurm
        gives what it ends itself seconds for it, and a step whose srun was killed takes as long."""
        steps = [pen.kill_below(_STEP) for pen in self._pens.values()]
        for pen in self._pens.values() if not any(steps) else ():
            pen.kill_below(_BATCH)

    def start_node(self, name: str) -> None:
        self._start(f"slurmd-{name}", self._pens[name], "slurmd", "-D", "-N", name, "-f", str(self.conf))

    def kill_node_daemon(self, name: str) -> None:
        """Kills slurmd without warning; the tasks on the node go on."""
        self._daemons[f"slurmd-{name}"].kill()

    def crash_node(self, name: str) -> None:
        """Ends everything on the node, like a power failure. `boot_node` brings it back, empty."""
        self._pens[name].close()
        self._daemons[f"slurmd-{name}"].wait()

    def boot_node(self, name: str) -> None:
        self._pens[name] = self._new_pen(self._stack, name, self.folder / "hosts")
        self.start_node(name)

    def set_node(self, name: str, state: str, reason: str = "a test") -> None:
        """Such as down, drain or resume."""
        self.run("scontrol", "update", f"nodename={name}", f"state={state}", f"reason={reason}")

    def wait_for_nodes(self, state: str, *names: str) -> None:
        wanted = set(names or self.nodes)
        for _ in polls(_START_S):
            said = self.run("sinfo", "--noheader", "--Node", "--format=%N %t", check=False)
            if wanted <= {line.split()[0] for line in said.splitlines() if line.split()[1] == state}:
                return
        raise AssertionError(f"not all of {wanted} are {state}:\n{self.picture()}")

    def node_address(self, name: str) -> str:
        """Where the processes of a node are reached from this machine."""
        return node_address(self._number, self.options, list(self.nodes).index(name))

    def new_folder(self, name: str) -> Path:
        """A path that other users reach, and where nothing is yet."""
        return self.folder / f"{name}-{secrets.token_hex(4)}"

    def log(self, daemon: str) -> str:
        """What slurmctld, or a node's daemon such as slurmd-n1, has said."""
        return self._daemons[daemon].said

    def _new_pen(self, stack: ExitStack, name: str, hosts_file: Path | None = None) -> Pen:
        pen = Pen(name, hosts_file)
        stack.callback(pen.close)
        return pen

    def _start(self, key: str, pen: Pen, *argv: str) -> None:
        log = self.folder / "log" / f"{key}.log"
        self._daemons[key] = pen.start(argv, log, {"SLURM_CONF": str(self.conf)})

    def _write_files(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o711)  # the sockets and settings are for other users, too
        for name in ("log", "state", "run", "munge", *(f"spool-{name}" for name in self.nodes)):
            (self.folder / name).mkdir(mode=0o755)
        for name in self.nodes:
            (self.folder / f"tmp-{name}").mkdir()
            (self.folder / f"tmp-{name}").chmod(0o1777)
        hosts = "".join(f"{self.node_address(name)} {name}\n" for name in self.nodes)
        (self.folder / "hosts").write_text(f"{Path('/etc/hosts').read_text()}{hosts}")
        self.conf.write_text(slurm_conf(self.folder, self._number, self.options))
        (self.folder / "gres.conf").write_text(gres_conf(self.options))
        (self.folder / "cgroup.conf").write_text(cgroup_conf())

    def _start_munge(self) -> None:
        folder = self.folder / "munge"
        key = folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = [
            f"--key-file={key}",
            f"--pid-file={folder}/pid",
            f"--log-file={folder}/log",
            f"--seed-file={folder}/seed",
        ]
        argv = ["munged", "--foreground", "--force", f"--socket={munge_socket(self.folder)}", *files]
        daemon = self._control.start(argv, self.folder / "log" / "munged.log", {})
        for _ in polls(_START_S):
            assert daemon.is_running, daemon.said
            if munge_socket(self.folder).exists():
                return
        raise AssertionError(daemon.said)


@cache
def slurm_unavailable() -> str | None:
    """Why there can be no Slurm cluster here; None when there can."""
    if os.geteuid() != 0:
        return "a Slurm cluster needs root: its nodes have namespaces, and its jobs run as other users"
    missing = [program for program in _PROGRAMS if shutil.which(program, path=PATH) is None]
    if missing:
        return f"a Slurm cluster needs {', '.join(missing)}: run scripts/install-slurm.sh"
    try:
        command("unshare", "--mount", "--pid", "--fork", "--uts", "--mount-proc", "true")
    except CommandFailed as error:
        return f"a Slurm cluster needs namespaces: {error}"
    return None


def _group(user: str) -> str:
    return command("id", "--group", user).strip()
