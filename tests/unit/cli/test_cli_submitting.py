"""`submit` and `run`: what they send, print and exit with."""

import re
from pathlib import Path
from typing import Any

import pytest

from muster.client.packing import pack
from tests.unit.cli.calling import ID, muster
from tests.unit.client.tiny_server import Answer, TinyServer, a_job, a_task, problem, sse

pytestmark = pytest.mark.fast


def log(task: int, text: str, cursor: str) -> bytes:
    return sse("log", {"task": f"mnist-worker-{task}", "offset": 0, "text": text}, cursor)


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text("name: mnist\ncommand: ls\n")
    return path


def test_submit_prints_the_name_and_talks_on_stderr(server: TinyServer, job_file: Path) -> None:
    server.on("POST", "/jobs", Answer(201, a_job()))
    outcome = muster(server, "submit", str(job_file))
    assert (outcome.code, outcome.out) == (0, "mnist\n")
    assert ID in outcome.err
    assert "muster logs -f mnist" in outcome.err


def test_submit_sends_text_changes_and_parameters(server: TinyServer, job_file: Path) -> None:
    server.on("POST", "/jobs", Answer(201, a_job()))
    words = ["--set", "roles.worker.replicas=4", "--param", "lr=0.01", "--name", "other", "--cluster", "lab", "--hold"]
    muster(server, "submit", str(job_file), *words)
    assert server.asked[0].json == {
        "source": job_file.read_text(),
        "set": {"roles.worker.replicas": 4, "name": "other", "cluster": "lab", "hold": True},
        "params": {"lr": 0.01},
    }


def test_submit_reads_standard_input(server: TinyServer) -> None:
    server.on("POST", "/jobs", Answer(201, a_job()))
    muster(server, "submit", "-", stdin="name: x\ncommand: ls\n")
    assert server.asked[0].json == {"source": "name: x\ncommand: ls\n"}


def test_a_file_that_is_given_twice_is_refused(server: TinyServer, job_file: Path) -> None:
    outcome = muster(server, "submit", str(job_file), str(job_file), "--dry-run")
    assert outcome.code == 2
    assert f"{job_file} can be given once" in outcome.err.replace("\n", " ")
    assert not server.asked


def test_submit_as_json_prints_the_job_alone(server: TinyServer, job_file: Path) -> None:
    server.on("POST", "/jobs", Answer(201, a_job()))
    assert muster(server, "submit", str(job_file), "-o", "json").document == a_job()


def test_problems_are_told_line_by_line(server: TinyServer, job_file: Path) -> None:
    found = {"path": "roles.worker.replica", "message": "unknown key", "hint": "did you mean replicas?", "line": 7}
    server.on("POST", "/jobs", problem(422, "invalid", "the job spec has 1 problem", hint="mend it", problems=[found]))
    outcome = muster(server, "submit", str(job_file))
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "error: the job spec has 1 problem\n"
        "  line 7: roles.worker.replica: unknown key (did you mean replicas?)\n"
        "hint: mend it\n"
    )


def test_warnings_are_told_beside_a_refusal(server: TinyServer, job_file: Path) -> None:
    refusal = problem(422, "invalid", "cluster lab cannot run this job", warnings=["line 8: x: has no effect"])
    server.on("POST", "/jobs", refusal)
    outcome = muster(server, "submit", str(job_file))
    assert outcome.err == "warning: line 8: x: has no effect\nerror: cluster lab cannot run this job\n"


@pytest.mark.parametrize(("state", "code"), [("Succeeded", 0), ("Failed", 1), ("Cancelled", 1)])
def test_submit_and_wait_exits_by_the_outcome(server: TinyServer, job_file: Path, state: str, code: int) -> None:
    server.on("POST", "/jobs", Answer(201, a_job()))
    server.on("GET", f"/jobs/{ID}/wait", Answer(200, a_job(state=state)))
    outcome = muster(server, "submit", str(job_file), "--wait", "-o", "json")
    assert outcome.code == code
    assert outcome.document["state"] == state


def test_dry_run_shows_requests_and_starts_nothing(server: TinyServer, job_file: Path) -> None:
    request = {"task": "mnist-worker-0", "node": "n1", "argv": ["sh", "-c", "ls -l"], "env": {"A": "1"}, "ports": [1]}
    server.on("POST", "/jobs", Answer(200, {"job": a_job(), "requests": [request], "warnings": ["careful"]}))
    outcome = muster(server, "submit", str(job_file), "--dry-run")
    assert server.asked[0].query == {"dryRun": ["true"]}
    assert "mnist-worker-0 on n1\n  $ sh -c 'ls -l'\n" in outcome.out
    assert "warning: careful" in outcome.err


