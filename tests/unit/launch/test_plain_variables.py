"""What tasks of a job without a named framework find in their environment."""

import pytest

from muster.domain.specs import Framework

from .gangs import environments, role, spec

pytestmark = pytest.mark.fast
OF_TORCH = {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK"}


def test_a_plain_gang_has_what_init_process_group_and_a_bare_torchrun_read() -> None:
    plain, torch = (
        environments(spec(role("worker", 2))),
        environments(spec(role("worker", 2), framework=Framework.TORCH)),
    )

    assert [env["RANK"] for env in plain] == ["0", "1"]
    assert [env["PET_NODE_RANK"] for env in plain] == ["0", "1"]
    for mine, theirs in zip(plain, torch, strict=True):
        assert {**mine, "MUSTER_FRAMEWORK": "torch"} == dict(theirs)


def test_a_single_plain_task_has_none_of_it_so_that_it_can_start_processes_itself() -> None:
    names = set(environments(spec(role("worker", 1, gpus=4)))[0])
    assert not names & OF_TORCH
    assert not any(name.startswith("PET_") for name in names)


def test_a_plain_task_with_several_gpus_has_no_local_rank_because_it_is_not_one_process() -> None:
    env = environments(spec(role("worker", 2, gpus=2)))[1]
    assert "LOCAL_RANK" not in env
    assert "LOCAL_WORLD_SIZE" not in env
    assert (env["NODE_RANK"], env["PET_NPROC_PER_NODE"]) == ("1", "2")


def test_an_elastic_job_finds_the_same_variables_with_one_task() -> None:
    env = environments(spec(role("worker", 1, min_replicas=1, max_replicas=3)))[0]
    assert (env["RANK"], env["WORLD_SIZE"]) == ("0", "1")


def test_a_gang_that_wants_no_framework_has_no_variables_of_one() -> None:
    names = set(environments(spec(role("worker", 2), framework=Framework.NONE))[0])
    assert not names & OF_TORCH
    assert not any(name.startswith("PET_") for name in names)
