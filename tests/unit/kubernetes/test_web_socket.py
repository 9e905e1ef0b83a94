"""The frames of a WebSocket: any pieces of a stream give the same messages, and nonsense is refused."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.kubernetes.web_socket import BINARY, CLOSE, PING, SocketDecoder, SocketError, encoded

pytestmark = pytest.mark.fast


def frame(kind: int, payload: bytes, *, is_last: bool = True) -> bytes:
    """As a server writes it."""
    first, size = (0x80 if is_last else 0) | kind, len(payload)
    if size < 126:
        return struct.pack(">BB", first, size) + payload
    if size < 1 << 16:
        return struct.pack(">BBH", first, 126, size) + payload
    return struct.pack(">BBQ", first, 127, size) + payload


@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 50))
def test_messages_are_the_same_whatever_the_pieces(payloads: list[bytes], step: int) -> None:
    stream = b"".join(frame(BINARY, payload) for payload in payloads)
    decoder, found = SocketDecoder(), []
    for start in range(0, len(stream), step):
        found += decoder.feed(stream[start : start + step])
    assert found == [(BINARY, payload) for payload in payloads]


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536])
def test_lengths_of_each_form_are_read(size: int) -> None:
    assert SocketDecoder().feed(frame(BINARY, b"x" * size)) == [(BINARY, b"x" * size)]


def test_a_message_in_parts_is_one_message_and_a_ping_may_come_between() -> None:
    stream = frame(BINARY, b"ab", is_last=False) + frame(PING, b"?") + frame(0, b"cd") + frame(CLOSE, b"")
    assert SocketDecoder().feed(stream) == [(PING, b"?"), (BINARY, b"abcd"), (CLOSE, b"")]


@pytest.mark.parametrize("size", [0, 5, 125, 126, 70000])
def test_what_is_sent_is_masked_and_can_be_unmasked(size: int) -> None:
    payload = bytes(number % 251 for number in range(size))
    sent = encoded(BINARY, payload)
    assert sent[1] & 0x80
    start = {126: 4, 127: 10}.get(sent[1] & 0x7F, 2)
    mask, masked = sent[start : start + 4], sent[start + 4 :]
    assert bytes(one ^ mask[place % 4] for place, one in enumerate(masked)) == payload


@pytest.mark.parametrize("nonsense", [b"\x82\x85", b"\xf2\x01", struct.pack(">BBQ", 0x82, 127, 1 << 40)])
def test_nonsense_is_refused(nonsense: bytes) -> None:
    with pytest.raises(SocketError):
        SocketDecoder().feed(nonsense)
