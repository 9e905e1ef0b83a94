"""The plugins of a Volcano job: the variables and files by which its tasks find each other."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from muster.domain.specs import Framework
from muster.launch.muster_variables import variable_name
from muster.wire.dialects.kubernetes.task_scripts import count_of, task_names, written_file
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

ENV, SVC, SSH, PYTORCH, TENSORFLOW, MPI = "env", "svc", "ssh", "pytorch", "tensorflow", "mpi"
_KNOWN = (ENV, SVC, SSH, PYTORCH, TENSORFLOW, MPI)
_FOLDER = "/etc/volcano"
_USES_SSH = re.compile(r"\b(sshd?|scp|sftp|rsync|pdsh|mpirun|mpiexec|orterun|horovodrun|deepspeed)\b")
_ROLES = {
    PYTORCH: {"master": "master", "worker": "worker"},
    TENSORFLOW: {"ps": "ps", "worker": "worker", "chief": "chief", "evaluator": "evaluator"},
    MPI: {"master": "mpimaster", "worker": "mpiworker"},
}
"""The names of tasks that a plugin expects if its arguments name no others, by the argument that names them."""
_VARIABLES = {PYTORCH: ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"), TENSORFLOW: ("TF_CONFIG",)}


class Plugins:
    """Those that a job asks for, with those that come along with them."""

    def __init__(self, into: Translator, given: Any, at: Path, tasks: Sequence[str], words: str) -> None:
        """`words` are the commands of all tasks: the plugin for ssh only brings keys, and most jobs that have it use no
        ssh. A server for it in each task is needed only by those that do."""
        self._into = into
        self._given = into.mapping(given, at)
        self._at = at
        self._tasks = tasks
        names = set(self._given)
        if SSH in names and MPI not in names and not _USES_SSH.search(words):
            names.remove(SSH)
            message = "has no effect: no command calls ssh or what starts processes by it, such as mpirun"
            into.warn((*at, SSH), message, "--set ssh=true has a server for it in each task")
        self._names = (
            names | ({SVC} if names & {PYTORCH, TENSORFLOW, MPI} else set()) | ({SSH} if MPI in names else set())
        )
        for name in self._given:
            if name not in _KNOWN:
                hint = f"Muster has {', '.join(_KNOWN)}"
                into.refuse((*at, name), f"Muster has no plugin {name}", hint)
            self._arguments_are_known(name)
        if SVC in self._names and not self.has_ssh and self.framework is Framework.NONE:
            message = "tasks that share a node share its address, so they cannot listen at the same port"
            into.warn((*at, SVC), message, "--set where.spread=apart gives each task a node of its own")

    @property
    def has_ssh(self) -> bool:
        return SSH in self._names

    @property
    def framework(self) -> Framework:
        if PYTORCH in self._names:
            return Framework.TORCH
        return Framework.TENSORFLOW if TENSORFLOW in self._names else Framework.NONE

    @property
    def first(self) -> str:
        """The task with rank 0, if a plugin says which."""
        return self._role_of(PYTORCH, "master") if PYTORCH in self._names else ""

    @property
    def variables(self) -> frozenset[str]:
        """What the plugins append to the variables of a container."""
        return frozenset([*self.exports, *(name for plugin in self._names for name in _VARIABLES.get(plugin, ()))])

    @property
    def exports(self) -> dict[str, str]:
        exports: dict[str, str] = {}
        if ENV in self._names:
            exports |= dict.fromkeys(("VC_TASK_INDEX", "VK_TASK_INDEX"), '"$MUSTER_ROLE_INDEX"')
        if SVC in self._names:
            for task in self._tasks:
                name = task.replace("-", "_").upper()
                exports[f"VC_{name}_HOSTS"] = self._hosts(task)
                exports[f"VC_{name}_NUM"] = count_of(_hosts_variable(task))
        if MPI in self._names:
            exports["MPI_HOST"] = self._hosts(self._role_of(MPI, "worker"))
        return exports

    def files(self, words: str) -> list[str]:
        """Lines that write the lists of hosts, if the command of a task reads them."""
        if SVC not in self._names or _FOLDER not in words:
            return []
        return [
            written_file(_FOLDER, f"{task.replace('-', '_')}.host", f"printf %s {self._hosts(task)} | tr , '\\n'")
            for task in self._tasks
        ]

    def _hosts(self, task: str) -> str:
        """Jobs with ssh reach each other by the names of their tasks, others by their addresses."""
        variable = _hosts_variable(task)
        return task_names(task, variable) if self.has_ssh else f'"${variable}"'

    def _role_of(self, plugin: str, argument: str) -> str:
        return self._arguments(plugin).get(argument, _ROLES[plugin][argument])

    def _arguments(self, plugin: str) -> Mapping[str, str]:
        words = self._given.get(plugin)
        pairs = [str(word).lstrip("-").partition("=") for word in words] if isinstance(words, list) else []
        return {key: value for key, _, value in pairs}

    def _arguments_are_known(self, plugin: str) -> None:
        """The variables of TensorFlow follow from the names of the tasks, so other names would make them wrong."""
        if plugin == PYTORCH and self._tasks and self._role_of(PYTORCH, "master") not in self._tasks:
            message = f"there is no task {self._role_of(PYTORCH, 'master')!r}, which is to have rank 0"
            self._into.refuse((*self._at, plugin), message, "--master=NAME names it")
        if plugin != TENSORFLOW:
            return
        for argument, name in self._arguments(plugin).items():
            if argument in _ROLES[TENSORFLOW] and name != argument:
                message = f"Muster takes the task named {argument} for it, not {name}"
                self._into.refuse((*self._at, plugin), message, f"call the task {argument}")


def _hosts_variable(task: str) -> str:
    return f"MUSTER_HOSTS_{variable_name(task)}"
