"""`muster cluster check --connect` tries the options of a cluster file in a real Slurm."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from muster.backends.slurm.script.constraints import constraint_problem
from tests.parts.gpu_software import pretend_gpu_software
from tests.parts.host_claims import PATH
from tests.parts.server import MusterServer
from tests.parts.slurm import RealSlurm, SlurmOptions
from tests.parts.slurm_server import write_slurm_cluster

pytestmark = pytest.mark.slurm


@pytest.mark.parametrize(
    ("keys", "code", "words"),
    [
        ({}, 0, "no mistakes"),
        ({"constraint": "no-such-feature"}, 1, "constraint: Slurm refuses a job with"),
        (
            {"virtualClusters": {"night": {"reservation": "no-such"}}},
            1,
            "virtualClusters.night.reservation: Slurm refuses a job with",
        ),
        ({"options": ["--no-such-option"]}, 1, "options: Slurm refuses a job with"),
        ({"python": "/usr/bin/python3"}, 0, "no mistakes"),
        ({"python": "/no/such/python"}, 1, "python: /no/such/python cannot be run on n"),
        ({"network": {"interface": "lo"}, "prolog": ["ulimit -c 0"]}, 0, "no mistakes"),
        ({"network": {"interface": "ib9"}}, 1, "network.interface: a node has no interface ib9"),
        (
            {"prolog": ["echo it is broken >&2; exit 3"]},
            1,
            "prolog: a line of it ends the batch script on a node: it is",
        ),
        ({"modules": ["no-such/module"]}, 1, "modules: no-such/module cannot be loaded on a node"),
    ],
    ids=[
        *("all is well", "constraint", "reservation", "option", "python", "no python"),
        *("lines", "interface", "prolog", "module"),
    ],
)
def test_options_are_tried(slurm: RealSlurm, tmp_path: Path, keys: dict[str, Any], code: int, words: str) -> None:
    write_slurm_cluster(tmp_path, slurm, **keys)
    found = MusterServer(tmp_path).run("cluster", "check", "--connect")
    assert words in found.stdout + found.stderr
    assert found.returncode == code, found.stdout + found.stderr


@pytest.mark.parametrize("key", ["env", "prolog"])
def test_versions_on_a_node_are_compared_with_the_expected_ones(slurm: RealSlurm, tmp_path: Path, key: str) -> None:
    """They are looked for where the lines of the file say."""
    home = slurm.new_folder("cuda")
    pretend_gpu_software(home / "bin", home)
    env = {"PATH": f"{home}/bin:{PATH}", "CUDA_HOME": str(home), "CUDNN_HOME": str(home)}
    lines = {"env": env} if key == "env" else {"prolog": [f"export {name}={value}" for name, value in env.items()]}
    write_slurm_cluster(
        tmp_path, slurm, **lines, expected={"slurm": "19.05", "driver": "535", "cuda": "12.2", "cudnn": "9.1"}
    )
    found = MusterServer(tmp_path).run("cluster", "check", "--connect")

    told = [line for line in found.stderr.splitlines() if "expects" in line]
    assert [line.rpartition("expects ")[2].split()[0] for line in told] == ["slurm", "cudnn"], (
        found.stdout + found.stderr
    )
    assert "cudnn 9.1, and there is 8.9.7" in told[1]
    assert found.returncode == 0


def test_names_that_accounting_does_not_know_are_told(accounting_folder: Path, tmp_path: Path) -> None:
    with RealSlurm(accounting_folder, SlurmOptions(accounting=True)) as slurm:
        write_slurm_cluster(tmp_path, slurm, qos="normal", virtualClusters={"night": {"account": "no-such"}})
        found = MusterServer(tmp_path).run("cluster", "check", "--connect")
    told = " ".join((found.stdout + found.stderr).split())
    assert "virtualClusters.night.account: the accounting of Slurm does not know no-such" in told
    assert "does not know normal" not in told


def test_stopped_controller_is_told_within_seconds(slurm: RealSlurm, tmp_path: Path) -> None:
    write_slurm_cluster(tmp_path, slurm)
    slurm.kill_controller()
    found = MusterServer(tmp_path).run("cluster", "check", "--connect")
    assert found.returncode == 1
    assert "Slurm's controller does not answer: Slurmctld(primary) at" in found.stdout + found.stderr


@pytest.mark.parametrize(
    ("constraints", "is_taken"),
    [
        (
            ["fast", "a100|v100", "fast,a100", "fast&(a100|v100)", "(a100|v100)*2", "a100*1|v100*2", "a100*1&v100*1"],
            True,
        ),
        (
            ["[a100|v100]", "[a100|v100]&fast", "[(a100&fast)|v100]", "[a100*1&v100*2]", "[(a100|v100)*2]", "[a100]"],
            True,
        ),
        (["!fast", "a100&!v100", "|fast", "fast&&a100", "fast*0", "*2", "(fast", "fast]", "((fast))", "()"], False),
        (
            ["(a100*1|v100*1)", "[a100|v100]*2", "[a100*1|v100*2]", "[a100*1|v100]", "[a100&v100]", "[a100*1&v100]"],
            False,
        ),
        (["[a100|v100&fast]", "[a100*1&v100*1|fast*1]", "[a100|v100]&[fast|v100]", "[(a100|v100)&fast]"], False),
    ],
    ids=["plain", "brackets", "mistakes", "counts", "mixed"],
)
def test_constraints_are_judged_as_slurm_does(slurm: RealSlurm, constraints: list[str], is_taken: bool) -> None:
    for constraint in constraints:
        words = ["sbatch", "--test-only", "--output=/dev/null", f"--constraint={constraint}", "--wrap=true"]
        tried = subprocess.run(words, env=slurm.env(), cwd="/", capture_output=True, text=True, check=False)

        assert (tried.returncode == 0) is is_taken, (constraint, tried.stderr)
        assert (constraint_problem(constraint) == "") is is_taken, constraint
