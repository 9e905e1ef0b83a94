"""The options of the old client, what is sent for them, and what is refused here."""

import json
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import click
import pytest

from muster.cli.main import cli
from tests.unit.cli.calling import Outcome, muster
from tests.unit.client.tiny_server import Answer, Asked, TinyServer, a_job

pytestmark = pytest.mark.fast


@pytest.fixture
def server() -> Any:
    tiny = TinyServer()
    job = a_job(name="demo")
    clusters = [{"name": "lab", "default": True, "backend": "ssh"}, {"name": "here", "backend": "local"}]
    tiny.on("GET", "/clusters", Answer(200, {"items": clusters}))
    tiny.on("GET", "/virtual-clusters", Answer(200, {"items": [], "problems": []}))
    tiny.on("POST", "/jobs", Answer(201, job))
    tiny.on("GET", "/jobs/demo", Answer(200, job))
    tiny.on("POST", f"/jobs/{job['id']}/kill", Answer(202, {**job, "state": "Stopping"}))
    yield tiny
    tiny.stop()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where somebody has a configuration and a folder for the nodes."""
    for name in ("MUSTER_SERVER", "MUSTER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path / ".muster"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf.py").write_text("cluster_config(comment='of the file', mail_address='li@example.org')\n")
    (tmp_path / "thirdparty").mkdir()
    (tmp_path / "thirdparty" / "provider.py").write_text("X = 1\n")
    (tmp_path / "thirdparty" / ".gitignore").write_text("*.so\n")
    (tmp_path / "thirdparty" / "fast.so").write_text("binary")
    return tmp_path


def accepting(server: TinyServer) -> list[bytes]:
    """Lets the server take one package, and returns the pieces of it as they come."""
    pieces: list[bytes] = []

    def taken(asked: Asked) -> Answer:
        pieces.append(asked.body)
        return Answer(200, {"received": sum(map(len, pieces)), "complete": True})

    known = server._reply

    def reply(asked: Asked) -> Answer:
        return taken(asked) if asked.method == "PUT" and "/packages/" in asked.path else known(asked)

    server._reply = reply  # type: ignore[method-assign]
    return pieces


def train(server: TinyServer, *words: str) -> Outcome:
    return muster(server, "cluster-train", "-f", "conf.py", *words)


def sent(server: TinyServer) -> dict[str, Any]:
    return dict(json.loads(server.requests("POST", "/jobs")[-1].json["source"]))


def test_options_keys_and_flags_are_sent_and_options_come_before_the_file(server: TinyServer) -> None:
    accepting(server)
    said = train(
        server, "-w", "lab", "-n", "4", "-j", "demo", "-s", "li", "-l", "01:00:00", "-p", "high", "-t", "cpu",
        "--comment", "mine", "--use-remote-sparse", "1", "--trainer_count", "4",
        "--config_args=lr=0.1,n=2", "--verbose",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert sent(server) == {
        "where": "lab",
        "num_nodes": 4,
        "num_pservers": 4,
        "job_name": "demo",
        "submitter": "li",
        "time_limit": "01:00:00",
        "job_priority": "high",
        "use_gpu": "cpu",
        "config": "conf.py",
        "cluster_config": {"comment": "mine", "mail_address": "li@example.org", "use_remote_sparse": "1"},
        "train_flags": {"trainer_count": "4", "config_args": "lr=0.1,n=2", "verbose": "true"},
    }


def test_the_job_its_page_and_the_command_that_kills_it_are_printed(server: TinyServer) -> None:
    accepting(server)
    job = a_job()["id"]
    assert train(server, "-t", "cpu").out == (
        f"job id:        {job}\n"
        f"tracking URL:  {server.url}/jobs/{job}\n"
        f"kill it with:  muster --server {server.url} cluster-kill {job}\n"
    )
    assert train(server, "-t", "cpu", "-o", "json").document["id"] == job
    assert train(server, "-t", "cpu", "-o", "name").out == "demo\n"


def test_the_folder_is_sent_whole_below_thirdparty(server: TinyServer, folder: Path) -> None:
    pieces = accepting(server)
    (folder / "thirdparty" / "before_hook.sh").write_text("#!/bin/sh\n")
    (folder / "thirdparty" / "before_hook.sh").chmod(0o755)
    assert train(server, "-i", "thirdparty/").code == 0
    with tarfile.open(fileobj=BytesIO(b"".join(pieces))) as tar:
        assert tar.getnames() == [
            "conf.py",
            "thirdparty",
            "thirdparty/thirdparty",
            "thirdparty/thirdparty/.gitignore",
            "thirdparty/thirdparty/before_hook.sh",
            "thirdparty/thirdparty/fast.so",
            "thirdparty/thirdparty/provider.py",
        ]
    assert (sent(server)["thirdparty"], sent(server)["before_hook"]) == ("thirdparty", True)
    (folder / "thirdparty").rename(folder / "libs")
    assert train(server, "--thirdparty", str(folder / "libs")).code == 0
    assert sent(server)["thirdparty"] == "libs"
    assert "before_hook" not in sent(server)


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("#!/bin/sh\n", 0o644, "not executable"),
        ("echo hi\n", 0o755, "names no interpreter"),
        ("#!/bin/sh\r\n", 0o755, "DOS"),
    ],
)
def test_a_hook_that_cannot_run_is_refused_before_anything_is_sent(
    server: TinyServer, folder: Path, text: str, mode: int, words: str
) -> None:
    hook = folder / "thirdparty" / "before_hook.sh"
    hook.write_bytes(text.encode())
    hook.chmod(mode)
    said = train(server, "-i", "thirdparty")
    assert said.code == 1
    assert words in said.err
    assert not server.asked


@pytest.mark.parametrize("words", [("-f", "nosuch.py"), ("-f", "conf.py", "-i", "nosuch")])
def test_a_file_that_is_missing_is_wrong_usage(server: TinyServer, words: tuple[str, ...]) -> None:
    said = muster(server, "cluster-train", *words)
    assert said.code == 2
    assert "nosuch" in said.err


def test_an_unknown_cluster_is_refused_with_those_that_are_there(server: TinyServer) -> None:
    said = train(server, "-w", "xx")
    assert said.code == 1
    assert "there is no cluster 'xx'" in said.err
    assert "there are: here, lab" in said.err
    assert not server.requests("POST", "/jobs")


def test_a_cluster_of_one_machine_has_one_parameter_server(server: TinyServer) -> None:
    accepting(server)
    train(server, "-w", "here", "-n", "3")
    assert sent(server)["num_pservers"] == 1
    train(server, "-w", "here", "-n", "3", "--num_pservers", "2")
    assert sent(server)["num_pservers"] == 2


@pytest.mark.parametrize("option", ["-c", "--shell"])
def test_shell_commands_are_refused_with_what_to_do_instead(server: TinyServer, option: str) -> None:
    said = train(server, option, "ls nodes.configs")
    assert said.code == 2
    assert "muster get clusters" in said.err
    assert not server.asked


def test_wrong_usage_ends_with_2(server: TinyServer) -> None:
    assert muster(server, "cluster-train").code == 2
    assert train(server, "-n", "0").code == 2
    assert train(server, "-t", "tpu").code == 2
    assert train(server, "stray").code == 2
    server.on("POST", "/jobs", Answer(422, {"code": "invalid", "detail": "the job spec has 1 problem"}))
    accepting(server)
    assert train(server, "-l", "1h").code == 2


def test_a_mistyped_option_is_passed_on_and_that_is_said(server: TinyServer) -> None:
    accepting(server)
    assert "--num_node is passed on to paddle train; did you mean --num_nodes?" in train(server, "--num_node", "3").err


def test_a_configuration_that_cannot_be_read_is_named_with_its_line(server: TinyServer, folder: Path) -> None:
    (folder / "conf.py").write_text("import os\ncluster_config(fs_ugi=os.environ['UGI'])\n")
    said = train(server)
    assert said.code == 1
    assert "conf.py:2: " in said.err


def test_a_login_on_the_command_line_is_warned_of_and_not_repeated(server: TinyServer) -> None:
    accepting(server)
    said = train(server, "--fs_ugi", "user,pass-word")
    assert "process list" in said.err
    assert "pass-word" not in said.out + said.err


def test_the_spelling_with_an_underscore_is_the_same_command(server: TinyServer) -> None:
    assert muster(server, "cluster_train", "--help").code == 0
    assert muster(server, "cluster_kill", "--help").code == 0


@pytest.mark.parametrize("words", [["demo"], ["qdel", "demo"], ["deljob", "demo"], ["deljob demo"]])
def test_a_job_is_killed_by_the_old_words_too(server: TinyServer, words: list[str]) -> None:
    said = muster(server, "cluster-kill", *words)
    assert said.code == 0, said.err
    assert server.requests("POST", f"/jobs/{a_job()['id']}/kill")


@pytest.mark.parametrize("words", [["qdel"], ["rm", "-rf", "/"], ["qdel demo; rm x"], ["$(id)"], ["a", "b"], ["../x"]])
def test_other_words_are_not_run(server: TinyServer, words: list[str]) -> None:
    assert muster(server, "cluster-kill", *words).code == 2
    assert not server.asked


def test_every_option_has_both_spellings() -> None:
    command = cli.get_command(None, "cluster-train")  # type: ignore[arg-type]
    assert command is not None
    for parameter in command.params:
        for spelling in parameter.opts:
            if "_" in spelling:
                assert spelling.replace("_", "-") in parameter.opts


def test_clusters_are_completed(server: TinyServer) -> None:
    command = cli.get_command(None, "cluster-train")  # type: ignore[arg-type]
    assert command is not None
    root = click.Context(cli, info_name="muster")
    root.params = {"server": server.url}
    where = next(parameter for parameter in command.params if parameter.name == "where")
    assert [item.value for item in where.shell_complete(click.Context(command, root), "l")] == ["lab"]
