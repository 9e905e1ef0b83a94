"""`srun` and `scontrol` for batch scripts: a program of its own, which travels with the job and runs on the nodes.

The script of a batch job runs once, on the first node, and `srun` starts the tasks of a step: on this node itself, and
on the other nodes through `serve`, which waits there. Both sides prove to each other that they have the key of the
job's owner before anything is said. Nothing but the standard library of Python 3.8 is used here, and nothing of Muster.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

FOLDER = "SLURM_MUSTER"
"""The variable with the folder of the job's Slurm files."""
_DEVICES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_OWN = re.compile(
    r"MUSTER_.*|.*_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|TMPDIR|HOME|USER|HOSTNAME|SLURM_MUSTER|SLURMD_NODENAME"
)
"""Variables of which each node has its own."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGCONT)
_CONNECT_WITHIN_S = 300.0
_PAUSE_S = 0.2
_MOST_BYTES = 64 << 20
_LONGEST_LINE = 64 << 10
_LINE_WITHIN_S = 1.0
"""So long the beginning of a line waits for its end before it is shown, such as that of a progress bar."""
_VALUE = {
    "n": "ntasks", "N": "nodes", "c": "cpus-per-task", "w": "nodelist", "x": "exclude", "o": "output", "e": "error",
    "D": "chdir", "r": "relative", "W": "wait", "i": "input", "G": "gpus",
    "J": "job-name", "t": "time", "p": "partition", "A": "account", "m": "distribution", "C": "constraint",
    "q": "qos", "M": "clusters", "d": "dependency", "B": "extra-node-info", "L": "licenses", "T": "threads",
}  # fmt: skip
_FLAGS = {
    "l": "label", "u": "unbuffered", "K": "kill-on-bad-exit", "Q": "quiet", "v": "verbose", "s": "oversubscribe",
    "O": "overcommit", "k": "no-kill", "E": "preserve-env", "I": "immediate",
}  # fmt: skip
_USED = (
    "ntasks", "nodes", "nodelist", "exclude", "output", "error", "chdir", "relative", "wait", "cpus-per-task",
    "gpus", "gpus-per-task", "gpus-per-node", "gres", "ntasks-per-node", "export", "input", "mpi",
)  # fmt: skip
_IDLE = (
    "job-name", "time", "partition", "account", "distribution", "constraint", "qos", "clusters", "mem", "mem-per-cpu",
    "mem-per-gpu", "cpu-bind", "cpu_bind", "gpu-bind", "mem-bind", "hint", "jobid", "threads-per-core", "comment",
    "cores-per-socket", "cpu-freq", "profile", "acctg-freq", "gres-flags", "ntasks-per-socket", "ntasks-per-core",
    "ntasks-per-gpu", "nice", "open-mode", "signal", "threads", "extra-node-info", "network", "propagate", "tmp",
    "time-min", "wckey", "reservation", "switches", "accel-bind", "cpus-per-gpu",
)  # fmt: skip
_WORDS = (
    "exclusive", "exact", "overlap", "whole", "no-kill", "unbuffered", "quiet", "verbose", "oversubscribe",
    "overcommit", "kill-on-bad-exit", "label", "preserve-env", "immediate", "contiguous", "use-min-nodes", "spread-job",
    "disable-status", "msg-timeout", "wait-all-nodes", "resv-ports", "slurmd-debug",
)  # fmt: skip


class Refused(Exception):
    """What srun says before it ends."""


def main(words: list[str]) -> int:
    name, rest = (words + [""])[0], words[1:]
    try:
        if name == "srun":
            return srun(rest)
        if name == "scontrol":
            return scontrol(rest)
        if name == "serve":
            return serve()
        return end()
    except Refused as error:
        print(f"{name}: error: {error}", file=sys.stderr, flush=True)
        return 1


# -- scontrol ------------------------------------------------------------------------------------------------------


def scontrol(words: list[str]) -> int:
    plain = [word for word in words if not word.startswith("-")]
    if plain[:1] == ["show"] and len(plain) > 1 and "hostnames".startswith(plain[1]) and len(plain[1]) > 5:
        names = hosts(plain[2] if len(plain) > 2 else os.environ.get("SLURM_JOB_NODELIST", ""))
        # All at once: `| head -n 1` leaves after the first that it reads.
        sys.stdout.write("".join(f"{name}\n" for name in names))
        return 0
    if plain[:2] == ["show", "hostlist"] or plain[:2] == ["show", "hostlistsorted"]:
        print(",".join(plain[2:]))
        return 0
    raise Refused(f"Muster's scontrol knows `show hostnames` and `show hostlist`, not `{' '.join(words)}`")


def hosts(text: str) -> list[str]:
    names: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text):
        names += _expanded(part.strip()) if part.strip() else []
    return names


def _expanded(part: str) -> list[str]:
    found = re.search(r"\[([^\]]*)\]", part)
    if found is None:
        return [part]
    numbers: list[str] = []
    for item in found[1].split(","):
        first, _, last = item.partition("-")
        numbers += [str(one).zfill(len(first)) for one in range(int(first), int(last or first) + 1)]
    return [part[: found.start()] + number + rest for number in numbers for rest in _expanded(part[found.end() :])]


# -- srun: what is asked -------------------------------------------------------------------------------------------


class Step:
    def __init__(self, options: dict[str, str], argv: list[str]) -> None:
        self.options = options
        self.argv = argv
        self.all_nodes = hosts(os.environ["SLURM_JOB_NODELIST"])
        chosen = self._chosen()
        self.count = self._tasks(len(chosen))
        self.nodes = chosen[: max(1, min(len(chosen), self.count))]
        self.tasks = self._placed()
        self._check_cpus()

    def number(self, name: str, absent: int = 0) -> int:
        text = self.options.get(name, "")
        if not text:
            return absent
        found = re.match(r"(?:\w+:)?(\d+)", text.split(",")[0])
        if found is None:
            raise Refused(f"--{name}={text} is not a number")
        return int(found[1])

    def _chosen(self) -> list[int]:
        places = list(range(len(self.all_nodes)))
        if "nodelist" in self.options:
            wanted = hosts(self.options["nodelist"])
            unknown = [name for name in wanted if name not in self.all_nodes]
            if unknown:
                raise Refused(f"{', '.join(unknown)} is not among the nodes of the job: {', '.join(self.all_nodes)}")
            places = [self.all_nodes.index(name) for name in dict.fromkeys(wanted)]
        places = [place for place in places if self.all_nodes[place] not in hosts(self.options.get("exclude", ""))]
        places = places[self.number("relative") :]
        asked = self.number("nodes")
        if asked > len(places) or not places:
            raise Refused(f"the step asks for {asked or 1} nodes, and the job has {len(places)} for it")
        return places[:asked] if asked else places

    def _tasks(self, nodes: int) -> int:
        if "ntasks" in self.options:
            return self.number("ntasks")
        if "ntasks-per-node" in self.options:
            return nodes * self.number("ntasks-per-node")
        given = os.environ.get("SLURM_NTASKS")
        if given and "nodelist" not in self.options:
            return int(given)
        return nodes

    def _placed(self) -> list[dict[str, int]]:
        """Rank, node and place on the node of each task, node by node."""
        per_node = self.number("ntasks-per-node")
        each, more = divmod(self.count, len(self.nodes))
        tasks: list[dict[str, int]] = []
        for position, node in enumerate(self.nodes):
            here = min(per_node, self.count - len(tasks)) if per_node else each + (position < more)
            for local in range(here):
                tasks.append({"rank": len(tasks), "node": node, "position": position, "local": local})
        if len(tasks) < self.count:
            raise Refused(f"{self.count} tasks do not fit on {len(self.nodes)} nodes with {per_node} each")
        return tasks

    def _check_cpus(self) -> None:
        """Check the CPUs as srun does: a task has one unless it asks for more."""
        there = int(os.environ.get("SLURM_CPUS_ON_NODE") or 0)
        if not there or "overcommit" in self.options or "SLURM_OVERCOMMIT" in os.environ:
            return
        if max(len(self.on(node)) for node in self.nodes) * self.number("cpus-per-task", 1) > there:
            raise Refused(f"More processors requested than permitted: the job has {there} on a node")

    def on(self, node: int) -> list[dict[str, int]]:
        return [task for task in self.tasks if task["node"] == node]

    @property
    def limit_s(self) -> int:
        """`--time` of the step: minutes, minutes:seconds, hours:minutes:seconds, or any of it after days and `-`."""
        text = self.options.get("time", "0")
        found = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
        if found is None and text.lower() not in ("infinite", "unlimited"):
            raise Refused(f"Invalid --time specification: {text}")
        if found is None:
            return 0
        days, first, second, third = (int(part or 0) for part in found.groups())
        if found[1] is not None or found[4] is not None:
            return ((days * 24 + first) * 60 + second) * 60 + third
        return first * 60 + second

    @property
    def gpus_per_task(self) -> int:
        return self.number("gpus-per-task", int(os.environ.get("SLURM_GPUS_PER_TASK") or 0))

    def gpus_on(self, node: int) -> int | None:
        """How many GPUs the step wants on the node; None if it takes what there is."""
        if "gpus-per-node" in self.options:
            return self.number("gpus-per-node")
        if "gres" in self.options:
            found = re.search(r"gpu(?::[A-Za-z][\w.-]*)?[:=](\d+)", self.options["gres"])
            return int(found[1]) if found else 1 if re.search(r"\bgpu\b", self.options["gres"]) else 0
        if "gpus" in self.options:
            return self.number("gpus") // len(self.nodes)
        return self.gpus_per_task * len(self.on(node)) or None

    @property
    def cpus_per_task(self) -> int:
        return self.number("cpus-per-task", int(os.environ.get("SLURM_CPUS_PER_TASK") or 1))

    def environment(self, task: dict[str, int], base: dict[str, str]) -> dict[str, str]:
        per_node = [len(self.on(node)) for node in self.nodes]
        names = ",".join(self.all_nodes[node] for node in self.nodes)
        step = {
            "SLURM_NTASKS": self.count, "SLURM_NPROCS": self.count, "SLURM_NNODES": len(self.nodes),
            "SLURM_STEP_NUM_TASKS": self.count, "SLURM_STEP_NUM_NODES": len(self.nodes),
            "SLURM_STEP_NODELIST": names, "SLURM_NODELIST": names,
            "SLURM_STEP_TASKS_PER_NODE": _runs(per_node), "SLURM_TASKS_PER_NODE": _runs(per_node),
            "SLURM_PROCID": task["rank"], "SLURM_LOCALID": task["local"], "SLURM_NODEID": task["position"],
            "SLURM_GTIDS": ",".join(str(one["rank"]) for one in self.on(task["node"])),
            "SLURM_LAUNCH_NODE_IPADDR": self.all_nodes[0], "SLURMD_NODENAME": self.all_nodes[task["node"]],
        }  # fmt: skip
        if "cpus-per-task" in self.options:
            step["SLURM_CPUS_PER_TASK"] = self.cpus_per_task
        return {**base, **{name: str(value) for name, value in step.items()}}


def _runs(counts: list[int]) -> str:
    """2,2,1 as Slurm writes it: 2(x2),1."""
    parts: list[tuple[int, int]] = []
    for count in counts:
        if parts and parts[-1][0] == count:
            parts[-1] = (count, parts[-1][1] + 1)
        else:
            parts.append((count, 1))
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in parts)


def parsed(words: list[str]) -> Step:
    options: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            name, has_value, value = word[2:].partition("=")
            name = _full(name)
            if name in _WORDS:
                options[name] = value
            else:
                options[name] = value if has_value else _next(rest, word)
        elif word[1] in _FLAGS:
            for letter in word[1:]:
                if letter in _FLAGS:
                    options[_FLAGS[letter]] = ""
        elif word[1] in _VALUE:
            options[_VALUE[word[1]]] = word[2:].lstrip("=") or _next(rest, word)
        else:
            raise Refused(f"Muster's srun does not know the option {word}")
    if not rest:
        raise Refused("no command was given")
    if options.get("mpi", "none") not in ("none", "list"):
        raise Refused(f"--mpi={options['mpi']}: Muster's srun has no PMI; start MPI programs with mpirun")
    step = Step(options, rest)
    for name in ("mem", "mem-per-cpu", "mem-per-gpu", "distribution"):
        if options.get(name, "0") not in ("0", "block"):
            print(f"srun: warning: --{name} has no effect here", file=sys.stderr, flush=True)
    return step


def _full(name: str) -> str:
    known = (*_USED, *_IDLE, *_WORDS)
    found = [one for one in known if one == name] or [one for one in known if one.startswith(name)]
    if len(found) != 1:
        raise Refused(f"Muster's srun does not know the option --{name}")
    return found[0]


def _next(rest: list[str], word: str) -> str:
    if not rest:
        raise Refused(f"{word} needs a value")
    return rest.pop(0)


# -- srun: who uses what -------------------------------------------------------------------------------------------


class Usage:
    """What the steps of this job that run now use, in a file, so that steps wait for each other as in Slurm."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "steps.json")

    def begin(self, step: Step) -> tuple[int, dict[int, list[int]]]:
        """Waits until there is room. Returns the number of the step, and the GPUs that it has on each node."""
        while True:
            with self._locked() as state:
                gpus = self._gpus(step, state)
                if gpus is not None and (self._fits(step, state) or not state["steps"]):
                    number = state["next"]
                    state["next"] += 1
                    state["steps"][str(os.getpid())] = self._entry(step, gpus)
                    open(self._mark(), "w").close()
                    return number, gpus
            time.sleep(_PAUSE_S)

    def finish(self) -> None:
        with self._locked() as state:
            state["steps"].pop(str(os.getpid()), None)
            os.unlink(self._mark())

    def _mark(self) -> str:
        """A file whose name is the number of this process, for the signal of `--signal`."""
        folder = os.path.join(os.path.dirname(self._path), "running")
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, str(os.getpid()))

    def _entry(self, step: Step, gpus: dict[int, list[int]]) -> dict[str, Any]:
        shares = "overlap" in step.options
        cpus = {} if shares else {str(node): step.cpus_per_task * len(step.on(node)) for node in step.nodes}
        held = {} if shares else {str(node): places for node, places in gpus.items()}
        return {"cpus": cpus, "gpus": held}

    def _fits(self, step: Step, state: dict[str, Any]) -> bool:
        if "overlap" in step.options or "overcommit" in step.options:
            return True
        there = int(os.environ.get("SLURM_CPUS_ON_NODE") or 1)
        for node in step.nodes:
            used = sum(one["cpus"].get(str(node), 0) for one in state["steps"].values())
            if used + step.cpus_per_task * len(step.on(node)) > there:
                return False
        return True

    def _gpus(self, step: Step, state: dict[str, Any]) -> dict[int, list[int]] | None:
        """The places of the GPUs for the step on each node, if it wants some of them; None while they are in use."""
        there = int(os.environ.get("SLURM_GPUS_ON_NODE") or 0)
        chosen: dict[int, list[int]] = {}
        for node in step.nodes:
            wanted = step.gpus_on(node)
            if wanted is None:
                continue
            if wanted > there:
                raise Refused(f"the step asks for {wanted} GPUs on a node, and the job has {there}")
            used = {place for one in state["steps"].values() for place in one["gpus"].get(str(node), [])}
            free = [place for place in range(there) if place not in used]
            if "overlap" in step.options:
                free = list(range(there))
            if len(free) < wanted:
                return None
            chosen[node] = free[:wanted]
        return chosen

    @contextmanager
    def _locked(self) -> Iterator[dict[str, Any]]:
        with open(self._path, "a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            text = file.read()
            state: dict[str, Any] = json.loads(text) if text else {"next": 0, "steps": {}}
            state["steps"] = {pid: one for pid, one in state["steps"].items() if _is_alive(int(pid))}
            yield state
            file.seek(0)
            file.truncate()
            json.dump(state, file)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


# -- srun: running the tasks ---------------------------------------------------------------------------------------


def srun(words: list[str]) -> int:
    step = parsed(words)
    usage = Usage(os.environ[FOLDER])
    number, gpus = usage.begin(step)
    try:
        return _Run(step, number, gpus).result()
    finally:
        usage.finish()


class _Run:
    def __init__(self, step: Step, number: int, gpus: dict[int, list[int]]) -> None:
        self._step = step
        self._number = number
        self._gpus = gpus
        self._given = _standard_input(step)
        self._codes: dict[int, int] = {}
        self._stops: list[Callable[[int], None]] = []
        self._changed = threading.Condition()
        self._streams = _Streams(step, number)

    def result(self) -> int:
        for number in _SIGNALS:
            signal.signal(number, lambda number, frame: self._signal(number))
        base = {**_exported(self._step), "SLURM_STEP_ID": str(self._number), "SLURM_STEPID": str(self._number)}
        for node in self._step.nodes:
            tasks = [self._order(task, base) for task in self._step.on(node)]
            if node == 0:
                _spawn(tasks, self._cwd(), self._given, self._streams, self._ended, self._stops)
            else:
                self._remote(node, tasks)
        return self._wait()

    def _order(self, task: dict[str, int], base: dict[str, str]) -> dict[str, Any]:
        places = self._gpus.get(task["node"])
        each = self._step.gpus_per_task
        if places is not None and each:
            places = places[task["local"] * each : (task["local"] + 1) * each]
        return {
            "rank": task["rank"],
            "argv": self._step.argv,
            "env": self._step.environment(task, base),
            "gpus": places,
        }

    def _cwd(self) -> str:
        return os.path.join(os.getcwd(), self._step.options.get("chdir", ""))

    def _remote(self, node: int, tasks: list[dict[str, Any]]) -> None:
        endpoint = os.environ["MUSTER_ENDPOINTS_WORKER"].split(",")[node]
        work = os.environ["SLURM_SUBMIT_DIR"]
        order = {"tasks": tasks, "cwd": self._cwd(), "work": work, "stdin": base64.b64encode(self._given).decode()}
        connection = _connected(endpoint)
        _prove_as_client(connection, order)
        self._stops.append(lambda number: _send(connection, b"s", str(number).encode()))
        ranks = [task["rank"] for task in tasks]
        threading.Thread(target=self._relay, args=(connection, ranks), daemon=True).start()

    def _relay(self, connection: socket.socket, ranks: list[int]) -> None:
        try:
            while True:
                kind, content = _receive(connection)
                rank, _, rest = content.partition(b" ")
                if kind == b"x":
                    self._ended(int(rank), int(rest))
                else:
                    self._streams.write(int(rank), kind == b"e", rest)
        except (OSError, EOFError, ValueError):
            for lost in ranks:
                self._ended(lost, 1, lost=True)

    def _ended(self, rank: int, code: int, lost: bool = False) -> None:
        with self._changed:
            if rank not in self._codes:
                self._codes[rank] = code
                if lost:
                    print(f"srun: error: the node of task {rank} is gone", file=sys.stderr, flush=True)
                elif code:
                    print(f"srun: error: task {rank} exited with exit code {code}", file=sys.stderr, flush=True)
                self._changed.notify_all()

    def _wait(self) -> int:
        is_told, until = False, None
        limit_s = self._step.limit_s
        ends_at = time.monotonic() + limit_s
        patience = self._step.number("wait")
        kills = self._step.options.get("kill-on-bad-exit", "0") != "0"
        with self._changed:
            while len(self._codes) < self._step.count:
                failed = any(self._codes.values())
                if patience and self._codes and until is None:
                    until = time.monotonic() + patience
                late = until is not None and time.monotonic() > until
                is_over = bool(limit_s) and time.monotonic() > ends_at
                if not is_told and ((kills and failed) or late or is_over):
                    is_told = True
                    why = (
                        "error: the step has reached its time limit"
                        if is_over
                        else "the other tasks of the step are ended"
                    )
                    print(f"srun: {why}", file=sys.stderr, flush=True)
                    self._signal(signal.SIGTERM)
                    until, patience = time.monotonic() + 10.0, 0
                elif is_told and late:
                    self._signal(signal.SIGKILL)
                    until = None
                self._changed.wait(_PAUSE_S)
                self._streams.show_late()
        self._streams.close()
        return max(self._codes.values(), default=0)

    def _signal(self, number: int) -> None:
        for stop in list(self._stops):
            try:
                stop(number)
            except OSError:
                pass


def _exported(step: Step) -> dict[str, str]:
    """`--export` of the step: ALL, NONE, or names and values."""
    given = step.options.get("export", os.environ.get("SLURM_EXPORT_ENV", "ALL"))
    items = [item for item in given.split(",") if item]
    own = dict(os.environ)
    slurm = {name: value for name, value in own.items() if name.startswith(("SLURM", "MUSTER_")) or name == "PATH"}
    chosen = dict(own) if "ALL" in items or not items else slurm
    for item in items:
        name, has_value, value = item.partition("=")
        if has_value:
            chosen[name] = value
        elif name in own:
            chosen[name] = own[name]
    own_functions = ("BASH_FUNC_srun%%", "BASH_FUNC_scontrol%%")  # those of the launcher, for the script alone
    return {name: value for name, value in chosen.items() if name not in own_functions}


def _standard_input(step: Step) -> bytes:
    """What every task reads, as in Slurm: the file of --input, or what srun itself is given."""
    path = step.options.get("input", "")
    if path and path not in ("none", "all"):
        with open(path, "rb") as file:
            return file.read(_MOST_BYTES)
    kind = os.fstat(0).st_mode if path != "none" else stat.S_IFCHR
    return sys.stdin.buffer.read(_MOST_BYTES) if stat.S_ISREG(kind) or stat.S_ISFIFO(kind) else b""


class _Streams:
    """Where the output of tasks goes: to that of srun, with a label in front of each line, or to files. Lines of
    different tasks are not mixed."""

    def __init__(self, step: Step, number: int) -> None:
        self._step = step
        self._number = number
        self._rests: dict[tuple[int, bool], bytes] = {}
        self._since: dict[tuple[int, bool], float] = {}
        """When the rest of a line came."""
        self._files: dict[str, Any] = {}
        self._unwritable: set[str] = set()
        self._lock = threading.Lock()
        options = step.options
        self._is_labelled = "label" in options
        self.is_plain = step.count == 1 and not any(name in options for name in ("label", "output", "error"))

    def write(self, rank: int, is_error: bool, content: bytes) -> None:
        with self._lock:
            whole, end, rest = (self._rests.pop((rank, is_error), b"") + content).rpartition(b"\n")
            if self._is_labelled:
                whole = b"\n".join(b"%d: %s" % (rank, line) for line in whole.split(b"\n"))
            elif "unbuffered" in self._step.options or len(rest) > _LONGEST_LINE:
                end, rest = end + rest, b""
            if end:
                self._put(rank, is_error, whole + end)
            if rest:
                self._rests[rank, is_error] = rest
                self._since[rank, is_error] = time.monotonic()

    def show_late(self) -> None:
        """Shows the beginnings of lines that have waited long enough for their ends."""
        if self._is_labelled:
            return
        with self._lock:
            for key in [key for key in self._rests if time.monotonic() - self._since[key] > _LINE_WITHIN_S]:
                self._put(*key, self._rests.pop(key))

    def close(self) -> None:
        with self._lock:
            for (rank, is_error), rest in self._rests.items():
                self._put(rank, is_error, b"%d: %s\n" % (rank, rest) if self._is_labelled else rest)
            for file in self._files.values():
                with suppress(OSError):  # what could not be written is still there
                    file.close()

    def _put(self, rank: int, is_error: bool, content: bytes) -> None:
        options = self._step.options
        pattern = options.get("error") if is_error and "error" in options else options.get("output")
        where = self._path(pattern, rank) if pattern else ("standard error" if is_error else "standard output")
        if where in self._unwritable:
            return
        try:
            stream = self._file(where) if pattern else (sys.stderr.buffer if is_error else sys.stdout.buffer)
            stream.write(content)
            stream.flush()
        except OSError as error:
            # The tasks go on and are read, as they are with Slurm: a task whose output nobody takes would never end.
            self._unwritable.add(where)
            if not isinstance(error, BrokenPipeError):
                print(f"srun: error: {where} cannot be written: {error.strerror}", file=sys.stderr, flush=True)

    def _file(self, path: str) -> Any:
        if path not in self._files:
            self._files[path] = open(path, "wb")  # noqa: SIM115 - open until the step ends
        return self._files[path]

    def _path(self, pattern: str, rank: int) -> str:
        task = self._step.tasks[rank]
        known = {
            "t": rank, "n": task["position"], "s": self._number, "N": self._step.all_nodes[task["node"]],
            "j": os.environ.get("SLURM_JOB_ID", ""), "J": f"{os.environ.get('SLURM_JOB_ID', '')}.{self._number}",
            "x": os.environ.get("SLURM_JOB_NAME", ""), "u": os.environ.get("USER", ""),
        }  # fmt: skip

        def value(match: "re.Match[str]") -> str:
            return "%" if match[2] == "%" else str(known.get(match[2], match[0])).zfill(int(match[1] or 0))

        return re.sub(r"%(\d*)([A-Za-z%])", value, pattern)


def _spawn(
    tasks: list[dict[str, Any]],
    cwd: str,
    given: bytes,
    streams: Any,
    ended: Callable[[int, int], None],
    stops: list[Callable[[int], None]],
) -> None:
    """Starts the tasks on this node. Each has a thread that reads its output and waits for its end."""
    pipe = subprocess.PIPE
    out = None if streams.is_plain else pipe
    for task in tasks:
        env = _with_devices(task["env"], task["gpus"])
        source = pipe if given else subprocess.DEVNULL
        try:
            process = subprocess.Popen(task["argv"], env=env, cwd=cwd, stdin=source, stdout=out, stderr=out)
        except OSError as error:
            print(f"srun: error: {task['argv'][0]}: {error.strerror}", file=sys.stderr, flush=True)
            ended(task["rank"], 2)
            continue
        stops.append(process.send_signal)
        threading.Thread(target=_attend, args=(process, task["rank"], given, streams, ended), daemon=True).start()


def _attend(process: "subprocess.Popen[bytes]", rank: int, given: bytes, streams: Any, ended: Any) -> None:
    def read(stream: Any, is_error: bool) -> None:
        while True:
            content = os.read(stream.fileno(), 1 << 16)
            if not content:
                return
            streams.write(rank, is_error, content)

    readers = [
        threading.Thread(target=read, args=(stream, place == 1), daemon=True)
        for place, stream in enumerate((process.stdout, process.stderr))
        if stream is not None
    ]
    for reader in readers:
        reader.start()
    if process.stdin is not None:
        try:
            process.stdin.write(given)
            process.stdin.close()
        except OSError:
            pass
    for reader in readers:
        reader.join()
    code = process.wait()
    ended(rank, 128 - code if code < 0 else code)


def _with_devices(env: dict[str, str], places: list[int] | None) -> dict[str, str]:
    if places is None:
        return env
    found = dict(env)
    for name in _DEVICES:
        listed = [one for one in env.get(name, "").split(",") if one]
        if listed:
            found[name] = ",".join(listed[place] for place in places if place < len(listed))
    found["SLURM_STEP_GPUS"] = ",".join(map(str, places))
    return found


# -- the other nodes -----------------------------------------------------------------------------------------------


def serve() -> int:
    """Waits on a node for what srun asks it to start, until the script has ended."""
    port = int(os.environ["MUSTER_PORT_0"])
    over = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("", port))
        listening.listen(16)
        listening.settimeout(_PAUSE_S)
        while not over.is_set():
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            threading.Thread(target=_answer, args=(connection, over), daemon=True).start()
    return 0


