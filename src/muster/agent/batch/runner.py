"""Runs one task inside an allocation: the process that srun starts for it.

It claims ports on its node, learns the addresses of all tasks from the coordinator, prepares the task's folder, runs
its command in a session of its own, and writes down how that began and ended. It goes on if the coordinator does not.
"""

from __future__ import annotations

import errno
import os
import selectors
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from muster.agent.batch.entry import ENTRY, entry
from muster.agent.batch.given_secrets import has_secrets
from muster.agent.batch.link import Link, connected
from muster.agent.batch.node_folder import NodeFolder, node_name
from muster.agent.batch.node_ports import ClaimedPorts
from muster.agent.batch.own_log import LOOK_EVERY_S, OwnLog
from muster.agent.batch.preparing import Prepared, prepare
from muster.agent.batch.relayed import RelayedSpool, ShippedLog, refusal
from muster.agent.batch.spool import BEGIN, END, WORK, Spool, load_clearing
from muster.agent.batch.step_output import tell_ending
from muster.agent.errors import START_FAILED, AgentError
from muster.agent.node.addresses import address
from muster.agent.system.removal import remove_tree

if TYPE_CHECKING:
    from muster.agent.batch.own_usage import OwnUsage
    from muster.agent.batch.sent_outputs import SentOutputs

_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_SHIP_EVERY_S = 0.2
_SEND_AFTER_GRACE_S = 10.0
_SEND_AFTER_SIGNAL_S = 20.0
"""How long outputs may be sent when the job has to leave: Slurm waits for 30 seconds, and the login node for 15 after
the grace period."""
_KILLED_WITHIN_S = 3.0
"""How long the coordinator may take to say whether Slurm kills the step."""
_KILLED = 128 + int(signal.SIGKILL)
_PASSED_ON = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT)


def main() -> None:
    group = int(sys.argv[2])
    place = int(os.environ.get("SLURM_PROCID") or 0)
    link = connected()
    claimed = ClaimedPorts()
    link.send({"what": "hello", "group": group, "place": place, **_whereabouts()})
    task = link.receive_one()
    if task is None:
        sys.exit("muster: the coordinator is gone")
    link.send({"what": "ready", "id": task["id"], "ports": claimed.claim(int(task["ports"]))})
    start = link.receive_one()
    if start is None:
        sys.exit("muster: the coordinator is gone")
    asking = Asking(link)
    if start["is_shared"]:
        code = Runner(start["order"], group, Spool(start["root"]), link, asking).run()
    else:
        code = _run_in_node_folder(start, group, link, asking)
    claimed.close()
    sys.exit(code)


def _run_in_node_folder(start: Mapping[str, Any], group: int, link: Link, asking: "Asking") -> int:
    try:
        folder = NodeFolder(str(start["root"]))
    except (AgentError, OSError) as error:
        asking.ask(refusal(str(start["order"]["id"]), error))
        return 1
    try:
        return Runner(start["order"], group, RelayedSpool(folder.path, asking.ask), link, asking).run()
    finally:
        folder.leave()


def _whereabouts() -> Dict[str, Any]:
    interface = os.environ.get("MUSTER_BATCH_INTERFACE")
    try:
        own = address(interface) if interface else None
    except AgentError as error:
        words = "muster: {}; see `network.interface` in the cluster file"
        sys.exit(words.format(error.message.replace(" here:", " on {}:".format(node_name()), 1)))
    return {"node": node_name(), "host": socket.gethostname(), "address": own}


