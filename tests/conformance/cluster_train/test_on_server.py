"""Jobs of the old client on a real server, with a stand-in for the program `paddle` on the node."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.cluster_train.stand_in import put_paddle
from tests.parts.server import MusterServer, running_server

UGI = "user,open-sesame"
CONFIG = f"cluster_config(fs_name='hdfs://a:1', fs_ugi='user,' + 'open-sesame')\nsettings(batch_size=3)\n# {UGI[:4]}\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    programs = put_paddle(tmp_path_factory.mktemp("node") / "bin")
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    with running_server(tmp_path_factory.mktemp("cluster-train") / "home", {"PATH": path}) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conf.py").write_text(CONFIG)
    (tmp_path / "thirdparty").mkdir()
    (tmp_path / "thirdparty" / "provider.py").write_text("NAME = open('made-by-hook').read().strip()\n")
    return tmp_path


def hook(folder: Path, script: str) -> None:
    file = folder / "thirdparty" / "before_hook.sh"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def train(server: MusterServer, folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    given = ("-t", "cpu", "-f", "conf.py", "-i", "thirdparty", *words)
    return server.run("cluster-train", *given, cwd=folder)


def test_a_job_trains_with_its_hook_its_third_party_folder_and_its_secret(server: MusterServer, folder: Path) -> None:
    hook(folder, 'echo "hook has $FS_NAME"; test -n "$FS_UGI" && echo one-by-the-hook > made-by-hook')
    said = train(server, folder, "-n", "2", "-j", "both", "--num_passes", "3", "--init_model_path", "old")
    assert said.returncode == 0, said.stderr
    lines = dict(line.split(":", 1) for line in said.stdout.splitlines())
    job = lines["job id"].strip()
    assert lines["tracking URL"].strip() == f"{server.url}/jobs/{job}"
    assert lines["kill it with"].strip() == f"muster cluster-kill {job}"
    assert server.wait("both")["state"] == "Succeeded"
    log = server.run("logs", "both", check=True).stdout
    assert log.count("hook has hdfs://a:1") == 1, "the hook runs once on a node"
    assert log.count("provider one-by-the-hook") == 2
    assert "--num_passes=3" in log
    assert "--init_model_path=old" in log
    of_trainers = server.run("logs", "both", "-w", "worker-0", "-w", "worker-1", check=True).stdout
    assert of_trainers.count("--num_gradient_servers=2") == 2, "a server may be stopped before it prints anything"
    assert "open-sesame" not in log + said.stdout + said.stderr + server.run("describe", "both").stdout
    assert "open-sesame" not in str(server.call("GET", "/api/v1/jobs/both/spec"))
    assert "worker-1/output/model" in server.run("outputs", "both", check=True).stdout
    assert server.call("GET", "/")[0] == 200


def test_a_hook_that_fails_is_the_reason_of_the_job_and_no_trainer_starts(server: MusterServer, folder: Path) -> None:
    hook(folder, "echo preparing; exit 7")
    assert train(server, folder, "-j", "hooked").returncode == 0
    ended = server.wait("hooked")
    assert ended["state"] == "Failed"
    node = server.json("get", "nodes")["items"][0]["name"]
    assert f"before_hook.sh failed with exit code 7 on {node}" in ended["reason"]
    assert "train" not in server.run("logs", "hooked").stdout.replace("trainer", "")


def test_a_hook_without_an_interpreter_says_so_on_the_node(server: MusterServer, folder: Path) -> None:
    hook(folder, "")
    (folder / "thirdparty" / "before_hook.sh").write_text("#!/nowhere/sh\n")
    assert train(server, folder, "-j", "nowhere").returncode == 0
    assert "before_hook.sh failed with exit code 12" in server.wait("nowhere")["reason"]


def test_a_dry_run_shows_the_commands_and_starts_nothing(server: MusterServer, folder: Path) -> None:
    said = train(server, folder, "-j", "dry", "--dry-run")
    assert said.returncode == 0, said.stderr
    assert "paddle train" in said.stdout
    assert "open-sesame" not in said.stdout + said.stderr
    assert server.call("GET", "/api/v1/jobs/dry")[0] == 404


def test_servers_that_cannot_share_a_port_are_told_what_to_do(server: MusterServer, folder: Path) -> None:
    hook(folder, "echo x > made-by-hook")
    assert train(server, folder, "-n", "2", "--num_pservers", "2", "-j", "ports").returncode == 0
    assert server.wait("ports")["state"] == "Failed"
    assert "submit with --num_pservers 1" in server.run("logs", "ports").stdout


def test_a_job_is_killed_with_the_printed_command(server: MusterServer, folder: Path) -> None:
    hook(folder, "exec sleep 1000")
    printed = train(server, folder, "-j", "endless").stdout.splitlines()[-1]
    words = printed.partition(":")[2].split()
    assert server.run(*words[1:]).returncode == 0
    assert server.wait("endless")["state"] == "Cancelled"
