"""Job files of other systems, submitted as they are through the whole platform."""

import json
from pathlib import Path

import pytest

from tests.e2e.example_runs import EXAMPLES, MusterServer

PADDLE_EXAMPLES = EXAMPLES.parent / "deploy" / "examples"
PADDLEJOB = EXAMPLES / "paddlejob" / "job.yaml"
CODE = EXAMPLES / "wide-and-deep-ps" / "src"
HERE = ("--set", "runtime.image=null", "--set", f"package={CODE}")
OPENPAI = """\
protocolVersion: 2
name: openpai-e2e
type: job
parameters: {greeting: hello}
taskRoles:
  worker:
    instances: 2
    resourcePerInstance: {cpu: 0.25, memoryMB: 64, gpu: 0}
    commands:
      - me="$PAI_CURRENT_TASK_ROLE_NAME $PAI_TASK_INDEX of $PAI_TASK_ROLE_TASK_COUNT_worker"
      - echo "<% $parameters.greeting %> $me"
      - test "$PAI_PORT_LIST_worker_1_http" -gt 0 && test -n "$PAI_HOST_IP_worker_1"
extras:
  hivedScheduler: {taskRoles: {worker: {skuType: K80}}}
"""


def test_paddlejob_trains_on_this_machine_without_its_image(muster_server: MusterServer) -> None:
    ran = muster_server.run("submit", str(PADDLEJOB), *HERE, "--wait", "-o", "json")

    assert ran.returncode == 0, ran.stderr
    job = json.loads(ran.stdout)
    assert (job["state"], job["mode"]) == ("Succeeded", "PS")
    assert "warning: line 8: spec.cleanPodPolicy: has no effect" in ran.stderr
    assert muster_server.run("logs", job["id"]).stdout.count("held-out accuracy") == 2


@pytest.mark.parametrize("example", sorted(path.stem for path in PADDLE_EXAMPLES.glob("*.yaml")))
def test_an_example_of_the_operator_runs_on_this_machine_without_its_image(
    muster_server: MusterServer, example: str
) -> None:
    """The image is what a machine without containers lacks, and so are the GPUs of one of them."""
    roles = ("worker",) if example == "resnet" else ("worker", "ps")
    words = [word for role in roles for word in ("--set", f"roles.{role}.command=echo done")]
    words += ["--set", "runtime.image=null", "--set", "roles.worker.resources.gpu=0"]
    name = f"{example.replace('_', '-')}-here"
    ran = muster_server.run(
        "submit", str(PADDLE_EXAMPLES / f"{example}.yaml"), *words, "--name", name, "--wait", "-o", "json"
    )

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["state"] == "Succeeded"


def test_image_is_taken_by_a_node_with_containers_or_refused_at_its_line_with_a_way_out(
    muster_server: MusterServer,
) -> None:
    has_containers = any("muster/containers" in node["labels"] for node in muster_server.json("get", "nodes")["items"])
    refused = muster_server.run("submit", str(PADDLEJOB), "--hold", "--name", "with-image")

    if has_containers:
        assert refused.returncode == 0, refused.stderr
        return
    assert refused.returncode != 0
    said = " ".join(refused.stderr.split())
    assert "spec.worker.template.spec.containers[0].image" in said
    assert "15" in said
    assert "--set runtime.image=null" in said


def test_dry_run_lists_the_warnings(muster_server: MusterServer) -> None:
    shown = muster_server.run("submit", str(PADDLEJOB), "--set", "runtime.image=null", "--dry-run", "-o", "json")

    assert shown.returncode == 0, shown.stderr
    warnings = json.loads(shown.stdout)["warnings"]
    assert [warning.split(":")[1].strip() for warning in warnings] == ["spec.cleanPodPolicy"]


def test_warning_in_any_script_reaches_the_user(muster_server: MusterServer, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(PADDLEJOB.read_text().replace("  withGloo: 1\n", "  schedulingPolicy: {queue: 队列}\n"))

    held = muster_server.run("submit", str(file), "--set", "runtime.image=null", "--hold")

    assert held.returncode == 0, held.stderr
    assert "warning: line 6: spec.schedulingPolicy.queue: '队列' has no effect" in held.stderr


def test_openpai_job_finds_itself_in_its_environment(muster_server: MusterServer, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(OPENPAI)

    ran = muster_server.run("submit", str(file), "--param", "greeting=你好", "--wait", "-o", "json")

    assert ran.returncode == 0, ran.stderr
    assert "warning: line 14: extras.hivedScheduler.taskRoles" in ran.stderr
    log = muster_server.run("logs", json.loads(ran.stdout)["id"]).stdout
    assert "你好 worker 0 of 2\n" in log
    assert "你好 worker 1 of 2\n" in log


def paddlecloud_job(folder: Path, package: str) -> str:
    """The JSON of `paddlecloud submit` in a file, with the folder `code` beside it."""
    (folder / "code").mkdir()
    (folder / "code" / "train.py").write_text("import os\nprint('trained', os.environ['PADDLE_JOB_NAME'])\n")
    job = {"name": "word2vec", "jobPackage": package, "parallelism": 1, "pservers": 1, "entry": "python3 train.py"}
    sizes = {"cpu": 1, "memory": "64Mi", "pscpu": 0, "psmemory": "64Mi", "image": ""}
    path = folder / "job.json"
    path.write_text(json.dumps({**job, **sizes}))
    return str(path)


@pytest.mark.parametrize("package", ["./code", "code"])
def test_the_folder_beside_a_file_of_paddlecloud_is_its_package(
    muster_server: MusterServer, tmp_path: Path, package: str
) -> None:
    ran = muster_server.run("submit", paddlecloud_job(tmp_path, package), "--wait", "-o", "json")

    assert ran.returncode == 0, ran.stderr
    job = json.loads(ran.stdout)
    assert job["state"] == "Succeeded"
    assert "trained word2vec" in muster_server.run("logs", job["id"]).stdout


def test_a_folder_of_paddlecloud_that_is_not_there_is_named(muster_server: MusterServer, tmp_path: Path) -> None:
    refused = muster_server.run("submit", paddlecloud_job(tmp_path, "./absent"))

    assert refused.returncode != 0
    assert f"{tmp_path / 'absent'} is not a folder" in " ".join(refused.stderr.split())


def test_a_package_in_the_storage_of_paddlecloud_is_left_to_the_server(
    muster_server: MusterServer, tmp_path: Path
) -> None:
    refused = muster_server.run("submit", paddlecloud_job(tmp_path, "/pfs/nowhere/home/ada/code"))

    assert refused.returncode != 0
    assert "is not a folder" not in refused.stderr
    assert "nowhere" in refused.stderr
