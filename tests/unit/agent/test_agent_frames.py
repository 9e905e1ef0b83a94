import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.agent.system.frames import MAX_FRAME_BYTES, FrameDecoder, FrameError, FrameTooLarge, encode

pytestmark = pytest.mark.fast

plain = st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=20) | st.none(), max_size=4)
messages = plain | st.builds(lambda message, data: {**message, "data": data}, plain, st.binary(max_size=60))


@given(st.lists(messages, max_size=5), st.lists(st.integers(1, 40), max_size=30))
def test_messages_survive_any_way_of_cutting_the_stream(sent: list[dict[str, object]], cuts: list[int]) -> None:
    stream = b"".join(encode(message) for message in sent)
    decoder, received = FrameDecoder(), []
    for size in [*cuts, len(stream) + 1]:
        received += decoder.feed(stream[:size])
        stream = stream[size:]
    assert received == sent


def test_frame_is_a_big_endian_length_and_json() -> None:
    frame = encode({"id": 1, "op": "ping"})
    assert frame[:4] == struct.pack(">I", len(frame) - 4)
    assert json.loads(frame[4:]) == {"id": 1, "op": "ping"}


def test_frame_that_announces_too_much_is_an_error_before_it_arrives() -> None:
    with pytest.raises(FrameError, match="announces"):
        FrameDecoder().feed(struct.pack(">I", MAX_FRAME_BYTES + 1))


@pytest.mark.parametrize("body", [b"not json", b"[1]", b"\xff\xfe"])
def test_frame_without_an_object_is_an_error(body: bytes) -> None:
    with pytest.raises(FrameError):
        FrameDecoder().feed(struct.pack(">I", len(body)) + body)


def test_data_travels_as_it_is_behind_its_message() -> None:
    frame = encode({"id": 1, "data": b"\x00{}"})
    assert frame.endswith(b"}\x00{}")
    assert FrameDecoder().feed(frame) == [{"id": 1, "data": b"\x00{}"}]


@pytest.mark.parametrize("body", [b"", b"\0\0\0", b"\0\0\0\0", b"\0\0\0\x03{}", b"\0\0\0\x02[]data"])
def test_frame_with_data_and_without_an_object_is_an_error(body: bytes) -> None:
    with pytest.raises(FrameError):
        FrameDecoder().feed(struct.pack(">I", len(body) | 1 << 31) + body)


def test_message_that_does_not_fit_is_refused_before_it_is_sent() -> None:
    with pytest.raises(FrameTooLarge):
        encode({"data": "x" * MAX_FRAME_BYTES})