def test_dry_run_says_when_it_would_start_and_why_it_would_wait(server: TinyServer, job_file: Path) -> None:
    request = {"task": "t", "node": "n1", "argv": ["ls"], "env": {}}
    reason = {"code": "no-free-gpu", "message": "needs 4 GPUs; 2 free now", "change": "", "numbers": {}}
    plan = {"job": a_job(), "requests": [request], "reasons": [reason], "startsAt": "2020-01-01T00:00:00Z"}
    server.on("POST", "/jobs", Answer(200, {**plan, "placement": "alone"}))
    out = muster(server, "submit", str(job_file), "--dry-run").out
    assert re.search(r"^Start: +at once$", out, re.MULTILINE)
    assert re.search(r"^Waits: +needs 4 GPUs; 2 free now$", out, re.MULTILINE)
    assert "Nodes and devices are those that it would have if no other job ran.\n\nt on n1" in out


@pytest.mark.parametrize(
    ("container", "shown"),
    [
        (
            {"engine": "podman", "argv": ["/usr/bin/podman", "run", "--entrypoint", "", "torch:2"], "why": ""},
            "  in a container of torch:2, run by podman:\n  $ /usr/bin/podman run --entrypoint '' torch:2\n",
        ),
        (
            {"engine": "", "argv": [], "why": "node n1 has not reported yet which container engine it has"},
            "  in a container of torch:2: node n1 has not reported yet which container engine it has\n",
        ),
    ],
)
def test_dry_run_shows_the_command_of_the_container(
    server: TinyServer, job_file: Path, container: dict[str, Any], shown: str
) -> None:
    request = {"task": "t", "node": "n1", "argv": ["ls"], "env": {}, "image": "torch:2", "container": container}
    server.on("POST", "/jobs", Answer(200, {"job": a_job(), "requests": [request], "warnings": []}))
    assert f"t on n1\n  $ ls\n{shown}" in muster(server, "submit", str(job_file), "--dry-run").out


def followed(server: TinyServer, state: str) -> None:
    server.on("POST", "/jobs", Answer(201, a_job(tasks=1)))
    server.on("GET", f"/jobs/{ID}/tasks", Answer(200, {"items": [a_task()]}))
    server.on("GET", f"/jobs/{ID}/logs", Answer(pieces=[log(0, "hello\n", "1"), sse("end", {}, "1")]))
    server.on("GET", f"/jobs/{ID}/wait", Answer(200, a_job(state=state, tasks=1, reason="exit code 3")))


@pytest.mark.parametrize(("state", "code"), [("Succeeded", 0), ("Failed", 1)])
def test_run_follows_the_log_and_exits_by_the_outcome(server: TinyServer, state: str, code: int) -> None:
    followed(server, state)
    outcome = muster(server, "run", "--no-package", "--", "python", "train.py")
    assert (outcome.code, outcome.out) == (code, "hello\n")
    assert state in outcome.err


def test_run_sends_a_spec_made_from_its_options(server: TinyServer, tmp_path: Path) -> None:
    server.on("POST", "/jobs", Answer(201, a_job()))
    (tmp_path / "env").write_text("A=1\nB=2\n")
    words = f"--workers 2 --ps 1 --gpu 1 --cpu 2 --memory 4Gi --name x --framework paddle --env B=3 --time-limit 2h -d \
        --env-file {tmp_path / 'env'} --no-package".split()
    outcome = muster(server, "run", *words, "--", "python", "train.py", "--workers", "7")
    assert (outcome.code, outcome.out) == (0, "mnist\n")
    command = ["python", "train.py", "--workers", "7"]
    assert server.asked[0].json["spec"] == {
        "name": "x",
        "framework": "paddle",
        "timeLimit": "2h",
        "env": {"A": "1", "B": "3"},
        "roles": {
            "worker": {"replicas": 2, "command": command, "resources": {"cpu": "2", "memory": "4Gi", "gpu": 1}},
            "ps": {"replicas": 1, "command": command, "resources": {"cpu": "2", "memory": "4Gi"}},
        },
    }


