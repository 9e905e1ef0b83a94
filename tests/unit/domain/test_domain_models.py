"""Where a model comes from."""

from dataclasses import replace

import pytest

from muster.domain.experiments.models import lineage_of
from tests.contract.building import a_job

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("labels", "commit"),
    [
        ({}, ""),
        ({"git-commit": "0123abc"}, "0123abc"),
        ({"git-commit": "0123abc", "git-dirty": "true"}, "0123abc-dirty"),
    ],
)
def test_the_commit_of_a_model_is_that_of_its_job(labels: dict[str, str], commit: str) -> None:
    job = a_job()
    job = replace(job, spec=replace(job.spec, labels=labels))
    assert lineage_of(job, 1, "model").commit == commit
