"""The command line against a real server: what scripts rely on, as the guide promises it."""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.parts.server import MusterServer, polls

JOB_KEYS = {
    *("id", "name", "owner", "state", "mode", "cluster", "attempt", "succeeded", "failed", "active"),
    *("createdAt", "startedAt", "endedAt", "reason"),
}
TASK_KEYS = {"name", "role", "index", "state", "node", "startedAt", "endedAt", "exitCode"}


def unique(prefix: str) -> str:
    return f"{prefix}-{secrets.token_hex(4)}"


def spec_file(folder: Path, **spec: Any) -> Path:
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump({"name": unique("cli"), **spec}))
    return path


def name_in(path: Path) -> str:
    return str(yaml.safe_load(path.read_text())["name"])


def test_submit_prints_the_job_and_wait_says_how_it_ended(muster_server: MusterServer, tmp_path: Path) -> None:
    job = muster_server.json("submit", str(spec_file(tmp_path, command="echo hello")))
    assert set(job) >= JOB_KEYS
    assert muster_server.run("wait", job["name"]).returncode == 0
    ended = muster_server.json("describe", job["name"])
    assert "Succeeded" in json.dumps(ended)
    bad = muster_server.json("submit", str(spec_file(tmp_path, command="exit 3")))
    assert muster_server.run("wait", bad["id"]).returncode == 1
    assert muster_server.run("wait", "no-such-job").returncode == 1
    assert muster_server.run("wait").returncode == 2


def test_lists_are_items_with_the_promised_keys(muster_server: MusterServer, tmp_path: Path) -> None:
    path = spec_file(tmp_path, command="true", replicas=2)
    muster_server.run("submit", str(path), "--wait", check=True)
    jobs = muster_server.json("get", "jobs")["items"]
    (job,) = [one for one in jobs if one["name"] == name_in(path)]
    assert set(job) >= JOB_KEYS
    assert (job["state"], job["mode"], job["succeeded"]) == ("Succeeded", "Collective", 2)
    tasks = muster_server.json("get", "workers", job["name"])["items"]
    assert [task["name"] for task in tasks] == [f"{job['name']}-worker-{index}" for index in range(2)]
    for task in tasks:
        assert set(task) >= TASK_KEYS
        assert (task["state"], task["exitCode"]) == ("Succeeded", 0)
    for kind in ("nodes", "clusters", "users", "tokens"):
        assert muster_server.json("get", kind)["items"], kind


def test_submit_follow_prints_the_log_and_exits_by_the_outcome(muster_server: MusterServer, tmp_path: Path) -> None:
    good = muster_server.run("submit", str(spec_file(tmp_path, command="echo to the end")), "--follow")
    assert (good.returncode, good.stdout) == (0, "to the end\n")
    bad = muster_server.run("submit", str(spec_file(tmp_path, command="echo not well; exit 7")), "--follow")
    assert (bad.returncode, bad.stdout) == (1, "not well\n")
    assert "exit code 7" in bad.stderr


def test_set_and_param_change_the_spec(muster_server: MusterServer, tmp_path: Path) -> None:
    path = spec_file(tmp_path, params={"lr": 0.1}, roles={"worker": {"command": "echo ${params.lr}", "replicas": 1}})
    done = muster_server.run(
        "submit", str(path), "--set", "roles.worker.replicas=2", "--param", "lr=0.01", "--wait", check=True
    )
    assert done.stdout == ""
    logs = muster_server.run("logs", name_in(path), check=True).stdout.splitlines()
    assert sorted(line.split("|")[-1].strip() for line in logs) == ["0.01", "0.01"]


def test_a_dry_run_shows_the_plan_and_starts_nothing(muster_server: MusterServer, tmp_path: Path) -> None:
    path = spec_file(tmp_path, command="true", framework="torch", replicas=2)
    shown = muster_server.json("submit", str(path), "--dry-run")
    assert [request["env"]["RANK"] for request in shown["requests"]] == ["0", "1"]
    assert muster_server.run("describe", name_in(path)).returncode == 1


