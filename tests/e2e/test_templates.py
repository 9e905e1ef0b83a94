"""Every built-in template runs as it is where its framework is installed, and is accepted everywhere."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from muster.templates.catalogue import DESCRIPTIONS
from tests.e2e.example_runs import EXAMPLES, INTERPRETER_VARIABLE
from tests.e2e.test_cli_e2e import unique
from tests.parts.server import MusterServer

FRAMEWORKS_PYTHON = Path(
    os.environ.get(INTERPRETER_VARIABLE, EXAMPLES.parent / ".venv-frameworks/bin/python")
).absolute()
TORCH_PYTHON = Path("/usr/bin/python3")
_LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
DEBIAN = ("--set", "env.PET_REDIRECTS=9:1", "--set", "env.PET_TEE=9:1")
"""PyTorch 1.13 of Debian cannot read its own defaults of these two under Python 3.11."""


def follow(server: MusterServer, name: str, folder: Path, *more: str) -> str:
    server.run("init", name, str(folder), check=True)
    done = server.run("submit", str(folder / "job.yaml"), "--name", unique(name), "--follow", *more, timeout_s=280)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_first_template_runs_on_a_bare_machine(muster_server: MusterServer, tmp_path: Path) -> None:
    made = muster_server.run("init", "-o", "json", cwd=tmp_path, check=True)
    assert json.loads(made.stdout) == {"template": "single", "files": ["job.yaml", "src/train.py"]}
    done = muster_server.run("submit", "job.yaml", "--name", unique("single"), "--follow", cwd=tmp_path)
    assert (done.returncode, "found y = " in done.stdout) == (0, True), done.stderr
    assert muster_server.run("init", cwd=tmp_path).returncode == 1
    assert muster_server.run("init", "--force", cwd=tmp_path).returncode == 0
    listed = muster_server.json("init", "--list")["items"]
    assert [item["name"] for item in listed] == list(DESCRIPTIONS)


def test_mpi_ranks_share_the_work(muster_server: MusterServer, tmp_path: Path) -> None:
    log = follow(muster_server, "mpi", tmp_path)
    assert "rank 0 of 2: 100000 points" in log
    assert "rank 1 of 2: 100000 points" in log


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_every_template_is_accepted(muster_server: MusterServer, tmp_path: Path, name: str) -> None:
    muster_server.run("init", name, str(tmp_path), check=True)
    muster_server.run("submit", str(tmp_path / "job.yaml"), "--dry-run", check=True)


@pytest.mark.parametrize(("name", "more"), [("torch-ddp", ()), ("torch-torchrun", DEBIAN)])
def test_torch_templates_train(muster_server: MusterServer, tmp_path: Path, name: str, more: tuple[str, ...]) -> None:
    if not TORCH_PYTHON.exists() or subprocess.run([TORCH_PYTHON, "-c", _LOOK], check=False, timeout=60).returncode:
        pytest.skip(f"no PyTorch for {TORCH_PYTHON} (python3-torch)")
    loopback = ("--set", "env.GLOO_SOCKET_IFNAME=lo")
    log = follow(muster_server, name, tmp_path, "--param", f"python={TORCH_PYTHON}", *loopback, *more)
    assert "rank 0 of 2 step 40/40 loss 0.0000" in log
    assert "rank 1 of 2 step 40/40 loss 0.0000" in log


@pytest.mark.frameworks
@pytest.mark.skipif(not FRAMEWORKS_PYTHON.exists(), reason=f"no {FRAMEWORKS_PYTHON}: run scripts/install-frameworks.sh")
@pytest.mark.parametrize("name", ["paddle-ps", "paddle-collective", "jax"])
def test_templates_of_other_frameworks_train(muster_server: MusterServer, tmp_path: Path, name: str) -> None:
    assert "loss" in follow(muster_server, name, tmp_path, "--param", f"python={FRAMEWORKS_PYTHON}")
