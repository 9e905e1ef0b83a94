"""One login to a Slurm cluster: the agent that runs there, and the gangs that were submitted by it."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

from muster.agent.batch.programs import REJECTED, UNREACHABLE
from muster.agent.system.frames import Message
from muster.backends.agents.agent_process import Streams
from muster.backends.agents.connection import AgentNode
from muster.backends.slurm.gang_marks import GangMarks
from muster.backends.slurm.gang_mirror import GangMirror
from muster.backends.slurm.login.login_agent import LoginNode
from muster.backends.slurm.options import SlurmOptions
from muster.backends.slurm.script.batch_script import Place
from muster.domain.errors import BackendError, Rejected, Unreachable

SERVICE = ""
"""The owner of the login that the cluster itself has."""


class LoginListener(Protocol):
    """The backend whose login it is."""

    def login_pushed(self, login: "SlurmLogin", message: Message) -> None: ...

    def login_changed(self, login: "SlurmLogin") -> None:
        """It is connected, or not any more."""
        ...

    def login_ready(self, login: "SlurmLogin") -> None:
        """There is a new connection."""
        ...

    def login_opened(self, login: "SlurmLogin", version: str) -> None:
        """Slurm's commands work there, and this is what `sbatch --version` says."""
        ...


class LoginMaker:
    """Makes the logins of one cluster. `connect_within_s` is how long requests wait for a connection."""

    def __init__(
        self,
        cluster: str,
        identity: str,
        *,
        epoch: int,
        home: Path,
        log_bytes: int | None,
        connect_within_s: float,
        listener: LoginListener,
    ) -> None:
        self.cluster = cluster
        self.identity = identity
        self.home = home
        self.log_bytes = log_bytes
        self.connect_within_s = connect_within_s
        self.listener = listener
        self._epoch = epoch

    def node(self, options: SlurmOptions) -> LoginNode:
        return LoginNode(options, f"{self.identity}-{self.cluster}", self._epoch, self.home / "host-keys")

    def login(self, owner: str, options: SlurmOptions) -> "SlurmLogin":
        return SlurmLogin(owner, options, self)


class SlurmLogin:
    """`owner` is the user whose login it is, or SERVICE. `options` are those of the cluster, with this login."""

    def __init__(self, owner: str, options: SlurmOptions, maker: LoginMaker) -> None:
        self.owner = owner
        self.options = options
        self.mirror = GangMirror(owner)
        self.launching: set[str] = set()
        """The keys of gangs that are being submitted."""
        self.relay = ""
        self.is_open = False
        self._maker = maker
        self._listener = maker.listener
        self._node = maker.node(options)
        self._mirroring = asyncio.Lock()
        self.is_started = False
        self._used_at = time.monotonic()
        self.agent = AgentNode(
            f"login of {owner}" if owner else "login",
            maker.cluster,
            self._connected,
            connect_within_s=maker.connect_within_s,
            on_push=lambda _, message: self._listener.login_pushed(self, message),
            on_change=self._agent_changed,
            on_ready=lambda _: self._listener.login_ready(self),
        )

    @property
    def name(self) -> str:
        return self.agent.node.name

    @property
    def gang_count(self) -> int:
        """How many gangs are there, or are about to be."""
        return len(self.mirror.gangs) + len(self.launching)

    def is_unused(self, for_s: float) -> bool:
        """Whether it certainly has no gangs, and nobody has asked for anything for so long."""
        is_empty = not self.gang_count and (self.mirror.is_known or not self.is_started)
        return is_empty and time.monotonic() - self._used_at >= for_s

    @property
    def why_away(self) -> str:
        """Why nobody answers there, or empty if somebody does."""
        if self.agent.node.is_reachable:
            return ""
        return f"the login of {self.owner} does not answer: {self.agent.node.note or 'it is being connected'}"

    def start(self) -> None:
        """Connect, and stay connected. Does nothing if it has begun already."""
        if not self.is_started:
            self.is_started = True
            self.agent.begin()

    async def close(self) -> None:
        await self.agent.close()

    def use(self, options: SlurmOptions) -> None:
        """Connect as these say, from now on."""
        before, self.options = self.options, options
        if options != before:
            self._node = self._maker.node(options)
            self.agent.reconnect()

    def place(self, token: str = "") -> Place:
        relay = "" if self.options.is_shared else self.relay or "login,0"
        return Place(self._node.root, self._node.archive, self._maker.identity, relay, token, self._maker.log_bytes)

    async def gangs(self, reread: Sequence[str] = ()) -> list[GangMarks]:
        """All gangs of this login, of which it tells only what has changed since it was last asked. It reads the files
        of those in `reread` again."""
        async with self._mirroring:
            answer = await self._order("batch_gangs", **self.mirror.asked(), reread=list(reread))
            self.mirror.take(answer)
            return list(self.mirror.gangs.values())

    async def order(self, op: str, **arguments: Any) -> Message:
        """Raises Rejected, Unreachable and BackendError, by what the agent says of the failure."""
        self._used_at = time.monotonic()
        return await self._order(op, **arguments)

    async def _order(self, op: str, **arguments: Any) -> Message:
        try:
            await self.opened()
            return await self.agent.ask(op, **arguments)
        except Unreachable:
            if not self.owner or not self.why_away:
                raise
            raise Unreachable(self.why_away) from None
        except BackendError as error:
            if error.reason == UNREACHABLE:
                raise Unreachable(error.message) from None
            if error.reason == REJECTED:
                raise Rejected(error.message, reason="rejected-by-engine") from None
            raise

    async def opened(self) -> None:
        """Return when Slurm's commands work there."""
        self.start()
        if self.is_open:
            return
        options = self.options
        env = {"SLURM_CONF": options.conf} if options.conf else {}
        answer = await self.agent.ask(
            "batch_open",
            commands=options.commands,
            env=env,
            relay=not options.is_shared,
            relay_address=options.relay_host,
            relay_port=options.relay_port,
        )
        self.relay = str(answer.get("relay") or "")
        self._listener.login_opened(self, str(answer.get("version") or ""))
        self.is_open = True

    def _connected(self) -> AbstractAsyncContextManager[Streams]:
        """The login node of the options as they are at this moment."""
        return self._node.connected()

    def _agent_changed(self, agent: AgentNode) -> None:
        if not agent.node.is_reachable:
            self.is_open = False
        self._listener.login_changed(self)
