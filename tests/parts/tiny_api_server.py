"""An API server that answers as a test says: a tiny HTTP server, for what no real one does on demand."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, Iterable[Any]]
"""A status, and the lines of the body: bytes as they are, anything else as JSON."""


@dataclass(frozen=True)
class Asked:
    path: str
    params: dict[str, str]
    authorization: str


@contextmanager
def tiny_api_server(answer: Callable[[Asked], Answer]) -> Iterator[str]:
    """Its URL. `answer` is called for every GET, in a thread of its own: it may wait."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            split = urlsplit(self.path)
            params = {name: values[0] for name, values in parse_qs(split.query).items()}
            status, lines = answer(Asked(split.path, params, self.headers.get("Authorization", "")))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            for line in lines:
                self.wfile.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: object) -> None:
            """A client that goes in the middle of an answer is part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def kubeconfig_for(url: str, folder: Path) -> Path:
    """A kubeconfig with two contexts: the current one has the namespace `lab`."""
    file = folder / "kubeconfig"
    config = {
        "current-context": "c",
        "contexts": [
            {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "lab"}},
            {"name": "other", "context": {"cluster": "c", "user": "u"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    file.write_text(json.dumps(config))
    return file
