"""Virtual clusters, kinds of hardware, storages, users and groups."""

from pathlib import Path

from tests.conformance.openpai_api.client import PaiClient, job_file, ok, refused
from tests.integration.api.people import People, new_user, unique
from tests.parts.passable import open_to_all
from tests.parts.server import polls

AMOUNTS = {"cpu", "memory", "gpu", "vCores", "GPUs"}


def test_clusters_are_virtual_clusters(owner: PaiClient) -> None:
    found = ok(owner.get("/virtual-clusters"))

    assert {"default", "local"} <= set(found)
    local = found["local"]
    assert set(local["resourcesTotal"]) == set(local["resourcesUsed"]) == AMOUNTS
    assert local["resourcesTotal"]["gpu"] == local["resourcesTotal"]["GPUs"] == 2
    assert local["resourcesTotal"]["memory"] > 100, "memory is in megabytes"
    assert (local["status"], local["dedicated"], len(local["nodeList"])) == ("RUNNING", False, 1)
    assert ok(owner.get("/virtual-clusters/default")).keys() == local.keys()
    refused(owner.get("/virtual-clusters/nowhere"), 404, "NoVirtualClusterError")


def test_a_virtual_cluster_is_for_those_who_may_use_it(owner: PaiClient, other: PaiClient, admin: PaiClient) -> None:
    name = unique("vc")
    file = owner.server.home / "clusters.d" / f"{name}.yaml"
    file.write_text(f"name: {name}\nusers: [{owner.user}]\nguaranteed: {{gpu: 1}}\n")
    for _ in polls(20):
        if admin.get(f"/virtual-clusters/{name}").status_code == 200:
            break

    found = ok(owner.get(f"/virtual-clusters/{name}"))

    assert found["resourcesGuaranteed"]["gpu"] == 1
    assert found["capacity"] == 50.0
    refused(other.get(f"/virtual-clusters/{name}"), 404, "NoVirtualClusterError")
    refused(other.get("/cluster/sku-types", vc=name), 404, "NoVirtualClusterError")
    assert name in ok(owner.get("/users/me"))["virtualCluster"]
    assert name not in ok(other.get("/users/me"))["virtualCluster"]
    job = unique("there")
    text = job_file(job, "true", extra={"defaults": f"{{virtualCluster: {name}}}"})
    refused(other.submit(text), 403, "ForbiddenUserError")
    assert owner.ran(text, job)["jobStatus"]["virtualCluster"] == name
    assert [one["name"] for one in ok(owner.get("/jobs", vc=name))] == [job]


def test_kinds_of_hardware_are_the_models_of_gpus(owner: PaiClient) -> None:
    found = ok(owner.get("/cluster/sku-types"))

    assert set(found) == {"A100"}
    assert found["A100"]["gpu"] == 1
    assert found["A100"]["cpu"] >= 1
    assert ok(owner.get("/cluster/sku-types", vc="default")) == found
    assert ok(owner.get("/virtual-clusters/default/sku-types")) == found


def test_folders_of_clusters_are_storages(owner: PaiClient, tmp_path: Path) -> None:
    assert "storages" in ok(owner.get("/storages"))
    shared = tmp_path / "shared"
    shared.mkdir()
    open_to_all(shared)
    file = owner.server.home / "clusters.d" / "local.yaml"
    (shared / "day1").mkdir()
    file.write_text(
        f"name: local\nbackend: local\nfolders:\n  criteo: {{path: {shared}}}\nstorages: {{first: criteo/day1}}\n"
    )
    for _ in polls(20):
        if ok(owner.get("/storages"))["storages"]:
            break

    assert ok(owner.get("/storages"))["storages"] == [
        {"name": "first", "share": True, "volumeName": "local:criteo/day1", "default": False},
        {"name": "criteo", "share": True, "volumeName": "local:criteo", "default": False},
    ]
    assert ok(owner.get("/storages/criteo"))["type"] == "other"
    assert ok(owner.get("/storages", default="true")) == {"storages": []}
    refused(owner.get("/storages/nothing"), 404, "NoStorageError")


def test_people_see_themselves_and_admins_see_everybody(
    owner: PaiClient, other: PaiClient, admin: PaiClient, pai_people: People
) -> None:
    me = ok(owner.get(f"/users/{owner.user}"))

    assert me == ok(owner.get("/users/me")) == ok(owner.get(f"/user/{owner.user}"))
    assert (me["username"], me["admin"], me["grouplist"]) == (owner.user, False, ["default"])
    assert {"default", "local"} <= set(me["virtualCluster"])
    assert [user["username"] for user in ok(owner.get("/users"))] == [owner.user]
    assert {owner.user, other.user, admin.user} <= {user["username"] for user in ok(admin.get("/users"))}
    refused(owner.get(f"/users/{other.user}"), 403, "ForbiddenUserError")
    refused(owner.get("/users/nobody-at-all"), 403, "ForbiddenUserError")
    assert ok(admin.get(f"/users/{other.user}"))["username"] == other.user
    refused(admin.get("/users/nobody-at-all"), 404, "NoUserError")


def test_groups_are_those_of_muster(admin: PaiClient, owner: PaiClient, pai_people: People) -> None:
    member, group = new_user(pai_people.admin, "pai"), unique("group")
    assert pai_people.admin.send("PATCH", f"/users/{member.name}", json={"groups": [group]}).status_code == 200
    client = PaiClient(pai_people.server, member.name, member.token)

    assert [one["groupname"] for one in ok(client.get("/groups"))] == sorted(["default", group])
    assert ok(client.get(f"/groups/{group}"))["extension"]["acls"]["admin"] is False
    assert group in ok(client.get("/users/me"))["grouplist"]
    refused(owner.get(f"/groups/{group}"), 404, "NoGroupError")
    assert ok(admin.get(f"/groups/{group}/userlist")) == [{"username": member.name, "clusterAdmin": False}]
    assert ok(client.get("/groups/default/userlist")) == [{"username": member.name, "clusterAdmin": False}]
    assert "admingroup" in {one["groupname"] for one in ok(admin.get("/groups"))}
