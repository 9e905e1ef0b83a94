"""Jobs with images through the whole platform, in real containers: where they start, and what they are given."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.engines import IMAGE, EngineMissing, EnginePart, pack_image
from tests.parts.podman import private_podman, remove
from tests.parts.registry import PASSWORD, Registry, private_registry
from tests.parts.server import MusterServer, polls, running_server

BUILT = "localhost/muster-trainer:1"
ENTRY = 'ENTRYPOINT ["sh", "-c", "pwd; echo entry $0 $1"]'


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="muster-podman-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def podman(base: Path) -> Iterator[EnginePart]:
    try:
        found = private_podman(base)
    except EngineMissing as missing:
        pytest.skip(str(missing))
    found.call("create", "--name", "draft", IMAGE, "true")
    made = found.call("commit", "--change", "WORKDIR /etc", "--change", ENTRY, "draft", BUILT)
    found.call("rm", "draft")
    assert made.returncode == 0, made.stderr
    yield found
    remove(found, base)


@pytest.fixture(scope="module")
def registry(base: Path) -> Iterator[Registry]:
    pack_image(base / "private.tar")
    with private_registry(base / "private.tar") as found:
        settings = base / "registries.conf"
        settings.write_text(f'[[registry]]\nlocation = "{found.address}"\ninsecure = true\n')
        yield found


@pytest.fixture(scope="module")
def lab(podman: EnginePart, registry: Registry, base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    home, data = tmp_path_factory.mktemp("lab") / "home", tmp_path_factory.mktemp("data")
    (data / "teams").mkdir()
    (data / "teams" / "words").write_text("hello\n")
    (home / "clusters.d").mkdir(parents=True)
    written = {"backend": "local", "folders": {"pool": str(data)}, "storages": {"team-nfs": "pool/teams"}}
    (home / "clusters.d" / "local.yaml").write_text(json.dumps(written))
    env = {**podman.env, "CONTAINERS_REGISTRIES_CONF": str(base / "registries.conf")}
    with running_server(home, env) as server:
        for _ in polls(60):
            if any("muster/containers" in node["labels"] for node in server.json("get", "nodes")["items"]):
                break
        yield server


def submitted(lab: MusterServer, tmp_path: Path, text: str, *words: str) -> Any:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    return lab.run("submit", str(file), *words)


def log_of(lab: MusterServer, tmp_path: Path, text: str) -> str:
    ran = submitted(lab, tmp_path, text, "--wait", "-o", "json")
    assert ran.returncode == 0, ran.stderr
    return lab.run("logs", json.loads(ran.stdout)["id"]).stdout


@pytest.mark.parametrize(("workdir", "expected"), [("image", "/etc"), ("/bin", "/bin")])
def test_a_job_starts_where_its_image_or_its_file_says_with_its_package_beside_it(
    lab: MusterServer, tmp_path: Path, workdir: str, expected: str
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "note.txt").write_text("from the package\n")
    job = f"""
