"""Wrong usage ends with exit code 2, whoever notices it: this command or the server."""

from pathlib import Path

import pytest

from tests.unit.cli.calling import muster
from tests.unit.client.tiny_server import TinyServer, problem

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["submit", "missing.yaml"], "there is no file missing.yaml"),
        (["run", "--memory", "1Zi", "--", "true"], "'1Zi' cannot be read: expected a size such as 512Mi, 2Gi or 8GB"),
        (["run", "--cpu", "many", "--", "true"], "'many' cannot be read: expected a number of cores"),
        (["run", "--time-limit", "never", "--", "true"], "'never' cannot be read: expected a duration such as 90s"),
        (["logs", "mnist", "--since", "5m", "--until", "10m"], "--until must be later than --since"),
        (["logs", "mnist", "--since", "banana"], "'banana' cannot be read as a time; write 10m (before now)"),
        (["notebook", "--memory", "1Zi"], "'1Zi' cannot be read: expected a size such as 512Mi, 2Gi or 8GB"),
    ],
)
def test_what_cannot_be_read_is_refused_before_anything_is_sent(
    server: TinyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)

    outcome = muster(server, *words)

    assert outcome.code == 2
    assert said in " ".join(outcome.err.split())
    assert not server.asked


@pytest.mark.parametrize(
    ("words", "path"),
    [(["get", "jobs", "--state", "Foo"], "/jobs"), (["report", "--since", "banana"], "/report")],
)
def test_options_that_the_server_cannot_read_are_wrong_usage(server: TinyServer, words: list[str], path: str) -> None:
    server.on("GET", path, problem(422, "invalid", "this cannot be read", hint="write it so"))

    outcome = muster(server, *words)

    assert (outcome.code, outcome.err) == (2, "error: this cannot be read\nhint: write it so\n")


def test_what_the_server_cannot_do_is_a_failure(server: TinyServer) -> None:
    server.on("GET", "/jobs", problem(403, "forbidden", "you may not"))

    assert muster(server, "get", "jobs").code == 1
