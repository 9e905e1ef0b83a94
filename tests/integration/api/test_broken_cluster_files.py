"""A server and cluster files with mistakes: it starts and goes on with what was in force, and says what is wrong."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok
from tests.parts.server import MusterServer, polls, running_server

LAB = "name: lab\nbackend: ssh\ndefaults: {port: 1}\nnodes:\n- {name: gpu1, host: 127.0.0.1}\n"
WRONG = LAB.replace("port: 1", "ports: 1")
TOLD = "lab.yaml, line 3: defaults.ports: unknown key (did you mean port?)"
STAYS = "lab.yaml: its last valid version stays in effect until it is fixed"
LEFT_OUT = "lab.yaml: is left out until it is fixed"


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "clusters.d"
    folder.mkdir(parents=True)
    return folder


def nodes(server: MusterServer) -> set[tuple[str, str]]:
    found: list[Any] = ok(Caller(server, server.token).get("/nodes"))["items"]
    return {(node["cluster"], node["name"]) for node in found if node["cluster"] != "local"}


def until_nodes(server: MusterServer, *wanted: tuple[str, str]) -> None:
    for _ in polls(60):
        if nodes(server) == set(wanted):
            return
    raise AssertionError(f"there are {nodes(server)}, not {wanted}")


def log(server: MusterServer) -> str:
    return (server.home / "stderr.log").read_text()


def test_a_start_while_a_file_is_broken_goes_on_with_what_was_in_force(clusters: Path) -> None:
    (clusters / "lab.yaml").write_text(LAB)
    with running_server(clusters.parent) as server:
        until_nodes(server, ("lab", "gpu1"))
        server.kill()
        (clusters / "lab.yaml").write_text(WRONG)
        (clusters / "attic.yaml").write_text("backend: ssh\nnodes: [{name: old, host: 127.0.0.1, port: 1}]\n")
        server.start()
        until_nodes(server, ("lab", "gpu1"), ("attic", "old"))
        for words in (("node", "list"), ("get", "clusters"), ("vc", "list")):
            told = server.run(*words, check=True).stderr
            assert TOLD in told
            assert STAYS in told
        assert "attic.yaml" not in log(server)
        assert TOLD in log(server)
        status, metrics = server.call("GET", "/metrics")
        assert (status, "muster_cluster_file_problems 2.0" in metrics) == (200, True)
        (clusters / "lab.yaml").write_text(LAB.replace("gpu1", "gpu2"))
        until_nodes(server, ("lab", "gpu2"), ("attic", "old"))
        assert server.run("node", "list", check=True).stderr == ""


def test_a_first_start_with_only_a_broken_file_has_the_local_cluster_and_says_so(clusters: Path) -> None:
    (clusters / "lab.yaml").write_text(WRONG)
    with running_server(clusters.parent) as server:
        assert TOLD in log(server)
        assert LEFT_OUT in log(server)
        told = server.run("get", "clusters", check=True)
        assert told.stdout.splitlines()[1].split()[0] == "local"
        assert LEFT_OUT in told.stderr
        job = server.submit({"name": "hello", "command": "true"})
        assert server.wait(job["id"])["state"] == "Succeeded"


def test_a_folder_that_is_away_keeps_nobody_from_starting(tmp_path: Path) -> None:
    elsewhere = tmp_path / "clusters"
    with running_server(tmp_path / "home", {"MUSTER_CLUSTERS": str(elsewhere)}) as server:
        assert f"{elsewhere}: cannot be read" in server.run("vc", "list").stderr
        elsewhere.mkdir()
        (elsewhere / "lab.yaml").write_text(LAB)
        until_nodes(server, ("lab", "gpu1"))


def test_what_is_kept_is_for_the_server_alone_and_has_no_secret(clusters: Path) -> None:
    (clusters / "psw").write_text("s3cr3t-word")
    (clusters / "psw").chmod(0o600)
    (clusters / "lab.yaml").write_text(LAB.replace("port: 1", "port: 1, passwordFile: psw"))
    with running_server(clusters.parent) as server:
        until_nodes(server, ("lab", "gpu1"))
        kept = server.home / "clusters.kept.json"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert "s3cr3t-word" not in kept.read_text() + log(server)
        assert set(json.loads(kept.read_text())["files"]) == {"lab.yaml"}
        (clusters / "lab.yaml").write_text(LAB.replace("port: 1", "password: an0ther-word"))
        for _ in polls(60):
            if "is a secret" in server.run("node", "list").stderr:
                break
        assert "an0ther-word" not in kept.read_text() + log(server)


def test_nodes_are_added_and_removed_while_another_file_is_broken(clusters: Path) -> None:
    (clusters / "other.yaml").write_text("backend: [\n")
    with running_server(clusters.parent) as server:
        admin = Caller(server, server.token)
        ok(admin.post("/clusters/lab/nodes", {"name": "gpu7", "ssh": "nobody@127.0.0.1:1"}), 201)
        until_nodes(server, ("lab", "gpu7"))
        (clusters / "lab.yaml").write_text("nonsense: [\n")
        ok(admin.post("/clusters/lab/nodes", {"name": "gpu8", "ssh": "nobody@127.0.0.1:1"}), 201)
        until_nodes(server, ("lab", "gpu7"), ("lab", "gpu8"))
        ok(admin.send("DELETE", "/nodes/gpu7"), 204)
        until_nodes(server, ("lab", "gpu8"))
        server.stop()
        server.start()
        until_nodes(server, ("lab", "gpu8"))


def test_files_are_checked_without_a_server(clusters: Path, tmp_path: Path) -> None:
    here = MusterServer(clusters.parent)
    assert here.run("cluster", "check").returncode == 0
    (clusters / "lab.yaml").write_text(WRONG)
    (clusters / "vcs.yaml").write_text("name: a\ncluster: lap\n")
    done = here.run("cluster", "check")
    assert (done.returncode, len(done.stdout.splitlines())) == (1, 2)
    assert TOLD in done.stdout
    shown = json.loads(here.run("cluster", "check", "-o", "json").stdout)["items"]
    assert [(item["file"], item["line"], item["path"]) for item in shown] == [
        ("lab.yaml", 3, "defaults.ports"),
        ("vcs.yaml", 2, "cluster"),
    ]
    draft, listed = tmp_path / "lab.yaml", tmp_path / "gpu_slaver_info.json"
    draft.write_text(LAB)
    assert here.run("cluster", "check", str(draft)).returncode == 0
    draft.write_text(LAB + "nodesFile: missing.json\n")
    done = here.run("cluster", "check", str(draft))
    assert (done.returncode, "lab.yaml, line 6: nodesFile: missing.json cannot be read" in done.stdout) == (1, True)
    listed.write_text('[{"name": "n1", "ip": "h"}, {"name": "n1", "ip": "h", "gpus": 1}]')
    done = here.run("cluster", "check", str(listed))
    assert (done.returncode, f"{listed}, line 1: [1].gpus: unknown key" in done.stdout) == (1, True)
    listed.write_text('[{"name": "n1", "ip": "h"}, {"name": "n1", "ip": "h"}]')
    assert "n1 is given twice" in here.run("cluster", "check", str(listed)).stdout


def test_files_that_are_no_logins_are_named_without_asking_the_cluster(clusters: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "amy.pub").write_text("ssh-ed25519 AAAA amy\n")
    logins = f"logins: {{'*': {{keyFile: '{keys}/${{owner}}'}}}}"
    (clusters / "hpc.yaml").write_text(f"backend: slurm\nlogin: muster@127.0.0.1:1\nsubmitAs: login\n{logins}\n")
    done = MusterServer(clusters.parent).run("cluster", "check")
    assert f"cluster hpc: not taken for logins in {keys}: amy.pub (not the name of an account)" in done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