def _answer(connection: socket.socket, over: threading.Event) -> None:
    stops: list[Callable[[int], None]] = []
    try:
        connection.settimeout(30.0)
        order = _prove_as_server(connection)
        connection.settimeout(None)
        if order.get("end"):
            _send(connection, b"k", b"")
            over.set()
            return
        _start(connection, order, stops)
        while True:
            _, content = _receive(connection)
            for stop in stops:
                stop(int(content))
    except (OSError, EOFError, ValueError, Refused):
        for stop in stops:  # srun is gone, and so is its step
            try:
                stop(signal.SIGKILL)
            except OSError:
                pass
    finally:
        connection.close()


def _start(connection: socket.socket, order: dict[str, Any], stops: list[Callable[[int], None]]) -> None:
    lock = threading.Lock()
    own_work, work = os.environ["SLURM_SUBMIT_DIR"], order["work"]
    own = {name: value for name, value in os.environ.items() if _OWN.fullmatch(name)}
    tasks = []
    for task in order["tasks"]:
        kept = {name: value for name, value in task["env"].items() if not _OWN.fullmatch(name)}
        node = {"SLURMD_NODENAME": task["env"]["SLURMD_NODENAME"]}
        env = {name: value.replace(work, own_work) for name, value in kept.items()}
        argv = [word.replace(work, own_work) for word in task["argv"]]
        tasks.append({**task, "argv": argv, "env": {**env, **own, **node}})

    class Streams:
        is_plain = False

        @staticmethod
        def write(rank: int, is_error: bool, content: bytes) -> None:
            with lock:
                _send(connection, b"e" if is_error else b"o", b"%d %s" % (rank, content))

    def ended(rank: int, code: int) -> None:
        with lock:
            _send(connection, b"x", b"%d %d" % (rank, code))

    cwd = order["cwd"].replace(work, own_work)
    _spawn(tasks, cwd if os.path.isdir(cwd) else own_work, base64.b64decode(order["stdin"]), Streams(), ended, stops)