name: starts-there
package: ./src
outputs: [result.txt]
runtime: {{image: {BUILT}, workdir: {workdir}}}
command: pwd; cat "$MUSTER_TASK_DIR/work/note.txt"; echo done > "$MUSTER_TASK_DIR/work/result.txt"
"""
    assert log_of(lab, tmp_path, job) == f"{expected}\nfrom the package\n"
    lab.run("outputs", "starts-there", "--get", str(tmp_path / "out"), check=True)
    assert [path.read_text() for path in (tmp_path / "out").rglob("result.txt")] == ["done\n"]


def test_exec_starts_where_the_task_does(lab: MusterServer, tmp_path: Path) -> None:
    job = f"name: entered\nruntime: {{image: {BUILT}, workdir: image}}\ncommand: sleep 1000\n"
    assert submitted(lab, tmp_path, job).returncode == 0
    lab.wait_for_state("entered", "Running")
    assert lab.run("exec", "entered", "--", "pwd", check=True).stdout == "/etc\n"
    lab.run("kill", "entered", check=True)


def test_arguments_alone_run_the_entry_point_of_the_image(lab: MusterServer, tmp_path: Path) -> None:
    job = f"name: arguments\nruntime: {{image: {BUILT}, workdir: image}}\nparams: {{lr: 3}}\n"
    assert log_of(lab, tmp_path, f"{job}args: [a b, '${{params.lr}}']\n") == "/etc\nentry a b 3\n"


def test_a_private_image_needs_a_secret_and_nobody_sees_it(
    lab: MusterServer, registry: Registry, tmp_path: Path
) -> None:
    job = f"name: private\nruntime: {{image: '{registry.image}', workdir: image}}\ncommand: pwd\n"
    refused = submitted(lab, tmp_path, job, "--wait", "-o", "json")
    assert json.loads(refused.stdout)["state"] == "Failed"
    explained = lab.run("explain", "private", check=True).stdout
    assert "runtime.pullSecret" in explained

    with_secret = job.replace("workdir", "pullSecret: lab-registry, workdir")
    unknown = submitted(lab, tmp_path, with_secret)
    assert "runtime.pullSecret: " in unknown.stderr
    assert "muster secret set lab-registry" in unknown.stderr
    (tmp_path / "wrong.json").write_text('{"auths": {}}')
    lab.run("secret", "set", "lab-registry", "--from-file", str(tmp_path / "wrong.json"), check=True)
    assert "has no `auths`" in submitted(lab, tmp_path, with_secret).stderr

    (tmp_path / "config.json").write_bytes(registry.login)
    lab.run("secret", "set", "lab-registry", "--from-file", str(tmp_path / "config.json"), check=True)
    assert log_of(lab, tmp_path, with_secret) == "/etc\n"
    listed = lab.run("describe", "private").stdout + lab.run("submit", str(tmp_path / "job.yaml"), "--dry-run").stdout
    assert PASSWORD not in listed
    assert PASSWORD not in (lab.home / "stderr.log").read_text()


def test_a_storage_is_mounted_by_its_name_and_one_that_is_unknown_refused(lab: MusterServer, tmp_path: Path) -> None:
    job = f"""
name: stored
runtime: {{image: {IMAGE}}}
mounts: [{{storage: team-nfs, target: /teams, readOnly: true}}, {{storage: pool, target: pool}}]
command: cat /teams/words pool/teams/words
"""
    assert log_of(lab, tmp_path, job) == "hello\nhello\n"
    described = lab.run("describe", "cluster/local", check=True).stdout
    assert "Storages: team-nfs, pool" in " ".join(described.split())
    refused = submitted(lab, tmp_path, job.replace("storage: pool", "storage: team-nsf"))
    assert refused.returncode != 0
    assert (
        "line 4: mounts[1].storage: cluster local has no storage 'team-nsf'"
        " (did you mean team-nfs? known storages: team-nfs, pool)" in refused.stderr
    )


def test_a_folder_of_an_image_without_an_image_is_refused(lab: MusterServer, tmp_path: Path) -> None:
    refused = submitted(lab, tmp_path, "name: x\nruntime: {workdir: /workspace}\ncommand: pwd\n")
    assert "runtime.workdir: /workspace is a folder of an image, and this job names none" in refused.stderr
    assert log_of(lab, tmp_path, "name: here\nruntime: {workdir: image}\ncommand: pwd\n").endswith("/work\n")


def test_a_folder_that_the_image_does_not_have_is_named_and_not_taken_for_a_missing_image(
    lab: MusterServer, tmp_path: Path
) -> None:
    job = f"name: nowhere\nruntime: {{image: {IMAGE}, workdir: /nowhere}}\ncommand: pwd\n"
    ran = submitted(lab, tmp_path, job, "--wait", "-o", "json")
    assert json.loads(ran.stdout)["state"] == "Failed"
    explained = lab.run("explain", "nowhere", check=True).stdout
    assert "/nowhere" in explained
    assert "runtime.workdir" in explained
