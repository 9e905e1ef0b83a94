"""Requests to the other server, at whichever of its addresses answers. No answer takes longer or more memory than it is
allowed to: the other server may be broken, or in the hands of somebody else."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
from httpx2.websockets import AsyncWebSocketSession, WebSocketUpgradeError

from muster.backends.muster_server.answers import T, read
from muster.backends.muster_server.options import OtherServerOptions
from muster.domain.errors import Conflict, NotFound, Rejected, Unreachable
from muster.domain.failures.exit_causes import REFUSED

API = "/api/v1"
ANSWER_S = 15.0
"""A server that does not answer within this is away."""
_CONNECT_S = 5.0
_PROBLEMS_SHOWN = 5
_PROBLEM_LETTERS = 2000
_MESSAGE_BYTES = 1 << 20
_ANSWER_BYTES = 8 << 20
_PROBLEM_BYTES = 64 << 10
_TRY_ANOTHER = (502, 503, 504)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    content: bytes
    headers: Mapping[str, str]

    def read(self, model: type[T]) -> T:
        """Raises Unreachable if it is something else: asking again may help, and nothing is known."""
        return read(model, self.content)


class OtherServer:
    """Methods raise Unreachable if nobody answers as hoped and asking again is safe, NotFound and Conflict as the other
    server does, and Rejected for what it refuses for good. No error contains the token."""

    def __init__(self, options: OtherServerOptions) -> None:
        self._options = options
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self._first = 0
        """The address that answered last."""

    @property
    def address(self) -> str:
        """The one that answered last."""
        return self._options.servers[self._first]

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int | float | Sequence[str]] | None = None,
        body: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        within_s: float = ANSWER_S,
    ) -> Answer:
        """Every request may be repeated, also at another address: whatever changes something has a key of its own."""
        sent = dict(headers or {})
        if body is not None:
            content = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        failures: list[str] = []
        servers = self._options.servers
        for turn in range(len(servers)):
            place = (self._first + turn) % len(servers)
            try:
                async with asyncio.timeout(within_s + _CONNECT_S):
                    async with self._client(servers[place]).stream(
                        method,
                        API + path,
                        params=params,
                        content=content,
                        headers={**sent, **self._authorization()},
                        timeout=httpx2.Timeout(within_s, connect=_CONNECT_S),
                    ) as response:
                        answer = Answer(response.status_code, await _content(response), response.headers)
            except (httpx2.HTTPError, OSError) as error:
                failures.append(f"{servers[place]}: {_words(error)}")
                continue
            if answer.status in _TRY_ANOTHER and turn < len(servers) - 1:
                failures.append(f"{servers[place]}: {_detail(answer.content) or answer.status}")
                continue
            self._first = place
            if answer.status >= 400:
                raise self._error(servers[place], answer.status, answer.content)
            return answer
        raise Unreachable(f"the other Muster server does not answer: {'; '.join(failures)}")

    async def get(self, model: type[T], path: str, params: Mapping[str, str | int | float] | None = None) -> T:
        return (await self.request("GET", path, params=params)).read(model)

    @asynccontextmanager
    async def download(self, path: str, params: Mapping[str, str | int] | None = None) -> AsyncIterator["Download"]:
        """A long answer, from the address that answered last."""
        server = self.address
        timeout = httpx2.Timeout(ANSWER_S, connect=_CONNECT_S)
        try:
            async with self._client(server).stream(
                "GET", API + path, params=params, headers=self._authorization(), timeout=timeout
            ) as answer:
                if answer.status_code >= 400:
                    raise self._error(server, answer.status_code, await _content(answer))
                yield Download(answer)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise Unreachable(f"the answer of {server} ended early: {_words(error)}") from error

    @asynccontextmanager
    async def websocket(self, path: str) -> AsyncIterator[AsyncWebSocketSession]:
        """TCP notices a server that vanished; a reader that is slow must not count as one."""
        server = self.address
        try:
            async with self._client(server).websocket(
                API + path,
                headers=self._authorization(),
                keepalive_ping_interval_seconds=None,
                max_message_size_bytes=_MESSAGE_BYTES,
            ) as socket:
                yield socket
        except WebSocketUpgradeError as error:
            raise self._error(server, error.response.status_code, await _body(error.response)) from error
        except BaseExceptionGroup as group:  # the session wraps whatever is raised in it
            raise _first(group) from None
        except (httpx2.HTTPError, OSError) as error:
            raise Unreachable(f"no answer from {server}: {_words(error)}") from error

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()

    def _client(self, server: str) -> httpx2.AsyncClient:
        if server not in self._clients:
            self._clients[server] = httpx2.AsyncClient(
                base_url=server,
                verify=_certificates(self._options),
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=16),
                headers={"User-Agent": "muster", "Accept-Encoding": "identity"},
                trust_env=False,
            )
        return self._clients[server]

    def _authorization(self) -> dict[str, str]:
        """The file is read each time, so that a new token counts at once."""
        try:
            token = self._options.token_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Unreachable(f"the token file {self._options.token_file} cannot be read: {_words(error)}") from None
        if not token.isascii() or not token or any(letter.isspace() for letter in token):
            raise Unreachable(f"the token file {self._options.token_file} has no token in it")
        return {"Authorization": f"Bearer {token}"}

    def _error(self, server: str, status: int, content: bytes) -> Exception:
        detail = _detail(content)
        if status == 401:
            return Unreachable(
                f"{server} does not accept the token in {self._options.token_file}: {detail}",
                hint="write a new one there, of `muster tokens create NAME --scope submit` on that server",
            )
        if status == 404:
            return NotFound(f"{server}: {detail}")
        if status == 409:
            return Conflict(f"{server}: {detail}")
        if status == 429 or status >= 500:
            return Unreachable(f"{server} cannot do that now: {detail or status}")
        return Rejected(f"The Muster server {server} refused it: {detail or status}.", reason=REFUSED)


class Download:
    def __init__(self, answer: httpx2.Response) -> None:
        self._answer = answer

    def pieces(self) -> AsyncIterator[bytes]:
        return self._answer.aiter_bytes()


def _certificates(options: OtherServerOptions) -> ssl.SSLContext | bool:
    if options.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(options.ca_file))
    except OSError as error:
        raise Unreachable(f"the certificates in {options.ca_file} cannot be used: {_words(error)}") from None


def _detail(content: bytes) -> str:
    """What a problem says, with its first parts."""
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        return content[:200].decode(errors="replace").strip()
    if not isinstance(told, dict):
        return ""
    found = [str(told.get("detail") or told.get("title") or "")]
    problems = told.get("problems")
    for item in problems[:_PROBLEMS_SHOWN] if isinstance(problems, list) else ():
        if not isinstance(item, dict):
            continue
        path, message, hint = (str(item.get(key) or "") for key in ("path", "message", "hint"))
        found.append(": ".join(part for part in (path, message) if part) + (f" ({hint})" if hint else ""))
    if told.get("hint"):
        found.append(str(told["hint"]))
    return "; ".join(part[:_PROBLEM_LETTERS].rstrip(".") for part in found if part)


async def _content(answer: httpx2.Response) -> bytes:
    """All that was answered. A problem is cut; anything else that is too long is none."""
    most = _ANSWER_BYTES if answer.status_code < 400 else _PROBLEM_BYTES
    content = bytearray()
    async for piece in answer.aiter_bytes():
        content += piece
        if len(content) > most and answer.status_code >= 400:
            return bytes(content[:most])
        if len(content) > most:
            raise httpx2.DecodingError(f"the answer is longer than {most} bytes", request=answer.request)
    return bytes(content)


async def _body(answer: httpx2.Response) -> bytes:
    try:
        return await _content(answer)
    except (httpx2.HTTPError, httpx2.StreamError):
        return b""


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