class Runner:
    def __init__(self, order: Mapping[str, Any], component: int, spool: Spool, link: Link, asking: "Asking") -> None:
        self._order = order
        self._component = component
        self._uid = str(order["id"])
        self._spool = spool
        self._gang = spool.gang_of(self._uid)
        self._link = link
        self._asking = asking
        self._shipped: Optional[ShippedLog] = None
        if isinstance(spool, RelayedSpool):
            self._shipped = ShippedLog(self._gang.task_folder(self._uid), self._uid, asking.ask)
        self._outputs: Optional[SentOutputs] = None
        self._usage: Optional[OwnUsage] = None
        self._own_log = OwnLog(self._gang.task_folder(self._uid), order.get("log_bytes"))
        self._pid = 0
        self._is_ordered = False
        self._from_outside: Optional[int] = None
        self._kill_at: Optional[float] = None
        self._leave_by: Optional[float] = None
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)

    def run(self) -> int:
        self._listen_to_signals()
        try:
            self._fetch()
            prepared = prepare(self._order, self._spool, self._gang)
            self._start(prepared)
        except (AgentError, OSError) as error:
            code = error.code if isinstance(error, AgentError) else START_FAILED
            message = error.message if isinstance(error, AgentError) else str(error)
            return self._ended({"at": time.time(), "error": code, "message": message}, 1)
        begun = {"at": time.time(), "node": node_name(), "host": socket.gethostname(), "pid": self._pid}
        begun[ENTRY] = entry(self._pid, self._component, self._gang.task_folder(self._uid))
        self._spool.write_mark(self._gang, self._uid, BEGIN, begun)
        self._load_what_ends_it()
        self._measure(prepared)
        return self._follow()

    def _fetch(self) -> None:
        if isinstance(self._spool, RelayedSpool):
            os.makedirs(self._gang.task_folder(self._uid), 0o700, exist_ok=True)
            package = [self._order["package"]] if self._order["package"] else []
            for digest in [*package, *(given["digest"] for given in self._order["inputs"])]:
                self._spool.fetch(digest)
            if self._order.get("has_secrets"):
                self._spool.fetch_secrets(self._gang, self._uid)

    def _listen_to_signals(self) -> None:
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGCHLD, *_PASSED_ON):
            signal.signal(number, lambda *_: None)

    def _start(self, prepared: Prepared) -> None:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(read)
                _become(prepared)
            except OSError as error:
                os.write(write, "{}: {}".format(self._order["argv"][0], error.strerror).encode("utf-8"))
            finally:
                os._exit(127)
        os.close(write)
        self._pid = pid
        with os.fdopen(read, "rb") as refusal:
            words = refusal.read().decode("utf-8", "replace")
        if words:
            os.waitpid(pid, 0)
            raise AgentError(START_FAILED, "the command cannot be started: {}".format(words))

    def _follow(self) -> int:
        selector = selectors.DefaultSelector()
        selector.register(self._wake_read, selectors.EVENT_READ)
        selector.register(self._link, selectors.EVENT_READ)
        while True:
            pid, status, used = os.wait4(self._pid, os.WNOHANG)
            if pid:
                self._take_signals()  # one that has come to both of them may not be told yet
                return self._finish(status, used)
            self._own_log.look()
            self._tell_usage()
            is_behind = self._shipped is not None and self._shipped.ship_piece()
            for message in self._asking.take_unasked():
                self._obey(message)
            for key, _ in selector.select(0 if is_behind else self._wait_s()):
                if key.fd == self._wake_read:
                    self._take_signals()
                else:
                    self._hear(selector)
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._send(signal.SIGKILL)
                self._kill_at = None

    def _measure(self, prepared: Prepared) -> None:
        """The task has started, and does not wait for what measures it."""
        from muster.agent.batch.own_usage import OwnUsage

        self._usage = OwnUsage(self._uid, self._pid, self._gang.task_folder(self._uid), prepared.env)

    def _tell_usage(self) -> None:
        sample = self._usage.take() if self._usage is not None else None
        if sample is not None:
            try:
                self._spool.write_usage(self._gang, self._uid, sample)
            except OSError:
                return  # the disk is full, or the folder gone, which is no reason to end the task

    def _wait_s(self) -> float:
        looking_s = LOOK_EVERY_S if self._shipped is None else _SHIP_EVERY_S
        return looking_s if self._kill_at is None else max(0.0, min(looking_s, self._kill_at - time.monotonic()))

    def _hear(self, selector: selectors.BaseSelector) -> None:
        fd = self._link.fileno()
        for message in self._link.receive():
            self._obey(message)
        if not self._link.is_open:
            selector.unregister(fd)

    def _obey(self, message: Mapping[str, Any]) -> None:
        if message["what"] == "stop":
            self._is_ordered = True
            kill_at = time.monotonic() + float(message["grace_s"])
            self._kill_at = _earlier(self._kill_at, kill_at)
            self._leave_by = _earlier(self._leave_by, self._kill_at + _SEND_AFTER_GRACE_S)
            self._send(signal.SIGTERM)

    def _take_signals(self) -> None:
        try:
            numbers = os.read(self._wake_read, 4096)
        except BlockingIOError:
            return
        for number in numbers:
            if number == signal.SIGTERM:
                self._from_outside = number
                self._leave_by = _earlier(self._leave_by, time.monotonic() + _SEND_AFTER_SIGNAL_S)
                self._send(number)
            elif number in _PASSED_ON:
                self._send(number)

    def _send(self, number: int) -> None:
        if not self._pid:
            return
        try:
            os.killpg(self._pid, number)
        except (ProcessLookupError, PermissionError):
            return

    def _finish(self, status: int, used: Any) -> int:
        self._send(signal.SIGKILL)  # what the command left behind
        self._own_log.ended()
        self._pid = 0
        if self._is_being_killed():
            return self._left()
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = None if number is not None else os.WEXITSTATUS(status)
        end: Dict[str, Any] = {
            "at": time.time(),
            "code": code,
            "signal": number,
            "ordered": self._is_ordered,
            "from_outside": self._from_outside,
            "cpu_s": used.ru_utime + used.ru_stime,
            "memory_bytes": used.ru_maxrss * 1024,
        }
        if self._usage is not None:
            end["used"] = self._usage.ended(end["cpu_s"], end["memory_bytes"])
        self._send_outputs()
        if self._was_killed_by_the_kernel():
            end["kept"] = {"phase": "ended", "signal": int(signal.SIGKILL), "oom": True}
            return self._ended(end, _KILLED)
        return self._ended(end, 128 + number if number is not None else code or 0)

    def _is_being_killed(self) -> bool:
        """Whether Slurm kills the step, so that the end of the command says nothing. What Muster has ordered, and what
        a signal to this process has announced, is known already."""
        if self._is_ordered or self._from_outside is not None:
            return False
        tell_ending(self._uid)
        answer = self._asking.ask({"what": "ending", "id": self._uid}, within_s=_KILLED_WITHIN_S)
        return bool(answer.get("killed"))

    def _was_killed_by_the_kernel(self) -> bool:
        if self._is_ordered or self._from_outside is not None:
            return False
        from muster.agent.batch.own_groups import killed_by_the_kernel

        return killed_by_the_kernel(os.environ.get("SLURM_JOB_ID") or "") > 0

    def _left(self) -> int:
        """The coordinator knows why Slurm kills the step, and writes the end down."""
        if self._shipped is not None:
            self._shipped.ship()
            remove_tree(self._gang.task_folder(self._uid))
        self._link.send({"what": "ended", "id": self._uid, "code": _KILLED})
        return _KILLED

    def _load_what_ends_it(self) -> None:
        """The task has started: what only its end needs is loaded now, while the archive is there."""
        if has_secrets(self._gang.task_folder(self._uid)):
            load_clearing()
        if self._shipped is not None and self._order.get("outputs"):
            from muster.agent.batch.sent_outputs import SentOutputs

            work = os.path.join(self._gang.task_folder(self._uid), WORK)
            self._outputs = SentOutputs(self._uid, work, self._asking.ask, self._is_in_time)

    def _send_outputs(self) -> None:
        if self._shipped is not None and self._outputs is not None:
            self._shipped.ship()
            self._outputs.send(self._order["outputs"])

    def _is_in_time(self) -> bool:
        """Whether more outputs can be sent, by the orders and signals that have come meanwhile."""
        for message in self._asking.take_unasked():
            self._obey(message)
        self._take_signals()
        return self._leave_by is None or time.monotonic() < self._leave_by

    def _ended(self, end: Mapping[str, Any], code: int) -> int:
        if self._shipped is not None:
            self._shipped.ship()
        self._spool.write_mark(self._gang, self._uid, END, {**end, "node": node_name()})
        if self._shipped is not None:
            remove_tree(self._gang.task_folder(self._uid))
        self._link.send({"what": "ended", "id": self._uid, "code": code})
        return code


