import json

import pytest

from muster.domain.specs import Framework, JobSpec
from muster.launch.composing import ports_needed

from .gangs import composed, environments, on_engine, placed, role, spec

pytestmark = pytest.mark.fast
PADDLE, TORCH, TF = Framework.PADDLE, Framework.TORCH, Framework.TENSORFLOW


def needed(job: JobSpec) -> dict[str, list[int]]:
    return {each.name: [ports_needed(job, each, index) for index in range(each.replicas)] for each in job.roles}


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (spec(role("ps", 2), role("worker", 2), framework=PADDLE), {"ps": [1, 1], "worker": [1, 1]}),
        (spec(role("ps", 2), role("worker", 2), framework=PADDLE, gloo=1), {"ps": [2, 1], "worker": [1, 1]}),
        (spec(role("worker", 2), framework=PADDLE), {"worker": [2, 1]}),
        (spec(role("worker", 2), framework=PADDLE, gloo=1), {"worker": [2, 1]}),
        (spec(role("worker", 1), framework=PADDLE), {"worker": [1]}),
        (spec(role("worker", 3), framework=TORCH), {"worker": [1, 0, 0]}),
        (spec(role("ps", 1), role("chief", 1), role("worker", 2), framework=TORCH),
         {"ps": [0], "chief": [1], "worker": [0, 0]}),
        (spec(role("worker", 2), framework=TF), {"worker": [1, 1]}),
        (spec(role("worker", 1), framework=TF), {"worker": [0]}),
        (spec(role("worker", 2), framework=Framework.JAX), {"worker": [1, 0]}),
        (spec(role("worker", 2), framework=Framework.MPI), {"worker": [0, 0]}),
        (spec(role("worker", 2)), {"worker": [1, 0]}),
        (spec(role("ps", 1), role("worker", 2)), {"ps": [0], "worker": [1, 0]}),
        (spec(role("worker", 1)), {"worker": [0]}),
        (spec(role("worker", 1, min_replicas=1, max_replicas=3)), {"worker": [1]}),
        (spec(role("worker", 2), framework=Framework.NONE), {"worker": [0, 0]}),
        (spec(role("worker", 2, ports=2), framework=TORCH), {"worker": [3, 2]}),
    ],
)  # fmt: skip
def test_ports_are_reserved_for_framework_and_user(job: JobSpec, expected: dict[str, list[int]]) -> None:
    assert needed(job) == expected


