"""A gang as a PaddleJob: what the operator sets is left to it, and tasks differ by what follows from their index."""

from pathlib import Path

import pytest

from muster.backends.kubernetes.gang_objects import rendered
from muster.backends.kubernetes.names import pod_name
from muster.backends.kubernetes.paddle_jobs import expected, suits
from muster.backends.kubernetes.pod_state import task_of
from muster.domain.specs import Framework, JobSpec, Role
from muster.operator.job.paddle_job import read_job
from muster.ports.backend import Phase
from tests.conftest import Golden
from tests.parts.building import a_ps_spec, a_role, a_spec
from tests.unit.backends.kubernetes.building import a_launch, objects_of

pytestmark = pytest.mark.fast
OWNER = {"kind": "ConfigMap", "name": "muster-j1-1-own", "uid": "u1"}
GOLDEN = Path(__file__).parent / "golden"


def a_paddle_spec(**fields: object) -> JobSpec:
    return a_ps_spec(2, 2, framework=Framework.PADDLE, **fields)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (a_paddle_spec(), True),
        (a_spec(framework=Framework.PADDLE), True),
        (a_spec(framework=Framework.TORCH), False),
        (a_spec(a_role("chief"), framework=Framework.PADDLE), False),
        (a_spec(Role("worker", 1, ("true",), ports=1), framework=Framework.PADDLE), False),
        (a_paddle_spec(outputs=("model/",)), False),
    ],
)
def test_paddle_jobs_with_the_roles_of_the_operator_can_be_its_jobs(spec: JobSpec, expected: bool) -> None:
    assert suits(spec) is expected


def test_a_gang_is_shown_as_a_paddle_job(golden: Golden) -> None:
    launch = a_launch(a_paddle_spec(package="a" * 64, env={"PADDLE_PORT": "1"}, gloo=1), name_of=pod_name)
    golden(GOLDEN / "paddle-job.yaml", rendered(objects_of(launch)))


def test_the_operator_takes_the_job_as_it_is() -> None:
    objects = objects_of(a_launch(a_paddle_spec(gloo=2), name_of=pod_name))
    job = read_job(
        {"metadata": {"name": "muster-j1-1", "namespace": "ml"}, **{"spec": objects.paddle_job(OWNER)["spec"]}}
    )
    assert (job.problems, job.ignored) == ((), ())
    assert (job.mode, job.gloo, [role.replicas for role in job.roles]) == ("PS", 2, [2, 2])
    assert job.pod_names == tuple(pod_name(task.id) for task in objects.launch.gang.tasks)


def test_what_differs_between_tasks_follows_from_their_index() -> None:
    objects = objects_of(a_launch(a_paddle_spec(env={"PADDLE_TRAINERS_NUM": "mine"}), name_of=pod_name))
    spec = objects.paddle_job(OWNER)["spec"]
    ps, worker = (spec[role]["template"]["spec"]["containers"][0] for role in ("ps", "worker"))
    env = {one["name"]: one.get("value") for one in worker["env"]}
    assert env["MUSTER_TASK_NAME"] == "job-worker-$(PADDLE_TRAINER_ID)"
    assert env["MUSTER_ROLE_INDEX"] == "$(PADDLE_TRAINER_ID)"
    assert "MUSTER_RANK" not in env, "the command computes it: there are two tasks before the first worker"
    assert "$$((2 + PADDLE_TRAINER_ID))" in worker["command"][2]
    assert ps["command"] == ["true"]
    assert env["PADDLE_TRAINERS_NUM"] == "mine", "the user's own value wins"
    assert "PADDLE_TRAINER_ENDPOINTS" not in env
    assert env["MUSTER_HOSTS_PS"] == "muster-j1-1-ps-0,muster-j1-1-ps-1"
    (file,) = (one for one in worker["volumeMounts"] if one["mountPath"] == "/muster/task/trainer_id")
    assert file["subPathExpr"] == "$(PADDLE_TRAINER_ID)/trainer_id"
    assert objects.owner()["data"]["trainer_id.worker-1"] == "1\n"


def test_tasks_are_known_by_the_names_of_the_operators_pods() -> None:
    labels = {"muster/gang": "j1.1", "paddle-res-type": "worker", "paddle-res-name": "muster-j1-1-worker-12"}
    assert task_of({"metadata": {"name": "muster-j1-1-worker-12", "labels": labels}}) == "j1.1.worker.12"


def test_tasks_without_pods_wait_for_the_operator() -> None:
    job = objects_of(a_launch(a_paddle_spec(), name_of=pod_name)).paddle_job(OWNER)
    found = list(expected(job, "ml"))
    assert [one.task_id for one in found] == ["j1.1.ps.0", "j1.1.ps.1", "j1.1.worker.0", "j1.1.worker.1"]
    assert {(one.phase, one.wait_reason) for one in found} == {
        (Phase.WAITING, "waiting for the operator to create the pods")
    }
    job["status"] = {"conditions": [{"type": "Scheduled", "message": "room for 3 of 4 pods"}]}
    assert next(expected(job, "ml")).wait_reason == "room for 3 of 4 pods"
