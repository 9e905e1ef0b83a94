"""Reads what the log server has of the jobs of all servers, for people who ask this one."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from muster.domain.errors import HistoryAway, Invalid
from muster.exporters.log_server.connection import LogServerAway, LogServerConnection, QueryRefused, TokenRefused
from muster.lib.daemon_threads import on_daemon_thread
from muster.settings.log_server import LogServerSettings

_OTHER_TOKEN = "an admin corrects the server's tokenFile of logServer, or MUSTER_LOGSERVER_TOKEN"  # noqa: S105
_WITHIN_S = 8.0
"""Less than clients with several servers wait before they ask the next one."""
T = TypeVar("T")


class LogServerHistory:
    """Implements `ports.log_records.HistorySource`. Each call has a connection of its own."""

    def __init__(self, settings: LogServerSettings, token: str, within_s: float = _WITHIN_S) -> None:
        self._settings = settings
        self._token = token
        self._within_s = within_s

    async def jobs(self, where: Mapping[str, str]) -> dict[str, Any]:
        return await self._ask(lambda connection: connection.jobs(where))

    async def job(self, receiver: str, job_id: str) -> dict[str, Any] | None:
        return await self._ask(lambda connection: connection.job(receiver, job_id))

    async def _ask(self, question: Callable[[LogServerConnection], T]) -> T:
        connection = LogServerConnection(self._settings, self._token, self._within_s)

        def ask() -> T:
            try:
                return question(connection)
            finally:
                connection.close()

        try:
            async with asyncio.timeout(self._within_s):
                return await on_daemon_thread(ask, "history")
        except QueryRefused as error:
            raise Invalid(f"the log server does not understand the question: {error}") from None
        except LogServerAway as error:
            hint = _OTHER_TOKEN if isinstance(error, TokenRefused) else "ask again later"
            raise HistoryAway(f"the log server at {self._settings.url} {error}", hint=hint) from None
        except TimeoutError:
            why = f"does not answer within {self._within_s:g} s"
            raise HistoryAway(f"the log server at {self._settings.url} {why}", hint="ask again later") from None
