"""Messages as lines, among lines of others."""

import pytest

from muster.agent.system.frames import FrameError, Message
from muster.agent.system.lines import LineDecoder, encode_line


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_messages_come_whole_in_pieces_of_any_size(size: int) -> None:
    messages: list[Message] = [
        {"op": "exec_write", "id": 1, "data": bytes(range(256)) * 20},
        {"op": "alive"},
        {"id": 2, "text": "ä\n"},
    ]
    stream = b"".join(encode_line(message) for message in messages)
    decoder = LineDecoder()
    found = [one for at in range(0, len(stream), size) for one in decoder.feed(stream[at : at + size])]
    assert found == messages


def test_each_message_is_one_line() -> None:
    assert encode_line({"data": b"one\ntwo\n"}).count(b"\n") == 1


def test_lines_of_others_are_left_out() -> None:
    stream = b"Welcome to n1\n" + encode_line({"id": 1}) + b"\nquota: 80 %\n" + encode_line({"id": 2})
    assert LineDecoder().feed(stream) == [{"id": 1}, {"id": 2}]


def test_broken_line_ends_the_stream() -> None:
    with pytest.raises(FrameError):
        LineDecoder().feed(b"muster:no base64!\n")