def end() -> int:
    """Tells the other nodes that the script has ended."""
    for endpoint in os.environ["MUSTER_ENDPOINTS_WORKER"].split(",")[1:]:
        with _connected(endpoint) as connection:
            _prove_as_client(connection, {"end": True})
            try:
                _receive(connection)
            except (OSError, EOFError):
                pass
    return 0


def _key() -> bytes:
    path = os.path.join(os.environ["MUSTER_SECRETS"], os.environ["SLURM_MUSTER_KEY"])
    with open(path, "rb") as file:
        return file.read().strip()


def _connected(endpoint: str) -> socket.socket:
    host, _, port = endpoint.rpartition(":")
    until = time.monotonic() + _CONNECT_WITHIN_S
    while True:
        try:
            connection = socket.create_connection((host.strip("[]"), int(port)), timeout=10.0)
        except OSError as error:
            if time.monotonic() > until:
                raise Refused(f"the node {host} does not answer: {error}") from None
            time.sleep(_PAUSE_S)
        else:
            connection.settimeout(None)
            return connection


def _prove_as_client(connection: socket.socket, order: dict[str, Any]) -> None:
    """Each side answers a number of the other with the key, and the order is signed with both."""
    _, theirs = _receive(connection)
    own = secrets.token_bytes(32)
    content = json.dumps(order).encode()
    _send(connection, b"c", own + _signed(b"client", theirs, own, content) + content)
    try:
        _, answer = _receive(connection)
    except (OSError, EOFError):
        answer = b""
    if not hmac.compare_digest(answer, _signed(b"server", theirs, own)):
        raise Refused("the other node and this one do not have the same key")


