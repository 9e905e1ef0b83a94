"""A live page without a browser: it joins the broadcaster of a laboratory, and keeps what it is told."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from muster.domain.accounts import Token, TokenScope, User, UserRole
from muster.engine.data.archives import SignedArchives
from muster.engine.data.files import Files
from muster.engine.data.log_lines import LogLines
from muster.engine.data.logs import LogReader
from muster.engine.data.packages import PackageStore
from muster.engine.requests.accounts import Accounts, Principal
from muster.exporters.log_server.own_history import OwnHistory
from muster.server.live.broadcaster import Broadcaster
from muster.server.live.log_growth import WantedLogs
from muster.server.live.readers import Reader
from muster.server.live.topics import parse_topics
from muster.server.node_views import node_rights
from muster.server.services import Services
from tests.parts.laboratory import Laboratory


def services_of(lab: Laboratory) -> Services:
    context = lab.context
    archives = SignedArchives(context.packages, "http://127.0.0.1", b"key")
    logs = LogReader(context)
    packages, history = PackageStore(context, 1 << 20), OwnHistory(context.store, "")
    return Services(
        context, Accounts(context, 3600.0), packages, logs, LogLines(context, logs), Files(context), archives, history
    )


def somebody(name: str, *, is_admin: bool = False, groups: tuple[str, ...] = ()) -> Principal:
    user = User(name, UserRole.ADMIN if is_admin else UserRole.USER, 0.0, groups=groups)
    return Principal(user, Token(f"token-{name}", name, "page", f"hash-{name}", 0.0, None, None, TokenScope.ADMIN))


@dataclass
class Page:
    me: Principal
    reader: Reader
    text: bytes = b""
    told: list[tuple[str, Any]] = field(default_factory=list)
    last_id: int | None = None

    def of(self, event: str) -> list[Any]:
        return [data for name, data in self.told if name == event]

    @property
    def jobs(self) -> dict[str, Any]:
        """The list of jobs as the page shows it, from nothing but what it was told."""
        shown: dict[str, Any] = {}
        for data in self.of("jobs"):
            shown |= {job["id"]: job for job in data["jobs"]}
            for job_id in data["gone"]:
                shown.pop(job_id, None)
        return shown

    @property
    def nodes(self) -> dict[str, Any]:
        return {node["name"]: node for data in self.of("nodes") for node in data["nodes"]}

    async def read(self) -> None:
        while (piece := await self.reader.next()) is not None:
            self.text += piece
            for block in piece.decode().split("\n\n"):
                fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
                if "event" in fields:
                    self.told.append((fields["event"], json.loads(fields["data"])))
                self.last_id = int(fields["id"]) if "id" in fields else self.last_id


@asynccontextmanager
async def open_page(
    parts: Services, live: Broadcaster, me: Principal, topics: str, *, after: int | None = None, is_slow: bool = False
) -> AsyncIterator[Page]:
    """`is_slow`: it reads nothing until the test calls `read`."""
    wanted = parse_topics(topics)
    jobs = {job_id: (await parts.context.store.job(job_id)).owner for job_id in wanted.job_refs}
    last = parts.context.hub.last_seq
    since = last if after is None else after if after <= last else None
    rights = node_rights(me, parts) if wanted.has_nodes else None
    logs = [WantedLogs(topic.ref, topic.worker) for topic in wanted.logs]
    page = Page(me, Reader(me, wanted, jobs, since, rights, logs))
    with live.joined(page.reader):
        reading = None if is_slow else asyncio.create_task(page.read())
        try:
            yield page
        finally:
            if reading is not None:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
