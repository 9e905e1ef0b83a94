"""The operations of a login node: submit, ask, stop, forget; and the tasks whose marks and logs lie in the spool.

Nothing of it is active until the server has said which commands to use, so that other agents are not affected.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Optional, Tuple

from muster.agent import requests
from muster.agent.batch.earlier import end_earlier, read_earlier
from muster.agent.batch.gang_secrets import batch_secrets
from muster.agent.batch.gang_table import GangTable
from muster.agent.batch.kept_logs import LOG_LIMIT
from muster.agent.batch.kept_outputs import LIMIT, read_told
from muster.agent.batch.programs import UNREACHABLE, Programs, failure, optional_user, programs_of
from muster.agent.batch.relay import Relay
from muster.agent.batch.spool import END, SEALED, USAGE, WORK, Spool
from muster.agent.batch.strays import end_strays
from muster.agent.batch.submission import submit
from muster.agent.batch.tasks import BatchTask
from muster.agent.batch.versions import VERSIONS
from muster.agent.errors import BAD_REQUEST, START_FAILED, AgentError
from muster.agent.own_folders import ARCHIVES, UnsafeFolder, own_folder, shared_root
from muster.agent.system.loop import Loop

Answer = Dict[str, Any]
Work = Callable[[], Answer]
_LOOK_EVERY_S = 0.1
_ASKED = frozenset(("squeue", "sacct", "sinfo", "scontrol", "sbatch", "sacctmgr", "sdiag"))
_OUTPUT_BYTES = 4000


class BatchService:
    """`tell` gets the status of a task that has a new mark."""

    def __init__(self, loop: Loop, root: str, tell: Callable[[Mapping[str, Any]], None]) -> None:
        self._loop = loop
        self._root = root
        self._spool = Spool(root)
        self._table = GangTable(self._spool)
        self._relay: Optional[Relay] = None
        self._tell = tell
        self._programs: Optional[Programs] = None

    def operations(self) -> Dict[str, Callable[[Mapping[str, Any]], Work]]:
        return {
            "batch_open": self._open,
            "batch_submit": self._submit,
            "batch_ask": self._ask,
            "batch_gangs": self._gangs,
            "batch_stop": self._stop,
            "batch_cancel": self._cancel,
            "batch_end": self._end,
            "batch_forget": self._forget,
            "batch_output": self._output,
            "batch_outputs": self._outputs,
            "batch_probe": self._probe,
            "batch_usage": self._usage,
            "batch_try": self._try,
            "batch_strays": self._strays,
        }

    def task(self, uid: str) -> Optional[BatchTask]:
        """The task, if it is one of a gang of ours."""
        if self._programs is None:
            return None
        gang = self._spool.gang_of(uid)
        facts = gang.facts()
        return BatchTask(uid, gang) if facts is not None and uid in facts["tasks"] else None

    def work_folder(self, uid: str) -> Optional[str]:
        task = self.task(uid)
        return None if task is None else os.path.join(task.folder, WORK)

    def digests(self) -> FrozenSet[str]:
        """The archives that gangs need which have not ended."""
        if self._programs is None:
            return frozenset()
        return self._table.digests()

    def _open(self, request: Mapping[str, Any]) -> Work:
        programs = programs_of(request)
        is_first, is_relayed = self._programs is None, bool(request.get("relay"))
        address = str(request.get("relay_address") or "")
        port = requests.whole_number(request, "relay_port", 0, 65535) if request.get("relay_port") else 0
        self._programs = programs
        self._spool.make()
        if is_first:
            self._table.load()
            self._look()

        def version() -> Answer:
            found = programs.run(["sbatch", "--version"])
            if found.code != 0:
                raise failure(found, "sbatch does not work on the login node")
            return {"version": found.out.strip(), "relay": self._way_back(address, port) if is_relayed else None}

        return version

    def _way_back(self, address: str, port: int) -> str:
        """Where allocations without a shared folder find this agent. Those that run go on with the port before."""
        if self._relay is None or (port and self._relay.port != port):
            try:
                self._relay = Relay(self._spool, port=port)
            except OSError as error:
                words = "the agent cannot listen at port {} of the login node: {}".format(port, error.strerror)
                raise AgentError(UNREACHABLE, words) from None
        return ",".join([*([address] if address else self._relay.addresses()), str(self._relay.port)])

    def _submit(self, request: Mapping[str, Any]) -> Work:
        programs, key = self.programs(), requests.task_id({"task": request.get("key")})
        options = list(requests.argument_list(["sbatch", *_texts(request, "options")])[1:])
        user, script = optional_user(request), requests.data(request, 1 << 24)
        facts: Dict[str, Any] = {
            "name": requests.text(request, "name"),
            "tasks": requests.task_ids(request),
            "digests": _texts(request, "digests"),
            "user": user,
            "amounts": request.get("amounts") or {},
            "token": str(request.get("token") or ""),
            SEALED: True,
            "relay": str(request.get("relay") or ""),
            LOG_LIMIT: _optional_bytes(request, LOG_LIMIT),
            LIMIT: _optional_bytes(request, LIMIT),
        }
        gang, secrets = self._spool.gang(key), batch_secrets(request.get("secrets"))
        if not set(secrets) <= set(facts["tasks"]):
            raise requests.bad_request("secrets must be of tasks of the gang")

        earlier, shared = read_earlier(request.get("earlier")), str(request.get("shared") or "")

        def end() -> None:
            _check_shared(shared, os.path.basename(self._root))
            end_earlier(programs, self._spool, earlier)

        def work() -> Answer:
            try:
                return {"job": submit(programs, gang, facts, options, script, user, secrets, end)}
            finally:
                self._table.refresh(key)

        return work

    def _ask(self, request: Mapping[str, Any]) -> Work:
        """Runs several commands that change nothing, and answers with what each has printed."""
        programs = self.programs().asking()
        asked = request.get("asked")
        if not isinstance(asked, list):
            raise requests.bad_request("asked must be a list of commands")
        commands = [requests.argument_list(command) for command in asked]
        if not all(_is_question(command) for command in commands):
            raise requests.bad_request("only commands that change nothing may be asked")
        return lambda: {"answers": [_answer(programs, command) for command in commands]}

    def _gangs(self, request: Mapping[str, Any]) -> Work:
        """What has changed of the gangs. The files of those in `reread` are read again first, also without news."""
        self.programs()
        table, version = request.get("table"), requests.whole_number(request, "version", 0, 1 << 62)
        keys = [requests.task_id({"task": key}) for key in _texts(request, "reread")]

        def read() -> Answer:
            for key in keys:
                self._table.reread(key)
            return self._table.since(str(table), version)

        return read

    def _stop(self, request: Mapping[str, Any]) -> Work:
        """Write the order down. The coordinator of the gang looks for it."""
        self.programs()
        tasks, grace_s = requests.task_ids(request), requests.seconds(request, "grace_s")

        def stop() -> Answer:
            unknown: List[str] = []
            for uid in tasks:
                task = self.task(uid)
                if task is None:
                    unknown.append(uid)
                else:
                    task.gang.add_orders({uid: grace_s})
                    self._table.refresh(task.gang.key)
            return {"unknown": unknown}

        return stop

    def _cancel(self, request: Mapping[str, Any]) -> Work:
        programs, gang = self.programs(), self._spool.gang(requests.task_id({"task": request.get("key")}))

        def cancel() -> Answer:
            job = gang.job()
            if job is None:
                return {"cancelled": False}
            found = programs.run(["scancel", job], user=str((gang.facts() or {}).get("user") or ""))
            if found.code != 0 and "invalid job id" not in found.err.lower():
                raise failure(found, "scancel failed")
            return {"cancelled": True}

        return cancel

    def _end(self, request: Mapping[str, Any]) -> Work:
        """Keep the end of a task that could not write it down itself, as the server has learned it from Slurm."""
        self.programs()
        uid, end = requests.task_id(request), request.get("end")
        if not isinstance(end, dict):
            raise requests.bad_request("end must be an object")

        def write() -> Answer:
            task = self.task(uid)
            if task is not None:
                task.gang.look([uid])
            if task is not None and not task.over:
                self._spool.write_mark(task.gang, uid, END, end)
                self._table.refresh(task.gang.key)
            return {}

        return write

    def _forget(self, request: Mapping[str, Any]) -> Work:
        """Nothing of the task is needed any more. Its gang stays known as one that was submitted, until all of it is
        forgotten."""
        self.programs()
        uid, is_final = requests.task_id(request), bool(request.get("final"))

        def forget() -> Answer:
            gang = self._spool.gang_of(uid)
            if self.task(uid) is not None:
                gang.forget(uid)
                self._table.refresh(gang.key)
            if is_final and gang.facts() is None:
                gang.remove()
            return {}

        return forget

    def _output(self, request: Mapping[str, Any]) -> Work:
        """The last that the batch script of a gang has printed."""
        self.programs()
        gang = self._spool.gang(requests.task_id({"task": request.get("key")}))
        return lambda: {"text": _tail(gang.output)}

    def _outputs(self, request: Mapping[str, Any]) -> Work:
        """What is missing of the outputs of a task that were sent here, and why."""
        self.programs()
        uid = requests.task_id(request)
        return lambda: {"told": read_told(self._spool.gang_of(uid), uid)}

    def _usage(self, request: Mapping[str, Any]) -> Work:
        """The newest samples of these tasks."""
        self.programs()
        tasks = requests.task_ids(request)

        def read() -> Answer:
            found = {uid: self._spool.gang_of(uid).mark(uid, USAGE) for uid in tasks}
            return {"usage": {uid: sample for uid, sample in found.items() if sample is not None}}

        return read

    def _probe(self, request: Mapping[str, Any]) -> Work:
        """Run a short job on any node, which says what is installed there. `before` are lines of shell that come first,
        and `ends` the exit codes with which they say that something is wrong."""
        programs, options = self.programs(), _texts(request, "options")
        python = requests.text(request, "python") if request.get("python") else ""
        before, ends = str(request.get("before") or ""), request.get("ends") or []
        if not requests.is_clean(before) or not isinstance(ends, list):
            raise requests.bad_request("before must be a text, and ends a list of exit codes")
        script = [before + VERSIONS, "muster-probe", *([python] if python else [])]
        command = ["srun", "--ntasks=1", "--immediate=30", "--time=1", "--quiet", *options, "sh", "-c", *script]

        def probe() -> Answer:
            found = programs.run(command)
            if found.code in ends:
                return {"text": "", "ended": found.code, "said": found.out + found.err}
            if found.code != 0:
                raise failure(found, "no job could be run on a node")
            return {"text": found.out}

        return probe

    def _try(self, request: Mapping[str, Any]) -> Work:
        """Ask whether a job with these options would be accepted. None is submitted."""
        programs, options = self.programs(), _texts(request, "options")

        def attempt() -> Answer:
            found = programs.run(["sbatch", "--test-only", "--output=/dev/null", *options], data=b"#!/bin/sh\n")
            return {"code": found.code, "err": found.err}

        return attempt

    def _strays(self, request: Mapping[str, Any]) -> Work:
        programs, seen = self.programs(), _texts(request, "seen")
        return lambda: {"strays": end_strays(programs, self._spool, seen)}

    def programs(self) -> Programs:
        """Slurm's commands, once the server has said which."""
        if self._programs is None:
            raise AgentError(BAD_REQUEST, "the batch system has not been opened")
        return self._programs

    def _look(self) -> None:
        news: Dict[str, List[str]] = {}
        for uid in self._spool.take_news():
            news.setdefault(self._spool.gang_of(uid).key, []).append(uid)
        for key, uids in news.items():
            self._table.reread(key, uids)
            for task in map(self.task, uids):
                if task is not None:
                    self._tell(task.status())
        self._loop.call_later(_LOOK_EVERY_S, self._look)


