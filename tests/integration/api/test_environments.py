"""Folders and environments of a server's own cluster: told, tested, used by jobs, and missed when they are gone."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.api.calling import Caller, problem
from tests.parts.server import MusterServer, polls, running_server


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder, and one of environments whose conda is known by its layout alone."""
    base = tmp_path_factory.mktemp("shared")
    (base / "data" / "criteo").mkdir(parents=True)
    (base / "data" / "criteo" / "part-0").write_text("clicks\n")
    for place in ("miniconda3", "miniconda3/envs/py", "venvs/one"):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(base / "envs" / place)], check=True)
    return base


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("environments")
    (home / "clusters.d").mkdir()
    (home / "clusters.d" / "local.yaml").write_text(
        f"name: local\nbackend: local\nconda: envs/miniconda3\nfolders:\n"
        f"  data: {shared}/data\n  envs: {shared}/envs\n  late: {shared}/late\n"
    )
    with running_server(home, {"MUSTER_FAKE_GPUS": "1xT4"}) as running:
        assert any("muster/conda" in node(running)["labels"] for _ in polls(30))
        yield running


def node(server: MusterServer) -> dict[str, dict[str, str]]:
    (found,) = server.json("get", "nodes")["items"]
    return dict(found)


def test_environments_are_listed_with_their_python(server: MusterServer) -> None:
    found = server.json("env", "list")["items"]
    offered = {(one["kind"], one["name"]) for one in found if one["kind"] != "image"}
    assert offered == {("conda", "base"), ("conda", "py"), ("venv", "envs/venvs/one")}
    assert all(one["python"].startswith("3.") for one in found if one["kind"] != "image")


def test_environment_is_tested_with_a_card_that_is_free(server: MusterServer) -> None:
    (trial,) = server.json("env", "test", "py")["items"]
    assert (trial["ok"], trial["card"], trial["error"]) == (True, 0, "")


def test_the_packages_of_an_environment_are_listed(server: MusterServer, shared: Path) -> None:
    prefix = shared / "envs/miniconda3/envs/py"
    site = next(prefix.glob("lib/python3*/site-packages"))
    (site / "demo_kit-1.5.dist-info").mkdir()
    (site / "demo_kit-1.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: Demo_Kit\nVersion: 1.5\n")
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / "openssl-3.0.14-h41_0.json").write_text("{}")
    (found,) = server.json("env", "packages", "py")["items"]
    assert found["python"].startswith("3.")
    assert {(one["name"], one["version"], one["source"]) for one in found["packages"]} >= {
        ("Demo_Kit", "1.5", "python"),
        ("openssl", "3.0.14", "conda"),
    }
    table = server.run("env", "packages", "py", "--grep", "DEMO", check=True).stdout.splitlines()
    assert [line.split()[:3] for line in table] == [["PACKAGE", "VERSION", "SOURCE"], ["Demo_Kit", "1.5", "python"]]


def test_a_conda_environment_is_activated_for_tests_jobs_and_commands_in_them(
    server: MusterServer, shared: Path
) -> None:
    scripts = shared / "envs/miniconda3/envs/py/etc/conda/activate.d"
    scripts.mkdir(parents=True)
    (scripts / "set.sh").write_text("export FROM_SCRIPT=activated\n")
    server.submit({"name": "active", "runtime": {"conda": "py"}, "command": "echo $FROM_SCRIPT; sleep 1000"})
    server.wait_for_state("active", "Running")
    assert any("activated" in server.run("logs", "active").stdout for _ in polls(30))
    assert server.run("exec", "active", "--", "sh", "-c", "echo $FROM_SCRIPT", check=True).stdout == "activated\n"
    server.run("kill", "active", check=True)
    (scripts / "bad.sh").write_text("exit 9\n")
    (trial,) = json.loads(server.run("env", "test", "py", "-o", "json").stdout)["items"]
    assert "bad.sh ended with exit code 9" in trial["error"]
    server.submit({"name": "inactive", "runtime": {"conda": "py"}, "command": "echo never"})
    assert server.wait("inactive")["state"] == "Failed"
    explained = server.run("explain", "inactive", check=True).stdout
    assert "cannot be activated" in explained
    (scripts / "bad.sh").unlink()


def test_unknown_environment_is_refused_with_a_guess(server: MusterServer) -> None:
    done = server.run("env", "test", "bases")
    assert done.returncode == 1
    assert "did you mean base?" in done.stderr


@pytest.mark.parametrize(
    ("runtime", "prefix"), [({"conda": "py"}, "miniconda3/envs/py"), ({"venv": "envs/venvs/one"}, "venvs/one")]
)
def test_job_runs_in_its_environment_with_its_data(
    server: MusterServer, shared: Path, runtime: dict[str, str], prefix: str
) -> None:
    code = "import sys; print(sys.prefix, open('in/criteo/part-0').read())"
    mounts = [{"source": "data/criteo", "target": "in/criteo"}]
    spec = {"name": "uses", "command": ["python", "-c", code], "runtime": runtime, "mounts": mounts}
    job = server.submit(spec)
    assert server.wait(job["id"])["state"] == "Succeeded"
    assert server.run("logs", job["id"], check=True).stdout.split() == [str(shared / "envs" / prefix), "clicks"]


def test_job_does_not_run_by_another_python_where_its_environment_is_missing(
    server: MusterServer, shared: Path
) -> None:
    job = server.submit({"name": "mistyped", "command": ["python3", "-c", "print('ran')"], "runtime": {"conda": "pi"}})
    ended = server.wait(job["id"])
    assert ended["state"] == "Failed"
    assert f"{shared}/envs/miniconda3/envs/pi, which" in explained(server, job["id"])
    assert "ran" not in server.run("logs", job["id"], check=True).stdout


def test_mounts_that_cannot_be_are_refused_with_what_would_do(server: MusterServer) -> None:
    spec = {"name": "x", "command": "true", "mounts": [{"source": "dato", "target": "/data"}]}
    told = problem(Caller(server, server.token).post("/jobs", {"spec": spec}), 422, "invalid")
    assert [one["path"] for one in told["problems"]] == ["mounts[0].source", "mounts[0].target"]


def test_job_waits_for_its_folder_and_says_why(server: MusterServer, shared: Path) -> None:
    job = server.submit({"name": "late", "command": "true", "mounts": [{"source": "late", "target": "late"}]})
    told = next(text for _ in polls(30) if "in order" in (text := explained(server, job["id"])))
    assert "no ready node has folder late in order" in told
    assert f"missing: there is no {shared}/late" in told
    assert any("folder late is missing" in alert for alert in node(server)["alerts"])
    (shared / "late").mkdir()
    touch(server)
    assert server.wait(job["id"])["state"] == "Succeeded"
    shutil.rmtree(shared / "late")


def explained(server: MusterServer, job: str) -> str:
    return server.run("explain", job).stdout


def touch(server: MusterServer) -> None:
    """The file changes, so the folders are looked at without waiting for the next round."""
    path = server.home / "clusters.d" / "local.yaml"
    path.write_text(f"{path.read_text()}description: looked at again\n")