def test_run_sends_the_current_folder(server: TinyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/train.py").write_text("pass")
    monkeypatch.chdir(tmp_path / "code")
    server.on("POST", "/jobs", Answer(201, a_job()))
    with pack(tmp_path / "code") as package:
        known = {"digest": package.digest, "size": package.size, "received": package.size, "complete": True}
        server.on("GET", f"/packages/{package.digest}", Answer(200, known))
    outcome = muster(server, "run", "-d", "--", "python", "train.py")
    assert outcome.code == 0
    assert server.requests("POST", "/jobs")[0].json["package"] == package.digest


@pytest.mark.parametrize(("text", "gpu"), [("0.5", 0.5), ("2", 2), ("0", 0)])
def test_run_asks_for_whole_gpus_or_a_part_of_one(server: TinyServer, text: str, gpu: float) -> None:
    server.on("POST", "/jobs", Answer(201, a_job()))
    muster(server, "run", "--no-package", "-d", "--gpu", text, "--", "true")
    assert server.asked[0].json["spec"]["roles"]["worker"]["resources"] == {"gpu": gpu}


def test_run_asks_for_other_devices_by_their_resource(server: TinyServer) -> None:
    server.on("POST", "/jobs", Answer(201, a_job()))
    words = ["--device", "xilinx.com/fpga=1", "--device", "example.com/dsp=2", "--ps", "1"]
    muster(server, "run", "--no-package", "-d", *words, "--", "true")
    roles = server.asked[0].json["spec"]["roles"]
    assert roles["worker"]["resources"] == {"devices": {"xilinx.com/fpga": 1, "example.com/dsp": 2}}
    assert "resources" not in roles["ps"]


@pytest.mark.parametrize("text", ["xilinx.com/fpga", "=1", "xilinx.com/fpga=all", "xilinx.com/fpga="])
def test_run_refuses_devices_without_a_number(server: TinyServer, text: str) -> None:
    outcome = muster(server, "run", "--no-package", "--device", text, "--", "true")
    assert outcome.code == 2
    assert "is not RESOURCE=COUNT, such as xilinx.com/fpga=1" in outcome.err
    assert server.asked == []


@pytest.mark.parametrize("text", ["1.5", "half", "-1"])
def test_run_refuses_gpus_that_cannot_be_given(server: TinyServer, text: str) -> None:
    outcome = muster(server, "run", "--no-package", "--gpu", text, "--", "true")
    assert outcome.code == 2
    assert "expected a whole number of GPUs, or a part of one such as 0.5" in outcome.err
    assert server.asked == []


@pytest.mark.parametrize(
    ("args", "workdir", "shown"),
    [
        ([], None, "  the entry point of torch:2\n"),
        (
            ["--lr", "a b"],
            "image",
            "  the entry point of torch:2 with --lr 'a b'\n  starts in the WORKDIR of the image\n",
        ),
        ([], "/workspace", "  the entry point of torch:2\n  starts in /workspace\n"),
    ],
)
def test_dry_run_shows_what_runs_in_an_image_without_a_command(
    server: TinyServer, job_file: Path, args: list[str], workdir: str | None, shown: str
) -> None:
    request: dict[str, Any] = {"task": "t", "node": "n1", "argv": [], "args": args, "workdir": workdir}
    request |= {"env": {}, "image": "torch:2"}
    server.on("POST", "/jobs", Answer(200, {"job": a_job(), "requests": [request], "warnings": []}))
    assert shown in muster(server, "submit", str(job_file), "--dry-run").out


@pytest.mark.parametrize(("option", "key"), [("--image", "image"), ("--conda", "conda"), ("--venv", "venv")])
def test_run_names_the_environment_of_the_job(server: TinyServer, option: str, key: str) -> None:
    server.on("POST", "/jobs", Answer(201, a_job()))
    muster(server, "run", "--no-package", "-d", option, "torch", "--", "true")
    assert server.requests("POST", "/jobs")[0].json["spec"]["runtime"] == {key: "torch"}


def test_run_takes_one_environment(server: TinyServer) -> None:
    outcome = muster(server, "run", "--no-package", "--image", "a", "--conda", "b", "--", "true")
    assert (outcome.code, server.asked) == (2, [])
    assert "choose one of --image, --conda and --venv" in outcome.err


@pytest.mark.parametrize(("state", "code"), [("Succeeded", 0), ("Failed", 1)])
def test_retry_follows_the_new_job_and_exits_by_its_outcome(server: TinyServer, state: str, code: int) -> None:
    followed(server, state)
    server.on("GET", "/jobs/mnist", Answer(200, a_job(id="01oldoldoldold01", state="Failed")))
    server.on("POST", "/jobs/01oldoldoldold01/retry", Answer(201, a_job(tasks=1)))
    outcome = muster(server, "retry", "mnist", "--follow")
    assert (outcome.code, outcome.out) == (code, "hello\n")
    assert muster(server, "retry", "mnist", "other", "--follow").code == 2


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("", ""),
        ("*.bin\n", " (2 files and folders left out by .gitignore or .musterignore)"),
        ("a.bin\n", " (1 file or folder left out by .gitignore or .musterignore)"),
    ],
)
def test_what_is_left_out_of_a_package_is_counted(server: TinyServer, tmp_path: Path, rules: str, said: str) -> None:
    code = tmp_path / "code"
    (code / "__pycache__").mkdir(parents=True)
    for name in ("a.bin", "b.bin", "train.py"):
        (code / name).write_text("x")
    (code / ".gitignore").write_text(rules)
    (tmp_path / "job.yaml").write_text("command: ls\npackage: code\n")
    with pack(code) as package:
        known = {"digest": package.digest, "size": package.size, "received": package.size, "complete": True}
        server.on("GET", f"/packages/{package.digest}", Answer(200, known))
    server.on("POST", "/jobs", Answer(201, a_job()))
    outcome = muster(server, "submit", str(tmp_path / "job.yaml"))
    assert outcome.code == 0, outcome.err
    assert f"packing {code}{said}" in outcome.err.splitlines()