def _answer(programs: Programs, command: Tuple[str, ...]) -> Answer:
    found = programs.ask(command)
    return {"code": found.code, "out": found.out, "err": found.err, "away": found.is_away}


def _is_question(command: Tuple[str, ...]) -> bool:
    program, rest = command[0], command[1:]
    if program == "scontrol":
        return "show" in rest or "ping" in rest
    if program == "sbatch":
        return rest == ("--version",)
    if program == "sacctmgr":
        return "show" in rest
    return program in _ASKED


def _check_shared(path: str, name: str) -> None:
    """The shared folder was safe when the agent was started. Nodes are about to run what is in it now, as this account.
    Without one, the path is empty."""
    if not path:
        return
    try:
        root = shared_root(path)
        for folder in (ARCHIVES, name):
            own_folder(root, folder)
    except UnsafeFolder as error:
        raise AgentError(START_FAILED, str(error)) from None
    except OSError as error:
        words = "the folder {} cannot be used: {}".format(path, error.strerror)
        raise AgentError(START_FAILED, words) from None


def _texts(request: Mapping[str, Any], key: str) -> List[str]:
    value = request.get(key) or []
    if not isinstance(value, list) or not all(requests.is_clean(item) for item in value):
        raise requests.bad_request("{} must be a list of texts".format(key))
    return value


def _optional_bytes(request: Mapping[str, Any], key: str) -> Optional[int]:
    return None if request.get(key) is None else requests.whole_number(request, key, 0, 1 << 62)


def _tail(path: str) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _OUTPUT_BYTES))
            return file.read(_OUTPUT_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
