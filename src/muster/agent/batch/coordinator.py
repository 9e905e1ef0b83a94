"""The first process of an allocation: it starts a runner for each task, tells all of them the addresses of all, and
passes on orders to stop.

`python -I -S -c … ARCHIVE`, with the order of the gang on its standard input: JSON, compressed, as Base64.
"""

from __future__ import annotations

import base64
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections import deque
from typing import Any, Deque, Dict, List, Mapping, Optional, Set, Tuple

from muster.agent.batch.bootstrap import BOOTSTRAP
from muster.agent.batch.compiled import RUN, compiled_path
from muster.agent.batch.link import ADDRESSES, TOKEN, Link, host_of, listening, own_addresses
from muster.agent.batch.node_folder import NodeFolder, new_path, node_name
from muster.agent.batch.relayed import Ask, RelayedGang, RelayedSpool, RelayLink, refusal
from muster.agent.batch.script_output import KilledFor, last_words
from muster.agent.batch.sealing import Sealing
from muster.agent.batch.spool import BEGIN, END, Gang, Spool, load_clearing
from muster.agent.batch.step_output import StepOutput
from muster.agent.batch.step_variables import for_steps
from muster.agent.batch.stop_orders import StopOrders
from muster.agent.batch.strangers import Stranger, Strangers, register
from muster.agent.batch.symbols import resolve_task
from muster.agent.errors import AgentError

START_FAILED = "start-failed"
_LOOK_EVERY_S = 0.2
_ANSWER_WITHIN_S = 1.0
"""A runner whose line is not read by then is told what is known without it."""
_WAKE = "wake"
_PASSED_ON = ("mark", "outputs", "secrets", "usage")
_IN_TURN = ("log", "blob", "output")
"""Pieces of files. Those of all runners wait in one queue, of which one is passed on at a time, so that marks and
orders of others need not wait for a large file."""
SECOND_START = 75
"""The exit code of a job that finds its gang begun already. By sysexits.h it is a temporary failure."""


def main() -> None:
    order = json.loads(zlib.decompress(base64.b64decode(sys.stdin.buffer.read())).decode("utf-8"))
    ask = None if order["is_shared"] else _relay(order)
    gang = Spool(order["root"]).gang(order["key"]) if ask is None else RelayedGang("", ask)
    job, restarts = os.environ.get("SLURM_JOB_ID") or "", int(os.environ.get("SLURM_RESTART_COUNT") or 0)
    if restarts or not gang.begin(job, restarts):
        sys.stderr.write("muster: this gang has begun before; it is not run twice\n")
        sys.exit(SECOND_START)
    sys.exit(Coordinator(order, Spool(order["root"]), gang).run() if ask is None else _run_in_own_folder(order, ask))


def _relay(order: Mapping[str, Any]) -> Ask:
    """What its own environment says about the login node is not for the steps that it starts."""
    return RelayLink(os.environ.pop(ADDRESSES), os.environ.pop(TOKEN), order["key"]).ask


def _run_in_own_folder(order: Mapping[str, Any], ask: Ask) -> int:
    try:
        folder = NodeFolder(new_path())
    except (AgentError, OSError) as error:
        for task in (task for group in order["groups"] for task in group["tasks"]):
            ask(refusal(task["id"], error))
        return 1
    try:
        spool = RelayedSpool(folder.path, ask)
        gang = spool.gang(order["key"])
        os.makedirs(os.path.join(gang.folder, "tasks"), 0o700, exist_ok=True)
        return Coordinator(order, spool, gang).run()
    finally:
        folder.remove()


