"""Questions to a log server that is in no state to answer."""

import socket
import threading

import pytest

from muster.domain.errors import HistoryAway
from muster.exporters.log_server.history import LogServerHistory
from muster.settings.log_server import LogServerSettings

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


def history_at(listening: socket.socket) -> LogServerHistory:
    host, port = listening.getsockname()
    return LogServerHistory(LogServerSettings(url=f"http://{host}:{port}"), "", within_s=0.3)


async def test_one_that_is_silent_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(HistoryAway, match="does not answer"):
        await history_at(silent).jobs({})


async def test_one_that_answers_bit_by_bit_is_not_waited_for() -> None:
    done = threading.Event()

    def drip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while not done.wait(0.05):
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        dripping = threading.Thread(target=drip, args=(listening,))
        dripping.start()
        try:
            with pytest.raises(HistoryAway, match="does not answer within"):
                await history_at(listening).jobs({})
        finally:
            done.set()
            dripping.join()
