"""The keys by which somebody leaves a session."""

import click
import pytest

from muster.cli.detach_keys import DEFAULT, DetachKeys, KeysType

pytestmark = pytest.mark.fast


def typed(keys: bytes, *pieces: bytes) -> tuple[bytes, bool]:
    found, passed = DetachKeys(keys), b""
    for piece in pieces:
        more, is_detached = found.passed(piece)
        passed += more
        if is_detached:
            return passed, True
    return passed, False


def test_keys_are_found_in_one_piece_and_in_several() -> None:
    assert typed(b"\x10\x11", b"ab\x10\x11cd") == (b"ab", True)
    assert typed(b"\x10\x11", b"ab\x10", b"\x11cd") == (b"ab", True)
    assert typed(b"aab", b"a", b"a", b"a", b"b") == (b"a", True)


def test_what_only_begins_like_them_is_passed_on_with_the_next_key() -> None:
    assert typed(b"\x10\x11", b"ab\x10") == (b"ab", False)
    assert typed(b"\x10\x11", b"ab\x10", b"c") == (b"ab\x10c", False)
    assert typed(b"\x10\x11", b"\x10\x10\x10c") == (b"\x10\x10\x10c", False)


def test_no_keys_leave_nothing_out() -> None:
    assert typed(b"", b"\x10\x11") == (b"\x10\x11", False)


@pytest.mark.parametrize(
    ("text", "keys"), [(DEFAULT, b"\x10\x11"), ("ctrl-a,d", b"\x01d"), ("none", b""), ("ctrl-],q", b"\x1dq")]
)
def test_keys_are_written_as_for_docker(text: str, keys: bytes) -> None:
    assert KeysType().convert(text, None, None) == keys


def test_what_is_no_key_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="ctrl-KEY"):
        KeysType().convert("ctrl-", None, None)
