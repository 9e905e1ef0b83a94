"""`muster edit` with editors that are small scripts, against a real server."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.test_cli_e2e import unique
from tests.parts.server import MusterServer

LEARNS = {"params": {"lr": 0.1}, "command": "echo lr ${params.lr}", "resources": {"cpu": "100m"}}


class Desk:
    """Edits jobs with editors that are Python programs: `text` is the file's text, and may be replaced. What the editor
    was shown is kept."""

    def __init__(self, server: MusterServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.seen = folder / "seen.yaml"
        (folder / "tmp").mkdir()

    def edit(self, job: str, program: str) -> "subprocess.CompletedProcess[str]":
        editor = self.folder / "editor.py"
        editor.write_text(
            f"import os, pathlib, sys\nfile = pathlib.Path(sys.argv[1])\nseen = pathlib.Path({str(self.seen)!r})\n"
            f"assert os.stat(file).st_mode & 0o77 == 0\ntext = file.read_text()\nseen.write_text(text)\n"
            f"{program}\nfile.write_text(text)\n"
        )
        env = {**self.server.environment, "EDITOR": f"{sys.executable} {editor}", "TMPDIR": str(self.folder / "tmp")}
        env.pop("VISUAL", None)
        command = self.server.command("edit", job)
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)

    @property
    def kept(self) -> list[Path]:
        return list((self.folder / "tmp").iterdir())

    def spec(self, job: str) -> dict[str, Any]:
        status, answer = self.server.call("GET", f"/api/v1/jobs/{job}/spec")
        assert status == 200
        return dict(answer)


@pytest.fixture
def desk(muster_server: MusterServer, tmp_path: Path) -> Desk:
    return Desk(muster_server, tmp_path)


@pytest.fixture
def held(muster_server: MusterServer) -> str:
    return str(muster_server.submit({"name": unique("held"), **LEARNS, "hold": True})["name"])


def test_a_held_job_is_changed_and_its_editor_shows_the_template(desk: Desk, held: str) -> None:
    done = desk.edit(held, "text = text.replace('lr: 0.1', 'lr: 0.5')")
    assert (done.returncode, done.stdout) == (0, f"{held}\n"), done.stderr
    assert f"changed job {held}, which is Held" in done.stderr
    shown = yaml.safe_load(desk.seen.read_text())
    assert (shown["command"], shown["params"], shown["hold"]) == ("echo lr ${params.lr}", {"lr": 0.1}, True)
    assert "is changed with this spec" in desk.seen.read_text()
    assert desk.spec(held)["spec"]["roles"]["worker"]["command"] == "echo lr 0.5"
    assert desk.kept == []


def test_an_ended_job_is_submitted_again_under_another_name(desk: Desk, muster_server: MusterServer) -> None:
    job = muster_server.submit({"name": unique("ended"), **LEARNS})
    muster_server.wait(job["id"])
    other = unique("other")
    done = desk.edit(
        job["id"], f"text = text.replace('0.1', '0.2', 1).replace({job['name']!r} + chr(10), '{other}\\n')"
    )
    assert (done.returncode, done.stdout) == (0, f"{other}\n"), done.stderr
    assert "is submitted again, as a new job, with this spec" in desk.seen.read_text()
    muster_server.wait(other)
    assert muster_server.run("logs", other, check=True).stdout == "lr 0.2\n"


def test_mistakes_open_the_editor_again_with_their_lines_in_the_file(desk: Desk, held: str) -> None:
    first = "text = text.replace('lr: 0.1', 'lr: 0.3').replace('hold: true', 'hold: true' + chr(10) + 'priority: huge')"
    again = "text = text.replace('priority: huge', 'priority: high')"
    done = desk.edit(held, f"if 'problem' in text:\n    {again}\nelse:\n    {first}")
    assert done.returncode == 0, done.stderr
    comment = next(line for line in desk.seen.read_text().splitlines() if "priority:" in line)
    found = re.match(r"#   line (\d+): priority: ", comment)
    assert found is not None, comment
    assert desk.seen.read_text().splitlines()[int(found[1]) - 1] == "priority: huge"
    assert desk.spec(held)["spec"]["priority"] == "high"


@pytest.mark.parametrize(("program", "said"), [("", "nothing was changed"), ("text = '# empty'", "cancelled")])
def test_nothing_changed_or_an_emptied_file_does_nothing(desk: Desk, held: str, program: str, said: str) -> None:
    before = desk.spec(held)
    done = desk.edit(held, program)
    assert (done.returncode, done.stdout) == (0, "")
    assert said in done.stderr
    assert (desk.spec(held), desk.kept) == (before, [])


def test_a_text_that_could_not_be_submitted_is_kept_and_named(desk: Desk, held: str) -> None:
    wrong = desk.edit(held, "text = text if 'huge' in text else text + 'priority: huge' + chr(10)")
    assert wrong.returncode == 1
    assert "the spec was not corrected" in wrong.stderr
    [kept] = desk.kept
    assert f"your text is kept in {kept}" in wrong.stderr
    assert "priority: huge" in kept.read_text()
    kept.unlink()
    change = desk.server.command("change", held, "--set", "timeLimit=1h")
    raced = desk.edit(held, f"import subprocess; subprocess.run({change!r}, check=True); text += 'priority: low\\n'")
    assert raced.returncode == 1
    assert "was changed meanwhile" in raced.stderr
    assert [f"your text is kept in {path}" in raced.stderr for path in desk.kept] == [True]


def test_a_running_job_is_refused_with_what_to_do(desk: Desk, muster_server: MusterServer) -> None:
    job = muster_server.submit({"name": unique("runs"), "command": "sleep 600"})
    muster_server.wait_for_state(job["id"], "Running")
    refused = desk.edit(job["name"], "")
    assert refused.returncode == 1
    assert f"muster hold {job['name']}" in refused.stderr
    assert not desk.seen.exists()
    muster_server.run("kill", job["name"], "--grace", "0s", check=True)


def test_an_editor_that_does_not_exist_or_fails_is_named(desk: Desk, held: str) -> None:
    failed = desk.edit(held, "sys.exit(3)")
    assert failed.returncode == 1
    assert "ended with exit code 3" in failed.stderr
    env = {**desk.server.environment, "VISUAL": "/no/such/editor"}
    command = desk.server.command("edit", held)
    gone = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert (gone.returncode, "cannot start the editor /no/such/editor" in gone.stderr) == (1, True)
