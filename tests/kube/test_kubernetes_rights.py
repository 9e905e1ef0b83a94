"""A server whose account may not see all of its cluster says so wherever somebody would ask."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.parts.kube import Kube, KubeNamespace
from tests.parts.kube_account import grant, grant_everywhere, make_account, revoke_everywhere, rule
from tests.parts.paddle_jobs import install_definition
from tests.parts.server import MusterServer, polls

pytestmark = [pytest.mark.kube]
ACCOUNT = "muster"
OWN = ("get", "list", "watch", "create", "delete")
NO_NODES = "the account may not list nodes"
NO_OTHERS = "the account may not list pods of all namespaces, so that what others use seems free"


@pytest.fixture
def server(kube: Kube, namespace: KubeNamespace, tmp_path: Path) -> Iterator[MusterServer]:
    """Its account may do everything in its own namespace."""
    install_definition(kube)
    kubeconfig = make_account(namespace, ACCOUNT, tmp_path)
    grant(
        namespace,
        ACCOUNT,
        rule(["pods", "configmaps", "services", "secrets"], OWN),
        rule(["pods/log"], ["get"]),
        rule(["secrets"], ["patch"]),
    )
    home = tmp_path / "home"
    (home / "clusters.d").mkdir(parents=True)
    document = {
        "backend": "kubernetes",
        "kubeconfig": str(kubeconfig),
        "namespace": namespace.name,
        "image": "local/python:1",
        "imagePullPolicy": "Never",
        "jobs": "pods",
        "showOthers": True,
    }
    (home / "clusters.d" / "k8s.yaml").write_text(yaml.safe_dump(document))
    server = MusterServer(home, {"MUSTER_LOG_FILE": "server.log"})
    server.start()
    try:
        yield server
    finally:
        server.stop()


def said(ask: Callable[[], str], words: str) -> str:
    told = ""
    for _ in polls(60):
        told = ask()
        if words in told:
            return told
    raise AssertionError(f"nobody said {words!r}: {told}")


def test_missing_rights_are_told_where_somebody_would_look(server: MusterServer, namespace: KubeNamespace) -> None:
    job = server.submit({"name": "waits", "cluster": "k8s", "command": ["sleep", "600"]})["id"]

    def printed(*words: str) -> str:
        done = server.run(*words)
        return done.stdout + done.stderr

    said(lambda: printed("explain", job), f"what cluster k8s has is not known: {NO_NODES}")
    said(lambda: printed("describe", "cluster/k8s"), NO_NODES)
    said(lambda: printed("get", "nodes"), f"cluster k8s: its capacity is not known, so that jobs wait: {NO_NODES}")
    said(lambda: printed("doctor"), NO_NODES)
    hidden = "jobs of others are not shown: the account may not list paddlejobs of all namespaces"
    said(lambda: printed("doctor"), hidden)
    file = str(server.home / "clusters.d" / "k8s.yaml")
    told = printed("cluster", "check", "--connect", file)
    assert "cluster k8s: the account may not list, watch nodes: what is free is not known, and jobs wait" in told
    assert "the account may not list, watch pods of all namespaces: what others use seems free" in told
    assert "may not list, watch paddlejobs of all namespaces: jobs that were made with kubectl are not shown" in told
    assert "jobs cannot run" not in told
    assert NO_NODES not in printed("cluster", "check", file), "it asks nobody unless it is told to"

    grant_everywhere(namespace, ACCOUNT, rule(["nodes"], ["get", "list", "watch"]))
    try:
        said(lambda: server.json("describe", job)["state"], "Running")
        for command in (["describe", "cluster/k8s"], ["get", "nodes"], ["doctor"]):
            said(partial(printed, *command), NO_OTHERS)
        server.run("kill", job, check=True)
        assert server.wait(job)["state"] == "Cancelled"
    finally:
        revoke_everywhere(namespace, ACCOUNT)
