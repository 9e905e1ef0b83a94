"""`muster logs` selects by worker number, by time and by pattern."""

import io
import re
from datetime import UTC, datetime

import click
import pytest

from muster.cli.logs.line_filter import keep_matching
from muster.cli.logs.printing import LogPrinter
from muster.cli.logs.times import parse_time
from muster.client.handles import LogChunk
from tests.unit.cli.calling import ID, muster, with_job
from tests.unit.cli.test_cli_logs import log
from tests.unit.client.tiny_server import Answer, TinyServer

pytestmark = pytest.mark.fast
NOW = datetime(2026, 11, 16, 12, 0, 30, tzinfo=UTC).astimezone()


@pytest.mark.parametrize(
    ("text", "seconds_ago"),
    [("10m", 600), ("1h30m", 5400), ("90", 90), ("2026-11-16T12:00:00Z", 30), ("2026-11-16T20:00+08:00", 30)],
)
def test_times_are_read(text: str, seconds_ago: int) -> None:
    assert (NOW - parse_time(text, NOW)).total_seconds() == seconds_ago


def test_a_time_of_day_is_the_last_one() -> None:
    now = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
    assert parse_time("9:00", now) == datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
    assert parse_time("10:00:05", now) == datetime(2026, 11, 15, 10, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "soon", "25:00", "2026-13-01", "2026-11-16T", "-5m"])
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be read as a time; write 10m"):
        parse_time(text, NOW)


def test_lines_are_kept_by_pattern_whatever_their_colours() -> None:
    keep = keep_matching("a(b|c)", re.IGNORECASE)
    assert [keep(line) for line in ("xAB", "a\x1b[31mc\x1b[0m", "ad")] == [True, True, False]
    with pytest.raises(click.BadParameter, match="-F takes it as it is"):
        keep_matching("(")


def test_lines_that_match_have_their_time_and_their_worker() -> None:
    out = io.StringIO()
    at = datetime(2026, 11, 16, 10, 0, 0, 123_000, tzinfo=UTC)
    chunks = [LogChunk("mnist-worker-0", 0, "loss 1\nnoise\nloss", at), LogChunk("mnist-worker-0", 17, " 2", at)]
    LogPrinter(out, "mnist", prefixed=True, coloured=False, keep=keep_matching("loss")).print(chunks)
    time = at.astimezone().isoformat(timespec="seconds")
    assert out.getvalue() == f"{time} worker-0 | loss 1\n{time} worker-0 | loss 2\n"


def test_options_reach_the_server_and_bad_ones_do_not(server: TinyServer) -> None:
    with_job(server)
    server.on("GET", f"/jobs/{ID}/logs", Answer(pieces=[log(0, "LOSS a.b\nother\n", "1")]))
    words = (
        "--since",
        "2026-11-16T10:00Z",
        "--until",
        "2026-11-16T11:00Z",
        "--timestamps",
        "--grep",
        "loss A.B",
        "-iF",
    )
    assert muster(server, "logs", "mnist", "-w", "0", *words).out == "LOSS a.b\n"
    assert server.asked[-1].query == {
        "task": ["mnist-worker-0"],
        "since": ["2026-11-16T10:00:00+00:00"],
        "until": ["2026-11-16T11:00:00+00:00"],
        "timestamps": ["true"],
    }
    for bad in (["-i"], ["--grep", "("], ["--since", "soon"], ["-f", "--until", "1m"], ["--raw", "--grep", "x"]):
        assert muster(server, "logs", "mnist", *bad).code == 2
