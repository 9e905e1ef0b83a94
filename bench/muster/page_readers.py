"""Many open pages in one process of its own: it reads live streams, asks for what real pages ask for, and notes when
each page shows that a job has ended.

It is a plain epoll loop, so that on a small machine it takes little from the server that it measures. Pages of the same
user get the same bytes, and each distinct message is parsed once. Run by `bench.muster.open_pages`: the first line on
the standard input says which streams to open; it prints a line when all are open, and the figures when its input ends.
"""

import json
import resource
import selectors
import socket
import sys
import time
from array import array
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bench.muster.page_requests import COUNT, SOME_TIME_OPEN, Agenda, Asking, Follower

OPENING_AT_ONCE = 25
"""How many streams are being opened at a time."""
READ_BYTES = 1 << 18
KEPT_MESSAGES = 256
TOLD_DELAYS = 5000
FINAL = frozenset({"Succeeded", "Failed", "Cancelled"})

MOST_WAIT_S = 1.0

Ended = tuple[str, float]
"""A job and when it ended."""


@dataclass(frozen=True)
class Message:
    event: str
    data: dict[str, Any]
    ended: list[Ended]


@dataclass(eq=False)
class Page:
    connection: socket.socket
    follower: Follower
    rest: bytes = b""
    is_open: bool = False
    ended: set[str] = field(default_factory=set)


class Pages:
    def __init__(self) -> None:
        self._selector = selectors.EpollSelector()
        self._known: dict[bytes, Message] = {}
        self._agenda = Agenda()
        self._address = ("", 0)
        self.all: list[Page] = []
        self.delays_s = array("d")
        self.received_bytes = 0
        self.resyncs = 0
        self.closed = 0

    def open(self, host: str, port: int, streams: list[dict[str, Any]]) -> None:
        self._address = (host, port)
        for begin in range(0, len(streams), OPENING_AT_ONCE):
            opened = [self._opened(host, port, one) for one in streams[begin : begin + OPENING_AT_ONCE]]
            while not all(page.is_open for page in opened):
                self.read(MOST_WAIT_S)

    def read(self, timeout_s: float) -> bool:
        """Reads what has come, asks for what is due, and returns whether the standard input has come to its end."""
        is_over = False
        for key, _ in self._selector.select(self._agenda.wait_s(time.time(), timeout_s)):
            match key.data:
                case None:
                    is_over = not sys.stdin.readline()
                case Asking() as asking:
                    self._hear(asking)
                case page:
                    self._receive(page)
        for asking, path in self._agenda.take(time.time()):
            asking.ask(path)
        return is_over

    def begin_to_ask(self) -> None:
        """They are taken to have been open for a while."""
        for page in self.all:
            if page.follower.job_id is None:
                self._agenda.plan(page.follower.asking, COUNT, SOME_TIME_OPEN, time.time())

    def listen_to_input(self) -> None:
        self._selector.register(sys.stdin, selectors.EVENT_READ, None)

    def _opened(self, host: str, port: int, stream: dict[str, Any]) -> Page:
        connection = socket.create_connection((host, port), timeout=60)
        head = f"Host: {host}:{port}\r\nAuthorization: Bearer {stream['token']}\r\n\r\n".encode()
        connection.sendall(f"GET {stream['path']} HTTP/1.1\r\n".encode() + head)
        connection.setblocking(False)
        page = Page(connection, Follower(Asking(self._connected, head), stream["job"]))
        self.all.append(page)
        self._selector.register(connection, selectors.EVENT_READ, page)
        return page

    def _connected(self, asking: Asking) -> socket.socket:
        connection = socket.create_connection(self._address, timeout=60)
        self._selector.register(connection, selectors.EVENT_READ, asking)
        return connection

    def _hear(self, asking: Asking) -> None:
        connection = asking.connection
        if connection is None:
            return
        try:
            data = connection.recv(READ_BYTES)
        except ConnectionResetError:
            data = b""
        if data:
            asking.receive(data)
            return
        self._selector.unregister(connection)
        connection.close()
        asking.is_closed()

    def _receive(self, page: Page) -> None:
        data = page.connection.recv(READ_BYTES)
        now = time.time()
        if not data:
            self._selector.unregister(page.connection)
            self.closed += 1
            return
        self.received_bytes += len(data)
        *blocks, page.rest = (page.rest + data).split(b"\n\n")
        for block in blocks:
            begin = (b"\n" + block).find(b"\nevent: ")  # not a header such as Muster-Last-Event
            if begin >= 0:
                self._show(page, block[begin:], now)

    def _show(self, page: Page, block: bytes, now: float) -> None:
        message = self._parsed(block)
        if message.event == "ready":
            page.is_open = True
        elif message.event == "resync":
            self.resyncs += 1
        page.follower.note(self._agenda, message.event, message.data, now)
        for job, ended_at in message.ended:
            if job not in page.ended:
                page.ended.add(job)
                self.delays_s.append(now - ended_at)

    def _parsed(self, block: bytes) -> Message:
        found = self._known.get(block)
        if found is None:
            if len(self._known) >= KEPT_MESSAGES:
                self._known.clear()
            found = self._known[block] = _message_of(block)
        return found


def _message_of(block: bytes) -> Message:
    fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
    data = json.loads(fields.get(b"data", b"{}"))
    jobs = [*data.get("jobs", ()), *([data["job"]] if data.get("job") else [])]
    ended = [(job["id"], datetime.fromisoformat(job["endedAt"]).timestamp()) for job in jobs if job["state"] in FINAL]
    return Message(fields.get(b"event", b"").decode(), data, ended)


def main() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    wanted = json.loads(sys.stdin.readline())
    pages = Pages()
    pages.open(wanted["host"], wanted["port"], wanted["streams"])
    pages.delays_s = array("d")
    print("open", flush=True)
    pages.listen_to_input()
    pages.begin_to_ask()
    before = time.process_time()
    while not pages.read(MOST_WAIT_S):
        pass
    print(json.dumps(_figures(pages, time.process_time() - before)), flush=True)


def _figures(pages: Pages, cpu_s: float) -> dict[str, Any]:
    """Of very many delays, every so many are told, of all that were sorted: their percentiles are the same."""
    delays = sorted(pages.delays_s)
    return {
        "cpuS": cpu_s,
        "receivedBytes": pages.received_bytes,
        "resyncs": pages.resyncs,
        "closed": pages.closed,
        "asked": sum(page.follower.asking.asked for page in pages.all),
        "refused": sum(page.follower.asking.refused for page in pages.all),
        "ends": [len(page.ended) for page in pages.all],
        "delaysS": [*delays[:: max(1, len(delays) // TOLD_DELAYS)], *delays[-1:]],
    }


if __name__ == "__main__":
    main()
