"""A real HTTP server in a thread, told by each test what to answer, remembering what it was asked."""

import json
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """`pieces` are sent as chunks; with `cut` the connection dies at their end. No status: it dies at once."""

    status: int | None = 200
    body: Any = None
    pieces: Iterable[bytes] | None = None
    cut: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


DROP = Answer(status=None)
_OUTSIDE = ("/healthz", "/readyz")
Reply = Answer | Callable[[Asked], Answer]


def problem(status: int, code: str, detail: str, **more: Any) -> Answer:
    return Answer(status, {"status": status, "code": code, "detail": detail, **more})


class TinyServer:
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self._replies: dict[tuple[str, str], deque[Reply]] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients may hang up
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"

    def on(self, method: str, path: str, *replies: Reply) -> None:
        """Answers in turn; the last one stays. `path` is below the API's root."""
        self._replies[method, path if path in _OUTSIDE else "/api/v1" + path] = deque(replies)

    def requests(self, method: str, path: str) -> list[Asked]:
        return [asked for asked in self.asked if (asked.method, asked.path) == (method, "/api/v1" + path)]

    def stop(self) -> None:
        if not self._thread.is_alive():
            return
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _reply(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            replies = self._replies.get((asked.method, asked.path))
            if not replies:
                return problem(404, "not-found", f"there is no {asked.path}")
            reply = replies.popleft() if len(replies) > 1 else replies[0]
        return reply(asked) if callable(reply) else reply

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        tiny = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                url = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = tiny._reply(Asked(self.command, url.path, parse_qs(url.query), dict(self.headers), body))
                if answer.status is None:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                if answer.pieces is not None:
                    self._stream(answer)
                    return
                plain = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_header("Content-Length", str(len(plain)))
                self.end_headers()
                self.wfile.write(plain)

            def _stream(self, answer: Answer) -> None:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for piece in answer.pieces or ():
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                if answer.cut:
                    self.close_connection = True
                else:
                    self.wfile.write(b"0\r\n\r\n")

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

            def log_message(self, format: str, *args: Any) -> None:
                return

        return Handler


def a_job(**changes: Any) -> dict[str, Any]:
    return {
        "id": "01jobjobjobjob01",
        "name": "mnist",
        "owner": "li",
        "state": "Running",
        "mode": "Collective",
        "cluster": "local",
        "framework": "plain",
        "priority": "normal",
        "attempt": 1,
        "retries": 0,
        "succeeded": 0,
        "failed": 0,
        "active": 2,
        "tasks": 2,
        "createdAt": "2026-01-02T03:04:05.678Z",
        "startedAt": "2026-01-02T03:04:06.000Z",
        "endedAt": None,
        "reason": "",
        "labels": {},
        "resources": {"cpu": "1", "memory": "2Gi", "gpu": 0},
        "version": 3,
        **changes,
    }


def a_task(index: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"task{index}",
        "name": f"mnist-worker-{index}",
        "role": "worker",
        "index": index,
        "rank": index,
        "attempt": 1,
        "state": "Running",
        "node": "n1",
        "devices": [],
        "ports": [4000 + index],
        "startedAt": "2026-01-02T03:04:06.000Z",
        "endedAt": None,
        "exitCode": None,
        "signal": None,
        "reason": "",
        **changes,
    }


def sse(kind: str, data: Any, id_: str | None = None) -> bytes:
    head = f"id: {id_}\n" if id_ is not None else ""
    return f"{head}event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
