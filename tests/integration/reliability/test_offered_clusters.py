"""Two servers on one store, each with its own list of clusters: whichever of them acts, people are offered what the
server offers that they ask."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer, polls

from .conftest import unkindly_treated

Pair = tuple[MusterServer, MusterServer]
NUMBERS = count()


def write_offers(server: MusterServer, offers: object) -> None:
    server.home.mkdir(parents=True, exist_ok=True)
    (server.home / "config.yaml").write_text(f"offers: {offers}\n")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """The first acts, and the second passes requests on."""
    with ExitStack() as stack:
        url = f"sqlite:///{tmp_path / 'shared.db'}"
        first, second = (stack.enter_context(unkindly_treated(tmp_path / name, url)) for name in ("one", "two"))
        write_offers(first, "[local, blue]")
        write_offers(second, "[green]")
        folder = first.home / "clusters.d"
        for name in ("blue", "green"):
            (folder / name).mkdir(parents=True)
            (folder / name / "cluster.yaml").write_text(f"name: {name}\ncluster: local\n")
        first.start()
        second.start()
        yield first, second


def submit(server: MusterServer, token: str, cluster: str | None) -> tuple[int, Any]:
    spec = {"name": f"job-{next(NUMBERS)}", "command": "true", "hold": True}
    body = {"spec": spec if cluster is None else {**spec, "cluster": cluster}}
    return server.call("POST", "/api/v1/jobs", body, token=token)


def virtual(server: MusterServer, token: str) -> list[str]:
    return sorted(vc["name"] for vc in server.call("GET", "/api/v1/virtual-clusters", token=token)[1]["items"])


def physical(server: MusterServer, token: str) -> list[str]:
    return sorted(one["name"] for one in server.call("GET", "/api/v1/clusters", token=token)[1]["items"])


def refusal(server: MusterServer, token: str, cluster: str) -> str:
    status, answer = submit(server, token, cluster)
    assert status == 422, answer
    return str(answer).replace(cluster, "NAME")


def test_each_server_offers_its_own_clusters_whichever_acts(pair: Pair) -> None:
    first, second = pair
    token = first.token
    assert (physical(first, token), virtual(first, token)) == (["local"], ["blue", "green"])
    assert (physical(second, token), virtual(second, token)) == ([], ["green"])
    assert submit(first, token, "blue")[0] == 201
    assert submit(second, token, "green")[0] == 201
    missing = refusal(second, token, "nowhere")
    assert "known clusters: green" in missing
    for cluster in ("blue", "local"):
        assert refusal(second, token, cluster) == missing
    status, default = submit(second, token, None)
    assert (status, "green" in str(default)) == (422, True), default
    first.stop()
    for _ in polls(30):
        if second.call("GET", "/readyz", token=token)[0] == 200:
            break
    assert refusal(second, token, "local") == missing
    assert submit(second, token, "green")[0] == 201


def test_what_is_added_or_removed_counts_without_a_restart(pair: Pair) -> None:
    first, second = pair
    token = first.token
    write_offers(second, "[green, blue]")
    assert virtual(second, token) == ["blue", "green"]
    write_offers(second, "[green, {}]")
    assert virtual(second, token) == ["blue", "green"], "a mistake changed what is offered"
    listed = second.home / "listed"
    (listed / "green").mkdir(parents=True)
    (listed / "red.yaml").touch()
    write_offers(second, "listed")
    assert virtual(second, token) == ["green"]
    red = first.home / "clusters.d" / "red"
    red.mkdir()
    (red / "cluster.yaml").write_text("name: red\ncluster: local\n")
    for _ in polls(30):
        if virtual(second, token) == ["green", "red"]:
            break
    assert virtual(second, token) == ["green", "red"]
    (listed / "red.yaml").unlink()
    assert virtual(second, token) == ["green"]
    (red / "cluster.yaml").unlink()
    for _ in polls(30):
        if virtual(first, token) == ["blue", "green"]:
            break
    assert virtual(first, token) == ["blue", "green"]
