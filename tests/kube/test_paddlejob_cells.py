"""Every cell of the tables that paddle-operator's users know: intranet, cleanPodPolicy and outcome; withGloo and mode;
restart policies. All jobs run at once, in one namespace, under one operator."""

import json
import secrets
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from tests.parts.kube import Kube, KubeNamespace, new_namespace
from tests.parts.operator_process import running_operator
from tests.parts.paddle_jobs import MEETS, SERVES, SUCCEEDS, WAITS, install_definition, paddle_job, paddle_role

pytestmark = pytest.mark.kube
INTRANETS = ("PodIP", "Service", "Host")
POLICIES = ("Always", "Never", "OnFailure", "OnCompletion")
OUTCOMES = {"Completed": 0, "Failed": 1}
"""The exit code of the worker, which has reached the parameter server by then."""
ENDINGS = [*product(INTRANETS, POLICIES, OUTCOMES), *product(("PodIP",), (None,), OUTCOMES)]
CLEANED = {
    ("Always", "Completed"),
    ("Always", "Failed"),
    ("OnFailure", "Failed"),
    ("OnCompletion", "Completed"),
    (None, "Completed"),
}
MODES = {"PS": (1, 1), "Collective": (0, 2), "Single": (0, 1)}
"""How many parameter servers and workers make the mode."""
GLOO = [*product(MODES, (0, 1, 2), ("PodIP",)), *product(("PS",), (0, 1, 2), ("Service",))]
RESTARTS = list(product(INTRANETS, (False, True), (None, "Never", "OnFailure", "Always")))
WITHIN_S = 150
NOWHERE = {"test/no-such-label": "x"}
"""Pods that ask for it are made and never start, which is enough to look at them."""


def ending_name(intranet: str, policy: str | None, outcome: str) -> str:
    return f"end-{intranet}-{policy}-{outcome}".lower()


def gloo_name(mode: str, level: int, intranet: str) -> str:
    return f"gloo-{mode}-{level}-{intranet}".lower()


def restart_name(intranet: str, elastic: bool, policy: str | None) -> str:
    return f"restart-{intranet}-{'elastic' if elastic else 'fixed'}-{policy}".lower()


@pytest.fixture(scope="module")
def jobs(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeNamespace]:
    """All jobs of this file, begun at once."""
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    install_definition(kube)
    namespace = new_namespace(kube, f"cells-{secrets.token_hex(3)}")
    for one in (*_restarting(), *_ending(), *_with_gloo()):
        namespace.create(one)
    with running_operator(kube.cluster.kubeconfig, log, f"--namespace={namespace.name}"):
        yield namespace
    namespace.remove()


def _ending() -> Iterator[dict[str, Any]]:
    for intranet, policy, outcome in ENDINGS:
        yield paddle_job(
            ending_name(intranet, policy, outcome),
            intranet=intranet,
            cleanPodPolicy=policy,
            ps=paddle_role(1, SERVES, restartPolicy="Never"),
            worker=paddle_role(1, ("python3", "-c", f"{MEETS}sys.exit({OUTCOMES[outcome]})"), restartPolicy="Never"),
        )


def _with_gloo() -> Iterator[dict[str, Any]]:
    for mode, level, intranet in GLOO:
        servers, workers = MODES[mode]
        yield paddle_job(
            gloo_name(mode, level, intranet),
            intranet=intranet,
            withGloo=level,
            cleanPodPolicy="Never",
            ps=paddle_role(servers, SUCCEEDS) if servers else None,
            worker=paddle_role(workers, SUCCEEDS),
        )


def _restarting() -> Iterator[dict[str, Any]]:
    for intranet, elastic, policy in RESTARTS:
        yield paddle_job(
            restart_name(intranet, elastic, policy),
            intranet=intranet,
            elastic=1 if elastic else None,
            ps=paddle_role(1, WAITS, restartPolicy=policy, nodeSelector=NOWHERE),
            worker=paddle_role(1, WAITS, restartPolicy=policy, nodeSelector=NOWHERE),
        )


def ended(job: dict[str, Any]) -> bool:
    return job.get("status", {}).get("phase") in ("Completed", "Failed")


@pytest.mark.parametrize(("intranet", "policy", "outcome"), ENDINGS)
def test_the_end_of_a_job_deletes_or_keeps_its_pods_and_services(
    jobs: KubeNamespace, intranet: str, policy: str | None, outcome: str
) -> None:
    name = ending_name(intranet, policy, outcome)
    job = jobs.await_object("PaddleJob", name, ended, WITHIN_S)
    assert job["status"]["phase"] == outcome
    names = [f"{name}-ps-0", f"{name}-worker-0"]
    if (policy, outcome) in CLEANED:
        for one in names:
            jobs.await_gone("Pod", one, WITHIN_S)
            jobs.await_gone("Service", one, WITHIN_S)
        return
    for one in names:
        assert not jobs.get("Pod", one)["metadata"].get("deletionTimestamp")
        assert (jobs.find("Service", one) is not None) == (intranet == "Service")
    assert job["status"]["worker"]["ready"] == "0/1"
    jobs.await_object("Pod", f"{name}-ps-0", lambda one: one["status"]["phase"] == "Running", WITHIN_S)


@pytest.mark.parametrize(("mode", "level", "intranet"), GLOO)
def test_gloo_meets_at_the_first_server_of_a_job_with_servers(
    jobs: KubeNamespace, mode: str, level: int, intranet: str
) -> None:
    name = gloo_name(mode, level, intranet)
    job = jobs.await_object("PaddleJob", name, ended, WITHIN_S)
    assert (job["status"]["phase"], job["status"]["mode"]) == ("Completed", mode)
    servers, workers = MODES[mode]
    for pod in [*(f"{name}-ps-{n}" for n in range(servers)), *(f"{name}-worker-{n}" for n in range(workers))]:
        variables = reported(jobs, pod)
        found = {key: value for key, value in variables.items() if "GLOO" in key}
        if level == 0 or not servers:
            assert found == {}
            continue
        host = f"{name}-ps-0" if intranet == "Service" else reported(jobs, f"{name}-ps-0")["POD_IP"]
        assert found == {
            "PADDLE_WITH_GLOO": str(level),
            "PADDLE_GLOO_RENDEZVOUS": "3",
            "PADDLE_GLOO_HTTP_ENDPOINT": f"{host}:36018",
        }
        assert f"{host}:36018" not in variables["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")


def reported(jobs: KubeNamespace, pod: str) -> dict[str, str]:
    """The variables that the program of the pod has seen."""
    found = jobs.await_object("Pod", pod, lambda one: one["status"].get("phase") == "Succeeded", WITHIN_S)
    (status,) = found["status"]["containerStatuses"]
    variables: dict[str, str] = json.loads(status["state"]["terminated"]["message"])
    return variables


@pytest.mark.parametrize(("intranet", "elastic", "policy"), RESTARTS)
def test_the_template_decides_about_restarts_unless_the_job_is_elastic(
    jobs: KubeNamespace, intranet: str, elastic: bool, policy: str | None
) -> None:
    name = restart_name(intranet, elastic, policy)
    for role in ("ps", "worker"):
        default = "OnFailure" if (role, intranet) == ("worker", "Service") else "Never"
        pod = jobs.await_object("Pod", f"{name}-{role}-0", bool, WITHIN_S)
        assert pod["spec"]["restartPolicy"] == ("OnFailure" if elastic else policy or default)
