"""Jobs with a setup against a real server: what is installed once is there for the tasks of later jobs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.server import MusterServer, polls, running_server
from tests.parts.tiny_wheel import make_wheel

INSTALL = "pip install -q --no-index --find-links wheels mypkg"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    with running_server(tmp_path_factory.mktemp("setup") / "home") as made:
        yield made


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    make_wheel(folder / "wheels")
    (folder / "train.py").write_text("import mypkg, os\nprint('answer', mypkg.ANSWER, os.environ['MUSTER_RANK'])\n")
    return folder


def run(server: MusterServer, code: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    return server.run("run", "--package", str(code), *args)


def test_what_the_setup_installed_is_there_for_this_job_and_the_next(server: MusterServer, code: Path) -> None:
    first = run(server, code, "-n", "first", "-w", "2", "--setup", INSTALL, "--", "python", "train.py")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "answer 42 0" in first.stdout
    assert "answer 42 1" in first.stdout
    assert first.stdout.count("muster: setup: begins") == 1
    second = run(server, code, "-n", "second", "--setup", INSTALL, "--", "python", "train.py")
    assert "muster: setup: ready: prepared on" in second.stdout
    assert "by job first" in second.stdout
    assert "answer 42 0" in second.stdout
    shown = server.run("logs", "second", "--setup", check=True).stdout
    assert shown.startswith("muster: setup: ready")
    assert "answer" not in shown
    dry = json.loads(
        run(server, code, "--setup", INSTALL, "--dry-run", "-o", "json", "--", "python", "train.py").stdout
    )
    assert dry["requests"][0]["setup"]["command"] == ["/bin/sh", "-c", INSTALL]


def test_a_virtual_environment_below_keeps_its_packages(server: MusterServer, code: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    site = next(venv.glob("lib/python*/site-packages"))
    (site / "of_the_venv.py").write_text("HERE = 'below'\n")
    spec = code / "job.yaml"
    spec.write_text(
        f"name: below\npackage: .\nruntime: {{venv: {venv}}}\nsetup: {INSTALL}\n"
        "command: python -c 'import of_the_venv, mypkg; print(of_the_venv.HERE, mypkg.ANSWER)'\n"
    )
    done = server.run("submit", str(spec), "--follow")
    assert "below 42" in done.stdout, done.stdout + done.stderr


def test_a_setup_that_fails_fails_the_job_with_its_last_words(server: MusterServer, code: Path) -> None:
    args = ("-n", "broken", "--retries", "3", "--setup", "pip install -q --no-index nothing-like-it")
    failed = run(server, code, *args, "--", "python", "train.py")
    assert failed.returncode == 1
    assert "answer" not in failed.stdout
    assert server.wait("broken")["retries"] == 0
    explained = server.run("explain", "broken", check=True).stdout
    assert (
        "The setup of the job failed with exit code 1: No matching distribution found for nothing-like-it" in explained
    )


def test_the_setup_is_shown_while_it_runs_and_the_time_limit_counts(
    server: MusterServer, code: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    waiting = f"echo half; read line <{gate}"
    run(server, code, "-d", "-n", "slow", "--setup", waiting, "--", "echo", "started")
    for _ in polls(60):
        if "half" in server.run("logs", "slow", "--setup").stdout:
            break
    assert [task["state"] for task in server.json("get", "workers", "slow")["items"]] == ["Preparing"]
    assert "running its setup on" in server.run("explain", "slow", check=True).stdout
    gate.write_text("go\n")
    assert server.wait("slow")["state"] == "Succeeded"
    late = run(server, code, "-n", "late", "--time-limit", "1s", "--setup", f"{waiting}; true", "--", "echo", "started")
    assert "time limit" in late.stderr
    assert server.wait("late")["state"] == "Failed"
