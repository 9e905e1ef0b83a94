"""Collecting and sending, towards a database that does what the test says: a tiny HTTP server, or nobody."""

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from structlog.testing import capture_logs

from muster.exporters.influx import InfluxExporter
from muster.exporters.influx_database import InfluxDatabase
from muster.ports.capabilities import NodeUsage
from muster.ports.exporting import ExportCounts
from muster.settings.influx import InfluxSettings
from tests.parts.fake_backend import FakeBackend

pytestmark = pytest.mark.fast


@dataclass
class TinyInflux:
    """Answers writes with the statuses given, then with 204."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    create_status: int = 200
    created: int = 0
    written: list[str] = field(default_factory=list)
    accounts: set[str | None] = field(default_factory=set)


@pytest.fixture
def tiny() -> Iterator[TinyInflux]:
    state = TinyInflux()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            state.accounts.add(self.headers["Authorization"])
            if self.path == "/query":
                state.created += 1
                status = state.create_status
            else:
                assert self.path == "/write?db=muster&precision=ms"
                status = state.statuses.pop(0) if state.statuses else 204
                if status == 204:
                    state.written += body.splitlines()
            self.send_response(status)
            if status in (301, 302):
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            """What a POST becomes that is sent elsewhere."""
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def a_sample(received_at: float) -> NodeUsage:
    return NodeUsage(received_at, {"cpu_percent": 1.0, "per_core": [1.0]}, {}, received_at)


def an_exporter(url: str, backend: FakeBackend, counts: ExportCounts, *, kept: int = 1000) -> InfluxExporter:
    return InfluxExporter(InfluxDatabase(InfluxSettings(url=url), ""), {"lab": backend}, counts, kept)


def test_each_sample_is_sent_once(tiny: TinyInflux) -> None:
    async def scenario() -> None:
        backend, counts = FakeBackend(samples={"n1": a_sample(1.0)}), ExportCounts()
        exporter = an_exporter(tiny.url, backend, counts)
        for received_at in (1.0, 1.0, 2.0):
            backend.samples["n1"] = a_sample(received_at)
            await exporter.collect()
            await exporter.send()
        assert (counts.sent, counts.waiting, counts.dropped) == (4, 0, 0)

    asyncio.run(scenario())
    assert [line.split()[-1] for line in tiny.written] == ["1000", "1000", "2000", "2000"]
    assert tiny.created == 1


@pytest.mark.parametrize(
    ("status", "sent", "waiting", "dropped"),
    [
        (500, 0, 2, 0),
        (503, 0, 2, 0),
        (301, 0, 2, 0),
        (302, 0, 2, 0),
        (401, 0, 2, 0),
        (404, 0, 2, 0),
        (400, 0, 0, 2),
        (413, 0, 0, 2),
        (204, 2, 0, 0),
    ],
)
def test_points_wait_unless_they_can_never_be_taken(
    tiny: TinyInflux, status: int, sent: int, waiting: int, dropped: int
) -> None:
    tiny.statuses = [status]

    async def scenario() -> ExportCounts:
        counts = ExportCounts()
        exporter = an_exporter(tiny.url, FakeBackend(samples={"n1": a_sample(1.0)}), counts)
        await exporter.collect()
        await exporter.send()
        assert (counts.sent, counts.waiting, counts.dropped) == (sent, waiting, dropped)
        await exporter.send()
        return counts

    assert asyncio.run(scenario()).waiting == 0
    assert tiny.created == (2 if status == 404 else 1)  # it may have been dropped meanwhile


def test_its_absence_and_its_return_are_logged_once_each(tiny: TinyInflux) -> None:
    tiny.statuses = [503, 503]

    async def scenario() -> None:
        exporter = an_exporter(tiny.url, FakeBackend(samples={"n1": a_sample(1.0)}), ExportCounts())
        await exporter.collect()
        for _ in range(4):
            await exporter.send()

    with capture_logs() as logged:
        asyncio.run(scenario())
    assert [(line["event"], line["waiting"]) for line in logged] == [
        ("InfluxDB is unavailable", 2),
        ("InfluxDB is available again", 0),
    ]


def test_an_account_that_may_not_make_the_database_may_still_write(tiny: TinyInflux) -> None:
    tiny.create_status = 403

    async def scenario() -> None:
        counts = ExportCounts()
        exporter = an_exporter(tiny.url, FakeBackend(samples={"n1": a_sample(1.0)}), counts)
        await exporter.collect()
        await exporter.send()
        assert counts.sent == 2

    asyncio.run(scenario())


def test_the_account_travels_in_a_header(tiny: TinyInflux) -> None:
    settings = InfluxSettings(url=tiny.url, user="muster", password_file="somewhere")
    InfluxDatabase(settings, "word").write(b"cpu value=1.0 1")
    assert tiny.accounts == {"Basic bXVzdGVyOndvcmQ="}


def test_the_oldest_points_are_forgotten_when_nobody_takes_them() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"

        async def scenario() -> None:
            backend, counts = FakeBackend(), ExportCounts()
            exporter = an_exporter(url, backend, counts, kept=5)
            for received_at in range(1, 6):
                backend.samples = {"n1": a_sample(float(received_at))}
                await exporter.collect()
                await exporter.send()
            assert (counts.sent, counts.waiting, counts.dropped) == (0, 4, 6)

        asyncio.run(scenario())
