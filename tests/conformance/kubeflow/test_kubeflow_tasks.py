"""What the tasks of Kubeflow's jobs find, and when the jobs end, as the Training Operator's documents have it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.domain.errors import Invalid
from muster.domain.specs import Framework
from tests.conformance.started_tasks import environment_in_a_gang_of, read, started

pytestmark = pytest.mark.fast


def replicas(count: int | None = None, command: list[str] | None = None, **more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "repo/train:1", "command": command or ["env"], **more.pop("container", {})}
    size = {} if count is None else {"replicas": count}
    return {**size, "template": {"spec": {"containers": [container], **more.pop("pod", {})}}, **more}


def job(kind: str, specs: dict[str, Any], *, version: str = "kubeflow.org/v1", **spec: Any) -> str:
    prefix = kind.removesuffix("Job").lower()
    whole = {f"{prefix}ReplicaSpecs": specs, **spec}
    document = {"apiVersion": version, "kind": kind, "metadata": {"name": "demo"}, "spec": whole}
    return yaml.safe_dump(document, sort_keys=False)


def test_master_of_a_pytorch_job_has_rank_0_and_workers_follow_in_whatever_order_the_file_has_them(
    tmp_path: Path,
) -> None:
    tasks = started(job("PyTorchJob", {"Worker": replicas(2), "Master": replicas(1)}), tmp_path)

    master, second = tasks["master-0"].env, tasks["worker-1"].env
    assert (master["RANK"], tasks["worker-0"].env["RANK"], second["RANK"]) == ("0", "1", "2")
    assert {task.env["WORLD_SIZE"] for task in tasks.values()} == {"3"}
    assert {task.env["MASTER_ADDR"] for task in tasks.values()} == {"10.0.0.1"}
    assert (second["PET_NNODES"], second["PET_NODE_RANK"], second["PET_NPROC_PER_NODE"]) == ("3", "2", "auto")
    assert second["PET_MASTER_PORT"] == master["MASTER_PORT"]


@pytest.mark.parametrize("processes", [4, "4"])
@pytest.mark.parametrize("first", ["Master", "Worker"])
def test_world_of_a_pytorch_job_counts_the_processes_of_each_node(
    tmp_path: Path, processes: int | str, first: str
) -> None:
    types = {"Master": replicas(1), "Worker": replicas(1)} if first == "Master" else {"Worker": replicas(2)}
    *_, last = started(job("PyTorchJob", types, nprocPerNode=processes), tmp_path).values()

    env = last.env
    assert (env["WORLD_SIZE"], env["RANK"], env["PET_NPROC_PER_NODE"]) == ("8", "1", "4")
    assert (env["PET_NNODES"], env["PET_NODE_RANK"]) == ("2", "1")
    assert not [name for name in env if name.startswith(("LOCAL_", "ROLE_"))], "those of a task with one process"


def test_variables_of_the_file_stay_beside_those_of_several_processes(tmp_path: Path) -> None:
    own = replicas(1, container={"env": [{"name": "LOCAL_RANK", "value": "3"}]})
    env = started(job("PyTorchJob", {"Master": own}, nprocPerNode="4"), tmp_path)["master-0"].env

    assert (env["LOCAL_RANK"], env["WORLD_SIZE"]) == ("3", "4")


@pytest.mark.parametrize("processes", [None, "auto", "gpu", "1", 1])
def test_world_of_a_pytorch_job_counts_nodes_otherwise(tmp_path: Path, processes: int | str | None) -> None:
    said: dict[str, Any] = {} if processes is None else {"nprocPerNode": processes}
    types = {"Master": replicas(1), "Worker": replicas(1)}
    env = started(job("PyTorchJob", types, **said), tmp_path)["worker-0"].env

    assert (env["WORLD_SIZE"], env["LOCAL_WORLD_SIZE"]) == ("2", "1")


@pytest.mark.parametrize("count", [0, 2])
def test_second_master_of_a_pytorch_job_is_refused_as_by_kubeflow(count: int) -> None:
    with pytest.raises(Invalid) as refused:
        read(job("PyTorchJob", {"Master": replicas(count), "Worker": replicas(1)}))

    assert "a PyTorchJob has one master" in str(refused.value.problems[0])


def test_elastic_pytorch_job_meets_by_c10d_at_its_first_worker(tmp_path: Path) -> None:
    policy = {"minReplicas": 1, "maxReplicas": 4, "maxRestarts": 5, "rdzvBackend": "c10d", "rdzvId": "x"}
    policy |= {"rdzvConf": [{"key": "timeout", "value": "9"}, {"key": "a", "value": "b"}], "nProcPerNode": 2}
    text = job("PyTorchJob", {"Worker": replicas(2)}, elasticPolicy=policy)
    env, worker = started(text, tmp_path)["worker-1"].env, read(text).spec.role("worker")

    assert (worker.min_replicas, worker.replicas, worker.max_replicas) == (1, 2, 4)
    assert worker.completion.min_succeeded == 1
    assert (env["PET_RDZV_BACKEND"], env["PET_MAX_RESTARTS"], env["PET_RDZV_ID"]) == ("c10d", "5", "x")
    assert (env["PET_RDZV_CONF"], env["PET_NPROC_PER_NODE"]) == ("timeout=9,a=b", "2")
    assert env["PET_RDZV_ENDPOINT"].startswith("10.0.0.1:")


@pytest.mark.parametrize("kind", ["PyTorchJob", "PaddleJob"])
def test_elastic_job_says_how_many_tasks_it_may_have_and_how_to_fix_the_number(kind: str) -> None:
    policy = {"minReplicas": 1, "maxReplicas": 4}
    (warning,) = read(job(kind, {"Worker": replicas(2)}, elasticPolicy=policy)).warnings

    assert "from 1 to 4: `replicas` is 2" in warning
    assert "--set roles.worker.min=2 --set roles.worker.max=2" in warning


def test_elastic_pytorch_job_counts_the_tasks_that_run_in_the_attempt() -> None:
    text = job("PyTorchJob", {"Worker": replicas(2)}, elasticPolicy={"minReplicas": 1, "maxReplicas": 4})
    env = environment_in_a_gang_of(4, read(text).spec)

    assert env["PET_NNODES"] == env["WORLD_SIZE"] == "4"


def test_variable_of_the_operator_wins_over_that_of_the_file(tmp_path: Path) -> None:
    own = replicas(1, container={"env": [{"name": "RANK", "value": "9"}, {"name": "LR", "value": "$(RANK)"}]})
    env = started(job("PyTorchJob", {"Master": own}), tmp_path)["master-0"].env

    assert (env["RANK"], env["LR"]) == ("0", "$(RANK)")


def test_pytorch_job_ends_with_its_master() -> None:
    spec = read(job("PyTorchJob", {"Master": replicas(1), "Worker": replicas(3)})).spec

    assert spec.framework is Framework.TORCH
    assert (spec.role("master").completion.min_succeeded, spec.role("worker").completion.min_succeeded) == (1, None)


def test_tf_config_names_the_cluster_by_types(tmp_path: Path) -> None:
    types = {"PS": replicas(1), "Worker": replicas(2), "Chief": replicas(1), "Evaluator": replicas(1)}
    tasks = started(job("TFJob", types), tmp_path)

    config = json.loads(tasks["worker-1"].env["TF_CONFIG"])
    assert {kind: len(tasks) for kind, tasks in config["cluster"].items()} == {"chief": 1, "worker": 2, "ps": 1}
    assert config["task"] == {"type": "worker", "index": 1}
    assert json.loads(tasks["evaluator-0"].env["TF_CONFIG"])["task"] == {"type": "evaluator", "index": 0}


def test_master_of_a_tf_job_is_a_type_of_its_own(tmp_path: Path) -> None:
    tasks = started(job("TFJob", {"Master": replicas(1), "Worker": replicas(1)}), tmp_path)

    assert json.loads(tasks["master-0"].env["TF_CONFIG"])["task"] == {"type": "master", "index": 0}


def test_tf_job_of_one_task_has_no_tf_config(tmp_path: Path) -> None:
    assert "TF_CONFIG" not in started(job("TFJob", {"Worker": replicas(1)}), tmp_path)["worker-0"].env


@pytest.mark.parametrize(
    ("types", "policy", "decides"),
    [
        ({"Chief": 1, "Worker": 2, "PS": 1}, None, {"chief": 1, "worker": None, "ps": None}),
        ({"Worker": 3, "PS": 1}, "AllWorkers", {"worker": 3, "ps": None}),
        ({"Worker": 2}, "AllWorkers", {"worker": 2}),
    ],
)
def test_tf_job_ends_with_its_chief_or_with_its_workers(
    types: dict[str, int], policy: str | None, decides: dict[str, int | None]
) -> None:
    said = {} if policy is None else {"successPolicy": policy}
    reading = read(job("TFJob", {kind: replicas(count) for kind, count in types.items()}, **said))

    assert {role.name: role.completion.min_succeeded for role in reading.spec.roles} == decides
    assert reading.warnings == ()


def test_tf_job_that_would_end_with_worker_0_says_that_it_ends_with_all() -> None:
    (warning,) = read(job("TFJob", {"Worker": replicas(2)})).warnings

    assert "worker 0 alone does not end the job" in warning


def test_jax_job_has_its_coordinator_at_worker_0(tmp_path: Path) -> None:
    tasks = started(job("JAXJob", {"Worker": replicas(2)}), tmp_path)

    env = tasks["worker-1"].env
    assert (env["COORDINATOR_ADDRESS"], env["NUM_PROCESSES"], env["PROCESS_ID"]) == ("10.0.0.1", "2", "1")
    assert env["JAX_COORDINATOR_ADDRESS"] == f"{env['COORDINATOR_ADDRESS']}:{env['COORDINATOR_PORT']}"


def test_collective_paddle_job_meets_at_worker_0_and_gets_nothing_else(tmp_path: Path) -> None:
    tasks = started(job("PaddleJob", {"Worker": replicas(2)}), tmp_path)

    found = {name: value for name, value in tasks["worker-1"].env.items() if name.startswith("PADDLE_")}
    assert found.pop("PADDLE_MASTER").startswith("10.0.0.1:")
    assert found == {"PADDLE_JOB_ID": "demo", "PADDLE_NNODES": "2"}


def test_paddle_job_with_a_master_has_a_server_there_and_a_trainer_in_each_worker(tmp_path: Path) -> None:
    tasks = started(job("PaddleJob", {"Master": replicas(1), "Worker": replicas(2)}), tmp_path)

    master, worker = tasks["master-0"].env, tasks["worker-0"].env
    assert (master["PADDLE_SERVER_NUM"], worker["PADDLE_TRAINER_NUM"], worker["PADDLE_NNODES"]) == ("1", "1", "3")
    assert "PADDLE_TRAINER_NUM" not in master
    assert master["PADDLE_MASTER"] == worker["PADDLE_MASTER"]


def test_run_policy_is_that_of_the_job() -> None:
    policy = {"activeDeadlineSeconds": 60, "backoffLimit": 2, "suspend": True, "cleanPodPolicy": "All"}
    policy |= {"schedulingPolicy": {"priorityClass": "high", "queue": "default"}, "ttlSecondsAfterFinished": 5}
    reading = read(job("PyTorchJob", {"Master": replicas(1)}, runPolicy=policy))

    assert (reading.spec.time_limit_s, reading.spec.retry_max, reading.spec.held) == (60.0, 2, True)
    assert str(reading.spec.priority) == "high"
    assert [warning.split(": ")[1] for warning in reading.warnings] == [
        "spec.runPolicy.cleanPodPolicy",
        "spec.runPolicy.ttlSecondsAfterFinished",
    ]


def test_policies_in_their_old_places_hold_too() -> None:
    assert read(job("TFJob", {"Worker": replicas(1)}, backoffLimit=1)).spec.retry_max == 1


@pytest.mark.parametrize("policy", ["OnFailure", "ExitCode", "Always"])
def test_restart_in_place_is_warned_of(policy: str) -> None:
    (warning,) = read(job("PyTorchJob", {"Master": replicas(1, restartPolicy=policy)})).warnings

    assert "spec.pytorchReplicaSpecs.Master.restartPolicy" in warning


def refused(text: str) -> list[str]:
    with pytest.raises(Invalid) as error:
        read(text)
    return [str(problem) for problem in error.value.problems] or [str(error.value)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (job("PyTorchJob", {"Boss": replicas(1)}), "no such replicas"),
        (job("PyTorchJob", {}), "is required"),
        (job("PyTorchJob", {"Master": replicas(1, ["ping", "demo-master-0"])}), "by its name"),
        (job("PyTorchJob", {"Worker": replicas(1)}, elasticPolicy={"rdzvBackend": "etcd"}), "a server of its own"),
        (job("TFJob", {"Worker": replicas(1)}, enableDynamicWorker=True), "TF_CONFIG"),
        (job("XGBoostJob", {"Master": replicas(1)}), "WORKER_PORT"),
        (job("JAXJob", {"Worker": replicas(1, container={"command": None})}), "cannot be given COORDINATOR_ADDRESS"),
        (job("PyTorchJob", {"Master": replicas(1, pod={"initContainers": [{"name": "i"}]})}), "none before it"),
    ],
)
def test_what_cannot_be_run_as_it_is_is_refused_by_name(text: str, words: str) -> None:
    assert any(words in problem for problem in refused(text))