def _prove_as_server(connection: socket.socket) -> dict[str, Any]:
    own = secrets.token_bytes(32)
    _send(connection, b"n", own)
    _, answer = _receive(connection)
    theirs, signature, content = answer[:32], answer[32:64], answer[64:]
    if not hmac.compare_digest(signature, _signed(b"client", own, theirs, content)):
        raise Refused("somebody without the key of this job has asked")
    _send(connection, b"p", _signed(b"server", own, theirs))
    order: dict[str, Any] = json.loads(content)
    return order


def _signed(*parts: bytes) -> bytes:
    return hmac.new(_key(), b"".join(struct.pack(">I", len(part)) + part for part in parts), hashlib.sha256).digest()


def _send(connection: socket.socket, kind: bytes, content: bytes) -> None:
    connection.sendall(kind + struct.pack(">I", len(content)) + content)


def _receive(connection: socket.socket) -> tuple[bytes, bytes]:
    head = _exactly(connection, 5)
    length = struct.unpack(">I", head[1:])[0]
    if length > 2 * _MOST_BYTES:
        raise ValueError("too long")
    return head[:1], _exactly(connection, length)


def _exactly(connection: socket.socket, length: int) -> bytes:
    content = b""
    while len(content) < length:
        more = connection.recv(min(1 << 16, length - len(content)))
        if not more:
            raise EOFError
        content += more
    return content


def _exit() -> NoReturn:
    code = main(sys.argv[1:])
    with suppress(BrokenPipeError):  # nobody reads it any more
        sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    _exit()
