"""Outputs and inputs over the API and by the command, on a real server."""

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import People, unique
from tests.parts.server import MusterServer, polls


@pytest.fixture
def me(people: People) -> Caller:
    return people.owner


def complete(me: Caller, job: str, **query: Any) -> Any:
    for _ in polls(30):
        found = ok(me.get(f"/jobs/{job}/outputs", params=query))
        if found["complete"]:
            return found
    raise AssertionError(found)


def ran(me: Caller, command: str, **spec: Any) -> str:
    job = me.submit({"name": unique("out"), "command": command, **spec})
    me.server.wait(job["id"])
    return str(job["id"])


def test_outputs_are_listed_and_read_in_ranges(me: Caller) -> None:
    script = "mkdir -p 'my model'; echo weights > 'my model/w#1?'; echo {} > metrics.json"
    job = ran(me, script, outputs=["my model/", "*.json"])
    found = complete(me, job)
    assert [item["path"] for item in found["items"]] == ["metrics.json", "my model/w#1?"]
    assert found["items"][1]["sha256"] == hashlib.sha256(b"weights\n").hexdigest()
    address = f"/jobs/{job}/outputs/my%20model/w%231%3F"
    assert me.get(address).content == b"weights\n"
    part = me.get(address, headers={"Range": "bytes=2-4"})
    assert (part.status_code, part.content) == (206, b"igh")


@pytest.mark.parametrize(
    "path", ["../secret", "%2e%2e/%2e%2e/muster.db", "/etc/passwd", "1.worker-0.json", "said/%2e%2e", "%00"]
)
def test_only_listed_outputs_are_handed_out(me: Caller, path: str) -> None:
    job = ran(me, "echo x > said", outputs=["said"])
    complete(me, job)
    assert me.get(f"/jobs/{job}/outputs/{path}").status_code in (400, 404, 422)


def test_each_task_has_a_folder_and_each_attempt_its_outputs(me: Caller) -> None:
    command = "echo $MUSTER_ATTEMPT > a; [ $MUSTER_ATTEMPT = 2 ] || { [ $MUSTER_RANK = 0 ] && sleep 600; exit 1; }"
    job = ran(me, command, replicas=2, outputs=["a"], retry={"max": 1})
    assert [item["path"] for item in complete(me, job)["items"]] == ["worker-0/a", "worker-1/a"]
    assert me.get(f"/jobs/{job}/outputs/worker-1/a").text == "2\n"
    complete(me, job, attempt=1)
    assert me.get(f"/jobs/{job}/outputs/worker-1/a", params={"attempt": 1}).text == "1\n"
    problem(me.get(f"/jobs/{job}/outputs", params={"attempt": 9}), 404, "not-found")


def test_deleting_a_job_removes_its_outputs(me: Caller, people: People) -> None:
    job = ran(me, "echo x > said", outputs=["said"])
    complete(me, job)
    folder = people.server.home / "outputs" / job
    assert folder.exists()
    ok(me.send("DELETE", f"/jobs/{job}"), 204)
    assert not folder.exists()


def test_inputs_that_are_not_uploaded_are_refused(me: Caller) -> None:
    for source in ("./data", "0" * 64, "0" * 64 + "/../x"):
        spec = {"name": unique("in"), "command": "true", "inputs": [{"source": source, "target": "d"}]}
        answer = problem(me.post("/jobs", {"spec": spec}), 422, "invalid")
        assert answer["problems"][0]["path"] == "inputs[0].source"


def test_the_command_sends_inputs_and_fetches_outputs(muster_server: MusterServer, tmp_path: Path) -> None:
    (tmp_path / "data/.git").mkdir(parents=True)
    (tmp_path / "data/.gitignore").write_text("*\n")
    (tmp_path / "data/rows").write_text("rows\n")
    (tmp_path / "one.csv").write_text("1\n")
    name = unique("cli")
    (tmp_path / "job.yaml").write_text(
        f"name: {name}\ncommand: mkdir model; cat data/rows in/one.csv > model/w; ls -a data > model/seen\n"
        "inputs: [./data, {source: one.csv, target: in/one.csv}]\noutputs: [model/]\n"
    )
    muster_server.run("submit", str(tmp_path / "job.yaml"), "--dry-run", check=True)
    muster_server.run("submit", str(tmp_path / "job.yaml"), "--wait", check=True)
    muster_server.run("outputs", name, "--get", str(tmp_path / "got"), check=True)
    assert (tmp_path / "got/model/w").read_text() == "rows\n1\n"
    assert ".gitignore" in (tmp_path / "got/model/seen").read_text()
    listed = muster_server.json("outputs", name)
    assert [item["path"] for item in listed["items"]] == ["model/seen", "model/w"]
    again = muster_server.run("outputs", name, "--get", cwd=tmp_path, check=True)
    assert "2 files" in again.stderr
    assert (tmp_path / name / "model/w").exists()


def test_files_with_any_name_are_fetched(muster_server: MusterServer, tmp_path: Path) -> None:
    names = ["a", "b\nc", "d\r", "e\n", "f\t\x1b[1m\x7f", "g%0a%2F", "h?x=1#y&z", "i j ", "k\\l", "数据 é", "z"]
    name = unique("names")
    script = f"import os; os.mkdir('m'); [open('m/' + one, 'w').write(one) for one in {names!a}]"
    (tmp_path / "job.json").write_text(
        json.dumps({"name": name, "command": f"python3 -c {shlex.quote(script)}", "outputs": ["m/"]})
    )
    muster_server.run("submit", str(tmp_path / "job.json"), "--wait", check=True)
    muster_server.run("outputs", name, "--get", str(tmp_path / "got"), check=True)
    found = {path.name: path.read_bytes() for path in (tmp_path / "got/m").iterdir()}
    assert found == {one: one.encode() for one in names}


def test_run_takes_inputs_and_outputs_as_options(muster_server: MusterServer, tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("rows\n")
    name = unique("run")
    words = ["--no-package", "-n", name, "--input", f"{tmp_path / 'rows'}:in/rows", "--outputs", "said"]
    muster_server.run("run", *words, "--", "cat in/rows > said", check=True)
    muster_server.run("outputs", name, "--get", str(tmp_path / "got"), check=True)
    assert (tmp_path / "got/said").read_text() == "rows\n"


def test_a_missing_input_is_told_before_anything_is_sent(muster_server: MusterServer, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("name: x\ncommand: ls\ninputs: [./absent]\n")
    for more in ([], ["--dry-run"]):
        done = muster_server.run("submit", str(tmp_path / "job.yaml"), *more)
        assert done.returncode == 1
        assert "absent" in done.stderr


def test_what_was_asked_for_and_nobody_left_is_said(me: Caller) -> None:
    job = ran(me, '[ "$MUSTER_RANK" = 1 ] || echo x > one', replicas=2, outputs=["one", "model/", "*.csv"])
    missing = ["no task left anything that matches `model/`"]
    found = complete(me, job)
    assert [item["path"] for item in found["items"]] == ["worker-0/one"]
    assert [problem.partition(",")[0] for problem in found["problems"]] == missing
    reason = outputs_reason(me, job)
    assert all(words in reason for words in missing)


def outputs_reason(me: Caller, job: str) -> str:
    """Told after the outputs are there."""
    for _ in polls(30):
        events = [one for one in ok(me.get(f"/jobs/{job}/events"))["items"] if one["kind"] == "job.outputs"]
        if events:
            return str(events[0]["data"]["reason"])
    raise AssertionError(f"job {job} tells nothing of its outputs")
