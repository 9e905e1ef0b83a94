import sys

import pytest

from muster.cli.progress import progress

pytestmark = pytest.mark.fast


class Ticks:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_is_quickly_done_says_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    with progress("fifo", Ticks()) as tell:
        assert tell is not None
        tell(0.5)

    assert capsys.readouterr().err == ""


def test_after_two_seconds_a_line_says_how_far_it_is_and_goes_away_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    clock = Ticks()

    with progress("fifo", clock) as tell:
        assert tell is not None
        clock.now += 2.5
        tell(0.25)
        tell(0.26)

    assert capsys.readouterr().err == "\rfifo:  25 %\r" + " " * 11 + "\r"


def test_where_nobody_looks_nothing_is_told() -> None:
    with progress("fifo", Ticks()) as tell:
        assert tell is None
