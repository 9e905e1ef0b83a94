"""What the tasks of a Volcano job find, and what its policies make of it, as Volcano's documents have it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.domain.errors import Invalid
from muster.wire.dialects.detecting import translate
from muster.wire.documents import read_document
from tests.conformance.started_tasks import read, started

pytestmark = pytest.mark.fast


def task(name: str, count: int = 1, command: list[str] | None = None, **more: Any) -> dict[str, Any]:
    container = {"name": name, "image": "repo/train:1", "command": command or ["env"]}
    return {"name": name, "replicas": count, "template": {"spec": {"containers": [container]}}, **more}


def job(*tasks: dict[str, Any], **spec: Any) -> str:
    document = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "demo"}}
    return yaml.safe_dump({**document, "spec": {"tasks": list(tasks), **spec}}, sort_keys=False)


def test_plugins_tell_each_task_its_index_and_the_hosts_of_all(tmp_path: Path) -> None:
    text = job(task("server"), task("my-worker", 2), plugins={"env": [], "svc": []})
    env = started(text, tmp_path)["my-worker-1"].env

    assert (env["VC_TASK_INDEX"], env["VK_TASK_INDEX"]) == ("1", "1")
    assert (env["VC_SERVER_HOSTS"], env["VC_SERVER_NUM"]) == ("10.0.0.1", "1")
    assert (env["VC_MY_WORKER_HOSTS"], env["VC_MY_WORKER_NUM"]) == ("10.0.0.2,10.0.0.1", "2")


def test_job_without_plugins_gets_no_variables_of_a_framework(tmp_path: Path) -> None:
    env = started(job(task("a", 2)), tmp_path)["a-1"].env

    assert not [name for name in env if name.startswith(("VC_", "VK_", "PET_", "MASTER_", "RANK"))]


def test_lists_of_hosts_at_their_place_need_a_container(tmp_path: Path) -> None:
    reads = ["sh", "-c", "cat /etc/volcano/worker.host"]
    text = job(task("worker", 2, reads), plugins={"svc": []})
    translation = translate(read_document(text))

    assert translation is not None
    assert "/etc/volcano/worker.host" in translation.data["roles"]["worker"]["command"][2]
    was_there = Path("/etc/volcano").exists()
    ran = started(text, tmp_path)["worker-0"]
    assert (ran.code, "needs a container" in ran.errors) == (1, True)
    assert Path("/etc/volcano").exists() == was_there


def test_plugin_of_pytorch_gives_rank_0_to_its_master(tmp_path: Path) -> None:
    text = job(task("w", 1), task("m", 1), plugins={"pytorch": ["--master=m", "--worker=w", "--port=23456"]})
    tasks = started(text, tmp_path)

    assert (tasks["m-0"].env["RANK"], tasks["w-0"].env["RANK"], tasks["w-0"].env["WORLD_SIZE"]) == ("0", "1", "2")
    assert tasks["w-0"].env["VC_M_HOSTS"] == tasks["w-0"].env["MASTER_ADDR"]


def test_plugin_of_tensorflow_gives_a_tf_config(tmp_path: Path) -> None:
    tasks = started(job(task("ps"), task("worker", 2), plugins={"tensorflow": []}), tmp_path)

    config = json.loads(tasks["worker-1"].env["TF_CONFIG"])
    assert config["task"] == {"type": "worker", "index": 1}
    assert {kind: len(found) for kind, found in config["cluster"].items()} == {"ps": 1, "worker": 2}


def test_plugin_of_mpi_reaches_its_workers_by_ssh() -> None:
    launch = task("mpimaster", 1, ["sh", "-c", "mpirun --host $MPI_HOST x"])
    translation = translate(read_document(job(launch, task("mpiworker", 2), plugins={"mpi": []})))

    assert translation is not None
    assert translation.data["ssh"] is True
    assert "mpiworker-%s" in translation.data["roles"]["mpimaster"]["command"][2]
    assert "mpirun" in translation.data["roles"]["mpimaster"]["command"][-1]


def test_plugin_for_ssh_needs_no_server_in_tasks_that_do_not_use_it() -> None:
    reading = read(job(task("a", 2, ["python", "train.py"]), plugins={"ssh": [], "env": []}))

    assert [warning.split(": ")[1] for warning in reading.warnings] == ["spec.plugins.ssh"]


def test_ssh_server_of_a_task_gives_way_to_that_of_the_job() -> None:
    serves = ["/bin/sh", "-c", "mkdir -p /var/run/sshd; /usr/sbin/sshd -D;\n"]
    starts_and_works = ["/bin/sh", "-c", "/usr/sbin/sshd; mpiexec x"]
    text = job(task("master", 1, starts_and_works), task("worker", 2, serves), plugins={"ssh": [], "svc": []})
    translation = translate(read_document(text))

    assert translation is not None
    assert "sshd" not in str(translation.data["roles"]["worker"]["command"])
    assert translation.data["roles"]["master"]["command"][-1] == starts_and_works[-1]


def test_lists_of_hosts_have_no_newline_at_their_end() -> None:
    text = job(task("worker", 2, ["cat", "/etc/volcano/worker.host"]), plugins={"svc": []})
    translation = translate(read_document(text))

    assert translation is not None
    script = translation.data["roles"]["worker"]["command"][2]
    assert 'printf %s "$MUSTER_HOSTS_WORKER" | tr' in script


def test_tasks_that_may_share_an_address_are_said_to() -> None:
    assert any("share its address" in warning for warning in read(job(task("a"), plugins={"svc": []})).warnings)


COMPLETE = {"event": "TaskCompleted", "action": "CompleteJob"}


@pytest.mark.parametrize(
    ("text", "decides"),
    [
        (job(task("ps"), task("worker", 2)), {"ps": None, "worker": None}),
        (job(task("ps"), task("worker", 2, policies=[COMPLETE])), {"ps": None, "worker": 2}),
        (job(task("a"), task("b", 2), policies=[COMPLETE]), {"a": 1, "b": 2}),
        (job(task("a", 4), minSuccess=2), {"a": 2}),
    ],
)
def test_job_ends_as_its_policies_say(text: str, decides: dict[str, int | None]) -> None:
    assert {role.name: role.completion.min_succeeded for role in read(text).spec.roles} == decides


@pytest.mark.parametrize(
    ("policies", "more", "retries", "warnings"),
    [
        ([{"event": "PodFailed", "action": "RestartJob"}], {}, 3, 0),
        ([{"event": "PodFailed", "action": "RestartJob"}], {"maxRetry": 5}, 5, 0),
        ([{"events": ["PodEvicted", "PodFailed"], "action": "RestartJob"}], {}, 3, 0),
        ([{"event": "PodFailed", "action": "AbortJob"}], {}, 0, 0),
        ([{"event": "*", "action": "TerminateJob"}], {}, 0, 0),
        ([{"event": "PodEvicted", "action": "RestartJob"}], {"maxRetry": 2}, 0, 0),
        ([{"event": "PodEvicted", "action": "TerminateJob"}], {}, 0, 1),
        ([{"event": "PodFailed", "action": "RestartTask"}], {}, 3, 1),
        ([{"exitCode": 3, "action": "RestartJob"}], {}, 3, 1),
    ],
)
def test_failures_are_tried_again_as_the_policies_say(
    policies: list[dict[str, Any]], more: dict[str, Any], retries: int, warnings: int
) -> None:
    reading = read(job(task("a"), policies=policies, **more))

    assert (reading.spec.retry_max, len(reading.warnings)) == (retries, warnings)


def test_job_that_may_lose_some_tasks_fails_when_too_few_can_succeed() -> None:
    reading = read(job(task("a", 5), minAvailable=3))

    assert reading.spec.role("a").completion.min_failed == 3
    assert len(reading.warnings) == 1


def test_claims_of_the_job_are_storages() -> None:
    volumes = [{"mountPath": "/data", "volumeClaimName": "nfs"}]
    (mount,) = read(job(task("a"), volumes=volumes)).spec.mounts

    assert (mount.storage, mount.target) == ("nfs", "/data")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (job(), "is required"),
        (job(task("a"), plugins={"ray": []}), "no plugin ray"),
        (job(task("a"), plugins={"pytorch": []}), "no task 'master'"),
        (job(task("a"), plugins={"tensorflow": ["--worker=a"]}), "call the task worker"),
        (job(task("a"), policies=[{"event": "PodFailed", "action": "CompleteJob"}]), "CompleteJob after PodFailed"),
        (job(task("a"), volumes=[{"mountPath": "/d", "volumeClaim": {}}]), "makes no volumes"),
        (job(task("a"), task("b"), minSuccess=1), "counts succeeded pods of all tasks"),
        (job(task("a", 1, ["ping", "demo-a-0.demo"])), "by its name"),
        (job(task("a"), task("a")), "two tasks 'a'"),
        (job(task("a"), minAvailable=2), "is 2, and there are 1 tasks"),
        (
            job(task("a"), policies=[{"event": e, "action": a} for e, a in (("*", "AbortJob"), ("*", "RestartJob"))]),
            "another policy is about *",
        ),
    ],
)
def test_what_cannot_be_run_as_it_is_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(text)
    assert any(words in str(problem) for problem in refused.value.problems)
