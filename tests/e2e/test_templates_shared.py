"""`muster template` against a real server: from a folder of one person to a job of another."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.test_cli_e2e import unique
from tests.parts.server import MusterServer

JOB = """# Says something.
name: NAME
params:
  word: hello  # what to say
package: ./src
command: sh say.sh ${params.word}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "say.sh").write_text("echo it says $1\n")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "big.log").write_text("not sent")
    (folder / "job.yaml").write_text(JOB.replace("NAME", unique("say")))
    return folder


def of_another(server: MusterServer, *args: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    name = unique("colleague")
    status, _ = server.call("POST", "/api/v1/users", {"name": name})
    assert status == 201
    _, token = server.call("POST", "/api/v1/tokens", {"name": "t", "user": name})
    env = {**server.environment, "MUSTER_SERVER": server.url, "MUSTER_TOKEN": token["secret"]}
    command = server.command(*args)
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_a_folder_is_published_shown_used_and_deleted(
    muster_server: MusterServer, folder: Path, tmp_path: Path
) -> None:
    name = unique("template")
    published = muster_server.run("template", "publish", name, str(folder), "--everyone", "--description", "Says it.")
    assert (published.returncode, published.stdout) == (0, f"{name}@1\n"), published.stderr
    listed = muster_server.run("template", "list", check=True).stdout
    assert next(line.split()[1] for line in listed.splitlines() if line.startswith(name)) == "1"
    shown = muster_server.run("template", "show", name, check=True).stdout
    assert "Files:        .gitignore, job.yaml, src/say.sh" in shown
    assert "  word  hello    what to say" in shown
    assert muster_server.json("template", "show", name)["params"] == [
        {"name": "word", "default": "hello", "description": "what to say"}
    ]

    used = of_another(muster_server, "template", "use", f"{name}@1", "run", "--param", "word=aloha", cwd=tmp_path)
    assert (used.returncode, used.stdout) == (0, "run/job.yaml\n"), used.stderr
    assert "  word: aloha  # what to say\n" in (tmp_path / "run/job.yaml").read_text()
    again = of_another(muster_server, "template", "use", name, "run", cwd=tmp_path)
    assert (again.returncode, "--force" in again.stderr) == (1, True)

    unnamed = of_another(muster_server, "template", "use", name, cwd=tmp_path)
    assert (unnamed.returncode, unnamed.stdout) == (0, f"{name}/job.yaml\n"), "not into the current folder"

    submit = ("template", "use", name, "--param", "word=moin", "--submit", "--follow")
    submitted = muster_server.run(*submit, cwd=tmp_path)
    assert (submitted.returncode, submitted.stdout) == (0, "it says moin\n"), submitted.stderr
    wrong = muster_server.run("template", "use", name, "--param", "wrod=x", "--submit", cwd=tmp_path)
    assert (wrong.returncode, "did you mean word?" in wrong.stderr) == (1, True)

    misspelt = muster_server.run("template", "use", f"{name}x")
    assert (misspelt.returncode, f"did you mean {name}?" in misspelt.stderr) == (1, True)
    unnameable = muster_server.run("template", "publish", "bad name!", str(folder))
    assert (unnameable.returncode, "  name: must have letters" in unnameable.stderr) == (1, True), unnameable.stderr

    refused = of_another(muster_server, "template", "delete", name, cwd=tmp_path)
    assert (refused.returncode, "only" in refused.stderr) == (1, True)
    muster_server.run("template", "delete", name, check=True)
    assert muster_server.run("template", "show", name).returncode == 1


def test_secrets_and_other_files_are_not_published(muster_server: MusterServer, folder: Path) -> None:
    (folder / "src" / ".env").write_text("WANDB_API_KEY=0123456789\n")
    refused = muster_server.run("template", "publish", unique("secret"), str(folder))
    assert (refused.returncode, "files: src/.env has what looks like a secret" in refused.stderr) == (1, True)
    (folder / "src" / ".env").unlink()
    (folder / "model.bin").write_bytes(b"\xff\xfe\x00")
    binary = muster_server.run("template", "publish", unique("binary"), str(folder))
    assert (binary.returncode, "is not a text file" in binary.stderr) == (1, True)
    assert muster_server.run("template", "use", "a@b@c").returncode == 2


def test_one_file_is_a_template_too(muster_server: MusterServer, folder: Path) -> None:
    name = unique("file")
    (folder / "one.yaml").write_text("name: one\ncommand: 'true'\n")
    made = muster_server.run("template", "publish", name, str(folder / "one.yaml"), "-o", "json", check=True)
    assert json.loads(made.stdout)["version"] == 1
    assert muster_server.run("template", "show", name, "--file", "job.yaml", check=True).stdout.startswith(
        "name: one\n"
    )
