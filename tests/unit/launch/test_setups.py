"""The key of a setup, and the script that runs it, in the shells that nodes and images have."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from muster.domain.specs import Mount, Runtime, SecretUse, Setup
from muster.launch.setup_script import SCRIPT
from muster.launch.setups import setup_command, setup_files, setup_use
from tests.parts.building import a_role, a_spec

SPEC = a_spec(a_role(), setup=Setup(("pip", "install", "x")), package="1" * 64)
TOOLS = "find tar rm mkdir mv cat chmod readlink head date sync ls cp touch sh"
SHELLS = [["/bin/sh"], ["bash"], ["busybox", "sh"]]


@pytest.mark.fast
def test_everything_that_the_setup_can_see_is_part_of_its_key() -> None:
    role = SPEC.roles[0]
    changed = [
        (SPEC, role),
        (replace(SPEC, setup=Setup(("pip", "install", "y"))), role),
        (replace(SPEC, package="2" * 64), role),
        (replace(SPEC, runtime=Runtime(conda="py310")), role),
        (replace(SPEC, runtime=Runtime(image="py310")), role),
        (replace(SPEC, mounts=(Mount("/srv/wheels", "/wheels"),)), role),
        (replace(SPEC, env={"PIP_INDEX_URL": "a"}), role),
        (SPEC, replace(role, env={"PIP_INDEX_URL": "b"})),
        (replace(SPEC, secrets=(SecretUse("pip", env="PIP_PASSWORD"),)), role),
        (replace(SPEC, setup=Setup(("pip", "install", "x"), cache=False)), role),
    ]
    uses = [setup_use(spec, role, "job.1") for spec, role in changed]
    assert len({use.key for use in uses if use is not None}) == len(changed)


@pytest.mark.fast
def test_what_it_cannot_see_is_not_part_of_its_key() -> None:
    same = replace(SPEC, name="other", params={"lr": 1}, time_limit_s=7.0, mounts=(Mount("data", "data"),))
    assert setup_use(same, SPEC.roles[0], "b.2") == setup_use(SPEC, SPEC.roles[0], "a.1")


@pytest.mark.fast
def test_without_a_setup_nothing_is_added() -> None:
    spec = a_spec(a_role())
    assert setup_command(spec, ("true",)) == ("true",)
    assert setup_files(spec) == {}
    assert setup_use(spec, spec.roles[0], "a.1") is None


@pytest.mark.parametrize("shell", SHELLS, ids=lambda words: words[0].rpartition("/")[2])
def test_the_script_runs_in_every_shell(shell: list[str], tmp_path: Path) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"there is no {shell[0]}")
    work, odd = tmp_path / "work", "a b'c"
    (work / "part").mkdir(parents=True)
    (work / "part" / odd).write_text("packed\n")
    (work / "input").symlink_to("/etc")
    (work / "inner").symlink_to("part")
    (tmp_path / "setup.sh").write_text(SCRIPT)
    spec = replace(SPEC, setup=Setup(("/bin/sh", "-c", 'ls; cat inner/*; echo "$1" >made; cp $0 . || true', "x", odd)))
    command = list(setup_command(spec, ("/bin/sh", "-c", 'cat made; echo "$1"; readlink input', "x", "$y  z")))
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "MUSTER_TASK_DIR": str(tmp_path),
        "MUSTER_SETUP_ENTRY": str(tmp_path / "entry"),
        "MUSTER_JOB_NAME": "demo",
        "MUSTER_JOB_ID": "j",
        "MUSTER_ATTEMPT": "1",
    }
    if shell[0] == "busybox":
        tools = tmp_path / "tools"
        tools.mkdir()
        for name in TOOLS.split():
            (tools / name).symlink_to(str(shutil.which("busybox")))
        env["PATH"] = f"{tools}:{Path(sys.executable).resolve().parent}"  # it has no flock: Python is there for that
    words = [str(shutil.which(shell[0])), *shell[1:], *command[1:]]
    first, second = (
        subprocess.run(words, cwd=work, env=env, capture_output=True, text=True, check=False) for _ in range(2)
    )
    said = first.stdout.splitlines()
    assert said[:4] == ["muster: setup: begins", "inner", "part", "packed"], first.stderr
    assert said[-4:] == ["muster: setup: ready", odd, "$y  z", "/etc"]
    assert second.stdout.startswith("muster: setup: ready: prepared on ")
    assert second.stdout.splitlines()[1:] == said[-3:]
    assert sorted(path.name for path in work.iterdir()) == ["inner", "input", "made", "part"]
