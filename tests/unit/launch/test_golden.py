"""The complete environment of every mode and framework, as golden files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.domain.specs import Framework, JobSpec

from .gangs import composed, role, spec

pytestmark = pytest.mark.fast
FOLDER = Path(__file__).parent / "golden"


def ps_job(framework: Framework) -> JobSpec:
    return spec(role("ps", 2), role("worker", 2), framework=framework, gloo=1)


def collective_job(framework: Framework) -> JobSpec:
    return spec(role("worker", 3, gpus=2, ports=1), framework=framework, params={"lr": 0.1, "warm-up": True})


def single_job(framework: Framework) -> JobSpec:
    return spec(role("worker", 1), framework=framework, env={"EPOCHS": "3"})


@pytest.mark.parametrize("framework", Framework)
@pytest.mark.parametrize("job", [ps_job, collective_job, single_job])
def test_what_a_gang_is_started_with(
    job: Callable[[Framework], JobSpec], framework: Framework, golden: Callable[[Path, str], None]
) -> None:
    started = {
        task.task_id: {"node": task.node, "argv": task.argv, "env": dict(sorted(task.env.items())), "files": task.files}
        for task in composed(job(framework))
    }
    name = f"{job.__name__.removesuffix('_job')}-{framework.value}.json"
    golden(FOLDER / name, json.dumps(started, indent=2) + "\n")
