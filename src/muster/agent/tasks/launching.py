"""Launches tasks: check, write the folder, unpack the package, give up the ports, order the start.

A launch is idempotent by task. What makes a double run impossible is not this code but the shim's claim; here it is
only made unlikely.
"""

from __future__ import annotations

import os
from concurrent.futures import Future
from typing import Dict, List, Mapping, Optional, Sequence

from muster.agent.errors import DISK_FULL, PACKAGE, PROLOG, START_FAILED, TOO_MANY_TASKS, AgentError, from_os_error
from muster.agent.files.blobs import BlobStore, missing
from muster.agent.interaction import held_input
from muster.agent.isolation.accounts import Accounts
from muster.agent.isolation.confined_start import Confinement
from muster.agent.isolation.gpu_files import DeviceNumber
from muster.agent.isolation.task_confinement import Isolation, hand_over, isolation_of
from muster.agent.system.fair_turns import FairTurns
from muster.agent.system.processes import MARK
from muster.agent.system.removal import remove_tree
from muster.agent.tasks import (
    cgroups,
    containers,
    inputs,
    metric_file,
    records,
    setups,
    symlinks,
    task_folder,
    task_helper,
    task_secrets,
    task_ssh,
)
from muster.agent.tasks.input_cache import CachedInput, InputCache
from muster.agent.tasks.launch_request import LaunchOrder
from muster.agent.tasks.packages import unpack
from muster.agent.tasks.ports import PortLedger
from muster.agent.tasks.setups import Setups
from muster.agent.tasks.shim_link import ShimLink
from muster.agent.tasks.site_hooks import SiteHooks
from muster.agent.tasks.table import PREPARING, Task, TaskBook
from muster.agent.tasks.task_exit import Settling
from muster.agent.tasks.task_scripts import TaskScripts

_INHERITED = ("PATH", "HOME", "LANG", "USER", "TMPDIR")


