"""`reserved` of a whole cluster, as it is written in the file of the cluster."""

from tests.parts.server import MusterServer, polls


def test_a_cluster_reserves_on_each_of_its_nodes(own_server: MusterServer) -> None:
    (before,) = own_server.json("get", "nodes")["items"]
    file = own_server.home / "clusters.d" / "local.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text("backend: local\nreserved: {cpu: 0.5}\n")
    for _ in polls(20):
        (node,) = own_server.json("get", "nodes")["items"]
        if node != before:
            break
    spec = {"name": "all", "command": "true", "resources": {"cpu": before["cpu"]["total"]}}
    status, problem = own_server.call("POST", "/api/v1/jobs", {"spec": spec})
    assert (status, problem["code"]) == (422, "unplaceable")
