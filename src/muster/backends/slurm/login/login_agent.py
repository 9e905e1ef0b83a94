"""The agent on the login node, which runs Slurm's commands: a process on the server's own machine, or one over SSH."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from muster.agent.archive import build_archive
from muster.agent.own_folders import ARCHIVES, UnsafeFolder, own_folder, shared_root
from muster.backends.agents.agent_process import Streams, agent_process
from muster.backends.agents.connection import agent_arguments
from muster.backends.logins.agent_install import AgentArchive, running_agent
from muster.backends.logins.host_keys import HostKeyStore
from muster.backends.logins.login import logged_in
from muster.backends.slurm.options import SlurmOptions
from muster.domain.errors import BackendError


class LoginNode:
    """How the login node of a cluster is reached. `name` is the folder of the agent in Muster's folder there."""

    def __init__(self, options: SlurmOptions, name: str, epoch: int, host_keys: Path) -> None:
        if not options.root:
            host_keys.parent.mkdir(parents=True, exist_ok=True)
            options = replace(options, root=str(host_keys.parent / "spool"))
        self._options = options
        self._name = name
        self._epoch = epoch
        self._keys = HostKeyStore(host_keys)
        self._archive = AgentArchive.build()

    @property
    def archive(self) -> str:
        """The path of the agent's archive as the nodes of the cluster see it."""
        return f"{self._options.root}/{ARCHIVES}/{self._archive.name}"

    @property
    def root(self) -> str:
        return f"{self._options.root}/{self._name}"

    def connected(self) -> AbstractAsyncContextManager[Streams]:
        return self._process() if self._options.login is None else self._over_ssh()

    @asynccontextmanager
    async def _process(self) -> AsyncIterator[Streams]:
        try:
            archive, own = await asyncio.to_thread(self._prepare)
        except UnsafeFolder as error:
            raise BackendError(str(error)) from None
        except OSError as error:
            raise BackendError(f"the folder {self._options.root} cannot be used: {error.strerror}") from None
        env = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_")}
        async with agent_process("-I", archive, root=own, epoch=self._epoch, env=env) as streams:
            yield streams

    def _prepare(self) -> tuple[str, str]:
        """The agent's archive, and the folder of this agent."""
        root = shared_root(self._options.root)
        archives = Path(own_folder(root, ARCHIVES))
        return str(archives / build_archive(archives)), own_folder(root, self._name)

    @asynccontextmanager
    async def _over_ssh(self) -> AsyncIterator[Streams]:
        assert self._options.login is not None
        async with AsyncExitStack() as stack:
            connection = await stack.enter_async_context(logged_in(self._options.login, self._keys))
            agent = running_agent(
                connection,
                self._archive,
                python=self._options.login_python,
                root=self._options.root,
                name=self._name,
                arguments=agent_arguments(self._epoch),
                is_shared=True,
            )
            yield await stack.enter_async_context(agent)