class Launching:
    def __init__(
        self,
        book: TaskBook,
        ports: PortLedger,
        groups: cgroups.Groups,
        settling: Settling,
        shim: ShimLink,
        blobs: BlobStore,
        accounts: Accounts,
        hooks: SiteHooks,
        input_cache: InputCache,
        prepared: Setups,
        unpacking: FairTurns,
    ) -> None:
        self._book = book
        self._ports = ports
        self._groups = groups
        self._settling = settling
        self._shim = shim
        self._blobs = blobs
        self._accounts = accounts
        self._hooks = hooks
        self._input_cache = input_cache
        self._setups = prepared
        self._unpacking = unpacking
        self._module = metric_file.module_archive()

    def launch(self, order: LaunchOrder) -> Task:
        known = self._book.get(order.task)
        if known is not None and (known.under_way or known.over or known.phase != PREPARING):
            return known
        if known is not None and records.is_claimed(known.folder):
            self._settling.resume(known)
            return known
        if known is not None:
            known.under_way = True  # whoever still looks after the old view may stop
            self._book.remove(known)  # its own ports must not stand in its way
        self._require_room(order)
        self._ports.check(order.ports, order.port_owner)
        archives = self._archives(order)
        isolation = isolation_of(order.isolation, self._accounts)
        if order.stdin and _is_helped(order, isolation):
            raise AgentError(START_FAILED, "the task helper of this node cannot start tasks with standard input yet")
        task = self._prepare(order, isolation)
        self._book.add(task)
        if archives:
            self._unpack_then_spawn(task, order, archives, isolation)
        else:
            self._spawn_or_undo(task, order, isolation)
        return task

    def _require_room(self, order: LaunchOrder) -> None:
        """The scheduler counts tasks too; here they are counted as they really are, also those of earlier servers."""
        running = sum(not task.over for task in self._book)
        if order.max_tasks is not None and running >= order.max_tasks:
            message = "{} tasks run on this node, {} are allowed".format(running, order.max_tasks)
            raise AgentError(TOO_MANY_TASKS, message)

    def _archives(self, order: LaunchOrder) -> Dict[str, str]:
        """Returns the path of each archive: the server's own if it has the same disk, else the one in our store."""
        return {
            one.digest: self._blobs.require(one.digest) if one.path is None else one.path for one in order.references
        }

    def _prepare(self, order: LaunchOrder, isolation: Optional[Isolation]) -> Task:
        folder, scripts = self._book.folder_of(order.task), _with_account(order.scripts, isolation)
        account = _account_number(order, isolation)
        try:
            groups = self._groups.create(order.task, order.limits, _closed_devices(order, isolation))
            facts = {
                "task": order.task,
                "argv": order.argv,
                "cwd": order.cwd,
                "ports": order.ports,
                "devices": order.devices,
                "groups": groups,
                "digests": order.digests,
                "log_bytes": order.log_bytes,
                "account": account,
                "scripts": scripts,
                "container": containers.facts_of(order.container),
                "stdin": order.stdin,
                "tty": order.tty,
                "setup": order.setup,
                task_folder.OWN: order.isolation is None,
                task_helper.FACT: _is_helped(order, isolation),
            }
            files = {name: text.encode("utf-8") for name, text in order.files.items()}
            task_folder.prepare(folder, facts, {**files, metric_file.MODULE: self._module})
            if isolation is not None and (isolation.is_confined or order.container is not None):
                task_folder.make_reports(folder)
            if order.package is None:
                task_folder.make_work(folder)
            containers.place_registry(folder, order.container)
            if order.ssh is not None:
                task_ssh.prepare(folder, order.ssh.hosts, None if isolation is None else isolation.account)
            masks = None if order.secrets is None else task_secrets.place(folder, order.secrets)
            self._provide_setup(order, isolation)
        except OSError as error:
            remove_tree(folder)
            raise from_os_error(error) from error
        task = Task(order.task, folder, order.ports, groups, order.digests, order.log_bytes, account)
        task.masks = masks
        task.scripts = scripts
        task.setup = order.setup
        task.under_way = True
        return task

    def _provide_setup(self, order: LaunchOrder, isolation: Optional[Isolation]) -> None:
        if order.setup is None:
            return
        if _is_helped(order, isolation):
            setups.make_in_task_folder(order.task, order.setup)
        else:
            self._setups.provide(order.task, order.setup, None if isolation is None else isolation.account)

    def _spawn_or_undo(self, task: Task, order: LaunchOrder, isolation: Optional[Isolation]) -> None:
        try:
            self._spawn(task, order, isolation)
        except (AgentError, OSError) as error:
            self._book.remove(task)
            cgroups.remove(task.groups)
            remove_tree(task.folder)
            raise error if isinstance(error, AgentError) else from_os_error(error) from error

    def _unpack_then_spawn(
        self, task: Task, order: LaunchOrder, archives: Mapping[str, str], isolation: Optional[Isolation]
    ) -> None:
        finish = inputs.make_read_only if _secret(isolation) == "" else inputs.make_readable_by_all
        work = os.path.join(task.folder, task_folder.WORK)
        used = {digest for other in self._book if other is not task and not other.over for digest in other.digests}

        def unpack_all() -> None:
            if order.package is not None:
                unpack(archives[order.package.digest], order.package.digest, work)
            for one in order.inputs:
                content = self._blobs.input_folder(one.digest, _secret(isolation))
                cached = CachedInput(one.digest, archives[one.digest], content, self._blobs.input_record(content))
                self._input_cache.provide(cached, finish, is_used=one.digest in used)
                inputs.place(one, content, work)

        def unpacked(future: Future[None]) -> None:
            if not task.over:  # it may have been stopped meanwhile
                self._after_unpacking(task, order, isolation, _real_cause(order, archives, future.exception()))

        owner = "" if order.isolation is None else order.isolation.owner
        self._unpacking.run(owner, unpack_all, unpacked)

    def _after_unpacking(
        self, task: Task, order: LaunchOrder, isolation: Optional[Isolation], error: Optional[BaseException]
    ) -> None:
        if error is not None:
            self._settling.fail(task, _unpacking_failure(error))
            return
        try:
            self._book.remove(task)
            self._ports.check(order.ports, order.port_owner)
            self._book.add(task)
            self._spawn(task, order, isolation)
        except AgentError as failure:
            self._book.add(task)
            self._settling.fail(task, failure)
        except OSError as failure:
            self._settling.fail(task, from_os_error(failure))

    def _spawn(self, task: Task, order: LaunchOrder, isolation: Optional[Isolation]) -> None:
        work = os.path.join(task.folder, task_folder.WORK)
        cwd = order.cwd or work
        _link(work, order.links)
        names = [task_folder.CHECKPOINT, task_folder.TRACKING, task_folder.METRICS, *_own_files(order)]
        trees = [task_folder.WORK, *_private_folders(order)]
        trees += [task_folder.SETUP] if order.setup is not None and _is_helped(order, isolation) else []
        if isolation is not None and isolation.account is not None and not task_helper.is_needed(isolation.account):
            hand_over(task.folder, [task_folder.LOG, *names], trees, isolation.account)
        joining = self._groups.joining(task.groups, order.limits)
        env, confinement = _environment(order, task, isolation, work), self._confinement(task, order, isolation)
        argv: Sequence[str] = order.argv
        given = None
        if isolation is not None and isolation.account is not None and _is_helped(order, isolation):
            os.chmod(task.folder, 0o711)
            contents = self._contents(order, isolation)
            given = task_helper.start_order(isolation.account, [*names, *trees], contents, cwd, argv, env)
            argv, env, cwd = task_helper.start_command(task.folder), task_helper.ENVIRONMENT, work

        def start(problem: str) -> None:
            if task.over:
                return  # it was stopped while the prolog ran
            if problem:
                self._settling.fail(task, AgentError(PROLOG, problem))
                return
            self._ports.let_go(order.ports)
            stdin = _stdin(order)
            self._shim.start(task.uid, task.folder, cwd, joining, argv, env, confinement, order.log_bytes, given, stdin)

        self._hooks.before(task, task.scripts, start)

    def _confinement(self, task: Task, order: LaunchOrder, isolation: Optional[Isolation]) -> Optional[Confinement]:
        if isolation is None or not isolation.is_confined or _needs_agent(order, isolation):
            return None
        if _is_helped(order, isolation):
            return None
        reports = (task_folder.CHECKPOINT, task_folder.TRACKING, task_folder.METRICS)
        own = [(name, False) for name in (task_folder.WORK, *reports)]
        own += [(name, True) for name in (*order.files, metric_file.MODULE, *_secrets_folder(order))]
        own += [] if order.ssh is None else [(task_folder.SSH, False)]
        parts = [(os.path.join(task.folder, name), is_read_only) for name, is_read_only in own]
        contents = self._contents(order, isolation)
        shared = [] if order.setup is None else [order.setup.entry]
        given = isolation.confinement(task.folder, parts, contents, order.devices, order.device_files, shared)
        if order.ssh is not None:
            given = given._replace(replaced=task_ssh.replaced(task.folder, is_namespaced=given.namespaced))
        return given._replace(root_files=order.root_files)

    def _contents(self, order: LaunchOrder, isolation: Isolation) -> List[str]:
        return [self._blobs.input_folder(one.digest, _secret(isolation)) for one in order.inputs]


