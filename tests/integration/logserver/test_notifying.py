"""Each record is posted on, once and in order, to somebody who answers slowly, wrongly or not at all for a while."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.parts.log_server import LogServer, record, running_log_server
from tests.parts.server import polls


class Webhook:
    """Answers with `status`, or keeps everybody waiting while `is_stuck`."""

    def __init__(self, port: int = 0) -> None:
        self.got: list[dict[str, Any]] = []
        self.status = 200
        self.is_free = threading.Event()
        self.is_free.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.is_free.wait(120)
                if outer.status == 200:
                    outer.got.append(body)
                self.send_response(outer.status)
                if outer.status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                """What a POST becomes that is sent elsewhere."""
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/records"

    @property
    def numbers(self) -> list[int]:
        return [one["seq"] for one in self.got]

    def close(self) -> None:
        self.is_free.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def webhook() -> Iterator[Webhook]:
    hook = Webhook()
    try:
        yield hook
    finally:
        hook.close()


def wait_until(hook: Webhook, server: LogServer, numbers: list[int]) -> None:
    for _ in polls(60):
        if hook.numbers == numbers:
            return
    raise AssertionError(f"{hook.numbers} {server.errors.read_text()}")


def test_records_are_passed_on_in_order_also_after_failures_and_a_kill(tmp_path: Path) -> None:
    with webhook() as hook, running_log_server(tmp_path, "--notify", hook.url) as server:
        server.send([record(n) for n in range(1, 6)])
        wait_until(hook, server, [1, 2, 3, 4, 5])
        hook.status = 500
        server.send([record(n) for n in range(6, 11)])
        for _ in polls(60):
            if server.call("GET", "/v1/status")[1]["notify"]["problem"] == "answered 500":
                break
        server.kill()
        server.start()
        hook.status = 200
        wait_until(hook, server, list(range(1, 11)))
        assert hook.got == server.lines()


def test_somebody_who_does_not_answer_does_not_hold_up_the_taking_of_records(tmp_path: Path) -> None:
    with webhook() as hook, running_log_server(tmp_path, "--notify", hook.url) as server:
        hook.is_free.clear()
        for n in range(1, 51):
            assert server.send([record(n)])["stored"] == 1
        assert hook.got == []
        hook.is_free.set()
        wait_until(hook, server, list(range(1, 51)))


def test_a_record_that_is_sent_elsewhere_is_not_taken_and_waits(tmp_path: Path) -> None:
    with webhook() as hook, running_log_server(tmp_path, "--notify", hook.url) as server:
        hook.status = 302
        server.send([record(1)])
        for _ in polls(60):
            if server.call("GET", "/v1/status")[1]["notify"]["problem"] == "answered 302":
                break
        hook.status = 200
        wait_until(hook, server, [1])


def test_a_record_that_is_refused_is_left_out(tmp_path: Path) -> None:
    with webhook() as hook, running_log_server(tmp_path, "--notify", hook.url) as server:
        hook.status = 400
        server.send([record(1)])
        for _ in polls(60):
            if server.call("GET", "/v1/status")[1]["notify"]["leftOut"] == 1:
                break
        hook.status = 200
        server.send([record(2)])
        wait_until(hook, server, [2])
