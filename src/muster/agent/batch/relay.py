"""The way back from allocations that share no folder with the login node: they connect here, and what they say is
written to the spool as if they had written it themselves.

Each request has an answer. A connection belongs to one gang, whose token both ends must know (see `sealing`). Until
that is proven, it costs no thread. Gangs that an earlier release has submitted show their token instead.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional

from muster.agent import requests
from muster.agent.batch.door import Door
from muster.agent.batch.gang_secrets import kept
from muster.agent.batch.kept_logs import KeptLogs
from muster.agent.batch.kept_outputs import KeptOutputs, write_told
from muster.agent.batch.link import Link, is_token, listening, own_addresses
from muster.agent.batch.sealing import Sealing
from muster.agent.batch.spool import BEGIN, END, SEALED, Gang, Spool
from muster.agent.errors import AgentError
from muster.agent.node.addresses import address
from muster.agent.node.networks import network_addresses
from muster.agent.system.disk import read_json, write_json
from muster.agent.tasks.port_ranges import DEFAULT_RANGE, candidates, ephemeral_range

PIECE_BYTES = 4 << 20
_PLACE = "relay.json"
Operation = Callable[[Spool, Gang, Mapping[str, Any]], Dict[str, Any]]
_PORTS = (DEFAULT_RANGE[1] + 1, 65535)
"""Those below are for tasks."""
_MOST_TRIES = 200
_MOST_PORTS = 16
_MOST_LINKS = 8
_RETRY_S = 0.5


class Relay:
    """Listens at `port`, if it is not 0, and at the ports of the agents before it, where gangs that run look for it. If
    one is taken, by an agent that is about to leave or by somebody else, it listens there as soon as it is free. Raises
    OSError if `port` is taken."""

    def __init__(self, spool: Spool, outputs: Optional[KeptOutputs] = None, port: int = 0) -> None:
        self._spool = spool
        self._outputs = outputs or KeptOutputs()
        self._logs = KeptLogs()
        own: Dict[str, Operation] = {"output": self._output, "log": self._log, "mark": self._mark}
        self._operations = {**_OPERATIONS, **own}
        self._ports: List[int] = []
        self._links: Dict[str, List[Link]] = {}
        self._lock = threading.Lock()
        self._door = Door(self._token_of, self._welcome, self._shows_token)
        if port:
            self._serve_at(listening(port))
        taken = self._listen_at([known for known in _known_ports(spool) if known != port])
        if not self._ports:
            self._serve_at(_listening_where_no_connection_begins())
        write_json(os.path.join(spool.root, _PLACE), {"ports": [*self._ports, *taken][:_MOST_PORTS]})
        if taken:
            threading.Thread(target=self._listen_later, args=(taken,), daemon=True).start()

    @property
    def port(self) -> int:
        """The port at which new gangs are to look for the relay."""
        return self._ports[0]

    def addresses(self) -> List[str]:
        """The names and addresses by which nodes may reach us, the likeliest first."""
        likely = address(None)
        others = network_addresses()
        is_local = likely.startswith("127.") and others
        return list(dict.fromkeys([*own_addresses(), *([] if is_local else [likely]), *others]))

    def _listen_at(self, ports: List[int]) -> List[int]:
        """Returns those that are taken."""
        taken: List[int] = []
        for port in ports:
            try:
                self._serve_at(listening(port))
            except OSError:
                taken.append(port)
        return taken

    def _listen_later(self, ports: List[int]) -> None:
        while ports:
            time.sleep(_RETRY_S)
            ports = self._listen_at(ports)

    def _serve_at(self, server: socket.socket) -> None:
        self._ports.append(int(server.getsockname()[1]))
        self._door.open(server)

    def _welcome(self, connection: socket.socket, received: bytes, key: str, sealing: Optional[Sealing]) -> None:
        try:
            link = Link(connection, received, sealing)
            threading.Thread(target=self._serve, args=(link, key), daemon=True).start()
        except (OSError, RuntimeError):  # it is gone again, or this account may have no more threads
            connection.close()

    def _serve(self, link: Link, key: str) -> None:
        try:
            self._keep_few(key, link)
            while link.is_open:
                for message in link.receive():
                    link.send(self._answer(self._spool.gang(key), message))
        finally:
            link.close()
            self._left(key, link)

    def _keep_few(self, key: str, link: Link) -> None:
        """A gang needs one connection. The oldest of too many ends."""
        with self._lock:
            links = self._links.setdefault(key, [])
            links.append(link)
            for oldest in links[:-_MOST_LINKS]:
                oldest.hang_up()

    def _left(self, key: str, link: Link) -> None:
        with self._lock:
            links = self._links.get(key, [])
            if link in links:
                links.remove(link)
            if not links:
                self._links.pop(key, None)

    def _answer(self, gang: Gang, message: Mapping[str, Any]) -> Dict[str, Any]:
        try:
            if gang.facts() is None:
                self._outputs.forget(gang.key)
                return {"gone": True}
            return self._operations[str(message.get("what"))](self._spool, gang, message)
        except (AgentError, KeyError, TypeError, ValueError, OSError) as error:
            return {"problem": _words(error)}

    def _token_of(self, message: Mapping[str, Any]) -> Optional[str]:
        return str(self._known(message).get("token") or "") or None

    def _shows_token(self, message: Mapping[str, Any]) -> bool:
        """Whether it is a gang of an earlier release."""
        known = self._known(message)
        return bool(known.get("token")) and not known.get(SEALED) and is_token(message.get("token"), known["token"])

    def _known(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is known of the gang that it names."""
        try:
            gang = self._spool.gang(requests.task_id({"task": message.get("key")}))
            found = gang.facts()
            return found if found is not None else gang.left()
        except (AgentError, TypeError, ValueError, OSError):
            return {}

    def _mark(self, spool: Spool, gang: Gang, message: Mapping[str, Any]) -> Dict[str, Any]:
        task, name = _own_task(gang, message), str(message["name"])
        if name not in (BEGIN, END):
            raise ValueError("there is no mark {!r}".format(name))
        os.makedirs(gang.task_folder(task), 0o700, exist_ok=True)
        if gang.mark(task, name) is None:  # the first counts, whoever tells it again
            spool.write_mark(gang, task, name, message["mark"])
        if name == END:
            self._logs.ended(task)
        return {}

    def _log(self, spool: Spool, gang: Gang, message: Mapping[str, Any]) -> Dict[str, Any]:
        self._logs.take(gang, _own_task(gang, message), message)
        return {}

    def _output(self, spool: Spool, gang: Gang, message: Mapping[str, Any]) -> Dict[str, Any]:
        return self._outputs.take(gang, _own_task(gang, message), message)


