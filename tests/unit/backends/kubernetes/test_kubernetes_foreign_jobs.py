"""PaddleJobs that this server has not made, as they are shown."""

from typing import Any

import pytest

from muster.backends.kubernetes.foreign_jobs import read_foreign_job
from muster.backends.kubernetes.options import KubernetesOptions
from muster.domain.jobs import JOB_STATES
from muster.domain.resources import Resources
from muster.operator.job.phases import Phase
from muster.ports.foreign_jobs import ForeignJob, ForeignRole

pytestmark = pytest.mark.fast


def a_role(replicas: int = 1, **resources: str) -> dict[str, Any]:
    container = {"name": "paddle", "resources": {"requests": resources}}
    return {"replicas": replicas, "template": {"spec": {"containers": [container]}}}


def read(spec: Any = None, status: Any = None, **metadata: Any) -> ForeignJob:
    given = {"name": "ctr", "namespace": "research", "creationTimestamp": "2026-01-01T00:00:00Z", **metadata}
    spec = {"worker": a_role()} if spec is None else spec
    return read_foreign_job({"metadata": given, "spec": spec, "status": status}, KubernetesOptions())


def test_a_job_has_its_roles_and_what_they_ask_for() -> None:
    spec = {"ps": a_role(2, cpu="500m"), "worker": a_role(3, cpu="2", memory="1Gi", **{"nvidia.com/gpu": "1"})}
    status = {"phase": "Running", "worker": {"running": 1, "starting": 1, "failed": 1}, "ps": {"succeeded": 2}}
    job = read(spec, status)
    assert (job.space, job.name, job.state, job.mode, job.framework) == ("research", "ctr", "Running", "PS", "paddle")
    assert job.roles == (ForeignRole("ps", 2, succeeded=2), ForeignRole("worker", 3, active=2, failed=1))
    assert job.resources == Resources(7000, 3 << 30, 3)
    assert job.created_at == 1767225600.0


@pytest.mark.parametrize(
    ("spec", "mode"),
    [
        ({"worker": a_role(1)}, "Single"),
        ({"worker": a_role(2)}, "Collective"),
        ({"ps": a_role(1), "worker": a_role(1)}, "PS"),
    ],
)
def test_the_mode_follows_from_the_roles(spec: Any, mode: str) -> None:
    assert read(spec).mode == mode


@pytest.mark.parametrize("phase", ["", "Unknown", "Succeed", "Aborted", "Terminating", *Phase])
def test_every_phase_is_a_state_of_jobs(phase: str) -> None:
    assert read(status={"phase": phase}).state in JOB_STATES


def test_a_job_that_is_deleted_is_stopping() -> None:
    assert read(status={"phase": "Running"}, deletionTimestamp="2026-01-01T00:00:01Z").state == "Stopping"


def test_a_job_that_waits_says_what_changed_last() -> None:
    conditions = [
        {"type": "Admitted", "message": "12 GPUs are missing", "lastTransitionTime": "2026-01-01T00:00:05Z"},
        {"type": "SpecValid", "message": "is valid", "lastTransitionTime": "2026-01-01T00:00:01Z"},
    ]
    assert read(status={"phase": "Pending", "conditions": conditions}).reason == "12 GPUs are missing"
    assert read(status={"phase": "Running", "conditions": conditions}).reason == ""


def test_who_made_it_is_told_by_its_labels() -> None:
    assert read().made_with == "kubectl"
    assert read(labels={"muster/server": "0123"}).made_with == "another Muster server"


@pytest.mark.parametrize("spec", [[], {"worker": 3}, {"worker": {"replicas": "two"}}, {"worker": {"template": []}}])
@pytest.mark.parametrize("status", [[], {"worker": 1, "conditions": {}}, {"conditions": [1, {"message": 2}]}])
def test_what_is_written_wrongly_does_no_harm(spec: Any, status: Any) -> None:
    assert read(spec, status).state == "Queued"
