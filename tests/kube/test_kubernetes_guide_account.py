"""A server whose account has the rights that the guide asks for, and no others."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.guide_account import guide_account
from tests.parts.kube import Kube, new_namespace
from tests.parts.kube_server import CLUSTER, server_over
from tests.parts.server import MusterServer, polls

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("kubernetes-guide-account")]


@pytest.fixture(scope="module")
def server(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    base = tmp_path_factory.mktemp("rights")
    namespace = new_namespace(kube, f"rights-{secrets.token_hex(4)}")
    with (
        guide_account(namespace, base) as kubeconfig,
        server_over(namespace, base / "home", {"kubeconfig": str(kubeconfig)}) as server,
    ):
        yield server
    namespace.remove()


def submitted(server: MusterServer, command: str, **more: Any) -> str:
    spec = {"name": f"job-{secrets.token_hex(4)}", "cluster": CLUSTER, "command": command, **more}
    return str(server.submit({"resources": {"cpu": "50m"}, **spec})["id"])


def test_a_gang_with_a_package_a_secret_and_outputs_runs(server: MusterServer, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "words.txt").write_text("from the package\n")
    server.run("secret", "set", "key", input="hidden", check=True)
    file = tmp_path / "job.yaml"
    file.write_text(
        f"name: whole-{secrets.token_hex(4)}\ncluster: {CLUSTER}\npackage: ./src\nreplicas: 2\n"
        "secrets: [{name: key, env: KEY}]\n"
        "resources: {cpu: 50m}\noutputs: [words.txt]\ncommand: cat words.txt\n"
    )
    job = server.json("submit", str(file))["id"]
    assert server.wait(job, 120)["state"] == "Succeeded", server.run("explain", job).stdout
    assert "from the package" in server.run("logs", job, check=True).stdout
    server.run("outputs", job, "--get", str(tmp_path / "got"), check=True)
    assert (tmp_path / "got" / "worker-1" / "words.txt").read_text() == "from the package\n"


def test_usage_that_the_account_may_not_ask_for_is_unknown_with_a_reason(server: MusterServer) -> None:
    """This cluster has no metrics-server."""
    told = ""
    for _ in polls(60):
        server.run("top", "--once", check=True)
        told = server.run("doctor").stdout
        if "usage is not known" in told:
            break
    assert "usage is not known: the cluster has no metrics API: install metrics-server" in told
    assert "the account may not get nodes/proxy" in told


def test_outputs_are_refused_if_the_account_may_not_execute_in_pods(kube: Kube, tmp_path: Path) -> None:
    namespace = new_namespace(kube, f"rights-{secrets.token_hex(4)}")
    with (
        guide_account(namespace, tmp_path, without="pods/exec") as kubeconfig,
        server_over(namespace, tmp_path / "home", {"kubeconfig": str(kubeconfig)}) as server,
    ):
        spec = {"name": "refused", "cluster": CLUSTER, "command": "true", "outputs": ["x"]}
        status, told = server.call("POST", "/api/v1/jobs", {"spec": spec})
        assert status == 422
        assert "create on pods/exec" in str(told)
        job = submitted(server, "true")
        assert server.wait(job, 120)["state"] == "Succeeded", "everything else works"
    namespace.remove()