def test_a_bad_file_is_told_all_at_once_with_lines(muster_server: MusterServer, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("name: bad name\ncomand: python train.py\nroles:\n  worker:\n    replicas: many\n    command: x\n")
    done = muster_server.run("submit", str(path))
    assert done.returncode == 1
    assert done.stdout == ""
    for words in ("line 1", "line 2", "did you mean command", "line 5", "roles.worker.replicas"):
        assert words in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_usage_exits_2_and_a_refusal_1(muster_server: MusterServer) -> None:
    assert muster_server.run("submit").returncode == 2
    assert muster_server.run("nonsense").returncode == 2
    assert muster_server.run("get", "jobs", "--nonsense").returncode == 2
    assert muster_server.run("describe", "no-such-job").returncode == 1
    assert muster_server.run("kill", "no-such-job").returncode == 1


def test_logs_follow_tail_and_choose_workers(muster_server: MusterServer, tmp_path: Path) -> None:
    path = spec_file(tmp_path, command="for i in 1 2 3; do echo $MUSTER_ROLE_INDEX:$i; done", replicas=2)
    muster_server.run("submit", str(path), check=True)
    followed = muster_server.run("logs", "-f", name_in(path), check=True).stdout
    assert sorted(line.split()[-1] for line in followed.splitlines()) == [f"{w}:{i}" for w in "01" for i in "123"]
    assert muster_server.run("logs", name_in(path), "-w", "worker-1", "-n", "2").stdout == "1:2\n1:3\n"
    assert muster_server.run("logs", name_in(path), "--raw", "-w", "worker-0").stdout == "0:1\n0:2\n0:3\n"
    missing = muster_server.run("logs", name_in(path), "-w", "worker-7")
    assert missing.returncode == 1
    assert "worker-0" in missing.stderr


def test_a_killed_job_shows_its_workers_while_they_stop(muster_server: MusterServer, tmp_path: Path) -> None:
    gate, ready = tmp_path / "gate", tmp_path / "ready"
    stubborn = f"trap '' TERM; touch {ready}; while [ ! -e {gate} ]; do sleep 0.05; done"
    path = spec_file(tmp_path, command=stubborn, grace="60s")
    name = name_in(path)
    muster_server.run("submit", str(path), check=True)
    assert any(ready.exists() for _ in polls(60))
    killed = muster_server.json("kill", name)
    assert killed["state"] == "Stopping"
    (worker,) = muster_server.json("get", "workers", name)["items"]
    assert worker["state"] == "Stopping"
    taken = muster_server.run("submit", str(path))
    assert taken.returncode == 1
    assert name in taken.stderr
    gate.touch()
    assert muster_server.run("wait", name).returncode == 1
    assert muster_server.json("get", "workers", name)["items"][0]["state"] == "Stopped"
    path.write_text(yaml.safe_dump({"name": name, "command": "true"}))
    assert muster_server.run("submit", str(path), "--wait").returncode == 0
    assert muster_server.run("wait", name).returncode == 0


def test_run_needs_no_file_and_sends_the_folder(muster_server: MusterServer, tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text("import os; print('rank', os.environ['MUSTER_RANK'])\n")
    command = ("run", "--workers", "2", "-n", unique("run"), "--", "python3", "train.py")
    done = muster_server.run(*command, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert sorted(line.split()[-1] for line in done.stdout.splitlines()) == ["0", "1"]
    assert muster_server.run("run", "--no-package", "-n", unique("run"), "--", "false").returncode == 1
    assert muster_server.run("run").returncode == 2


def test_hold_resume_retry_delete_and_explain(muster_server: MusterServer, tmp_path: Path) -> None:
    path = spec_file(tmp_path, command="exit 4")
    name = name_in(path)
    assert muster_server.json("submit", str(path), "--hold")["state"] == "Held"
    muster_server.run("resume", name, check=True)
    assert muster_server.run("wait", name).returncode == 1
    told = muster_server.run("explain", name, check=True).stdout
    assert "exit code 4" in told
    again = muster_server.json("retry", name)
    muster_server.wait(again["id"])
    assert muster_server.run("delete", again["id"], "--yes").returncode == 0
    assert muster_server.run("describe", again["id"]).returncode == 1
    assert muster_server.json("events", name)["items"]


def test_output_forms(muster_server: MusterServer, tmp_path: Path) -> None:
    path = spec_file(tmp_path, command="true")
    name = name_in(path)
    assert muster_server.run("submit", str(path), check=True).stdout == f"{name}\n"
    muster_server.run("wait", name, check=True)
    table = muster_server.run("get", "jobs", check=True).stdout
    assert table.splitlines()[0].split()[:3] == ["NAME", "OWNER", "STATE"]
    assert name in table
    assert "\x1b[" not in table
    assert name in muster_server.run("get", "jobs", "-o", "name", check=True).stdout.split()
    assert yaml.safe_load(muster_server.run("get", "jobs", "-o", "yaml", check=True).stdout)["items"]
    assert len(muster_server.run("get", "jobs", "-o", "wide", check=True).stdout.splitlines()[0].split()) > len(
        table.splitlines()[0].split()
    )


def test_variables_override_the_context(muster_server: MusterServer, tmp_path: Path) -> None:
    elsewhere = MusterServer(tmp_path / "elsewhere", {"MUSTER_SERVER": muster_server.url, "MUSTER_TOKEN": "mst_wrong"})
    refused = elsewhere.run("whoami")
    assert refused.returncode == 1
    assert "MUSTER_TOKEN is set" in refused.stderr
    variables = {"MUSTER_SERVER": muster_server.url, "MUSTER_TOKEN": muster_server.token}
    assert MusterServer(tmp_path / "elsewhere", variables).json("whoami")["user"]
    unreachable = MusterServer(tmp_path / "elsewhere", {"MUSTER_SERVER": "http://127.0.0.1:1"}).run("get", "jobs")
    assert unreachable.returncode == 1
    assert "Traceback" not in unreachable.stderr


def test_whoami_version_schema_top_and_doctor(muster_server: MusterServer) -> None:
    assert muster_server.json("whoami")["role"] == "admin"
    assert muster_server.run("version").returncode == 0
    schema = json.loads(muster_server.run("schema", check=True).stdout)
    assert "roles" in schema["properties"]
    assert muster_server.json("top")["nodes"]
    assert muster_server.run("doctor").returncode == 0


@pytest.mark.parametrize("text", ["$(muster retry)", "x y", "../../etc", "%2e%2e", "a?b#c", "é"])
def test_odd_references_are_not_found_and_never_a_traceback(muster_server: MusterServer, text: str) -> None:
    done = muster_server.run("describe", text)
    assert done.returncode == 1
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_python_client_of_the_guide(muster_server: MusterServer) -> None:
    name = unique("python")
    script = (
        "from muster import Client, Job, Role\n"
        f"job = Client().submit(Job(name={name!r}, command=['sh', '-c', 'echo $MUSTER_RANK'], replicas=2)).wait()\n"
        "print(job.state)\n"
        f"roles = {{'ps': Role(command='sleep 60'), 'worker': Role(command='true', replicas=2)}}\n"
        f"print(Client().submit(Job(name={name!r} + '-ps', roles=roles)).wait().state)\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**environment, "MUSTER_HOME": str(muster_server.home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "Succeeded\nSucceeded\n"), done.stderr
