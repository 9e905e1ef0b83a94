"""A node list that people edit while tasks run on its nodes: whatever they do to the file, what was right goes on."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.hosts import Host, HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import CLUSTER, ROOT, log_of, nodes, wait_for_nodes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

GO = "/tmp/go"
LASTING = f"hostname; until [ -e {GO} ]; do sleep 0.05; done; echo end"
NO_JSON = "(a list of objects with name, ip, user_name, gpu_count and gpu_info)"
MISTAKES = {
    '[{"name": "n1"}]': "gpu_slaver_info.json, line 1: [0].ip: is required",
    '[{"name": "n1", "ip": "a"},\n{"name": "n1", "ip": "b"}]': "line 2: nodes: n1 is given twice",
    '[{"name": "n1", "ip": "a", "gpu_count": "two"}]': "[0].gpu_count: is 'two' (expected a whole number)",
    '[{"name": "n1", "ip": "a", "gpus": 2}]': "[0].gpus: unknown key",
    '[{"name": "n1", "ip": "a"},\n]': f"line 2: is not JSON: there is a comma too many before ] {NO_JSON}",
    '{"name": "n1"}': f"line 1: is not a list {NO_JSON}",
    "": "nodesFile: gpu_slaver_info.json is empty (write it again, or remove it)",
}


@pytest.fixture(scope="module")
def pool(can_make_hosts: None) -> Iterator[HostPool]:
    with HostPool(3) as made:
        yield made


class Desk:
    """Where an admin sits: the server, the list, and what is typed into it."""

    def __init__(self, server: MusterServer, pool: HostPool) -> None:
        self.server = server
        self.pool = pool
        self.folder = server.home / "clusters.d"
        self.list = self.folder / "gpu_slaver_info.json"

    def text(self, **hosts: Host) -> str:
        rows = [{"name": name, "ip": host.address, "user_name": host.user} for name, host in hosts.items()]
        return json.dumps(rows, indent=1)

    def write(self, text: str) -> None:
        self.list.write_text(text)

    def warned(self) -> str:
        return self.server.run("node", "list", check=True).stderr

    def until_warned(self, words: str) -> None:
        told = ""
        for _ in polls(60):
            told = self.warned()
            if words in told:
                return
        raise AssertionError(f"nobody says {words!r}: {told!r}")

    def until_content(self) -> None:
        for _ in polls(60):
            if not (told := self.warned()):
                return
        raise AssertionError(told)

    def begin(self, node: str) -> str:
        spec = {"name": f"on-{node}", "cluster": CLUSTER, "command": LASTING, "where": {"nodes": [node]}}
        job = str(self.server.submit(spec)["id"])
        self.server.wait_for_state(job, "Running")
        return job

    def end(self, job: str, host: Host) -> None:
        """It has gone on all the time, on its host, in its first attempt."""
        host.run(["touch", GO])
        ended = self.server.wait(job)
        host.run(["rm", GO])
        assert (ended["state"], ended["attempt"]) == ("Succeeded", 1)
        assert log_of(self.server, job, "worker-0") == f"{host.name}\nend\n"


@pytest.fixture
def desk(tmp_path: Path, pool: HostPool) -> Iterator[Desk]:
    made = Desk(MusterServer(tmp_path / "home"), pool)
    made.folder.mkdir(parents=True)
    key = pool[0].key_file
    (made.folder / "lab.yaml").write_text(
        f"name: {CLUSTER}\nbackend: ssh\ndefaults: {{keyFile: {key}, hostKeys: first-use, root: {ROOT}}}\n"
        "nodesFile: gpu_slaver_info.json\n"
    )
    made.write(made.text(n1=pool[0], n2=pool[1]))
    made.server.start()
    try:
        wait_for_nodes(made.server, {"n1": "Ready", "n2": "Ready"})
        yield made
    finally:
        made.server.stop()


def test_every_mistake_is_told_and_nothing_of_what_runs_is_touched(desk: Desk) -> None:
    job = desk.begin("n1")
    good = desk.list.read_text()
    for text, words in MISTAKES.items():
        desk.write(text)
        desk.until_warned(words)
        desk.until_warned("gpu_slaver_info.json: its last valid version stays in effect until it is fixed")
        assert {name: node["state"] for name, node in nodes(desk.server).items()} == {"n1": "Ready", "n2": "Ready"}
    desk.list.unlink()
    desk.until_warned("nodesFile: gpu_slaver_info.json cannot be read: No such file or directory")
    desk.list.mkdir()
    desk.until_warned("nodesFile: gpu_slaver_info.json is not a regular file")
    desk.server.kill()
    desk.server.start()
    wait_for_nodes(desk.server, {"n1": "Ready", "n2": "Ready"})
    desk.list.rmdir()
    desk.write("\ufeff" + good)
    desk.until_content()
    desk.end(job, desk.pool[0])


def test_a_list_that_is_written_in_two_halves_is_taken_over_whole(desk: Desk) -> None:
    job = desk.begin("n1")
    text = desk.text(n1=desk.pool[0], n2=desk.pool[1], n3=desk.pool[2])
    with desk.list.open("w") as file:
        file.write(text[:60])
        file.flush()
        desk.until_warned("gpu_slaver_info.json: its last valid version stays in effect")
        assert set(nodes(desk.server)) == {"n1", "n2"}
        file.write(text[60:])
    wait_for_nodes(desk.server, {"n1": "Ready", "n2": "Ready", "n3": "Ready"})
    desk.until_content()
    desk.end(job, desk.pool[0])


def test_a_node_that_is_renamed_drains_under_its_old_name_and_joins_under_the_new(desk: Desk) -> None:
    desk.write(desk.text(n9=desk.pool[0], n2=desk.pool[1]))
    wait_for_nodes(desk.server, {"n1": None, "n2": "Ready", "n9": "Ready"})
    desk.end(desk.begin("n9"), desk.pool[0])


def test_a_node_that_is_renamed_while_it_works_ends_its_task_under_the_old_name(desk: Desk) -> None:
    job = desk.begin("n1")
    desk.write(desk.text(n9=desk.pool[0], n2=desk.pool[1]))
    wait_for_nodes(desk.server, {"n1": "Draining"})
    desk.end(job, desk.pool[0])
    wait_for_nodes(desk.server, {"n1": None, "n2": "Ready", "n9": "Ready"})
    desk.end(desk.begin("n9"), desk.pool[0])


def test_a_node_whose_address_changes_is_the_other_machine(desk: Desk) -> None:
    job = desk.begin("n1")
    desk.write(desk.text(n1=desk.pool[0], n2=desk.pool[2]))
    for _ in polls(60):
        if nodes(desk.server)["n2"]["state"] == "Ready" and nodes(desk.server)["n2"]["address"] == desk.pool[2].address:
            break
    desk.end(desk.begin("n2"), desk.pool[2])
    desk.end(job, desk.pool[0])


def test_a_link_is_followed_to_its_file_and_editors_leavings_are_passed_over(desk: Desk, tmp_path: Path) -> None:
    for name in (".lab.yaml.swp", "lab.yaml~", "4913", "#lab.yaml#", ".#lab.yaml", "lab.yaml.bak"):
        (desk.folder / name).write_text("[")
    aim = tmp_path / "lab.yaml"
    (desk.folder / "lab.yaml").rename(aim)
    (desk.folder / "lab.yaml").symlink_to(aim)
    desk.until_content()
    aim.write_text(
        aim.read_text() + f"nodes: [{{name: n3, host: {desk.pool[2].address}, user: {desk.pool[2].user}}}]\n"
    )
    wait_for_nodes(desk.server, {"n1": "Ready", "n2": "Ready", "n3": "Ready"})
    aim.rename(tmp_path / "away.yaml")
    desk.until_warned("lab.yaml: is a broken link (fix the link, or remove it)")
    wait_for_nodes(desk.server, {"n1": "Ready", "n2": "Ready", "n3": "Ready"})
