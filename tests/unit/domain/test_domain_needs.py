"""What a spec needs of a node besides hardware."""

from typing import Any

import pytest

from muster.domain.clusters import CONDA, CONTAINER_GPUS, CONTAINERS, Folder, PhysicalCluster, folder_label
from muster.domain.needs import in_words, needs_of, unmet, where_of, without_needs
from muster.domain.resources import Resources
from muster.domain.specs import ANY_VALUE, JobSpec, Mount, Role, Runtime, Where

pytestmark = pytest.mark.fast
LAB = PhysicalCluster(
    "lab", "ssh", folders=(Folder("data", "/mnt/data"), Folder("envs", "/srv/envs")), conda="envs/miniconda3"
)
DATA, ENVS = folder_label("data"), folder_label("envs")


def job(gpus: int = 0, **more: Any) -> JobSpec:
    return JobSpec("demo", (Role("worker", 1, ("true",), Resources(gpus=gpus)),), **more)


@pytest.mark.parametrize(
    ("spec", "needs"),
    [
        (job(), {}),
        (job(mounts=(Mount("data/criteo", "d"), Mount("data", "e"))), {DATA: "ok"}),
        (job(mounts=(Mount("/scratch", "d"),)), {}),
        (job(runtime=Runtime(conda="py310")), {CONDA: "ok"}),
        (job(runtime=Runtime(conda="/opt/conda/envs/x")), {}),
        (job(runtime=Runtime(venv="envs/venvs/x")), {ENVS: "ok"}),
        (job(runtime=Runtime(venv=".venv")), {}),
        (job(runtime=Runtime(image="data/paddle")), {CONTAINERS: ANY_VALUE}),
        (job(1, runtime=Runtime(image="paddle")), {CONTAINERS: ANY_VALUE, CONTAINER_GPUS: "ok"}),
    ],
)
def test_needs_are_labels_that_only_the_backend_writes(spec: JobSpec, needs: dict[str, str]) -> None:
    assert needs_of(spec, LAB) == needs


def test_needs_are_added_to_what_was_asked_and_taken_away_again() -> None:
    spec = job(where=Where(labels={"rack": "a"}), mounts=(Mount("data", "d"),))
    assert where_of(spec, LAB).labels == {"rack": "a", DATA: "ok"}
    assert without_needs(where_of(spec, LAB)).labels == {"rack": "a"}
    assert spec.where.labels == {"rack": "a"}


def test_spec_without_needs_keeps_its_very_where() -> None:
    spec = job()
    assert where_of(spec, LAB) is spec.where
    assert without_needs(spec.where) is spec.where


def test_any_value_will_do_where_any_was_asked_for() -> None:
    asked = {CONTAINERS: ANY_VALUE, DATA: "ok", "rack": "a"}
    assert unmet(asked, {CONTAINERS: "docker", DATA: "ok"}) == []
    assert unmet(asked, {}) == [CONTAINERS, DATA]


def test_labels_are_told_in_words() -> None:
    assert in_words(DATA) == "folder data in order"
    assert "container" in in_words(CONTAINERS)
