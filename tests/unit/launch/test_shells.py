"""What a command written as one text means, tried with the real shells."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from muster.launch.shells import shell_command, text_of

SHELLS = ("sh", "cat", "head", "yes", "true", "false", "grep", "tee")


def ran(text: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {"PATH": path or os.environ["PATH"]}
    return subprocess.run(
        shell_command(text), env=env, capture_output=True, text=True, check=False, timeout=60, restore_signals=True
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("true", 0),
        ("exit 3", 3),
        ("false | cat", 1),
        ("(exit 7) | tee /dev/null | cat", 7),
        ("yes | head -1", 0),
        ("yes | (read -r line; echo $line)", 0),
        ("yes | python3 -c 'print(input())'", 0),
        ("(echo a; exit 5) | head -1", 5),
        ("yes | head -1 | (cat; exit 4)", 4),
        ("false | cat; echo after", 0),
        ("false | cat && echo never", 1),
        ("false | cat || true", 0),
        ("yes | head -1 && exit 9", 9),
        ("if yes | grep -q y; then exit 6; fi", 6),
        ("set -e; yes | head -1; exit 8", 8),
        ("set -e; false | cat; exit 8", 1),
        ("yes | python3 -c 'input()' && echo never", 141),
        ("set -e; yes | python3 -c 'input()'; echo never", 141),
        ("set -o pipefail; yes | head -1 >/dev/null", 141),
        ("[[ abc == a* ]] && echo bash", 0),
        ("kill -TERM $$ | cat; sleep 60", -15),
    ],
)
def test_every_part_of_a_pipe_counts_except_one_that_nobody_reads(text: str, code: int) -> None:
    ended = ran(text)
    assert ended.returncode == code, ended.stderr
    assert "never" not in ended.stdout


def test_a_command_without_a_pipe_becomes_the_program_itself() -> None:
    assert ran("cat /proc/self/cmdline").stdout == "cat\0/proc/self/cmdline\0"


def test_messages_name_the_lines_of_the_text() -> None:
    assert "line 2: no-such-command" in ran("true | cat\nno-such-command").stderr


def test_sh_runs_the_text_where_there_is_no_bash_and_says_so_if_it_matters(tmp_path: Path) -> None:
    for name in SHELLS:
        (tmp_path / name).symlink_to(shutil.which(name) or "")

    piped, plain = ran("false | cat; echo done", str(tmp_path)), ran("echo done", str(tmp_path))

    assert (piped.stdout, plain.stdout, plain.stderr) == ("done\n", "done\n", "")
    assert piped.stderr.startswith("muster: there is no bash here, so sh runs the command")


@pytest.mark.fast
def test_the_text_is_found_again_in_what_is_started() -> None:
    assert text_of(("/bin/sh", "-c", "guard", "/venv", *shell_command("a | b"))) == "a | b"
    assert text_of(("python", "train.py")) == ""


@pytest.mark.parametrize(
    ("first_line", "said"),
    [
        ("#!/bin/sh\r\n", "muster: the script ./run.sh has Windows line ends, so its interpreter is not found\n"),
        ("#!/opt/gone -x\n", "muster: the interpreter of the script ./run.sh is not there: /opt/gone\n"),
        ("#! /bin/sh\n", ""),
        ("", ""),
    ],
)
@pytest.mark.parametrize("path", [None, "only sh"])
def test_a_script_whose_interpreter_is_missing_is_explained_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_line: str, said: str, path: str | None
) -> None:
    (tmp_path / "run.sh").write_text(first_line + "echo $1 *\n", newline="")
    (tmp_path / "run.sh").chmod(0o755)
    monkeypatch.chdir(tmp_path)

    ended = ran("./run.sh --now", str(tmp_path) if path else None)

    assert ended.stderr.startswith(said)
    assert ended.returncode == (127 if said else 0)
    assert ended.stdout == ("" if said else "--now run.sh\n")
    assert said or not ended.stderr
