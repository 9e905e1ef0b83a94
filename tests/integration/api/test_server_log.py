"""The server's own log, in a file and over the API, for admins."""

import json
import os
from pathlib import Path
from typing import Any

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique
from tests.integration.api.test_live import until
from tests.parts.server import MusterServer, running_server


def append(server: MusterServer, **entry: Any) -> None:
    """A line as the server writes it, so that a test knows when it comes."""
    with (server.home / "server.log").open("a") as file:
        file.write(json.dumps({"level": "info", "timestamp": "2026-01-02T03:04:05Z", **entry}) + "\n")


def test_the_last_entries_are_answered_with_the_server_that_wrote_them(muster_server: MusterServer) -> None:
    admin = Caller(muster_server, muster_server.token)
    entries = ok(admin.get("/server/log?tail=10000"))["items"]
    assert "serving" in {entry["event"] for entry in entries}
    assert all({"event", "level", "timestamp"} <= set(entry) for entry in entries)
    event = unique("entry")
    append(muster_server, event=event, count=3)
    page = ok(admin.get("/server/log?tail=1"))
    assert [(entry["event"], entry["count"]) for entry in page["items"]] == [(event, 3)]
    assert (page["server"], page["role"]) == (muster_server.url, "acting")
    assert ok(admin.get(f"/server/log?cursor={page['nextCursor']}"))["items"] == []
    assert ok(admin.get("/server/log?cursor=nonsense"), 422)["code"] == "invalid"


def test_the_command_prints_and_follows_it(muster_server: MusterServer) -> None:
    first, second = unique("first"), unique("second")
    append(muster_server, event=first, node="a\x1b]0;b")
    shown = muster_server.run("server", "logs", "-n", "1", check=True)
    assert shown.stdout == f"2026-01-02T03:04:05  info     {first}  node=a\\x1b]0;b\n"
    assert shown.stderr == f"the log of {muster_server.url} (acting)\n"
    following = muster_server.popen("server", "logs", "-f", "-n", "1", "-o", "json")
    assert following.stdout is not None
    try:
        assert json.loads(following.stdout.readline())["event"] == first
        append(muster_server, event=second)
        assert json.loads(following.stdout.readline())["event"] == second
    finally:
        following.kill()
        following.communicate()


def test_a_file_that_somebody_moves_away_is_begun_again_and_both_logs_have_the_same_lines(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("logFile: {path: own.log, maxSize: 64Ki, keep: 1}\naccessLog: true\n")
    with running_server(home) as server:
        assert (home / "own.log").stat().st_mode & 0o777 == 0o600
        (home / "own.log").rename(home / "moved.log")
        admin = Caller(server, server.token)
        ok(admin.get("/whoami?token=hidden-value"))
        assert any("whoami" in entry["event"] for entry in ok(admin.get("/server/log"))["items"])
    lines = (home / "moved.log").read_text() + (home / "own.log").read_text()
    assert lines == (home / "stderr.log").read_text()
    assert "hidden-value" not in lines
    assert all(json.loads(line)["timestamp"] for line in lines.splitlines())


def test_a_server_without_a_log_file_says_how_to_get_one_and_one_that_cannot_write_does_not_start(
    own_server: MusterServer, tmp_path: Path
) -> None:
    problem = ok(Caller(own_server, own_server.token).get("/server/log"), 404)
    assert "--log-file" in problem["hint"]
    missing = tmp_path / "nowhere" / "server.log"
    done = own_server.run("server", "--home", str(tmp_path / "other"), "--log-file", os.fspath(missing))
    assert done.returncode == 2
    assert f"cannot write the log file {missing}" in done.stderr


def test_a_live_stream_tells_where_the_log_ends_and_what_is_written_then(muster_server: MusterServer) -> None:
    admin = Caller(muster_server, muster_server.token)
    event = unique("live")
    with admin.stream("/live?topics=server-log") as events:
        begun = until(events, "serverLog")
        assert (begun["after"], begun["items"]) == (None, [])
        append(muster_server, event=event)
        cursor, found = begun["nextCursor"], []
        while event not in found:
            told = until(events, "serverLog")
            assert told["after"] == cursor, "nothing is left out"
            cursor, found = told["nextCursor"], [entry["event"] for entry in told["items"]]


def test_the_log_is_live_for_admins_only(people: People) -> None:
    problem(people.owner.get("/live?topics=server-log"), 403, "forbidden")
    with people.owner.stream("/live?topics=server-log,queue&skipMissing=true") as events:
        assert until(events, "ready")["missing"] == ["server-log"]
