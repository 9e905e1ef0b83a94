"""A connection to an API server: where it is, who we are there, and the requests as functions.

`lightkube` reads the kubeconfig and authenticates (tokens that are replaced in their file, client certificates). The
requests are ours: watches with bookmarks and deletions by label are not offered by it.
"""

import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from httpx2.websockets import AsyncWebSocketSession, WebSocketUpgradeError
from lightkube.config.client_adapter import verify_cluster
from lightkube.config.models import User
from lightkube.core.exceptions import ConfigError

from muster.domain.errors import Invalid, Unreachable
from muster.kubernetes.errors import Missing, error_of
from muster.kubernetes.kubeconfig import UNREADABLE, authentication, load_config
from muster.kubernetes.resources import ACCESS_REVIEWS, Object, Resource

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_JSON = "application/json"
_PAGE = 500
_ANSWER_S = 30.0
_WATCH_SPARE_S = 30.0
"""How much longer than it was asked for a watch may be silent before its connection counts as lost."""
_KEEP_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
]
"""A server that vanished without a word is noticed after half a minute, as client-go notices it."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of objects. `version` is the resource version of the list, from which a watch continues."""

    items: list[dict[str, Any]]
    version: str


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """`kind` is ADDED, MODIFIED, DELETED or BOOKMARK. A bookmark has nothing but a resource version."""

    kind: str
    object: dict[str, Any]


class Connection:
    """Requests to one API server. Errors are those of `muster.kubernetes.errors`, and the domain's Unreachable."""

    def __init__(self, http: httpx2.AsyncClient, namespace: str) -> None:
        self._http = http
        self.namespace = namespace
        """The namespace of the kubeconfig's context, or the one in which this pod runs."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = _JSON,
    ) -> Any:
        """Send a request and return the answer, which is JSON."""
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": content_type}
        try:
            answer = await self._http.request(method, path, params=params, content=content, headers=headers)
        except (httpx2.HTTPError, ConfigError, OSError) as error:
            raise Unreachable(f"no answer from the API server: {_words(error)}") from error
        told = _decoded(answer.content)
        if answer.status_code >= 400:
            raise error_of(answer.status_code, told)
        return told

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> dict[str, Any]:
        return dict(await self.request("GET", resource.path(namespace, name)))

    async def pages(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> AsyncIterator[Listing]:
        """All objects, page by page. The version of the last page is the one to watch from."""
        params = _present({"limit": str(_PAGE), "labelSelector": labels, "fieldSelector": fields})
        while True:
            told = await self.request("GET", resource.path(namespace), params=params)
            metadata = told.get("metadata") or {}
            yield Listing(told.get("items") or [], str(metadata.get("resourceVersion") or ""))
            if not (following := metadata.get("continue")):
                return
            params["continue"] = following

    async def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> list[dict[str, Any]]:
        return [
            item async for page in self.pages(resource, namespace, labels=labels, fields=fields) for item in page.items
        ]

    async def watch(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        version: str,
        seconds: int,
        labels: str = "",
        fields: str = "",
    ) -> AsyncIterator[WatchEvent]:
        """The changes since that resource version, until the server ends the watch after about so many seconds."""
        params = _present({"labelSelector": labels, "fieldSelector": fields, "resourceVersion": version})
        params |= {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        async with self.streaming(resource.path(namespace), params, silence_s=seconds + _WATCH_SPARE_S) as chunks:
            async for line in _lines(chunks):
                told = _decoded(line)
                if told["type"] == "ERROR":
                    status = told["object"]
                    raise error_of(int(status.get("code") or 500), status)
                yield WatchEvent(told["type"], told["object"])

    @asynccontextmanager
    async def streaming(
        self, path: str, params: Mapping[str, str] | None = None, *, silence_s: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The body of a long answer, such as a watch or a log that is followed, as it arrives. Errors of whoever takes
        it, such as those of a full disk, are not those of the connection."""
        timeout = httpx2.Timeout(_ANSWER_S, read=silence_s)
        try:
            async with AsyncExitStack() as stack:
                try:
                    answer = await stack.enter_async_context(
                        self._http.stream("GET", path, params=params, timeout=timeout)
                    )
                except (ConfigError, OSError) as error:
                    raise Unreachable(f"no answer from the API server: {_words(error)}") from error
                if answer.status_code >= 400:
                    raise error_of(answer.status_code, _decoded(await answer.aread()))
                yield answer.aiter_bytes()
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise Unreachable(f"the API server's answer ended early: {_words(error)}") from error

    @asynccontextmanager
    async def websocket(
        self, path: str, params: Sequence[tuple[str, str]], protocols: Sequence[str]
    ) -> AsyncIterator[AsyncWebSocketSession]:
        """A WebSocket that speaks one of these protocols. TCP notices a server that vanished; a reader that is slow
        must not count as one."""
        try:
            async with self._http.websocket(
                path, params=list(params), subprotocols=list(protocols), keepalive_ping_interval_seconds=None
            ) as socket:
                yield socket
        except WebSocketUpgradeError as error:
            raise error_of(error.response.status_code, _decoded(await _body(error.response))) from error
        except BaseExceptionGroup as group:  # the session wraps whatever is raised in it
            raise _first(group) from None
        except (httpx2.HTTPError, ConfigError, OSError) as error:
            raise Unreachable(f"no answer from the API server: {_words(error)}") from error

    async def create(self, resource: Resource, one: Object, namespace: str | None = None) -> dict[str, Any]:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **one}
        return dict(await self.request("POST", resource.path(namespace), body=body))

    async def replace(self, resource: Resource, name: str, one: Object, namespace: str | None = None) -> dict[str, Any]:
        """Write the whole object. With the resource version in it, a write in between is refused as Outdated."""
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **one}
        return dict(await self.request("PUT", resource.path(namespace, name), body=body))

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: object,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        kind: str = MERGE_PATCH,
    ) -> dict[str, Any]:
        path = resource.path(namespace, name, subresource)
        return dict(await self.request("PATCH", path, body=patch, content_type=kind))

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        grace_s: int | None = None,
        propagation: str = "Background",
    ) -> None:
        """Delete an object. If a uid is given and another object has that name, this raises Outdated."""
        body: dict[str, Any] = {"propagationPolicy": propagation}
        if uid:
            body["preconditions"] = {"uid": uid}
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        await self.request("DELETE", resource.path(namespace, name), body=body)

    async def delete_all(self, resource: Resource, namespace: str, *, labels: str, grace_s: int | None = None) -> None:
        """Delete all objects with these labels by one request."""
        body: dict[str, Any] = {"propagationPolicy": "Background"}
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        await self.request("DELETE", resource.path(namespace), params={"labelSelector": labels}, body=body)

    async def offers(self, resource: Resource) -> bool:
        """Whether the API server has this resource."""
        path = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        try:
            told = await self.request("GET", path)
        except Missing:
            return False
        return any(one.get("name") == resource.plural for one in told.get("resources") or ())

    async def may(self, verb: str, resource: Resource, subresource: str = "", *, namespace: str | None = None) -> bool:
        """Whether the account has this right: in the namespace, or in all of them if none is given."""
        asked = {"verb": verb, "group": resource.group, "resource": resource.plural, "subresource": subresource}
        spec = {"resourceAttributes": {**asked, "namespace": namespace or ""}}
        told = await self.create(ACCESS_REVIEWS, {"spec": spec})
        return bool((told.get("status") or {}).get("allowed"))

    async def close(self) -> None:
        await self._http.aclose()


