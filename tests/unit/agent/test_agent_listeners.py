"""Which sockets of /proc/net/tcp a connection to the loopback address may reach."""

import os
import socket

import pytest

from muster.agent.execution.listeners import Listener, listeners, parsed, reached, sockets_of, tables

pytestmark = pytest.mark.fast

_HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def _line(address: str, port: int, state: str, inode: int) -> str:
    return (
        f"   0: {address}:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  1000  0 {inode} 1\n"
    )


def test_addresses_of_both_versions_are_read() -> None:
    v4 = _HEAD + _line("0100007F", 8888, "0A", 11) + _line("00000000", 8889, "0A", 12) + _line("0100007F", 9, "01", 13)
    v6 = _HEAD + _line("00000000000000000000000001000000", 8888, "0A", 14)
    assert list(parsed(v4)) == [Listener("127.0.0.1", 8888, 11), Listener("0.0.0.0", 8889, 12)]
    assert listeners(8888, [v4, v6]) == [Listener("127.0.0.1", 8888, 11), Listener("::1", 8888, 14)]


@pytest.mark.parametrize(
    ("listens", "at", "is_reached"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("0.0.0.0", "127.0.0.1", True),
        ("::", "127.0.0.1", True),
        ("::ffff:127.0.0.1", "127.0.0.1", True),
        ("10.0.0.5", "127.0.0.1", False),
        ("127.0.0.2", "127.0.0.1", False),
        ("::1", "127.0.0.1", False),
        ("::1", "::1", True),
        ("::", "::1", True),
        ("0.0.0.0", "::1", False),
    ],
)
def test_what_is_reached_depends_on_where_it_listens(listens: str, at: str, is_reached: bool) -> None:
    assert bool(reached([Listener(listens, 80, 1)], at)) is is_reached


def test_our_own_listening_socket_is_found_and_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as own:
        found = listeners(own.getsockname()[1], tables())
        assert [one.address for one in found] == ["127.0.0.1"]
        assert {one.inode for one in found} <= sockets_of([os.getpid()])
        assert not sockets_of([1 << 30])
