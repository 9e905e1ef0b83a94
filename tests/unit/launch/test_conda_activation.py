"""The activation of a conda environment, made by hand, by the words that come before a task's command."""

import json
import subprocess
from pathlib import Path

import pytest

from muster.domain.failures.diagnosis import classify
from muster.domain.specs import Runtime
from muster.launch.runtimes import runtime_command, runtime_environment


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """It has no Python of its own, as an environment for R."""
    made = tmp_path / "conda" / "envs" / "it's"
    (made / "bin").mkdir(parents=True)
    (made / "etc/conda/activate.d").mkdir(parents=True)
    (made / "conda-meta").mkdir()
    return made


def script(prefix: Path, name: str, text: str) -> None:
    (prefix / "etc/conda/activate.d" / name).write_text(text)


def run(prefix: Path, command: str, **env: str) -> "subprocess.CompletedProcess[str]":
    runtime = Runtime(conda=str(prefix))
    words = runtime_command(runtime, None, ("/bin/sh", "-c", command, "x", "a b"))
    return subprocess.run(
        words, env={**runtime_environment(runtime, None), **env}, capture_output=True, text=True, check=False
    )


def test_scripts_and_variables_are_there_for_the_command(prefix: Path) -> None:
    state = {"version": 1, "env_vars": {"OF_STATE": "it's $HOME", "OURS": "conda", "GONE": "***unset***"}}
    (prefix / "conda-meta/state").write_text(json.dumps(state))
    script(prefix, "a.sh", 'export FIRST="$CONDA_PREFIX $OF_STATE"')
    script(prefix, "b.sh", "function f() { export SECOND=two; }\nf\n[[ -n $NOTHING ]] && true\n")
    done = run(prefix, 'echo "$FIRST|$SECOND|$OURS|$GONE|$1|$CONDA_SHLVL"', OURS="job")
    assert done.stdout == f"{prefix} it's $HOME|two|job||a b|1\n", done.stderr
    assert "b.sh returned 1" in done.stderr


@pytest.mark.parametrize("code", [0, 3])
def test_a_script_that_ends_the_shell_fails_the_task_and_the_fault_says_so(prefix: Path, code: int) -> None:
    script(prefix, "bad.sh", f"exit {code}")
    done = run(prefix, "echo never")
    assert done.returncode == (code or 1)
    assert done.stdout == ""
    fault = classify(exit_code=done.returncode, log_tail=done.stderr)
    assert fault.code == "environment-activation"
    assert f"bad.sh ended with exit code {code}" in fault.cause


def test_variables_that_cannot_be_read_fail_the_task(prefix: Path) -> None:
    (prefix / "conda-meta/state").write_text("{")
    done = run(prefix, "echo never")
    assert (done.returncode, done.stdout) == (1, "")
    assert classify(exit_code=1, log_tail=done.stderr).code == "environment-activation"


def test_without_anything_to_activate_the_command_runs_at_once(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    assert run(tmp_path, 'echo "$CONDA_PREFIX $1"').stdout == f"{tmp_path} a b\n"