def _stdin(order: LaunchOrder) -> Optional[str]:
    """The client of a container engine takes the terminal itself, because a script goes before it."""
    if not order.tty:
        return held_input.PIPE if order.stdin else None
    is_clients = order.container is not None and order.container.name != ""
    return held_input.FREE_TERMINAL if is_clients else held_input.TERMINAL


def _link(work: str, wanted: Mapping[str, str]) -> None:
    """Makes the links. A file in the way of one came with the package, so the job would fail on any other node too."""
    try:
        symlinks.make(work, wanted)
    except (FileExistsError, NotADirectoryError) as error:
        raise AgentError(PACKAGE, str(error.strerror)) from error


def _real_cause(
    order: LaunchOrder, archives: Mapping[str, str], error: Optional[BaseException]
) -> Optional[BaseException]:
    """An archive of our own store that is gone is not the fault of who packed it: it was removed meanwhile."""
    gone = [one for one in order.references if one.path is None and not os.path.exists(archives[one.digest])]
    return missing(gone[0].digest) if error is not None and gone else error


def _unpacking_failure(error: BaseException) -> AgentError:
    if isinstance(error, AgentError):
        return error
    failure = from_os_error(error) if isinstance(error, OSError) else AgentError(PACKAGE, str(error))
    return failure if failure.code == DISK_FULL else AgentError(PACKAGE, failure.message)


