"""Commands that cannot be started, each with the sentence that a user reads, and pipes that fail or do not."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.example_runs import MusterServer

pytestmark = pytest.mark.timeout(600)

WANTED: Mapping[str, tuple[list[str], str, str]] = {
    "no-x": (["./plain.sh"], "The script ./plain.sh is not executable.", "chmod +x"),
    "no-x-line": (["./plain.sh | cat"], "The script ./plain.sh is not executable.", "chmod +x"),
    "crlf": (["./crlf.sh"], "The script ./crlf.sh has Windows line ends (CRLF)", "dos2unix"),
    "crlf-words": (["./crlf.sh --now"], "The script ./crlf.sh has Windows line ends (CRLF)", "dos2unix"),
    "crlf-env": (["./crlf.py"], "A script has Windows line ends (CRLF), so its interpreter python3", "dos2unix"),
    "crlf-body": (["bash body.sh"], "A shell script has Windows line ends (CRLF).", "dos2unix"),
    "no-interpreter": (["./gone.sh"], "The interpreter /opt/no/such/shell of the script ./gone.sh", "first line"),
    "no-shebang": (["./bare.py"], "names no interpreter in its first line", "python3"),
    "no-interpreter-words": (
        ["./gone.sh --now"],
        "The interpreter /opt/no/such/shell of the script ./gone.sh",
        "first line",
    ),
    "no-shebang-words": (["./bare.py --now"], "names no interpreter in its first line", "python3"),
    "no-command": (["trian-model", "--lr"], "The command trian-model is not on the PATH of the node.", "spelling"),
    "no-command-line": (["trian-model --lr"], "The command trian-model was not found on the node.", "spelling"),
    "no-file": (["./nothing.sh"], "The command ./nothing.sh does not exist.", "relative to the code package"),
    "pipe": (["(exit 3) | cat"], "The program ended with exit code 3.", ""),
    "closed-pipe": (
        ["yes | /usr/bin/python3 -c 'import sys; [sys.stdout.write(one) for one in sys.stdin]' | head -1"],
        "A program of the command wrote into its pipe after the next program of the pipe had ended.",
        "read to the end",
    ),
    "ddp-alone": (["python3 -c 'import os; os.environ[\"RANK\"]'"], "found no variable RANK", "--workers 2"),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    scripts = {
        "plain.sh": (b"#!/bin/sh\necho hi\n", 0o644),
        "crlf.sh": (b"#!/bin/sh\r\necho hi\r\n", 0o755),
        "crlf.py": (b"#!/usr/bin/env python3\r\nprint(1)\r\n", 0o755),
        "body.sh": (b"cd .\r\necho hi\r\n\r\n", 0o644),
        "gone.sh": (b"#!/opt/no/such/shell\necho hi\n", 0o755),
        "bare.py": (b"import os\nprint(os.getpid())\n", 0o755),
    }
    for name, (content, mode) in scripts.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(mode)
    return folder


def test_each_command_that_cannot_start_has_its_own_sentence_and_is_not_retried(
    muster_server: MusterServer, package: Path
) -> None:
    sent = ("run", "-d", "--retries", "2", "--package", str(package))
    for name, (command, _, _) in WANTED.items():
        started = muster_server.run(*sent, "--name", name, "--", *command)
        assert started.returncode == 0, started.stderr
    muster_server.run("wait", *WANTED, timeout_s=240.0)

    for name, (_, sentence, advice) in WANTED.items():
        job = muster_server.json("describe", name, "-o", "json")
        why = muster_server.run("explain", name).stdout
        assert (job["state"], name) == ("Failed", name)
        assert sentence in job["reason"], (name, job["reason"])
        assert advice in why, (name, why)
        assert job["attempt"] == (3 if name == "pipe" else 1), (name, job["attempt"])


def test_a_pipe_whose_reader_has_enough_is_no_failure(muster_server: MusterServer) -> None:
    ended = muster_server.run("run", "--no-package", "--", "yes | head -1; [[ $BASH ]] && yes | head -1")
    assert (ended.returncode, ended.stdout) == (0, "y\ny\n"), ended.stderr


def test_variables_that_linux_does_not_pass_on_fail_the_job_once_with_a_sentence(muster_server: MusterServer) -> None:
    params = [word for number in range(3) for word in ("--param", f"p{number}={'x' * 50_000}")]

    ended = muster_server.run("run", "--no-package", "--retries", "2", "--name", "large", *params, "--", "true")

    assert ended.returncode == 1
    assert "Linux does not start a program with so long a command and so many variables" in ended.stderr
    job = muster_server.json("describe", "large", "-o", "json")
    assert job["attempt"] == 1
