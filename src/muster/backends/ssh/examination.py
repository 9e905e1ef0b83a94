"""Logs in to the nodes of an SSH cluster as the server would, and looks for their Python. Nothing is installed there,
and no host key is kept."""

import asyncio
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

import asyncssh

from muster.agent import OLDEST_PYTHON
from muster.backends.kinds import Examination
from muster.backends.logins.host_keys import HostKeyStore
from muster.backends.logins.login import logged_in
from muster.backends.ssh.options import SshNode, ssh_nodes
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import MusterError

_AT_ONCE = 8
_ANSWER_WITHIN_S = 20.0
_ANOTHER = "`python` in the cluster file names another one"
_VERSION = "import sys; print(*sys.version_info[:2])"


def examine(cluster: PhysicalCluster) -> Examination:
    nodes = ssh_nodes(cluster)
    return examination(asyncio.run(_problems(nodes))) if nodes else Examination(warnings=["it has no nodes yet"])


def examination(problems: Mapping[str, str]) -> Examination:
    """`problems` are those of the nodes, by name, and empty for those that can be used. Jobs run if there is one."""
    broken = [f"node {name} cannot be used: {problem}" for name, problem in problems.items() if problem]
    count = len(problems) - len(broken)
    if not count:
        return Examination(failures=broken)
    return Examination([f"{count} of {len(problems)} nodes can be used"], warnings=broken)


async def _problems(nodes: list[SshNode]) -> dict[str, str]:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def problem(node: SshNode, keys: HostKeyStore) -> str:
        async with slots:
            try:
                return await _problem(node, keys)
            except MusterError as error:
                return error.message
            except TimeoutError:
                return f"{node.python} has not answered within {_ANSWER_WITHIN_S:g} s"
            except (asyncssh.Error, OSError) as error:
                return f"the connection broke: {error}"

    with tempfile.TemporaryDirectory() as folder:
        keys = HostKeyStore(Path(folder))
        found = await asyncio.gather(*(problem(node, keys) for node in nodes))
    return {node.name: said for node, said in zip(nodes, found, strict=True)}


async def _problem(node: SshNode, keys: HostKeyStore) -> str:
    async with logged_in(node.login, keys) as connection, asyncio.timeout(_ANSWER_WITHIN_S):
        done = await connection.run(shlex.join([node.python, "-c", _VERSION]), check=False)
    return python_problem(node.python, str(done.stdout or ""), str(done.stderr or ""))


def python_problem(python: str, out: str, err: str) -> str:
    """A login shell may print a greeting before the version."""
    words = (out.splitlines() or [""])[-1].split()
    if len(words) != 2 or not all(word.isdigit() for word in words):
        said = " ".join(err.split())[-200:] or "it printed nothing"
        return f"{python} does not run there: {said} ({_ANOTHER})"
    if (int(words[0]), int(words[1])) < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return f"{python} is Python {'.'.join(words)}; {wanted} or newer is needed ({_ANOTHER})"
    return ""