class Asking:
    """Requests to the coordinator over the link on which its orders come, too."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._unasked: List[Dict[str, Any]] = []

    def ask(self, message: Dict[str, Any], within_s: Optional[float] = None) -> Dict[str, Any]:
        """An empty answer if the coordinator is gone, and nobody can be told, or takes longer than that."""
        self._link.send(message)
        deadline = None if within_s is None else time.monotonic() + within_s
        while self._link.is_open and self._comes_by(deadline):
            for found in self._link.receive():
                if found.get("what") == "answer":
                    return found
                self._unasked.append(found)
        return {}

    def _comes_by(self, deadline: Optional[float]) -> bool:
        if deadline is None:
            return True
        with selectors.DefaultSelector() as selector:
            selector.register(self._link, selectors.EVENT_READ)
            return bool(selector.select(max(0.0, deadline - time.monotonic())))

    def take_unasked(self) -> List[Dict[str, Any]]:
        found, self._unasked = self._unasked, []
        return found


def _earlier(one: Optional[float], other: float) -> float:
    return other if one is None else min(one, other)


def _become(prepared: Prepared) -> None:
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGCHLD, *_PASSED_ON):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    null = os.open(os.devnull, os.O_RDONLY)
    log = os.open(prepared.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(prepared.work)
    try:
        os.execvpe(prepared.argv[0], prepared.argv, prepared.env)
    except OSError as error:
        # As a shell would: the log says what is missing, and the exit code that it was not the program's own.
        os.write(2, "{}: {}\n".format(prepared.argv[0], error.strerror).encode("utf-8"))
        os._exit(_NOT_FOUND if error.errno == errno.ENOENT else _NOT_EXECUTABLE)
