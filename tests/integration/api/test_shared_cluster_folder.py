"""Many nodes added and removed at once, by one server and by two that share their cluster files: nobody's change is
lost."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.api.calling import Caller, ok
from tests.parts.server import MusterServer, polls, running_server

MANY = 20
NAMES = [f"gpu{number}" for number in range(MANY)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared") / "clusters.d"


@pytest.fixture(scope="module")
def servers(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[MusterServer]]:
    folder.mkdir()
    homes = [tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")]
    env = {"MUSTER_CLUSTERS": str(folder)}
    with running_server(homes[0], env) as first, running_server(homes[1], env) as second:
        yield [first, second]


def in_file(folder: Path, cluster: str) -> set[str]:
    file = folder / f"{cluster}.added.yaml"
    return {node["name"] for node in yaml.safe_load(file.read_text())["nodes"]} if file.exists() else set()


def until_known(server: MusterServer, cluster: str, wanted: set[str]) -> None:
    found: set[str] = set()
    for _ in polls(90):
        items: list[Any] = ok(Caller(server, server.token).get("/nodes"))["items"]
        found = {node["name"] for node in items if node["cluster"] == cluster}
        if found == wanted:
            return
    raise AssertionError(f"the server has {sorted(found)}, not {sorted(wanted)}")


def at_once(calls: list[Any]) -> None:
    with ThreadPoolExecutor(len(calls)) as pool:
        list(pool.map(lambda call: call(), calls))


def _add(server: MusterServer, cluster: str, name: str) -> None:
    body = {"name": name, "ssh": "nobody@127.0.0.1:1", "password": f"of {name}"}
    ok(Caller(server, server.token).post(f"/clusters/{cluster}/nodes", body), 201)


def _remove(server: MusterServer, cluster: str, name: str) -> None:
    ok(Caller(server, server.token).send("DELETE", f"/nodes/{name}", params={"cluster": cluster}), 204)


@pytest.mark.parametrize(("cluster", "count"), [("one", 1), ("two", 2)])
def test_nodes_that_come_and_go_at_once_are_all_there_and_all_gone(
    servers: list[MusterServer], folder: Path, cluster: str, count: int
) -> None:
    turns = [servers[number % count] for number in range(MANY)]
    at_once([lambda s=server, n=name: _add(s, cluster, n) for server, name in zip(turns, NAMES, strict=True)])
    assert in_file(folder, cluster) == set(NAMES)
    assert {file.name for file in (folder / "secrets").iterdir()} == {f"{cluster}.{name}.password" for name in NAMES}
    for server in servers:
        until_known(server, cluster, set(NAMES))
    at_once([lambda s=server, n=name: _remove(s, cluster, n) for server, name in zip(turns, NAMES[:10], strict=False)])
    assert in_file(folder, cluster) == set(NAMES[10:])
    at_once([lambda s=server, n=name: _remove(s, cluster, n) for server, name in zip(turns, NAMES[10:], strict=False)])
    assert in_file(folder, cluster) == set()
    for server in servers:
        until_known(server, cluster, set())
    assert list((folder / "secrets").iterdir()) == []
