"""Logging in to test hosts with asyncssh, which knows their keys."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import asyncssh

from tests.parts.hosts import Host
from tests.parts.server import PATIENCE


def connect(host: Host, **options: Any) -> AbstractAsyncContextManager[asyncssh.SSHClientConnection]:
    """A connection by key, unless `options` say something else."""
    usual = {
        "username": host.user,
        "client_keys": [str(host.key_file)],
        "known_hosts": asyncssh.import_known_hosts(host.known_hosts_line),
        "config": None,
        "agent_path": None,
    }
    return asyncssh.connect(host.address, host.port, **(usual | options))


def says(host: Host, command: str, **options: Any) -> asyncssh.SSHCompletedProcess:
    """A command on the host, and how it went."""

    async def ask() -> asyncssh.SSHCompletedProcess:
        async with asyncio.timeout(PATIENCE * 30), connect(host, **options) as connection:
            return await connection.run(command)

    return asyncio.run(ask())


def said(host: Host, command: str, **options: Any) -> str:
    """What a command on the host printed; one that fails fails the test."""
    done = says(host, command, **options)
    assert done.returncode == 0, f"{command!r} on {host}: {done.stderr!s}"
    return str(done.stdout).strip()
