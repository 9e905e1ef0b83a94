"""Commands in tasks on a real Kubernetes, with the command line: terminals, leftovers, and the right that is needed."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.kube import Kube, KubeNamespace, new_namespace
from tests.parts.kube_account import grant, grant_everywhere, make_account, revoke_everywhere, rule
from tests.parts.kube_server import CLUSTER, server_over
from tests.parts.paddle_jobs import install_definition
from tests.parts.pseudo_terminal import at_terminal
from tests.parts.server import MusterServer, polls

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("kubernetes-exec")]


@pytest.fixture(scope="module")
def namespace(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeNamespace]:
    install_definition(kube)
    made = new_namespace(kube, f"exec-{secrets.token_hex(4)}")
    yield made
    made.remove()


@pytest.fixture
def server(namespace: KubeNamespace, tmp_path: Path) -> Iterator[MusterServer]:
    with server_over(namespace, tmp_path / "home", {"imagePullPolicy": "Never"}) as made:
        yield made


def started(server: MusterServer) -> str:
    name = f"job-{secrets.token_hex(4)}"
    server.submit({"name": name, "cluster": CLUSTER, "command": ["sleep", "600"], "resources": {"cpu": "50m"}})
    server.wait_for_state(name, "Running", timeout_s=120)
    return name


def test_commands_run_in_pods_and_end_with_their_server(server: MusterServer) -> None:
    job = started(server)
    done = server.run("exec", job, "-i", "--", "sh", "-c", "cat; echo err >&2; exit 7", input="through\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, "through\n", "err\n")
    with at_terminal(server.command("shell", job), server.environment) as at:
        at.type("stty size; echo s$((1+1))\n")
        at.see("30 90")
        at.see("s2")
        at.type("sleep 54321\n")
        wait_for_sleepers(server, job, "1")
        server.kill()
        assert at.wait() == 1
        assert at.is_restored
    server.start()
    wait_for_sleepers(server, job, "0")
    server.run("kill", job, check=True)


def wait_for_sleepers(server: MusterServer, job: str, count: str) -> None:
    script = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sleep 543''21'"
    for _ in polls(60):
        if server.run("exec", job, "--", "sh", "-c", script).stdout.strip() == count:
            return
    raise AssertionError(f"there are not {count} of what the command started")


def test_a_missing_right_is_said(namespace: KubeNamespace, tmp_path: Path) -> None:
    kubeconfig = make_account(namespace, "no-exec", tmp_path)
    everything = ["pods", "pods/log", "configmaps", "services", "secrets"]
    grant(namespace, "no-exec", rule(everything, ["get", "list", "watch", "create", "delete", "patch"]))
    paddle = rule(["paddlejobs"], ["get", "list", "watch", "create", "delete"], "batch.paddlepaddle.org")
    grant_everywhere(namespace, "no-exec", rule(["nodes", "pods"], ["get", "list", "watch"]), paddle)
    settings = {"imagePullPolicy": "Never", "kubeconfig": str(kubeconfig)}
    try:
        with server_over(namespace, tmp_path / "home", settings) as server:
            job = started(server)
            refused = server.run("exec", job, "--", "true")
            assert refused.returncode == 1
            assert f"may not run commands in pods of namespace {namespace.name}" in refused.stderr
            assert "pods/exec" in refused.stderr
            server.run("kill", job, check=True)
    finally:
        revoke_everywhere(namespace, "no-exec")
