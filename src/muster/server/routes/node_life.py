"""Routes by which admins cordon, drain and reconnect nodes, and run commands on them."""

import base64
import codecs
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse

from muster.api.nodes import NodeOut
from muster.domain.errors import MusterError
from muster.domain.nodes import Node
from muster.engine.nodes import administration
from muster.engine.requests.accounts import Principal
from muster.ports.capabilities import CommandEnd, CommandOutput
from muster.server.access import Action, require
from muster.server.node_views import seen_node
from muster.server.routes.nodes import OfCluster
from muster.server.services import Services, authenticated, services
from muster.server.streams import sse, sse_response
from muster.wire import requests
from muster.wire.response_models import response_model

router = APIRouter(tags=["clusters and nodes"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "A stream of server-sent events."}
}


@router.post("/nodes/{name}/cordon", response_model=response_model(NodeOut), summary="Keep new tasks away from a node")
async def cordon_node(name: str, body: requests.CordonIn, me: Me, parts: Parts, cluster: OfCluster = None) -> Response:
    """Running tasks continue. The cordon holds until `uncordon`, also through restarts."""
    node = _managed(me, parts, name, cluster)
    await administration.cordon(parts.context, node.cluster, node.name, body.reason, me.name)
    return _as_it_is_now(me, parts, node)


@router.post("/nodes/{name}/uncordon", response_model=response_model(NodeOut), summary="Let a node have tasks again")
async def uncordon_node(name: str, me: Me, parts: Parts, cluster: OfCluster = None) -> Response:
    """Let new tasks start on the node again. This ends a drain as well."""
    node = _managed(me, parts, name, cluster)
    await administration.uncordon(parts.context, node.cluster, node.name, me.name)
    return _as_it_is_now(me, parts, node)


@router.post("/nodes/{name}/drain", response_model=response_model(NodeOut), summary="Empty a node")
async def drain_node(name: str, body: requests.DrainIn, me: Me, parts: Parts, cluster: OfCluster = None) -> Response:
    """The node gets no new task. Running tasks continue to their end; with `now` their jobs go back to the queue, which
    does not count as a retry."""
    node = _managed(me, parts, name, cluster)
    await administration.drain(parts.context, node.cluster, node.name, body.reason, me.name, now=body.now)
    return _as_it_is_now(me, parts, node)


@router.post("/nodes/{name}/reconnect", response_model=response_model(NodeOut), summary="Reconnect to a node")
async def reconnect_node(
    name: str,
    me: Me,
    parts: Parts,
    cluster: OfCluster = None,
    forget_host_key: Annotated[bool, Query(alias="forgetHostKey")] = False,
) -> Response:
    """Connect to the node at once, without waiting for the next try. Its tasks do not notice. With `forgetHostKey`, the
    key that was kept at the first use is forgotten, and the one that the host shows now is kept."""
    node = _managed(me, parts, name, cluster)
    await administration.reconnect(parts.context, node.cluster, node.name, me.name, forget_host_key=forget_host_key)
    return _as_it_is_now(me, parts, node)


@router.post(
    "/nodes/{name}/exec", response_class=StreamingResponse, responses=_STREAM, summary="Run a command on a node"
)
async def exec_on_node(name: str, body: requests.ExecIn, me: Me, parts: Parts, cluster: OfCluster = None) -> Response:
    """The command runs in the home of the node's account, with a clean environment and no input. Events are `output`
    with {stream, text}, or {stream, base64} where it is no UTF-8, then `end` with {exitCode, timedOut}, or `failed`
    with {detail}. The command is ended when the caller hangs up."""
    node = _managed(me, parts, name, cluster)
    running = await administration.execute(parts.context, node.cluster, node.name, body.command, body.timeout, me.name)
    return sse_response(parts, me, _command_events(running))


async def _command_events(running: AsyncGenerator[CommandOutput | CommandEnd]) -> AsyncIterator[str]:
    outputs = {stream: _Output(stream) for stream in ("stdout", "stderr")}
    yield ": connected\n\n"
    try:
        async with aclosing(running) as pieces:
            async for piece in pieces:
                if isinstance(piece, CommandOutput):
                    yield outputs[piece.stream].event(piece.data) or ": still here\n\n"
                    continue
                rests = "".join(output.event(b"", is_last=True) for output in outputs.values())
                yield rests + _event("end", exitCode=piece.exit_code, timedOut=piece.timed_out)
    except MusterError as error:
        yield _event("failed", detail=error.message)


class _Output:
    """Turns one stream of a command into events: text if it is UTF-8, base64 otherwise, so that no byte is lost."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")

    def event(self, data: bytes, *, is_last: bool = False) -> str:
        """Returns an empty string if there is nothing to send yet, because a character may arrive in two pieces."""
        begun, _ = self._decoder.getstate()
        try:
            text = self._decoder.decode(data, final=is_last)
        except UnicodeDecodeError:
            self._decoder.reset()
            encoded = base64.b64encode(bytes(begun) + data).decode("ascii")
            return _event("output", stream=self._stream, base64=encoded)
        return _event("output", stream=self._stream, text=text) if text else ""


def _event(kind: str, **data: object) -> str:
    return sse(kind, json.dumps(data, ensure_ascii=False))


def _managed(me: Principal, parts: Services, name: str, cluster: str | None) -> Node:
    require(me, Action.NODE_MANAGE)
    return administration.find_node(parts.context, me.user, name, cluster)


def _as_it_is_now(me: Principal, parts: Services, node: Node) -> Response:
    return JSONResponse(seen_node(me, parts, administration.find_node(parts.context, me.user, node.name, node.cluster)))
