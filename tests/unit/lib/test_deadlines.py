"""A deadline ends what waits, and lets nothing begin afterwards."""

import socket

import pytest

from muster.lib.deadlines import Deadline
from tests.parts.server import polls

pytestmark = pytest.mark.fast


def test_a_read_ends_with_the_deadline_and_not_with_its_own_timeout() -> None:
    here, there = socket.socketpair()
    with here, there, Deadline(0.1) as deadline:
        here.settimeout(60)
        deadline.guard(here)
        assert here.recv(1) == b""
        assert deadline.is_over


def test_nothing_is_begun_after_the_deadline() -> None:
    here, there = socket.socketpair()
    with here, there, Deadline(0.0) as deadline:
        for _ in polls(10):
            if deadline.is_over:
                break
        with pytest.raises(TimeoutError):
            deadline.guard(here)


def test_a_connection_outlives_a_deadline_that_was_met() -> None:
    here, there = socket.socketpair()
    with here, there:
        with Deadline(60.0) as deadline:
            deadline.guard(here)
        here.sendall(b"x")
        assert there.recv(1) == b"x"