def _wished(order: LaunchOrder, folder: str) -> Mapping[str, str]:
    """Returns the variables to start with. With a container, the engine's client needs its own, too. An image may have
    a search path of its own for Python, which would be lost."""
    if order.container:
        return {**containers.client_environment(os.environ), **order.env}
    return metric_file.with_module(order.env, folder)


def _environment(order: LaunchOrder, task: Task, isolation: Optional[Isolation], work: str) -> Dict[str, str]:
    if isolation is None or _needs_agent(order, isolation):
        return environment(_wished(order, task.folder), os.environ, task)
    inherited = isolation.environment(os.environ, work)
    wished = metric_file.with_module(order.env, task.folder)
    return {**inherited, **wished, "MUSTER_TASK_UID": task.uid, MARK: task.folder}


def _with_account(scripts: Optional[TaskScripts], isolation: Optional[Isolation]) -> Optional[TaskScripts]:
    """The scripts with the account of the task among their variables, if it is not the agent's own."""
    if scripts is None or isolation is None or isolation.account is None:
        return scripts
    account = isolation.account
    known = {"MUSTER_ACCOUNT": account.name, "MUSTER_UID": str(account.uid), "MUSTER_GID": str(account.gid)}
    return scripts._replace(variables={**scripts.variables, **known})


def _account_number(order: LaunchOrder, isolation: Optional[Isolation]) -> Optional[int]:
    if isolation is None or isolation.account is None or _needs_agent(order, isolation):
        return None
    return isolation.account.uid


def _needs_agent(order: LaunchOrder, isolation: Isolation) -> bool:
    """A container confines its task itself, and the client that starts it needs the agent's rights. An engine that
    keeps no container runs the task as its own child, and so under the same account: never that of the agent, if
    the task has one."""
    return order.container is not None and (order.container.name != "" or isolation.account is None)


def _is_helped(order: LaunchOrder, isolation: Optional[Isolation]) -> bool:
    """Whether the task helper starts it, because it has an account and we cannot act under that."""
    if isolation is None or isolation.account is None or _needs_agent(order, isolation):
        return False
    return task_helper.is_needed(isolation.account)


def _own_files(order: LaunchOrder) -> List[str]:
    """The variables of a container are for the engine's client only."""
    return [name for name in (*order.files, metric_file.MODULE) if name != task_folder.CONTAINER_ENV]


def _closed_devices(order: LaunchOrder, isolation: Optional[Isolation]) -> Sequence[DeviceNumber]:
    """In a container, the engine shows the task its own devices only."""
    if isolation is None or _needs_agent(order, isolation):
        return ()
    return isolation.closed_devices(order.devices, order.device_files, order.other_device_files)


def _secrets_folder(order: LaunchOrder) -> List[str]:
    return [task_folder.SECRETS] if order.secrets is not None and order.secrets.files else []


def _private_folders(order: LaunchOrder) -> List[str]:
    return [*_secrets_folder(order), *([] if order.ssh is None else [task_folder.SSH])]


def _secret(isolation: Optional[Isolation]) -> str:
    return "" if isolation is None or isolation.account is None else isolation.account.secret


def environment(wished: Mapping[str, str], own: Mapping[str, str], task: Task) -> Dict[str, str]:
    """Exactly what was asked, the few variables every program expects, and what marks the task's processes."""
    inherited = {name: own[name] for name in _INHERITED if name in own}
    return {**inherited, **wished, "MUSTER_TASK_UID": task.uid, MARK: task.folder}
