"""A web server that receives notices, and answers well, wrongly, slowly or not at all."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class WebhookReceiver:
    """Answers with `status` and `answer`, or keeps everybody waiting while `is_free` is not set."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.calls = 0
        self.status = 200
        self.answer = b"ok"
        self.is_free = threading.Event()
        self.is_free.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.calls += 1
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.is_free.wait(120)
                if outer.status == 200:
                    outer.got.append(body)
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(outer.answer)))
                self.end_headers()
                self.wfile.write(outer.answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        self.is_free.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def webhook_receiver() -> Iterator[WebhookReceiver]:
    receiver = WebhookReceiver()
    try:
        yield receiver
    finally:
        receiver.close()
