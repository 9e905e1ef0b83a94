"""Nodes as a server with pretend cards shows them."""

from collections.abc import Iterator

import pytest

from tests.parts.server import MusterServer, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("nodes")
    with running_server(home, {"MUSTER_FAKE_GPUS": "2xA100"}) as running:
        yield running


def test_a_shared_card_shows_how_much_of_it_is_given(server: MusterServer) -> None:
    half = {"cpu": "10m", "gpu": 0.5}
    job = server.submit({"name": "half", "command": "sleep 60", "resources": half, "grace": "0s"})
    server.wait_for_state(job["id"], "Running")
    for answer in (server.json("get", "nodes")["items"], server.json("top")["nodes"]):
        assert [(gpu["job"], gpu["used"]) for gpu in answer[0]["gpus"]] == [("half", 0.5), (None, 0)]
    server.run("kill", "half", check=True)
    server.wait(job["id"])