def connect(kubeconfig: Path | None = None, context: str | None = None) -> Connection:
    """Without a file, the account of the pod in which we run is used, then $KUBECONFIG, then ~/.kube/config. Nothing is
    sent yet. A file that cannot be used is Invalid."""
    try:
        config = load_config(kubeconfig, context)
        verify = verify_cluster(config.cluster, config.user or User(), config.abs_file)
        auth = authentication(config)
    except UNREADABLE as error:
        where = f"{kubeconfig}" if kubeconfig else "the kubeconfig"
        raise Invalid(f"{where} cannot be used: {_words(error)}", hint="check it with `kubectl version`") from error
    transport = httpx2.AsyncHTTPTransport(
        verify=verify,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=32),
        socket_options=_KEEP_ALIVE,
    )
    http = httpx2.AsyncClient(
        base_url=config.cluster.server,
        auth=auth,
        transport=transport,
        timeout=httpx2.Timeout(_ANSWER_S),
        headers={"User-Agent": "muster"},
    )
    return Connection(http, config.namespace)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    parts: list[bytes] = []
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            parts.append(line)
            yield b"".join(parts)
            parts.clear()
        parts.append(rest)


async def _body(answer: httpx2.Response) -> bytes:
    try:
        return await answer.aread()
    except (httpx2.HTTPError, httpx2.StreamError):
        return b""


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def _decoded(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content) if content else {}
    except msgspec.DecodeError:
        return content[:500].decode(errors="replace")


def _present(params: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in params.items() if value}


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
