"""Installs the agent on a node and starts it, over one SSH channel.

The command that the login shell sees is always the same. Everything else, the script itself too, is sent as data on
stdin, so no shell ever reads what a person wrote. What a login shell prints by itself, such as a greeting in its
.bashrc, comes before the first answer and is ignored. The script answers whether the node has this very archive; if
not, it receives it, checks its hash and puts it in place by rename. Then it becomes the agent.
"""

import asyncio
import hashlib
import inspect
import json
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import asyncssh

from muster.agent import own_folders
from muster.agent.archive import archive_bytes
from muster.backends.agents.agent_channel import ByteReader, ByteWriter
from muster.domain.errors import BackendError

START_WITHIN_S = 60.0
_STDERR_BYTES = 2000
_GREETING_BYTES = 1 << 16
_SHOWN = 500
_ANSWER = b"muster-answer:"

_INSTALLING = r"""
import glob, hashlib, json, os, sys, tempfile
def line():
    found = b""
    while not found.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            sys.exit(0)
        found += piece
    return json.loads(found.decode())
def say(**answer):
    os.write(1, ("muster-answer:" + json.dumps(answer) + "\n").encode())
order = line()
try:
    if sys.version_info < (3, 8):
        raise OSError("its Python is %s; 3.8 or newer is needed" % sys.version.split()[0])
    root = os.path.join(os.path.expanduser("~"), order["root"])
    if order["is_shared"]:
        root = shared_root(root)
    else:
        root = os.path.realpath(root)
        os.makedirs(root, exist_ok=True)
    archives = own_folder(root, ARCHIVES)
    own = own_folder(root, order["name"])
    path = os.path.join(archives, order["archive"])
    say(have=os.path.exists(path))
    if not os.path.exists(path):
        left, pieces = order["size"], []
        while left:
            piece = os.read(0, min(left, 1 << 16))
            if not piece:
                sys.exit(0)
            pieces.append(piece)
            left -= len(piece)
        content = b"".join(pieces)
        if hashlib.sha256(content).hexdigest() != order["digest"]:
            raise OSError("the agent arrived damaged")
        fd, partial = tempfile.mkstemp(dir=archives)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(fd)
        os.rename(partial, path)
        old = sorted(glob.glob(os.path.join(archives, "*.pyz")), key=os.path.getmtime)[:-3]
        for one in old:
            os.unlink(one)
        say(taken=True)
    arguments = ["--root", own] + order["arguments"]
    os.execv(sys.executable, [sys.executable, "-I", path] + arguments)
except UnsafeFolder as error:
    say(unsafe=str(error))
except OSError as error:
    say(error=str(error))
"""
_SCRIPT = inspect.getsource(own_folders) + _INSTALLING


@dataclass(frozen=True, slots=True)
class AgentArchive:
    """The agent as it is sent, the same for all nodes."""

    content: bytes
    digest: str

    @classmethod
    def build(cls) -> "AgentArchive":
        content = archive_bytes()
        return cls(content, hashlib.sha256(content).hexdigest())

    @property
    def name(self) -> str:
        return f"muster-agent-{self.digest[:16]}.pyz"


@asynccontextmanager
async def running_agent(
    connection: asyncssh.SSHClientConnection,
    archive: AgentArchive,
    *,
    python: str,
    root: str,
    name: str,
    arguments: list[str],
    is_shared: bool,
    start_within_s: float = START_WITHIN_S,
) -> AsyncIterator[tuple[ByteReader, ByteWriter]]:
    """Yield the connection to the agent. `root` is the folder of Muster on the node, and `name` the folder in it that
    belongs to this agent alone. If other accounts share `root`, it is refused where they could put something there in
    place of the agent, and made only in a folder that is there."""
    command = f"exec {shlex.quote(python)} -c 'import os;exec(eval(os.fdopen(os.dup(0),\"rb\",0).readline()))'"
    try:
        process = await connection.create_process(command, encoding=None, stderr=asyncssh.PIPE)
    except asyncssh.Error as error:
        raise BackendError(f"the login succeeded, but no command can be started: {error}") from None
    errors = _Stderr(process.stderr)
    try:
        order = {
            "archive": archive.name,
            "size": len(archive.content),
            "digest": archive.digest,
            "root": root,
            "name": name,
            "is_shared": is_shared,
            "arguments": arguments,
        }
        _write(process.stdin, repr(_SCRIPT).encode() + b"\n" + json.dumps(order).encode() + b"\n")
        async with asyncio.timeout(start_within_s):
            if not (await _answer(process.stdout, python, errors)).get("have"):
                _write(process.stdin, archive.content)
                await _answer(process.stdout, python, errors)
        yield _Reader(process.stdout), process.stdin
    except TimeoutError:
        raise BackendError(f"the agent did not start within {start_within_s:g} s") from None
    finally:
        process.close()
        errors.close()


def _write(stdin: Any, data: bytes) -> None:
    """A process that has ended already explains why in its output."""
    with suppress(ConnectionError):
        stdin.write(data)


async def _answer(stdout: Any, python: str, errors: "_Stderr") -> dict[str, Any]:
    """The next answer of the script, whatever the login shell printed before it."""
    said = b""
    while (line := await stdout.readline()) and len(said) < _GREETING_BYTES:
        greeting, mark, answer = line.partition(_ANSWER)
        said += greeting
        if mark:
            return _checked(answer)
    words = (said.decode("utf-8", "replace") + await errors.text()).split()
    raise BackendError(
        f"{python} does not run there: {' '.join(words)[-_SHOWN:] or 'it ended without any output'} (try "
        f"`ssh HOST {python} --version` from the server; `python` in the cluster file names another one)"
    )


def _checked(line: bytes) -> dict[str, Any]:
    try:
        answer = dict(json.loads(line))
    except ValueError:
        raise BackendError("the connection broke while the agent was installed") from None
    if "unsafe" in answer:
        raise BackendError(str(answer["unsafe"]))
    if "error" in answer:
        raise BackendError(
            f"the agent cannot be installed there: {answer['error']} (`root` in the cluster file names another folder, "
            "`python` another Python)"
        )
    return answer


class _Reader:
    """A broken SSH connection becomes a ConnectionError."""

    def __init__(self, stdout: Any) -> None:
        self._stdout = stdout

    async def read(self, n: int) -> bytes:
        try:
            return bytes(await self._stdout.read(n))
        except asyncssh.Error as error:
            raise ConnectionResetError(str(error)) from None


class _Stderr:
    """The beginning of stderr. The rest is read and dropped, so that the process is never blocked."""

    def __init__(self, stderr: Any) -> None:
        self._text = b""
        self._reading = asyncio.create_task(self._read(stderr))

    async def _read(self, stderr: Any) -> None:
        while data := await stderr.read(1 << 16):
            self._text = (self._text + data)[:_STDERR_BYTES]

    async def text(self) -> str:
        await asyncio.wait((self._reading,), timeout=1.0)
        return self._text.decode("utf-8", "replace")

    def close(self) -> None:
        self._reading.cancel()
