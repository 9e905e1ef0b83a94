"""Checks whether the cluster's folders are here, writable, and the same as on other nodes, by a marker file in each.

A process that touches files of a file server that is away hangs for ever and cannot be killed. So every folder is
checked by a child process of its own that has a deadline; while one hangs, no second one is started for that folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from muster.agent.errors import BAD_REQUEST, AgentError

MARKER = ".muster-marker"
PROBE_PREFIX = ".muster-probe-"
ANSWER_WITHIN_S = 10.0
_MOST = 64

# Arguments: path, marker to leave (empty: only look), whether it must be writable, program that must be there.
SCRIPT = r"""
import errno, json, os, stat, sys, time
path, marker, writable, program = sys.argv[1], sys.argv[2], sys.argv[3] == "writable", sys.argv[4]
mark = os.path.join(path, ".muster-marker")

def tell(**found):
    print(json.dumps(found))
    sys.exit(0)

def words(error):
    return os.strerror(error.errno) if error.errno else str(error)

def is_foreign():
    # Anybody who can write to the folder can put something else in the marker's place.
    try:
        return not stat.S_ISREG(os.lstat(mark).st_mode)
    except FileNotFoundError:
        return False

def read():
    for _ in range(20):
        if is_foreign():
            return ""
        try:
            fd = os.open(mark, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, PermissionError):
            return ""
        try:
            text = os.read(fd, 256).decode("utf-8", "replace")
        finally:
            os.close(fd)
        if text.endswith("\n"):
            return text.strip()
        time.sleep(0.1)
    return ""

def leave():
    if is_foreign():
        try:
            os.rename(mark, "%s-replaced-%s" % (mark, os.urandom(6).hex()))
        except OSError:
            return  # the folder is usable all the same, and cannot be compared
    try:
        fd = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    except FileExistsError:
        return
    os.write(fd, (marker + "\n").encode())
    os.fsync(fd)
    os.close(fd)

def probe():
    name = os.path.join(path, ".muster-probe-%d-%s" % (os.getpid(), os.urandom(6).hex()))
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, b"\n")
    finally:
        os.close(fd)
        os.unlink(name)

try:
    content = os.listdir(path)
except OSError as error:
    gone = error.errno == errno.ENOENT
    tell(problem="missing: there is no {}".format(path) if gone else "not usable: {}".format(words(error)))
if program and not os.access(os.path.join(path, program), os.X_OK):
    tell(problem="not complete: there is no {}".format(os.path.join(path, program)))
try:
    found = read() if marker else ""
except OSError as error:
    tell(problem="not readable: {}".format(words(error)))
if writable:
    try:
        probe()
        if marker and not found:
            leave()
            found = read()
    except OSError as error:
        tell(problem="not writable: {}".format(words(error)), marker=found)
tell(marker=found, empty=not content)
"""


class FolderOrder(NamedTuple):
    name: str
    path: str
    marker: str
    writable: bool
    program: str


class FolderChecks:
    def __init__(self, script: str = SCRIPT, within_s: float = ANSWER_WITHIN_S) -> None:
        self._script = script
        self._within_s = within_s
        self._lock = threading.Lock()
        self._hanging: Dict[str, subprocess.Popen[bytes]] = {}

    def check(self, orders: List[FolderOrder]) -> Dict[str, Dict[str, Any]]:
        """The result by name: `problem` if there is one, `marker` as it was found, and whether the folder was `empty`.
        This may block, but not for longer than the deadline."""
        deadline = time.monotonic() + self._within_s
        started = [(order, self._start(order)) for order in orders]
        return {order.name: self._finish(order, process, deadline) for order, process in started}

    def _start(self, order: FolderOrder) -> Optional[subprocess.Popen[bytes]]:
        with self._lock:
            hanging = self._hanging.get(order.path)
            if hanging is not None and hanging.poll() is None:
                return None
            self._hanging.pop(order.path, None)
        writable = "writable" if order.writable else ""
        arguments = [order.path, order.marker, writable, order.program]
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", self._script, *arguments],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def _finish(
        self, order: FolderOrder, process: Optional[subprocess.Popen[bytes]], deadline: float
    ) -> Dict[str, Any]:
        if process is None:
            return self._silent()
        try:
            output, _ = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            with self._lock:
                self._hanging[order.path] = process
            return self._silent()
        return _read(output)

    def _silent(self) -> Dict[str, Any]:
        return {"problem": "not answering: there was no answer within {:g} s".format(self._within_s)}


def folder_orders(request: Mapping[str, Any]) -> List[FolderOrder]:
    asked = request.get("folders")
    if not isinstance(asked, list) or len(asked) > _MOST:
        raise AgentError(BAD_REQUEST, "folders must be a list of at most {}".format(_MOST))
    return [_order(one) for one in asked]


def _order(one: Any) -> FolderOrder:
    fields: Tuple[str, ...] = ("name", "path", "marker", "program")
    if not isinstance(one, dict) or not all(isinstance(one.get(key, ""), str) for key in fields):
        raise AgentError(BAD_REQUEST, "each folder is an object with name, path, marker, program and writable")
    path = one.get("path", "")
    if not os.path.isabs(path) or "\0" in path:
        raise AgentError(BAD_REQUEST, "a folder's path must be absolute, not {!r}".format(path))
    return FolderOrder(
        one.get("name", ""), path, one.get("marker", ""), bool(one.get("writable")), one.get("program", "")
    )


def _read(output: bytes) -> Dict[str, Any]:
    try:
        found = json.loads(output.decode("utf-8"))
    except ValueError:
        return {"problem": "not usable: the check of it failed"}
    return found if isinstance(found, dict) else {}
