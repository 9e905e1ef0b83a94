"""The git plugin clones a repository before the commands, by git itself."""

import json
import os
import shutil
import subprocess
import threading
from base64 import b64encode
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from muster.wire.specs import read_source
from tests.conformance.openpai.cases import finished

JOB = """\
protocolVersion: 2
name: pai-git
type: job
parameters: {{branch: main}}
taskRoles:
  worker:
    resourcePerInstance: {{cpu: 1, memoryMB: 64, gpu: 0}}
    commands: ["cat 'co de'/hello", "git -C 'co de' rev-list --count HEAD"]
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: cmd
      parameters: {{preCommands: {before}}}
    - plugin: git
      failurePolicy: {policy}
      parameters:
        repo_uri: {uri}
        options: ["--depth 1", "--branch <% $parameters.branch %>"]
        clone_dir: co de
"""


@pytest.fixture
def repository(tmp_path: Path) -> str:
    folder = tmp_path / "it's a repo"
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@y", "-C", str(folder))
    folder.mkdir()
    (folder / "hello").write_text("hello from git\n")
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    for _ in range(2):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    return f"file://{folder}"


def ran(tmp_path: Path, uri: str, before: list[str], policy: str = "fail") -> "subprocess.CompletedProcess[str]":
    text = JOB.format(uri=json.dumps(uri), before=json.dumps(before), policy=policy)
    return dict(finished(read_source(text).spec, tmp_path))["worker-0"]


def test_repository_is_cloned_with_its_options(tmp_path: Path, repository: str) -> None:
    end = ran(tmp_path, repository, [])

    assert (end.returncode, end.stdout) == (0, "hello from git\n1\n"), end.stderr


def test_folder_that_is_not_empty_fails_the_task(tmp_path: Path, repository: str) -> None:
    end = ran(tmp_path, repository, ["mkdir 'co de'", "touch 'co de/hello'"])

    assert end.returncode != 0
    assert "already exists and is not an empty directory" in end.stderr
    assert end.stdout == ""


def test_failure_may_be_ignored(tmp_path: Path, repository: str) -> None:
    before = ["mkdir 'co de'", "echo mine > 'co de/hello'", "git -C 'co de' init -q"]
    end = ran(tmp_path, repository, before, "ignore")

    assert end.stdout.startswith("mine\n")


def test_param_and_address_cannot_become_commands(tmp_path: Path) -> None:
    text = JOB.format(uri=json.dumps("$(touch hacked)'; touch hacked; '"), before="[]", policy="ignore")
    spec = read_source(text, params={"branch": "'; touch hacked; '"}).spec

    dict(finished(spec, tmp_path))

    assert not (tmp_path / "worker-0" / "hacked").exists()


class _Private(SimpleHTTPRequestHandler):
    """Serves a repository to those who know the password."""

    def do_GET(self) -> None:
        wanted = f"Basic {b64encode(b'me:hunter2&more').decode()}"
        if self.headers.get("Authorization") == wanted:
            super().do_GET()
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="git"')
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is said on the terminal of the tests."""


def test_password_of_an_address_is_not_among_the_arguments_of_git(tmp_path: Path, repository: str) -> None:
    folder = tmp_path / "served" / "repo.git"
    subprocess.run(["git", "clone", "-q", "--bare", repository, str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "update-server-info"], check=True)
    calls = tmp_path / "calls"
    (tmp_path / "bin").mkdir()
    recording = tmp_path / "bin" / "git"
    recording.write_text(f'#!/bin/sh\necho "$@" >> "{calls}"\nexec {shutil.which("git")} "$@"\n')
    recording.chmod(0o755)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Private, directory=str(folder.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        uri = f"http://me:<% $secrets.password %>@127.0.0.1:{server.server_port}/repo.git"
        text = JOB.format(uri=json.dumps(uri), before="[]", policy="fail").replace('"--depth 1", ', "")
        reading = read_source(f"{text}secrets: {{password: 'hunter2&more'}}\n", overrides={"env.PATH": _path(tmp_path)})
        end = dict(finished(reading.spec, tmp_path, reading.secrets))["worker-0"]
    finally:
        server.shutdown()
        server.server_close()

    assert (end.returncode, end.stdout) == (0, "hello from git\n2\n"), end.stderr
    assert "clone" in calls.read_text()
    assert "hunter2" not in calls.read_text() + end.stderr
    kept = [path for path in (tmp_path / "worker-0").rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    assert kept == []


def _path(tmp_path: Path) -> str:
    return f"{tmp_path / 'bin'}:{os.environ['PATH']}"