def _listening_where_no_connection_begins() -> socket.socket:
    """The next agent has to listen at the same port, for the gangs that run. It could not for as long as the kernel has
    given that port to an outgoing connection of anybody, and for a minute after it."""
    ports = candidates(_PORTS, ephemeral_range())
    first = os.getpid() % max(1, len(ports))
    for port in (ports[first:] + ports[:first])[:_MOST_TRIES]:
        try:
            return listening(port)
        except OSError:
            continue
    return listening()


def _known_ports(spool: Spool) -> List[int]:
    known = read_json(os.path.join(spool.root, _PLACE)) or {}
    return [int(port) for port in known.get("ports") or [known["port"]] if port] if known else []


def _archive(spool: Spool, gang: Gang, message: Mapping[str, Any]) -> Dict[str, Any]:
    with open(os.path.abspath(sys.argv[0]), "rb") as file:
        return {"data": file.read()}


def _begin(spool: Spool, gang: Gang, message: Mapping[str, Any]) -> Dict[str, Any]:
    return {"may": gang.begin(str(message["job"]), int(message["restarts"]))}


def _orders(spool: Spool, gang: Gang, message: Mapping[str, Any]) -> Dict[str, Any]:
    return {"orders": gang.orders()}


def _blob(spool: Spool, gang: Gang, message: Mapping[str, Any]) -> Dict[str, Any]:
    digest = requests.digest(message)
    if digest not in (gang.facts() or {}).get("digests", ()):
        raise ValueError("the gang does not need this archive")
    path = os.path.join(spool.root, "blobs", digest)
    with open(path, "rb") as file:
        file.seek(int(message["offset"]))
        return {"size": os.fstat(file.fileno()).st_size, "data": file.read(PIECE_BYTES)}


def _secrets(spool: Spool, gang: Gang, message: Mapping[str, Any]) -> Dict[str, Any]:
    found = kept(gang.task_folder(_own_task(gang, message)))
    return {"problem": "they were removed, as its end is known"} if found is None else {"secrets": found}


def _usage(spool: Spool, gang: Gang, message: Mapping[str, Any]) -> Dict[str, Any]:
    task, sample = _own_task(gang, message), message["usage"]
    if not isinstance(sample, dict):
        raise ValueError("usage must be an object")
    os.makedirs(gang.task_folder(task), 0o700, exist_ok=True)
    spool.write_usage(gang, task, sample)
    return {}


def _outputs(spool: Spool, gang: Gang, message: Mapping[str, Any]) -> Dict[str, Any]:
    write_told(gang, _own_task(gang, message), message)
    return {}


def _own_task(gang: Gang, message: Mapping[str, Any]) -> str:
    task = requests.task_id(message)
    if task not in (gang.facts() or {})["tasks"]:
        raise ValueError("the gang has no task {!r}".format(task))
    return task


def _words(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


_OPERATIONS: Dict[str, Operation] = {
    "archive": _archive,
    "begin": _begin,
    "orders": _orders,
    "blob": _blob,
    "secrets": _secrets,
    "usage": _usage,
    "outputs": _outputs,
}
