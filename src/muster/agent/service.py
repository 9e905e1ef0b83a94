"""The operations: for each request its checked arguments, the part that does it, and the answer.

Wires the parts of one agent together. It decides nothing itself.
"""

from __future__ import annotations

import os
from concurrent.futures import Future
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple, Union

from muster.agent import requests
from muster.agent.batch.service import BatchService
from muster.agent.batch.task_steps import TaskSteps
from muster.agent.batch.tasks import BatchTask
from muster.agent.diagnostics import Diagnostics
from muster.agent.environments.node_probes import Surroundings
from muster.agent.epoch import Epoch
from muster.agent.errors import BAD_REQUEST, STILL_RUNNING, SYSTEM, TOO_LARGE, AgentError, from_os_error
from muster.agent.execution.attachments import Attachments
from muster.agent.execution.connections import Connections
from muster.agent.execution.executions import Executions
from muster.agent.execution.marks import Marks
from muster.agent.execution.node_commands import NodeCommands
from muster.agent.execution.task_commands import TaskCommands
from muster.agent.files.blobs import BlobStore
from muster.agent.files.operations import Filing
from muster.agent.files.pieces import MAX_READ_BYTES
from muster.agent.gpus.discovery import NOTHING_FOUND, FoundGpus, find_gpus
from muster.agent.gpus.monitoring import GpuWatch
from muster.agent.isolation.accounts import Accounts
from muster.agent.isolation.orders import isolation_order
from muster.agent.isolation.probing import possible
from muster.agent.isolation.task_confinement import isolation_of
from muster.agent.node import addresses, facts
from muster.agent.node.container_watch import ContainerWatch
from muster.agent.node.health_check import health_check
from muster.agent.node.usage import Sampler
from muster.agent.node.usage_push import Metering
from muster.agent.system.channel import Channel
from muster.agent.system.fair_turns import FairTurns
from muster.agent.system.file_identity import FileIdentity
from muster.agent.system.frames import FrameTooLarge, Message
from muster.agent.system.inotify import Inotify
from muster.agent.system.loop import Loop
from muster.agent.system.orphans import OrphanReaping, adopt_orphans
from muster.agent.system.process_exits import ExitWatch
from muster.agent.system.processes import Identity, boot_id
from muster.agent.tasks import launch_request, logs, task_helper
from muster.agent.tasks.accounting import Accounting
from muster.agent.tasks.adoption import Adopting
from muster.agent.tasks.cgroups import find_groups, tag_of
from muster.agent.tasks.checkpoints import Checkpoints
from muster.agent.tasks.containers import Containers
from muster.agent.tasks.input_cache import InputCache
from muster.agent.tasks.launching import Launching
from muster.agent.tasks.log_limits import LogLimiting
from muster.agent.tasks.log_times import LogTiming, read_marks
from muster.agent.tasks.log_watch import LogWatching
from muster.agent.tasks.metric_file import read_metrics
from muster.agent.tasks.outputs import Outputs, work_folders
from muster.agent.tasks.ports import PortLedger
from muster.agent.tasks.retirement import Retiring
from muster.agent.tasks.setup_watch import SetupWatch
from muster.agent.tasks.setups import Setups
from muster.agent.tasks.shim_link import ShimLink
from muster.agent.tasks.site_hooks import SiteHooks
from muster.agent.tasks.stopping import Stopping
from muster.agent.tasks.stragglers import Stragglers
from muster.agent.tasks.table import Task, TaskBook
from muster.agent.tasks.task_exit import Settling
from muster.agent.tasks.task_folder import LOG_TIMES
from muster.agent.tasks.task_helper import HelpedTasks
from muster.agent.tasks.task_secrets import TaskSecrets

_DISCOVERY_S = 9.0
_HARMLESS = frozenset(
    "ping hello list past_ends read_log read_metrics log_times tail_offset watch_log unwatch_log usage exec_read"
    " exec_stop exec_resize connection_read connection_close batch_open batch_ask batch_gangs batch_output".split()
)
"""Operations that change nothing on the node, so that a server of an earlier epoch may still use them."""

