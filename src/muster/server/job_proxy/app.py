"""What answers at the hosts of jobs: it finds out who asks, and passes everything on to the port of the first task.

Only the cookie that an entry with a link has set counts here; Muster's own cookies and tokens do not. It is checked at
every request, and again and again while one goes on, whether the viewer may still look at the job.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from muster.domain.errors import BadAnswer, Forbidden, MusterError, NotAuthenticated, NotFound
from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.engine.requests.accounts import Principal
from muster.engine.requests.running_tasks import running_task
from muster.engine.requests.task_connections import to_task
from muster.engine.state.event_builders import audit_event
from muster.ports.store import Change
from muster.server.access import Action
from muster.server.http_exchange import HttpExchange
from muster.server.job_hosts import JobPort, host_of
from muster.server.job_proxy.credentials import JobCredentials
from muster.server.job_proxy.entering import ENTER, FOLDER, SCRIPT, enter_page, enter_script, entered, refusal
from muster.server.job_proxy.headers import own_cookies, passed_back, passed_on, without_handshake
from muster.server.job_proxy.task_stream import TaskStream, streaming
from muster.server.job_sessions import COOKIE
from muster.server.problems import problem_of
from muster.server.services import Services
from muster.server.socket_forwarding import SocketExchange
from muster.server.token_watch import CHECK_EVERY_S

_WHAT = "its pages can be seen while it runs only"
_SAFE = ("GET", "HEAD", "OPTIONS")


class ByHost:
    """The whole application: hosts of jobs lead to their jobs and to nothing else, and all others to Muster."""

    def __init__(self, own: ASGIApp, services: Services) -> None:
        self._own = own
        self._hosts = services.proxy_hosts
        self._jobs = JobProxy(services)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_of_jobs = scope["type"] in ("http", "websocket") and self._hosts.is_below(host_of(scope))
        await (self._jobs if is_of_jobs else self._own)(scope, receive, send)


class JobProxy:
    """Pure ASGI."""

    def __init__(self, services: Services) -> None:
        self._parts = services
        self._credentials = JobCredentials(services.context)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        target = self._parts.proxy_hosts.parsed(host_of(scope))
        try:
            if target is None:
                raise NotFound("there is no such job", hint="open it again in Muster")
            if scope["type"] == "http" and scope["path"].startswith(FOLDER):
                response = await self._own_page(Request(scope, receive), target)
                await response(scope, receive, send)
                return
            _check_origin(scope)
            me, job = await self._viewer(scope, target)
            task, _ = running_task(self._parts.context, job, None, _WHAT)
            with self._parts.bounds.task_connections.held(me.name):
                await self._pass(scope, receive, send, me, job, task, target.port)
        except MusterError as error:
            await self._refuse(scope, receive, send, error, target)

    async def _own_page(self, request: Request, target: JobPort) -> Response:
        if request.method == "GET" and request.url.path == ENTER:
            return enter_page()
        if request.method == "GET" and request.url.path == SCRIPT:
            return enter_script()
        if request.method != "POST" or request.url.path != ENTER:
            raise NotFound("there is no such page")
        if not _is_own_origin(request.scope):
            raise Forbidden("a job is entered by its own page only")
        response, entry = await entered(request, self._parts.proxy_sessions, target)
        if entry is not None:
            me = await self._parts.accounts.behind(entry.secret_hash)
            job = await self._parts.find_job(me, target.job_id, Action.JOB_EXEC)
            event = audit_event("job.proxy", me.name, self._parts.context.clock(), job=job, port=target.port)
            await self._parts.context.apply(Change(events=[event]))
        return response

    async def _viewer(self, scope: Scope, target: JobPort) -> tuple[Principal, Job]:
        sessions = self._parts.proxy_sessions
        for cookie in own_cookies(scope["headers"], COOKIE):
            secret_hash = sessions.secret_hash(cookie, target)
            if secret_hash is not None:
                me = await self._parts.accounts.behind(secret_hash)
                return me, await self._parts.find_job(me, target.job_id, Action.JOB_EXEC)
        raise NotAuthenticated("you have not opened this page from Muster, or your login has ended")

    async def _pass(
        self, scope: Scope, receive: Receive, send: Send, me: Principal, job: Job, task: Task, port: int
    ) -> None:
        scheme = "https" if scope["scheme"] in ("https", "wss") else "http"
        headers = passed_on(scope["headers"], scheme, await self._credentials.of(job, task))
        async with to_task(self._parts.context, job, task, port) as connection, streaming(connection) as stream:
            if scope["type"] == "websocket":
                exchange = SocketExchange(receive, send, stream, stream, passed_back)
                await self._while_allowed(me, exchange.run(scope, host_of(scope), without_handshake(headers)))
                return

            async def refused() -> None:
                await self._refuse(scope, receive, send, _no_answer(stream, port), None)

            http = HttpExchange(scope, receive, send, stream, stream)
            await self._while_allowed(me, http.run(headers, passed_back, refused))

    async def _while_allowed(self, me: Principal, work: Coroutine[Any, Any, None]) -> None:
        """A page that goes on for hours is cut when its viewer has logged out."""
        task = asyncio.create_task(work)
        try:
            while not (await asyncio.wait({task}, timeout=CHECK_EVERY_S))[0]:
                await self._parts.accounts.recheck(me)
            task.result()
        except NotAuthenticated:
            return
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _refuse(
        self, scope: Scope, receive: Receive, send: Send, error: MusterError, target: JobPort | None
    ) -> None:
        if scope["type"] == "websocket":
            await problem_of(error)(scope, receive, send)
            return
        is_page = b"text/html" in dict(scope["headers"]).get(b"accept", b"")
        again = self._again(scope, target) if target is not None else ""
        await (refusal(error, again) if is_page else problem_of(error))(scope, receive, send)

    def _again(self, scope: Scope, target: JobPort) -> str:
        return f"{self._parts.public_address}/jobs/{target.job_id}/proxy/{target.port}{scope['path']}"


def _no_answer(stream: TaskStream, port: int) -> MusterError:
    return stream.error or BadAnswer(f"what listens on port {port} of the job does not answer as a web server")


def _check_origin(scope: Scope) -> None:
    """A page of another origin may neither use the viewer's cookie nor read what it leads to. It may only lead the
    viewer here, by a link."""
    headers = dict(scope["headers"])
    site, mode = headers.get(b"sec-fetch-site"), headers.get(b"sec-fetch-mode")
    is_visit = mode == b"navigate" and headers.get(b"sec-fetch-dest") == b"document" and scope.get("method") == "GET"
    if site in (b"cross-site", b"same-site") and not is_visit:
        raise Forbidden("this page of a job cannot be used by other pages")
    is_changing = scope["type"] == "websocket" or scope.get("method") not in _SAFE
    if (is_changing or b"origin" in headers) and not _is_own_origin(scope) and not is_visit:
        raise Forbidden("this page of a job cannot be used by other pages")


def _is_own_origin(scope: Scope) -> bool:
    """Programs send no Origin, and have no cookies of others that they could misuse; browsers always send it."""
    origin = dict(scope["headers"]).get(b"origin")
    return origin is None or origin.decode("latin-1").lower().partition("://")[2] == host_of(scope)
