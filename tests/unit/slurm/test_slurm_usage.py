"""What the runners of tasks on Slurm tell about usage, and what of it is believed."""

from typing import Any

import pytest

from muster.agent.batch.own_usage import numbered
from muster.backends.slurm.usage import SlurmUsage

pytestmark = pytest.mark.fast
A, B = "job.1.worker.0", "job.1.worker.1"


def sample(at: float, cpu_s: float = 0.0, **node: Any) -> dict[str, Any]:
    used = {"cpu_s": cpu_s, "memory_peak_bytes": 900}
    return {"at": at, "node": node, "task": {"cpu_s": cpu_s, "rss_bytes": 700, "processes": 2, "used": used}}


def test_share_of_a_core_is_known_from_the_second_sample_on() -> None:
    usage = SlurmUsage()
    usage.take({A: sample(10.0, 1.0)}, {A: "n1"}, 100.0)
    first = usage.latest()["n1"].tasks[A]
    usage.take({A: sample(15.0, 6.0)}, {A: "n1"}, 105.0)
    second = usage.latest()["n1"].tasks[A]

    assert (first.cpu_percent, second.cpu_percent) == (None, 100.0)
    assert (second.rss_bytes, second.processes) == (700, 2)
    assert second.used is not None
    assert second.used.peak_memory_bytes == 900


def test_tasks_of_one_node_tell_of_it_together() -> None:
    usage = SlurmUsage()
    told = {
        A: sample(10.0, cpu_percent=10.0, gpus=[{"index": 1, "load": 50.0}]),
        B: sample(11.0, cpu_percent=20.0, gpus=[{"index": 0, "load": 70.0}]),
    }
    usage.take(told, {A: "n1", B: "n1"}, 100.0)

    found = usage.latest()["n1"]
    assert found.metrics["cpu_percent"] == 20.0
    assert [(gpu["index"], gpu["load"]) for gpu in found.metrics["gpus"]] == [(0, 70.0), (1, 50.0)]
    assert set(found.tasks) == {A, B}


def test_node_is_in_the_history_once_for_each_new_sample() -> None:
    usage = SlurmUsage()
    for now, at in ((100.0, 10.0), (105.0, 10.0), (110.0, 20.0)):
        usage.take({A: sample(at)}, {A: "n1"}, now)

    assert [one.at for one in usage.history("n1")] == [10.0, 20.0]
    assert all(not one.tasks for one in usage.history("n1"))


def test_task_that_has_ended_or_tells_nothing_any_more_is_left_out() -> None:
    usage = SlurmUsage()
    usage.take({A: sample(10.0), B: sample(10.0)}, {A: "n1", B: "n2"}, 100.0)
    usage.take({}, {A: "n1"}, 110.0)
    assert set(usage.latest()) == {"n1"}

    usage.take({A: sample(10.0)}, {A: "n1"}, 200.0)
    assert usage.latest() == {}


@pytest.mark.parametrize(
    "told",
    [
        None,
        7,
        {},
        {"at": 1.0},
        {"at": "now", "task": {"cpu_s": 1.0, "rss_bytes": 1}},
        {"at": 1.0, "task": {"cpu_s": float("nan"), "rss_bytes": 1}},
        {"at": 1.0, "task": {"cpu_s": -1.0, "rss_bytes": 1}},
        {"at": 1.0, "task": {"cpu_s": True, "rss_bytes": 1}},
        {"at": 1.0, "task": []},
    ],
)
def test_what_is_no_sample_is_not_taken(told: Any) -> None:
    usage = SlurmUsage()
    usage.take({A: told}, {A: "n1"}, 100.0)
    assert usage.latest() == {}


def test_only_numbers_of_known_names_are_taken() -> None:
    usage = SlurmUsage()
    node: dict[str, Any] = {
        "cpu_percent": "<b>",
        "load1": 2.0,
        "extra": 1.0,
        "per_core": ["x"],
        "gpus": [{"index": "0"}, 5, {"index": 2}],
    }
    usage.take({A: sample(10.0, **node)}, {A: "n1"}, 100.0)

    metrics = usage.latest()["n1"].metrics
    assert set(metrics) == {"load1", "gpus"}
    assert [gpu["index"] for gpu in metrics["gpus"]] == [2]
    assert metrics["gpus"][0]["load"] is None


@pytest.mark.parametrize(
    ("listed", "environ", "numbers", "own"),
    [
        (2, {"SLURM_STEP_GPUS": "2,5", "CUDA_VISIBLE_DEVICES": "0,1"}, [2, 5], [2, 5]),
        (2, {"SLURM_STEP_GPUS": "2,5", "CUDA_VISIBLE_DEVICES": "1"}, [2, 5], [5]),
        (4, {"SLURM_JOB_GPUS": "1,3", "CUDA_VISIBLE_DEVICES": "1,3"}, [0, 1, 2, 3], [1, 3]),
        (4, {"CUDA_VISIBLE_DEVICES": "3"}, [0, 1, 2, 3], [3]),
        (4, {"CUDA_VISIBLE_DEVICES": "GPU-1234"}, [0, 1, 2, 3], []),
        (4, {}, [0, 1, 2, 3], []),
        (0, {"SLURM_STEP_GPUS": "0", "CUDA_VISIBLE_DEVICES": "0"}, [], []),
    ],
)
def test_gpus_have_the_numbers_of_the_node(
    listed: int, environ: dict[str, str], numbers: list[int], own: list[int]
) -> None:
    gpus = [{"index": index, "load": 1.0, "foreign_pids": [{"pid": 1}]} for index in range(listed)]

    known, found = numbered(gpus, environ)

    assert [gpu["index"] for gpu in known] == numbers
    assert all(gpu["foreign_pids"] == [] for gpu in known)
    assert found == own