Answer = Dict[str, Any]
Operation = Callable[[Mapping[str, Any]], Optional[Answer]]
Work = Callable[[], Answer]
SlowOperation = Callable[[Mapping[str, Any]], Work]
"""Checks its request on the loop; what it answers is the work, done on a thread beside it."""


class Service:
    def __init__(
        self,
        loop: Loop,
        root: str,
        epoch: Epoch,
        port_candidates: List[int],
        diagnostics: Diagnostics,
        unpacking: FairTurns,
    ) -> None:
        self._epoch = epoch
        self._loop = loop
        self._root = root
        self._diagnostics = diagnostics
        self._channel: Optional[Channel] = None
        self._boot = boot_id()
        self._groups = find_groups(tag=tag_of(root))
        self._gpus: Optional[FoundGpus] = None
        self._waiting_hellos: List[Tuple[int, str]] = []

        self._tasks_folder = os.path.join(root, "tasks")
        os.makedirs(self._tasks_folder, 0o700, exist_ok=True)
        self._book = TaskBook(self._tasks_folder, self._task_changed)
        self._containers = Containers(loop, self._boot)
        self._secrets = TaskSecrets(loop, diagnostics.warn)
        self._retiring = Retiring(loop, self._book, root)
        exits = ExitWatch(loop, self._boot)
        self._hooks = SiteHooks(loop, root)
        helped = HelpedTasks(loop, diagnostics.warn)
        self._settling = Settling(self._book, exits, Stragglers(loop, self._boot), helped, self._hooks, self._boot)
        self._stopping = Stopping(loop, self._settling, self._boot)
        self._stopping.on_terminate += [self._containers.terminate, helped.terminate]
        self._stopping.on_kill.append(helped.kill)
        self._ports = PortLedger(port_candidates, self._ports_of_live_tasks)
        adopt_orphans()
        groups_why = self._groups.why if self._groups.processes is None else ""
        self._isolation = possible(root, task_helper.problem(root), groups_why, self._groups.devices_why)
        self._accounts = Accounts(root)
        OrphanReaping(loop)
        self._shim = ShimLink(loop, exits, self._shim_noticed, self._shim_killed)
        self._adopting = Adopting(loop, self._book, self._settling, self._stopping)
        self._blobs = BlobStore(root, self._digests_of_live_tasks)
        prepared = Setups(loop, root, self._book)
        self._launching = Launching(
            self._book,
            self._ports,
            self._groups,
            self._settling,
            self._shim,
            self._blobs,
            self._accounts,
            self._hooks,
            InputCache(diagnostics.warn),
            prepared,
            unpacking,
        )
        inotify = Inotify(loop.add_reader)
        self._watching = LogWatching(loop, inotify, self._log_grown)
        self._limiting = LogLimiting(loop, lambda work: loop.run_blocking(work, lambda done: None))
        self._settling.on_running.append(lambda task: self._limiting.watch(task.folder, task.log_limit))
        self._settling.on_ending.append(lambda task: self._limiting.ended(task.folder))
        self._timing = LogTiming(loop)
        self._settling.on_running.append(lambda task: self._timing.watch(task.folder))
        self._settling.on_ending.append(lambda task: self._timing.ended(task.folder))
        self._settling.on_ending.append(self._containers.ended)
        self._checkpoints = Checkpoints(loop, inotify, self._task_told)
        self._settling.on_running.append(self._checkpoints.watch)
        self._setup_watch = SetupWatch(loop, inotify, self._task_told)
        self._settling.on_running.append(self._setup_watch.watch)
        self._settling.on_ending += [self._setup_watch.ended, prepared.ended]
        self._executions = Executions(loop, self._answer)
        self._exec_marks = Marks(loop, root)
        node_commands = NodeCommands(loop, exits, self._exec_marks, self._executions)
        task_commands = TaskCommands(loop, exits, self._exec_marks, self._executions, self._book, self._boot)
        self._connections = Connections(loop, exits, self._book, task_commands, self._boot, self._answer, self._refuse)
        self._accounting = Accounting(self._book)
        container_watch = ContainerWatch(loop, exits, self._boot, self._accounting.container_ended)
        self._settling.on_running.append(container_watch.running)
        self._settling.on_counted += [container_watch.ended, self._accounting.ended]
        self._batch = BatchService(loop, root, self._batch_told)
        task_steps = TaskSteps(loop, exits, self._batch.task, self._batch.programs, self._push)
        self._attachments = Attachments(loop, self._executions, self._book)
        self._metering = Metering(loop, self._book, container_watch.containers, self._usage_sampled, diagnostics)
        self._operations: Dict[str, Operation] = {
            "ping": self._ping,
            "hello": self._hello,
            "reserve_ports": self._reserve_ports,
            "release_ports": self._release_ports,
            "launch": self._launch,
            "account": self._account,
            "stop": self._stop,
            "list": self._list,
            "retire": self._retire,
            "past_ends": self._past_ends,
            "forget": self._forget,
            "read_log": self._read_log,
            "read_metrics": self._read_metrics,
            "log_times": self._log_times,
            "tail_offset": self._tail_offset,
            "watch_log": self._watch_log,
            "unwatch_log": self._unwatch_log,
            "usage": self._usage,
            "exec_start": node_commands.start,
            "exec_in_task": task_commands.start,
            "attach": self._attachments.start,
            "exec_read": self._executions.read,
            "exec_write": self._executions.write,
            "exec_resize": self._executions.resize,
            "exec_stop": self._executions.stop,
            "connect": self._connections.connect,
            "connection_read": self._connections.read,
            "connection_write": self._connections.write,
            "connection_close": self._connections.close,
            "batch_in_task": task_steps.ask,
        }
        work_of = work_folders(root, self._book)
        self._slow_operations: Dict[str, SlowOperation] = {
            **Filing(identity_of=self._file_identity).operations(),
            **self._blobs.operations(),
            **Outputs(lambda uid: self._batch.work_folder(uid) or work_of(uid)).operations(),
            **self._batch.operations(),
            **prepared.operations(),
            "health_check": health_check,
            **Surroundings(
                lambda: (self._gpus or NOTHING_FOUND).source.source, self._accounts, self._groups, self._file_identity
            ).operations(),
        }

    def begin(self, channel: Channel) -> None:
        self._hooks.begin()
        self._adopting.adopt_all(self._tasks_folder)
        self._groups.remove_unused([task.uid for task in self._book])
        self._retiring.clean_up_after_predecessor()
        self._exec_marks.sweep()
        self._loop.run_blocking(lambda: find_gpus(os.environ), self._gpus_found)
        self._loop.call_later(_DISCOVERY_S, self._stop_waiting_for_gpus)
        self._channel = channel

    def leave(self) -> None:
        """Handles the loss of the connection: commands that people run through it are ended, connections to tasks are
        closed, and tasks continue."""
        self._executions.stop_all()
        self._connections.close_all()

    def handle(self, request: Message) -> None:
        number = request.get("id")
        if not isinstance(number, int):
            self._diagnostics.warn("a request without an id was dropped")
            return
        op = str(request.get("op"))
        try:
            if op not in _HARMLESS:
                self._epoch.check()
            if op in self._slow_operations:
                work = self._slow_operations[op](request)
                self._loop.run_blocking(work, lambda done: self._done(number, op, done))
                return
            operation = self._operations.get(op)
            if operation is None:
                raise AgentError(BAD_REQUEST, "there is no operation {!r}".format(request.get("op")))
            answer = operation(request)
        except Exception as error:
            self._failed(number, op, error)
        else:
            if answer is not None:
                self._answer(number, answer)

    def _done(self, number: int, op: str, done: Future[Answer]) -> None:
        error = done.exception()
        if error is None:
            self._answer(number, done.result())
        else:
            self._failed(number, op, error)

    def _failed(self, number: int, op: str, error: BaseException) -> None:
        if isinstance(error, AgentError):
            self._refuse(number, error)
        elif isinstance(error, OSError):
            self._refuse(number, from_os_error(error))
        else:
            self._diagnostics.crash("{} failed".format(op), error)
            self._refuse(number, AgentError(SYSTEM, "the agent failed: {!r}".format(error)))

    def _ping(self, request: Mapping[str, Any]) -> Answer:
        return {}

    def _hello(self, request: Mapping[str, Any]) -> Optional[Answer]:
        interface = requests.text(request, "interface") if request.get("interface") is not None else None
        self._waiting_hellos.append((request["id"], addresses.address(interface)))
        self._answer_hellos()
        return None

    def _reserve_ports(self, request: Mapping[str, Any]) -> Answer:
        count = requests.whole_number(request, "count", 0, 1000)
        first = requests.whole_number(request, "first", 1, 65535) if request.get("first") is not None else None
        return {"ports": self._ports.reserve(requests.text(request, "owner"), count, first)}

    def _release_ports(self, request: Mapping[str, Any]) -> Answer:
        self._ports.release(requests.text(request, "owner"))
        return {}

    def _launch(self, request: Mapping[str, Any]) -> Answer:
        return {"status": self._launching.launch(launch_request.launch_order(request)).status()}

    def _account(self, request: Mapping[str, Any]) -> Answer:
        order = isolation_order(request.get("isolation"))
        if order is None:
            raise AgentError(BAD_REQUEST, "an account is found for an isolated task only")
        account = self._accounts.account_of(order)
        return {"uid": account.uid, "gid": account.gid, "secret": account.secret}

    def _file_identity(self, request: Mapping[str, Any]) -> Optional[FileIdentity]:
        """The account whose rights hold for a request about files: that of the tasks of the same user."""
        isolation = isolation_of(isolation_order(request.get("isolation")), self._accounts)
        if isolation is None or isolation.account is None or task_helper.is_needed(isolation.account):
            return None
        account = isolation.account
        return FileIdentity(account.uid, account.gid, account.groups)

    def _stop(self, request: Mapping[str, Any]) -> Answer:
        grace_s = requests.seconds(request, "grace_s")
        task = self._book.get(requests.task_id(request))
        if task is None:
            return {"phase": "unknown", "status": None}
        self._stopping.stop(task, grace_s)
        return {"phase": task.phase, "status": task.status()}

    def _list(self, request: Mapping[str, Any]) -> Answer:
        return {"tasks": [task.status() for task in self._book]}

    def _retire(self, request: Mapping[str, Any]) -> Answer:
        uids = requests.task_ids(request)
        for uid in uids:
            self._watching.unwatch(uid)
        return {"retired": self._retiring.retire(uids)}

    def _past_ends(self, request: Mapping[str, Any]) -> Answer:
        return {"tasks": self._retiring.past_ends.of_jobs(frozenset(requests.argument_list(request.get("jobs"))))}

    def _forget(self, request: Mapping[str, Any]) -> Answer:
        uid = requests.task_id(request)
        task = self._book.get(uid)
        if task is not None and not task.over:
            raise AgentError(STILL_RUNNING, "task {} is {}; stop it first".format(uid, task.phase))
        self._watching.unwatch(uid)
        self._retiring.forget(uid)
        return {}

    def _logged(self, request: Mapping[str, Any]) -> Union[Task, BatchTask]:
        uid = requests.task_id(request)
        return self._batch.task(uid) or self._book.require(uid)

    def _read_log(self, request: Mapping[str, Any]) -> Answer:
        task = self._logged(request)
        offset = requests.whole_number(request, "offset", 0, 1 << 62)
        limit = requests.whole_number(request, "limit", 0, MAX_READ_BYTES)
        return logs.read_log(task, offset, limit)

    def _read_metrics(self, request: Mapping[str, Any]) -> Answer:
        task = self._book.require(requests.task_id(request))
        offset = requests.whole_number(request, "offset", 0, 1 << 62)
        limit = requests.whole_number(request, "limit", 0, MAX_READ_BYTES)
        return read_metrics(task.folder, offset, limit, ended=task.over)

    def _log_times(self, request: Mapping[str, Any]) -> Answer:
        task = self._logged(request)
        return {"data": read_marks(os.path.join(task.folder, LOG_TIMES))}

    def _tail_offset(self, request: Mapping[str, Any]) -> Answer:
        task = self._logged(request)
        return {"offset": logs.tail_offset(task, requests.whole_number(request, "lines", 0, 1 << 62))}

    def _watch_log(self, request: Mapping[str, Any]) -> Answer:
        self._watching.watch(self._logged(request))
        return {}

    def _unwatch_log(self, request: Mapping[str, Any]) -> Answer:
        self._watching.unwatch(requests.task_id(request))
        return {}

    def _usage(self, request: Mapping[str, Any]) -> Answer:
        every_s = requests.seconds(request, "every_s")
        watch = GpuWatch(self._gpus or NOTHING_FOUND, self._tasks_folder)
        self._metering.set_interval(Sampler(self._root, watch), every_s)
        return {}

    def _task_changed(self, task: Task) -> None:
        self._task_told(task)
        if task.over:
            self._watching.ended(task)
            self._attachments.ended(task)
            self._checkpoints.ended(task)
            self._secrets.ended(task)

    def _task_told(self, task: Task) -> None:
        self._push({"event": "task", "status": task.status()})

    def _batch_told(self, status: Mapping[str, Any]) -> None:
        self._push({"event": "batch", "status": status})

    def _log_grown(self, task: str, size: int) -> None:
        self._push({"event": "log", "task": task, "size": size})

    def _usage_sampled(self, sample: Dict[str, Any]) -> None:
        self._accounting.sampled(sample)
        if self._channel is not None and not self._channel.congested:
            self._push({"event": "usage", **sample})

    def _shim_noticed(self, notice: Message) -> None:
        task = self._book.get(notice["task"])
        if task is None:
            return
        what = notice["event"]
        if what == "started":
            self._settling.command_started(task, Identity(notice["pid"], notice["start_ticks"], self._boot))
        elif what == "ended":
            self._settling.command_ended(task, notice["code"], left_behind=notice["left"])
        elif what == "refused":
            self._adopting.refused(task)
        else:
            self._settling.not_started(task, notice["errno"])

    def _shim_killed(self, uids: Sequence[str]) -> None:
        self._diagnostics.warn("the parent of {} tasks was killed; they go on".format(len(uids)))
        for task in (self._book.get(uid) for uid in uids):
            if task is not None:
                self._settling.shim_killed(task)

    def _ports_of_live_tasks(self) -> Dict[int, str]:
        return {port: task.uid for task in self._book if not task.over for port in task.ports}

    def _digests_of_live_tasks(self) -> FrozenSet[str]:
        own = frozenset(digest for task in self._book if not task.over for digest in task.digests)
        return own | self._batch.digests()

    def _gpus_found(self, future: Future[FoundGpus]) -> None:
        error = future.exception()
        if error is not None:
            self._diagnostics.crash("cannot look for GPUs", error)
        self._gpus = NOTHING_FOUND if error is not None else future.result()
        self._answer_hellos()

    def _stop_waiting_for_gpus(self) -> None:
        if self._gpus is None:
            self._diagnostics.warn("looking for GPUs takes too long; going on without")
            self._gpus = NOTHING_FOUND
            self._answer_hellos()

    def _answer_hellos(self) -> None:
        if self._gpus is None:
            return
        gpus, waiting, self._waiting_hellos = self._gpus, self._waiting_hellos, []
        for number, address in waiting:
            known = facts.describe(self._root, self._boot, self._groups, gpus, address)
            self._answer(number, {**known, "isolation": self._isolation})

    def _answer(self, number: int, answer: Answer) -> None:
        try:
            self._push({"id": number, "ok": True, **answer})
        except FrameTooLarge as error:
            self._refuse(number, AgentError(TOO_LARGE, str(error)))

    def _refuse(self, number: int, error: AgentError) -> None:
        self._push({"id": number, "ok": False, "error": error.code, "message": error.message})

    def _push(self, message: Mapping[str, Any]) -> None:
        if self._channel is not None:
            self._channel.send(message)
