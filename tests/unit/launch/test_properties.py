"""Properties of every gang: endpoints are unique, ranks are a permutation, and all tasks get the same lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.launch_requests import LaunchRequest
from muster.domain.specs import Framework, JobSpec

from .gangs import composed, placed, role, spec

pytestmark = pytest.mark.fast

SHARED = (
    "MUSTER_WORLD_SIZE", "MUSTER_NODES", "MUSTER_HOSTS_WORKER", "MUSTER_HOSTS_PS", "MUSTER_ENDPOINTS_WORKER",
    "PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ENDPOINTS", "PADDLE_TRAINERS", "PADDLE_PSERVERS_IP_PORT_LIST",
    "PADDLE_MASTER", "PADDLE_GLOO_HTTP_ENDPOINT", "PADDLE_HETER_ENDPOINTS", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE",
    "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "OMPI_COMM_WORLD_SIZE",
)  # fmt: skip
RANKS = {
    Framework.TORCH: ("RANK", "WORLD_SIZE"),
    Framework.JAX: ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES"),
    Framework.MPI: ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
}


@st.composite
def jobs(draw: st.DrawFn) -> JobSpec:
    names = draw(st.lists(st.sampled_from(["ps", "worker", "chief", "heter"]), min_size=1, unique=True))
    roles = [
        role(name, draw(st.integers(1, 4)), gpus=draw(st.integers(0, 2)), ports=draw(st.integers(0, 2)))
        for name in names
    ]
    return spec(*roles, framework=draw(st.sampled_from(Framework)), gloo=draw(st.integers(0, 2)))


@st.composite
def gangs(draw: st.DrawFn) -> tuple[JobSpec, list[LaunchRequest]]:
    job = draw(jobs())
    nodes = [(f"n{number}", f"10.0.0.{number}") for number in range(1, 1 + draw(st.integers(1, 3)))]
    tasks = draw(st.permutations(placed(job, nodes)))
    return job, composed(job, tasks)


@given(gangs())
def test_every_task_is_told_the_same_lists(gang: tuple[JobSpec, list[LaunchRequest]]) -> None:
    _, tasks = gang
    for name in SHARED:
        assert len({task.env.get(name) for task in tasks}) == 1, name


@given(gangs())
def test_muster_ranks_are_a_permutation(gang: tuple[JobSpec, list[LaunchRequest]]) -> None:
    _, tasks = gang
    assert sorted(int(task.env["MUSTER_RANK"]) for task in tasks) == list(range(len(tasks)))


@given(gangs())
def test_framework_ranks_are_a_permutation_of_the_world(gang: tuple[JobSpec, list[LaunchRequest]]) -> None:
    job, tasks = gang
    if job.framework not in RANKS:
        return
    rank, world = RANKS[job.framework]
    ranks = sorted(int(task.env[rank]) for task in tasks if rank in task.env)
    assert ranks == list(range(int(tasks[0].env[world])))


@given(gangs())
def test_paddle_endpoints_are_unique_and_name_every_task_once(gang: tuple[JobSpec, list[LaunchRequest]]) -> None:
    job, tasks = gang
    if job.framework is not Framework.PADDLE:
        return
    env = tasks[0].env
    lists = ("PADDLE_TRAINER_ENDPOINTS", "PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_HETER_ENDPOINTS")
    listed = [each for name in lists if env.get(name) for each in env[name].split(",")]
    assert sorted(listed) == sorted(task.env["PADDLE_CURRENT_ENDPOINT"] for task in tasks)
    extra = [env[name] for name in ("PADDLE_MASTER", "PADDLE_GLOO_HTTP_ENDPOINT") if name in env]
    assert len({*listed, *extra}) == len(listed) + len(extra)


@given(gangs())
def test_every_value_is_text_that_a_process_can_be_given(gang: tuple[JobSpec, list[LaunchRequest]]) -> None:
    _, tasks = gang
    for task in tasks:
        for name, value in task.env.items():
            assert name.replace("_", "a").isalnum()
            assert "\0" not in value
