"""Logging in to test hosts with asyncssh, which knows their keys."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import asyncssh

from tests.parts.hosts import Host


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


def said(host: Host, command: str, **options: Any) -> str:
    """What a command on the host printed; a command that fails fails the test."""

    async def ask() -> str:
        async with asyncio.timeout(30), connect(host, **options) as connection:
            return str((await connection.run(command, check=True)).stdout)

    return asyncio.run(ask()).strip()
