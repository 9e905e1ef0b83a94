"""Gets the agent onto a node and running, over one channel.

The command that the login shell sees is always the same; everything else, the script itself too, travels as data on
stdin, so nothing that anybody wrote is ever read by a shell. What a login shell prints by itself, a greeting in its
.bashrc, comes before the first answer and is passed over. The script tells whether the node has this very archive; if
not it takes it, checks its hash and puts it in place by rename. Then it becomes the agent.
"""

import asyncio
import hashlib
import json
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import asyncssh

from muster.agent.archive import archive_bytes
from muster.backends.agents.agent_channel import ByteReader, ByteWriter
from muster.domain.errors import BackendError

_BOARD_WITHIN_S = 60.0
_STDERR_BYTES = 2000
_GREETING_BYTES = 1 << 16
_SHOWN = 500
_ANSWER = b"muster-answer:"

_SCRIPT = r"""
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
    root = os.path.realpath(os.path.join(os.path.expanduser("~"), order["root"]))
    archives = os.path.join(root, "agents")
    os.makedirs(archives, 0o700, exist_ok=True)
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
    arguments = ["--root", os.path.join(root, order["name"])] + order["arguments"]
    os.execv(sys.executable, [sys.executable, "-I", path] + arguments)
except OSError as error:
    say(error=str(error))
"""


@dataclass(frozen=True, slots=True)
class Cargo:
    """The agent as it is carried, the same for all nodes."""

    content: bytes
    digest: str

    @classmethod
    def packed(cls) -> "Cargo":
        content = archive_bytes()
        return cls(content, hashlib.sha256(content).hexdigest())

    @property
    def name(self) -> str:
        return f"muster-agent-{self.digest[:16]}.pyz"


@asynccontextmanager
async def agent_aboard(
    connection: asyncssh.SSHClientConnection,
    cargo: Cargo,
    *,
    python: str,
    root: str,
    name: str,
    arguments: list[str],
) -> AsyncIterator[tuple[ByteReader, ByteWriter]]:
    """`root` is where the node keeps everything of Muster, `name` the folder in it for this agent alone."""
    command = f"exec {shlex.quote(python)} -c 'import os;exec(eval(os.fdopen(os.dup(0),\"rb\",0).readline()))'"
    try:
        process = await connection.create_process(command, encoding=None, stderr=asyncssh.PIPE)
    except asyncssh.Error as error:
        raise BackendError(f"it let us in, but starts no command: {error}") from None
    complaints = _Complaints(process.stderr)
    try:
        order = {
            "archive": cargo.name,
            "size": len(cargo.content),
            "digest": cargo.digest,
            "root": root,
            "name": name,
            "arguments": arguments,
        }
        _say(process.stdin, repr(_SCRIPT).encode() + b"\n" + json.dumps(order).encode() + b"\n")
        async with asyncio.timeout(_BOARD_WITHIN_S):
            if not (await _answer(process.stdout, python, complaints)).get("have"):
                _say(process.stdin, cargo.content)
                await _answer(process.stdout, python, complaints)
        yield _Reader(process.stdout), process.stdin
    except TimeoutError:
        raise BackendError(f"the agent did not start within {_BOARD_WITHIN_S:g} s") from None
    finally:
        process.close()
        complaints.close()


def _say(stdin: Any, data: bytes) -> None:
    """Whoever has hung up already says why in what they printed."""
    with suppress(ConnectionError):
        stdin.write(data)


async def _answer(stdout: Any, python: str, complaints: "_Complaints") -> dict[str, Any]:
    """What the script says next, whatever the login shell said before."""
    said = b""
    while (line := await stdout.readline()) and len(said) < _GREETING_BYTES:
        greeting, mark, answer = line.partition(_ANSWER)
        said += greeting
        if mark:
            return _judged(answer)
    words = (said.decode("utf-8", "replace") + await complaints.text()).split()
    raise BackendError(
        f"{python} does not run there: {' '.join(words)[-_SHOWN:] or 'it ended without a word'} (try "
        f"`ssh HOST {python} --version` from the server; `python` in the cluster file names another one)"
    )


def _judged(line: bytes) -> dict[str, Any]:
    try:
        answer = dict(json.loads(line))
    except ValueError:
        raise BackendError("the line broke while the agent was put there") from None
    if "error" in answer:
        raise BackendError(
            f"the agent cannot be put there: {answer['error']} (`root` in the cluster file names another place, "
            "`python` another Python)"
        )
    return answer


class _Reader:
    """A line that breaks is a ConnectionError here, whoever made it."""

    def __init__(self, stdout: Any) -> None:
        self._stdout = stdout

    async def read(self, n: int) -> bytes:
        try:
            return bytes(await self._stdout.read(n))
        except asyncssh.Error as error:
            raise ConnectionResetError(str(error)) from None


class _Complaints:
    """The first of what comes on stderr; the rest is read and dropped, so that nobody waits for us."""

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
