"""The test cluster itself: what every other test of this folder relies on."""

import pytest

from tests.parts.kube import KubeNamespace, phase, pod

pytestmark = pytest.mark.kube


def test_pods_of_both_nodes_find_each_other_by_the_name_of_a_service(namespace: KubeNamespace) -> None:
    server = pod("server", "python3", "-m", "http.server", "8000", labels={"app": "server"})
    server["spec"]["nodeName"] = "n1"
    namespace.create(server)
    ports = [{"port": 80, "targetPort": 8000}]
    namespace.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "server"}, "ports": ports},
        }
    )
    asked = "python3 -c 'import urllib.request as u; u.urlopen(\"http://web/\", timeout=5)' 2> /dev/null"
    client = pod("client", "/bin/sh", "-c", f"until {asked}; do sleep 1; done")
    client["spec"]["nodeName"] = "n2"
    namespace.create(client)
    namespace.await_object("Pod", "client", lambda found: phase(found) == "Succeeded", timeout_s=120)
