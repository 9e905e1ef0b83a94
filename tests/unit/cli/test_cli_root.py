"""The root command: help, completion, errors and exit codes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from muster.cli.familiar_words import COMMANDS, OBJECTS
from muster.cli.main import ENTRIES, cli
from muster.client.transport import Transport
from tests.unit.cli.calling import muster, with_job
from tests.unit.client.tiny_server import Answer, TinyServer

pytestmark = pytest.mark.fast


def _all_commands(group: click.Group, *names: str) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*names, name)
        if isinstance(command, click.Group):
            yield from _all_commands(command, *names, name)


@pytest.mark.parametrize("names", list(_all_commands(cli)), ids=" ".join)
def test_help_of_every_command_teaches_by_example(names: tuple[str, ...]) -> None:
    outcome = muster(None, *names, "--help")
    assert outcome.code == 0
    _, example, examples = outcome.out.partition("Example")
    assert example
    assert f"muster {' '.join(names)}" in examples.partition("Options:")[0]


def test_help_of_the_root_lists_every_command_without_importing_one() -> None:
    script = (
        "import sys; from muster.cli.main import cli\n"
        "try: cli(['--help'], prog_name='muster')\n"
        "except SystemExit: pass\n"
        "print('IMPORTED', [m for m in sys.modules if m.startswith(('muster.cli.commands', 'muster.client', 'rich', "
        "'yaml', 'http.client'))])"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "IMPORTED []" in printed
    for name in ENTRIES:
        assert f"\n  {name} " in printed


def test_unknown_command_is_wrong_usage_with_a_guess() -> None:
    outcome = muster(None, "submti")
    assert outcome.code == 2
    assert "did you mean 'submit'?" in outcome.err


def test_absent_server_is_one_error_and_one_hint() -> None:
    outcome = muster(None, "--server", "http://127.0.0.1:1", "get", "jobs")
    assert outcome.code == 1
    assert outcome.err.startswith("error: no Muster server at http://127.0.0.1:1; start one with `muster up`")
    assert "Traceback" not in outcome.err


def test_fault_of_our_own_is_no_traceback(server: TinyServer) -> None:
    server.on("GET", "/jobs", Answer(200, {"wrong": "shape"}))
    outcome = muster(server, "get", "jobs")
    assert outcome.code == 1
    assert outcome.err.startswith("error: unexpected KeyError")


def test_interrupt_exits_130(server: TinyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with_job(server)
    monkeypatch.setattr(Transport, "json", interrupted)
    assert muster(server, "get", "jobs").code == 130


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_names_the_command(shell: str) -> None:
    assert "_MUSTER_COMPLETE" in muster(None, "completion", shell).out


def test_job_names_are_completed_from_the_server(server: TinyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with_job(server)
    monkeypatch.setenv("MUSTER_SERVER", server.url)
    completed = ShellComplete(cli, {}, "muster", "_MUSTER_COMPLETE").get_completions(["logs"], "m")
    assert [item.value for item in completed] == ["mnist"]
    server.stop()
    assert ShellComplete(cli, {}, "muster", "_MUSTER_COMPLETE").get_completions(["logs"], "m") == []


@pytest.mark.parametrize(("command", "asked"), [("logs", []), ("kill", ["Queued", "Running"]), ("bump", ["Held"])])
def test_commands_for_open_jobs_complete_no_ended_ones(
    server: TinyServer, monkeypatch: pytest.MonkeyPatch, command: str, asked: list[str]
) -> None:
    with_job(server)
    monkeypatch.setenv("MUSTER_SERVER", server.url)
    ShellComplete(cli, {}, "muster", "_MUSTER_COMPLETE").get_completions([command], "m")
    states = server.asked[-1].query.get("state", [])
    assert set(asked) <= set(states)
    assert "Failed" not in states


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["get", "jobs", "--cluster"], ["lab"]),
        (["get", "jobs", "--vc"], ["languages"]),
        (["submit", "job.yaml", "--cluster"], ["languages", "lab"]),
        (["move", "mnist", "--to"], ["languages", "lab"]),
        (["vc", "describe"], ["languages"]),
    ],
)
def test_names_of_clusters_are_completed(
    server: TinyServer, monkeypatch: pytest.MonkeyPatch, words: list[str], names: list[str]
) -> None:
    clusters = [{"name": name, "backend": "ssh", "state": "Ready", "nodes": 1} for name in ("lab", "attic")]
    nothing = {"gpu": 0, "gpuModels": {}, "cpu": "0", "memory": "0"}
    shares = dict.fromkeys(("guaranteed", "used", "borrowed", "lent"), nothing)
    virtual = [{"name": name, "cluster": "lab", **shares} for name in ("vision", "languages")]
    server.on("GET", "/clusters", Answer(200, {"items": clusters}))
    server.on("GET", "/virtual-clusters", Answer(200, {"items": virtual}))
    monkeypatch.setenv("MUSTER_SERVER", server.url)
    completed = ShellComplete(cli, {}, "muster", "_MUSTER_COMPLETE").get_completions(words, "la")
    assert [item.value for item in completed] == names


def test_commands_are_completed_without_the_server() -> None:
    completed = ShellComplete(cli, {}, "muster", "_MUSTER_COMPLETE").get_completions([], "su")
    assert [item.value for item in completed] == ["submit"]


def test_up_becomes_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _path, words: became.append(words))
    muster(None, "up", "--port", "0", "--home", "/data")
    assert became[0][1:] == ["-m", "muster.bootstrap", "--home", "/data", "--port", "0"]


def test_a_database_url_is_handed_over_out_of_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _path, words: became.append(words))
    monkeypatch.setenv("MUSTER_DATABASE", "")
    muster(None, "server", "--database", "postgresql://amy:secret@db/muster")
    assert became[0][1:] == ["-m", "muster.bootstrap"]
    assert os.environ["MUSTER_DATABASE"] == "postgresql://amy:secret@db/muster"


def test_the_value_of_a_secret_is_refused_as_an_argument() -> None:
    outcome = muster(None, "secret", "set", "TOKEN", "hunter2")
    assert outcome.code == 2
    assert "--from-file" in outcome.err
    assert "hunter2" not in outcome.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("users list", "`muster get users`"),
        ("tokens list", "`muster get tokens`"),
        ("secret list", "`muster get secrets`"),
        ("secrets ls", "`muster get secrets`"),
        ("cluster list", "`muster get clusters`"),
        ("clusters list", "`muster get clusters`"),
        ("job list", "`muster get jobs`"),
        ("jobs", "`muster get jobs`"),
        ("users ad li", "did you mean 'add'?"),
        ("template remove x", "did you mean 'delete'?"),
        ("user add li", "did you mean 'users'?"),
    ],
)
def test_lists_are_found_under_get(words: str, said: str) -> None:
    outcome = muster(None, *words.split())
    assert outcome.code == 2
    assert said in outcome.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("squeue", "use `muster queue`"),
        ("apply -f job.yaml", "use `muster submit FILE`"),
        ("get pods", "use `muster get workers JOB`"),
        ("get partitions", "use `muster vc list`"),
    ],
)
def test_words_of_other_systems_are_answered_with_ours(words: str, said: str) -> None:
    outcome = muster(None, *words.split())
    assert outcome.code == 2
    assert said in outcome.err


@pytest.mark.parametrize("words", sorted({*COMMANDS.values(), *OBJECTS.values()}))
def test_every_command_that_a_hint_names_exists(words: str) -> None:
    names = [word for word in words.split() if word.islower()]
    assert muster(None, *names, "--help").code == 0