def test_paddle_ps_finds_itself_in_the_list_of_servers() -> None:
    for env in environments(spec(role("ps", 2), role("worker", 2), framework=PADDLE))[:2]:
        assert f"{env['POD_IP']}:{env['PADDLE_PORT']}" in env["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
        assert env["TRAINING_ROLE"] == env["PADDLE_TRAINING_ROLE"] == "PSERVER"


def test_paddle_numbers_tasks_inside_their_role() -> None:
    envs = environments(spec(role("ps", 2), role("worker", 2), framework=PADDLE))
    assert [env["PADDLE_TRAINER_ID"] for env in envs] == ["0", "1", "0", "1"]


def test_paddle_trainers_of_two_roles_share_one_numbering() -> None:
    envs = environments(spec(role("chief", 1), role("worker", 2), framework=PADDLE))
    assert [env["PADDLE_TRAINER_ID"] for env in envs] == ["0", "1", "2"]
    assert {env["PADDLE_TRAINERS_NUM"] for env in envs} == {"3"}


def test_paddle_gloo_listens_on_a_port_of_the_first_ps_that_is_nobody_elses() -> None:
    job = spec(role("ps", 2), role("worker", 2), framework=PADDLE, gloo=2)
    env = environments(job)[3]
    first = placed(job)[0].placement
    assert env["PADDLE_GLOO_HTTP_ENDPOINT"] == f"{first.address}:{first.ports[1]}"
    assert (env["PADDLE_WITH_GLOO"], env["PADDLE_GLOO_RENDEZVOUS"]) == ("2", "3")


def test_paddle_gloo_is_left_out_without_ps() -> None:
    assert not any(name.startswith("PADDLE_GLOO") for name in environments(spec(role(), framework=PADDLE, gloo=1))[0])


def test_paddle_master_is_a_second_port_of_the_first_trainer() -> None:
    env = environments(spec(role("worker", 2), framework=PADDLE))[1]
    assert env["PADDLE_MASTER"] not in env["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert env["PADDLE_MASTER"].split(":")[0] == env["PADDLE_TRAINERS"].split(",")[0]


def test_paddle_single_task_has_no_master() -> None:
    assert "PADDLE_MASTER" not in environments(spec(role(), framework=PADDLE))[0]


def test_paddle_cpu_collective_uses_gloo_and_gpu_collective_does_not() -> None:
    assert environments(spec(role("worker", 2), framework=PADDLE))[0]["PADDLE_DISTRI_BACKEND"] == "gloo"
    assert "PADDLE_DISTRI_BACKEND" not in environments(spec(role("worker", 2, gpus=1), framework=PADDLE))[0]


def test_paddle_selects_gpus_by_their_place_among_the_visible() -> None:
    env = environments(spec(role("worker", 4, gpus=2), framework=PADDLE))[2]
    assert env["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert env["FLAGS_selected_gpus"] == "0,1"


def test_paddle_heter_role_is_listed_and_numbered_apart() -> None:
    envs = environments(spec(role("ps"), role("worker", 2), role("heter", 2), framework=PADDLE))
    assert {len(env["PADDLE_HETER_ENDPOINTS"].split(",")) for env in envs} == {2}
    assert envs[3]["TRAINING_ROLE"] == "HETER"
    assert envs[3]["PADDLE_TRAINER_ID"] == "0"
    assert envs[3]["PADDLE_TRAINERS_NUM"] == "2"


def test_torch_ranks_leave_out_parameter_servers() -> None:
    envs = environments(spec(role("ps", 1), role("worker", 2), framework=TORCH))
    assert "RANK" not in envs[0]
    assert [env["RANK"] for env in envs[1:]] == ["0", "1"]
    assert {env["WORLD_SIZE"] for env in envs} == {"2"}


def test_torch_master_is_reserved_on_the_task_of_rank_0() -> None:
    tasks = composed(spec(role("worker", 3), framework=TORCH))
    assert {(task.env["MASTER_ADDR"], int(task.env["MASTER_PORT"])) for task in tasks} == {
        ("10.0.0.1", tasks[0].ports[0])
    }


def test_torchrun_starts_one_process_per_card_and_keeps_our_ranks() -> None:
    env = environments(spec(role("worker", 2, gpus=4), framework=TORCH))[1]
    assert (env["PET_NNODES"], env["PET_NODE_RANK"], env["PET_NPROC_PER_NODE"]) == ("2", "1", "4")
    assert env["PET_RDZV_BACKEND"] == "static"


def test_torch_local_rank_is_0_for_every_task_of_one_node() -> None:
    tasks = composed(job := spec(role("worker", 2, gpus=1), framework=TORCH), placed(job, [("n1", "10.0.0.1")]))
    assert [task.env["LOCAL_RANK"] for task in tasks] == ["0", "0"]
    assert [task.env["CUDA_VISIBLE_DEVICES"] for task in tasks] == ["0", "1"]


def test_tensorflow_cluster_has_types_in_order_and_no_evaluator() -> None:
    job = spec(role("chief"), role("worker", 2), role("ps"), role("evaluator"), framework=TF)
    configs = [json.loads(env["TF_CONFIG"]) for env in environments(job)]
    assert {kind: len(hosts) for kind, hosts in configs[0]["cluster"].items()} == {"chief": 1, "worker": 2, "ps": 1}
    assert configs[2]["task"] == {"type": "worker", "index": 1}
    assert configs[4]["task"] == {"type": "evaluator", "index": 0}


def test_tensorflow_counts_other_roles_as_workers() -> None:
    job = spec(role("trainer", 1), role("helper", 1), framework=TF)
    assert json.loads(environments(job)[1]["TF_CONFIG"])["task"] == {"type": "worker", "index": 1}


def test_tensorflow_single_task_is_not_told_to_be_distributed() -> None:
    assert "TF_CONFIG" not in environments(spec(role(), framework=TF))[0]


def test_mpi_hostfile_has_a_slot_per_task_of_a_node() -> None:
    task = composed(spec(role("worker", 3), framework=Framework.MPI))[0]
    assert task.files[task.env["MUSTER_HOSTFILE"]] == "10.0.0.1 slots=2\n10.0.0.2 slots=1\n"


def test_jax_coordinator_is_the_first_worker() -> None:
    tasks = composed(spec(role("worker", 2, gpus=2), framework=Framework.JAX))
    assert tasks[1].env["JAX_COORDINATOR_ADDRESS"] == f"10.0.0.1:{tasks[0].ports[0]}"
    assert (tasks[1].env["JAX_NUM_PROCESSES"], tasks[1].env["JAX_PROCESS_ID"]) == ("2", "1")
    assert tasks[1].env["JAX_LOCAL_DEVICE_IDS"] == "0,1"


def test_ipv6_addresses_are_bracketed_in_endpoints_only() -> None:
    job = spec(role("worker", 2), framework=PADDLE)
    env = composed(job, placed(job, [("n1", "fd00::1")]))[0].env
    assert env["POD_IP"] == "fd00::1"
    assert env["PADDLE_CURRENT_ENDPOINT"].startswith("[fd00::1]:")


def test_cards_that_an_engine_gives_are_counted() -> None:
    job = spec(role("worker", 2, gpus=4), framework=TORCH)
    task = composed(job, [on_engine(task) for task in placed(job)])[0]
    assert task.env["PET_NPROC_PER_NODE"] == "4"