class Coordinator:
    def __init__(self, order: Mapping[str, Any], spool: Spool, gang: Gang) -> None:
        self._order = order
        self._spool = spool
        self._gang = gang
        self._tasks: List[Dict[str, Any]] = [task for group in order["groups"] for task in group["tasks"]]
        self._token = os.urandom(16).hex()
        self._server = listening()
        self._server.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._strangers = Strangers(self._selector, lambda _: self._token, self._welcome)
        self._links: Dict[str, Link] = {}
        self._hellos: Dict[str, Dict[str, Any]] = {}
        self._codes: Dict[str, int] = {}
        self._stopped: Dict[str, float] = {}
        self._steps: List["subprocess.Popen[bytes]"] = []
        self._said: List[StepOutput] = []
        """What the steps print, in the same order."""
        self._accounted: Set[int] = set()
        """The steps that have ended before others, and whose tasks have ends."""
        self._endings: Dict[str, float] = {}
        """The tasks whose runners ask whether Slurm kills them, and until when they wait for the answer."""
        self._roots = {node_name(): spool.root}
        self._is_planned = False
        self._cannot_begin = False
        self._stop_orders = StopOrders(gang)
        self._pieces: Deque[Tuple[Link, Dict[str, Any]]] = deque()
        self._marked: Set[Tuple[str, str]] = set()
        """The tasks that have told of a beginning or an end, without a shared folder."""

    def run(self) -> int:
        """Returns the exit code of the job: that of the first task that failed."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # the runners are told as well, and end first
        self._selector.register(self._server, selectors.EVENT_READ, None)
        self._wake_on_ends()
        self._steps = [self._step(number, group) for number, group in enumerate(self._order["groups"])]
        compiling = self._compiling()
        # When the gang is gone, what still runs of it ends with this process: Slurm sees to that.
        while any(step.poll() is None for step in self._steps) and not (self._gang.is_gone or self._cannot_begin):
            self._serve()
            self._answer_endings()
            self._pass_orders()
            self._account_for_ended_steps()
        self._serve_rest()
        self._account_for_all()
        if compiling is not None:
            compiling.wait()
        codes = [self._codes[task["id"]] for task in self._tasks if self._codes.get(task["id"])]
        return codes[0] if codes else max((abs(step.returncode or 0) for step in self._steps), default=0)

    def _step(self, number: int, group: Mapping[str, Any]) -> "subprocess.Popen[bytes]":
        port = self._server.getsockname()[1]
        env = {**for_steps(os.environ), ADDRESSES: ",".join([*own_addresses(), str(port)]), TOKEN: self._token}
        component = ["--het-group={}".format(number)] if len(self._order["groups"]) > 1 else []
        if self._order["is_shared"]:
            program = [RUN.format("runner"), self._order["archive"], str(number)]
        else:
            program = [BOOTSTRAP, "runner", str(number)]
        python = [self._order["python"], "-I", "-S", "-c", *program]
        argv = [self._order["srun"], *component, *group["srun"], *python]
        read, write = os.pipe()
        step = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stderr=write)
        os.close(write)
        said = StepOutput(read, self._output())
        self._said.append(said)
        self._selector.register(read, selectors.EVENT_READ, said)
        return step

    def _output(self) -> int:
        """Return where the step writes. With a shared folder, that is the file that the script names."""
        if self._order["is_shared"]:
            return sys.stderr.fileno()
        return os.open(self._gang.output, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _compiling(self) -> "Optional[subprocess.Popen[bytes]]":
        """The next jobs start sooner with a compiled archive. Nothing depends on it."""
        archive = self._order["archive"]
        if not self._order["is_shared"] or os.path.exists(compiled_path(archive)):
            return None
        argv = [self._order["python"], "-I", "-S", "-c", RUN.format("compiling"), archive]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet)

    def _wake_on_ends(self) -> None:
        """The end of a step is noticed at once, so that the nodes are free again."""
        read, write = os.pipe()
        for end in (read, write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(read, selectors.EVENT_READ, _WAKE)

    def _serve(self) -> None:
        for key, _ in self._selector.select(0 if self._pieces else _LOOK_EVERY_S):
            if key.data == _WAKE:
                os.read(key.fd, 4096)
            elif isinstance(key.data, StepOutput):
                self._read(key.data)
            elif key.data is None:
                self._strangers.accept(self._server)
            elif isinstance(key.data, Stranger):
                self._strangers.hear(key.data)
            elif key.data.is_open:
                self._hear(key.data)
        self._strangers.drop_late()
        self._pass_on_piece()

    def _read(self, said: StepOutput) -> None:
        said.read()
        if not said.is_open:
            self._selector.unregister(said.pipe)

    def _answer_endings(self) -> None:
        for task, until in list(self._endings.items()):
            said = self._said[int(self._hellos[task]["group"])]
            if said.has_ending(task) or not said.is_open or time.monotonic() >= until:
                del self._endings[task]
                killed = said.killed_for is not KilledFor.NOTHING
                self._links[task].send({"what": "answer", "killed": killed})

    def _welcome(self, connection: socket.socket, received: bytes, key: str, sealing: Optional[Sealing]) -> None:
        try:
            link = Link(connection, received, sealing)
        except OSError:
            connection.close()
            return
        register(self._selector, link.fileno(), link)
        if received:
            self._hear(link)

    def _pass_on_piece(self) -> None:
        if self._pieces:
            link, message = self._pieces.popleft()
            self._pass_on(link, message)

    def _pass_on(self, link: Link, message: Dict[str, Any]) -> None:
        assert isinstance(self._spool, RelayedSpool)
        if message["what"] == "mark":
            self._marked.add((message["task"], message["name"]))
        link.send({**self._spool.passed_on(message), "what": "answer"})

    def _serve_rest(self) -> None:
        """Take what the runners said before they ended."""
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, Link):
                key.data.connection.settimeout(1.0)
                while key.data.is_open and key.data in self._links.values():
                    self._pass_on_piece()
                    self._hear(key.data)
        while self._pieces:
            self._pass_on_piece()

    def _hear(self, link: Link) -> None:
        fd = link.fileno()
        for message in link.receive():
            self._take(link, message)
        if not link.is_open:
            self._selector.unregister(fd)

    def _take(self, link: Link, message: Dict[str, Any]) -> None:
        if message["what"] == "archive":
            with open(sys.argv[1], "rb") as file:
                link.send({"data": file.read()})
        elif message["what"] in _PASSED_ON and isinstance(self._spool, RelayedSpool):
            self._pass_on(link, message)
        elif message["what"] in _IN_TURN and isinstance(self._spool, RelayedSpool):
            self._pieces.append((link, message))
        elif message["what"] == "hello":
            group, place = int(message["group"]), int(message["place"])
            task = self._order["groups"][group]["tasks"][place]
            self._links[task["id"]] = link
            self._hellos[task["id"]] = {**message, "peer": link.peer_address}
            link.send({"what": "task", "id": task["id"], "ports": task["ports"]})
        elif message["what"] == "ready":
            self._hellos[message["id"]]["ports"] = message["ports"]
            self._plan()
        elif message["what"] == "ending":
            self._endings[message["id"]] = time.monotonic() + _ANSWER_WITHIN_S
        elif message["what"] == "ended":
            self._codes[message["id"]] = int(message["code"])

    def _plan(self) -> None:
        """Send every task its order, once all of them are there and have their ports."""
        if self._is_planned or any("ports" not in self._hellos.get(task["id"], {}) for task in self._tasks):
            return
        self._is_planned = True
        hosts = {task["rank"]: self._host(self._hellos[task["id"]]) for task in self._tasks}
        ports = {task["rank"]: self._hellos[task["id"]]["ports"] for task in self._tasks}
        for task in self._tasks:
            root = self._root(str(self._hellos[task["id"]]["node"]))
            start = {"what": "start", "root": root, "is_shared": self._order["is_shared"]}
            self._links[task["id"]].send({**start, "order": resolve_task(task, hosts, ports)})
        load_clearing()

    def _root(self, node: str) -> str:
        """Return the job's folder on a node. Its name differs from node to node, so that none gives away another."""
        return self._spool.root if self._order["is_shared"] else self._roots.setdefault(node, new_path())

    def _host(self, hello: Mapping[str, Any]) -> str:
        if hello.get("address"):
            return str(hello["address"])
        return host_of((str(hello["node"]), str(hello["host"]), str(hello["peer"])))

    def _pass_orders(self) -> None:
        for task, grace_s in self._stop_orders.read().items():
            link = self._links.get(task)
            if link is not None and self._is_planned and grace_s < self._stopped.get(task, float("inf")):
                self._stopped[task] = grace_s
                link.send({"what": "stop", "grace_s": grace_s})

    def _account_for_ended_steps(self) -> None:
        """While other steps go on, Slurm says nothing of a step that has ended. Without some of its tasks, a gang
        cannot begin."""
        ended = [number for number, step in enumerate(self._steps) if step.poll() is not None]
        if len(ended) == len(self._steps):
            return
        for number in ended:
            uids = [task["id"] for task in self._order["groups"][number]["tasks"]]
            is_heard = not any(uid in self._links and self._links[uid].is_open for uid in uids)
            if number in self._accounted or self._said[number].is_open or not is_heard or self._pieces:
                continue
            self._accounted.add(number)
            if not self._is_planned:
                self._cannot_begin = True
            elif self._said[number].killed_for is KilledFor.NOTHING and self._gang.facts() is not None:
                self._gang.look(uids)
                for uid in uids:
                    self._write_lost(uid)

    def _write_lost(self, uid: str) -> None:
        """Its runner was killed, or could not write."""
        if not self._has_told(uid, END):
            self._spool.write_mark(self._gang, uid, END, {"at": time.time(), "kept": {"phase": "lost"}})

    def _account_for_all(self) -> None:
        """A task that could not write down its end has one all the same, with what is known of its cause. A gang whose
        folder is gone was settled meanwhile."""
        for said in self._said:
            said.read()
        if self._gang.facts() is None:
            return
        self._gang.look(task["id"] for task in self._tasks)
        for number, group in enumerate(self._order["groups"]):
            for task in group["tasks"]:
                if not self._has_told(task["id"], END):
                    self._write_end(task["id"], self._said[number].killed_for)

    def _has_told(self, uid: str, name: str) -> bool:
        return (uid, name) in self._marked or self._gang.mark(uid, name) is not None

    def _write_end(self, uid: str, why: KilledFor) -> None:
        has_begun = self._has_told(uid, BEGIN)
        end: Dict[str, Any] = {"at": time.time()}
        if why is KilledFor.MEMORY:
            end["kept"] = {"phase": "ended", "signal": int(signal.SIGKILL), "oom": True}
        elif why is KilledFor.SOMEBODY and uid not in self._gang.orders():
            words = "its step of job {} was cancelled in Slurm".format(os.environ.get("SLURM_JOB_ID"))
            end.update(kept={"phase": "ended", "cancelled": words}, unless_slurm_knows=True)
        elif not has_begun:
            words = "srun started no process for it: {}".format(last_words(self._gang.output))
            end.update(error=START_FAILED, message=words, unless_slurm_knows=True)
        else:
            return
        os.makedirs(self._gang.task_folder(uid), 0o700, exist_ok=True)  # without a shared folder, it is gone
        self._spool.write_mark(self._gang, uid, END, end)


def unpacked(text: str) -> Optional[Dict[str, Any]]:
    """The order inside a script, for tests and for people who look at one."""
    try:
        found = json.loads(zlib.decompress(base64.b64decode(text)).decode("utf-8"))
    except (ValueError, zlib.error):
        return None
    return found if isinstance(found, dict) else None


if __name__ == "__main__":
    socket.setdefaulttimeout(None)
    main()
