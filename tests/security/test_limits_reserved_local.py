"""`reserved` of a whole cluster, as it is written in the file of the cluster."""

from tests.parts.server import MusterServer, polls


def test_a_cluster_reserves_on_each_of_its_nodes(own_server: MusterServer) -> None:
    (before,) = own_server.json("get", "nodes")["items"]
    file = own_server.home / "clusters.d" / "local.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text("backend: local\nreserved: {cpu: 0.5}\n")
    spec = {"name": "all", "command": "true", "resources": {"cpu": before["cpu"]["total"]}}
    for _ in polls(60):
        status, answer = own_server.call("POST", "/api/v1/jobs?dryRun=true", {"spec": spec})
        if status != 200:
            break
    assert (status, answer["code"]) == (422, "unplaceable")
