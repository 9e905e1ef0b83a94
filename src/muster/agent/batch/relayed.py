"""The spool as an allocation has it that shares no folder with the login node: local files, and all that matters is
also told to somebody nearer to the server. The coordinator tells the login node, and runners tell the coordinator.
"""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, Mapping, Optional, Union

from muster.agent.batch.link import Link, connected_to
from muster.agent.batch.node_folder import node_name
from muster.agent.batch.spool import END, LOG, Gang, Spool
from muster.agent.errors import AgentError, from_os_error
from muster.agent.tasks.log_limits import dropped_of

_RETRY_S = 2.0
_GIVE_UP_S = 3600.0
_PIECE_BYTES = 1 << 20
Ask = Callable[[Dict[str, Any]], Dict[str, Any]]


class RelayLink:
    """The coordinator's connection to the login node. While that is away, the gang goes on, and this waits for it."""

    def __init__(self, addresses: str, token: str, key: str) -> None:
        self._addresses, self._token, self._key = addresses, token, key
        self._link: Optional[Link] = None

    def ask(self, message: Dict[str, Any]) -> Dict[str, Any]:
        deadline = time.monotonic() + _GIVE_UP_S
        while True:
            try:
                if self._link is None or not self._link.is_open:
                    self._link = connected_to(self._addresses, self._token, self._key)
                self._link.send(message)
                answer = self._link.receive_one()
            except OSError:
                answer = None
            if answer is not None:
                return answer
            if time.monotonic() > deadline:
                raise OSError("the login node does not answer")
            time.sleep(_RETRY_S)


class RelayedGang(Gang):
    def __init__(self, folder: str, ask: Ask) -> None:
        super().__init__(folder)
        self._ask = ask

    def facts(self) -> Optional[Dict[str, Any]]:
        return None if self.is_gone else {}

    def begin(self, job: str, restarts: int) -> bool:
        return bool(self._ask({"what": "begin", "job": job, "restarts": restarts}).get("may"))

    def orders(self) -> Dict[str, float]:
        answer = self._ask({"what": "orders"})
        self.is_gone = bool(answer.get("gone"))
        found = answer.get("orders") or {}
        return {str(task): float(grace_s) for task, grace_s in found.items()}


def refusal(task: str, error: Union[AgentError, OSError]) -> Dict[str, Any]:
    """The message that a node could not start a task, and why."""
    told = from_os_error(error) if isinstance(error, OSError) else error
    mark = {"at": time.time(), "error": told.code, "message": told.message, "node": node_name()}
    return {"what": "mark", "task": task, "name": END, "mark": mark}


class RelayedSpool(Spool):
    """`root` is a folder that nobody else can enter. `ask` tells of marks, and is asked for archives."""

    def __init__(self, root: str, ask: Ask) -> None:
        super().__init__(root)
        self._ask = ask
        self.make()
        os.makedirs(os.path.join(root, "blobs"), 0o700, exist_ok=True)

    def gang(self, key: str) -> Gang:
        return RelayedGang(os.path.join(self.gangs_folder, key), self._ask)

    def write_mark(self, gang: Gang, task: str, name: str, mark: Mapping[str, Any]) -> None:
        super().write_mark(gang, task, name, mark)
        self._ask({"what": "mark", "task": task, "name": name, "mark": dict(mark)})

    def write_usage(self, gang: Gang, task: str, sample: Mapping[str, Any]) -> None:
        self._ask({"what": "usage", "task": task, "usage": dict(sample)})

    def passed_on(self, message: Mapping[str, Any]) -> Dict[str, Any]:
        """The answer to a request of a runner."""
        return self._ask(dict(message))

    def fetch(self, digest: str) -> None:
        """Get an archive, unless this node has it."""
        path = os.path.join(self.root, "blobs", digest)
        partial = "{}.{}".format(path, os.getpid())
        if os.path.exists(path):
            return
        with open(partial, "wb") as file:
            while True:
                piece = self._ask({"what": "blob", "digest": digest, "offset": file.tell()})
                if "data" not in piece:
                    raise OSError("the archive {} cannot be had: {}".format(digest, piece.get("problem")))
                file.write(piece["data"])
                if file.tell() >= int(piece["size"]):
                    break
        os.rename(partial, path)

    def fetch_secrets(self, gang: Gang, task: str) -> None:
        """Put the secrets of a task into its folder."""
        answer = self._ask({"what": "secrets", "task": task})
        if "secrets" not in answer:
            raise OSError("its secrets cannot be had: {}".format(answer.get("problem")))
        from muster.agent.batch.gang_secrets import batch_secrets, place  # most tasks have none

        place(gang.task_folder(task), batch_secrets({task: answer["secrets"]})[task])


class ShippedLog:
    """Sends what a task has written to its log since it last looked. What was dropped meanwhile is left out."""

    def __init__(self, folder: str, task: str, ask: Ask) -> None:
        self._folder = folder
        self._task = task
        self._ask = ask
        self._sent = 0

    def ship(self) -> None:
        while self.ship_piece():
            pass

    def ship_piece(self) -> bool:
        """Whether there was one. A task may write faster than its log can be sent, and others wait, too."""
        try:
            fd = os.open(os.path.join(self._folder, LOG), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            data = self._next(fd)
        finally:
            os.close(fd)
        if not data:
            return False
        self._ask({"what": "log", "task": self._task, "offset": self._sent, "data": data})
        self._sent += len(data)
        return True

    def _next(self, fd: int) -> bytes:
        dropped = dropped_of(self._folder, fd)
        if dropped is None or dropped.end <= self._sent:
            return os.pread(fd, _PIECE_BYTES, self._sent)
        if dropped.start > self._sent:
            return os.pread(fd, min(_PIECE_BYTES, dropped.start - self._sent), self._sent)
        self._sent = dropped.end
        return os.pread(fd, _PIECE_BYTES, self._sent)
