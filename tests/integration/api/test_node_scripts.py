"""The programs of an admin on a node: health checks, the prolog and the epilog."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.api.people import unique
from tests.parts.server import MusterServer, polls, running_server


@dataclass(frozen=True)
class Site:
    """Scripts do what files say: each fails while the file of its name has words. `ran` says for which tasks."""

    server: MusterServer
    folder: Path

    def node(self) -> dict[str, Any]:
        (node,) = self.server.json("node", "list", "--cluster", "local")["items"]
        return dict(node)

    def is_held(self, words: str) -> None:
        for _ in polls(60):
            node = self.node()
            if node["state"] == "Cordoned" and words in node["note"]:
                return
        raise AssertionError(f"not held for {words!r}: {node}")

    def is_used_again(self) -> None:
        assert any(self.node()["state"] == "Ready" for _ in polls(60))

    def ran(self) -> list[str]:
        return (self.folder / "ran").read_text().splitlines()

    def alerts(self) -> list[dict[str, Any]]:
        _, page = self.server.call("GET", "/api/v1/events?kind=node.alert&limit=1000")
        return [event["data"] for event in page["items"]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home, folder = tmp_path_factory.mktemp("scripted"), tmp_path_factory.mktemp("scripts")

    def command(name: str) -> list[str]:
        (folder / name).touch()
        noting = f'echo "{name} $MUSTER_OWNER $MUSTER_TASK_ID" >>{folder}/ran' if name != "down" else ":"
        return ["/bin/sh", "-c", f"{noting}; cat {folder}/{name}; [ ! -s {folder}/{name} ]"]

    cluster = {
        "backend": "local",
        "healthChecks": [{"name": "fabric", "command": command("down"), "every": "1s", "timeout": "30s"}],
        "prolog": {"command": command("prolog"), "timeout": "30s"},
        "epilog": {"command": command("epilog")},
    }
    (home / "clusters.d").mkdir()
    (home / "clusters.d" / "local.yaml").write_text(yaml.safe_dump(cluster))
    with running_server(home) as server:
        yield Site(server, folder)


def test_a_node_that_fails_a_check_is_held_until_it_passes(site: Site) -> None:
    go = site.folder / "go"
    running = site.server.submit({"name": unique("runs"), "command": f"while [ ! -e {go} ]; do sleep 0.05; done"})
    site.server.wait_for_state(running["id"], "Running")
    (site.folder / "down").write_text("looking at ib0\nib0 is down\n")
    words = "health check fabric: ib0 is down"
    site.is_held(words)
    assert words in site.server.run("node", "describe", site.node()["name"], check=True).stdout
    waiting = site.server.submit({"name": unique("waits"), "command": "true"})
    node = site.node()["name"]
    explained = f"1 node is cordoned ({node}: {words})"
    assert any(explained in " ".join(site.server.run("explain", waiting["name"]).stdout.split()) for _ in polls(20))
    assert any({"state": "", "message": words}.items() <= alert.items() for alert in site.alerts())
    go.touch()
    assert site.server.wait(running["id"])["state"] == "Succeeded", "what runs there continues"
    (site.folder / "down").write_text("")
    site.is_used_again()
    assert site.server.wait(waiting["id"])["state"] == "Succeeded"
    assert any({"state": "over", "message": words}.items() <= alert.items() for alert in site.alerts())


def test_a_failed_prolog_holds_the_node_and_the_job_is_tried_again(site: Site) -> None:
    (site.folder / "prolog").write_text("GPU 3 has fallen off the bus\n")
    job = site.server.submit({"name": unique("prolog"), "command": "true", "retry": {"max": 0}})
    site.is_held("The prolog of the node failed, so the task was not started: GPU 3 has fallen off the bus")
    (site.folder / "prolog").write_text("")
    assert site.server.wait(job["id"], 120)["state"] == "Succeeded", "it counts as nobody's retry"
    first, last = ([line for line in site.ran() if line.endswith(f" {job['id']}.{n}.worker.0")] for n in (1, 2))
    assert [line.split()[0] for line in first] == ["prolog", "epilog"]
    assert [line.split()[0] for line in last] == ["prolog", "epilog"]
    site.is_used_again()


def test_a_failed_epilog_holds_the_node_and_not_the_job(site: Site) -> None:
    (site.folder / "epilog").write_text("a process still holds GPU 0\n")
    job = site.server.submit({"name": unique("epilog"), "command": "true"})
    assert site.server.wait(job["id"])["state"] == "Succeeded"
    site.is_held("epilog: a process still holds GPU 0")
    (site.folder / "epilog").write_text("")
    site.server.run("node", "uncordon", site.node()["name"], check=True)
    site.is_used_again()
