"""The cluster of the server's own machine: its file, and a private podman for its containers."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.parts.engines import EngineMissing
from tests.parts.podman import private_podman
from tests.parts.podman import remove as remove_podman
from tests.parts.server import MusterServer, polls, running_server


def configure_local(server: MusterServer, isolation: str, **more: Any) -> None:
    """Writes the file, and waits until the server follows it."""
    settings = {"backend": "local", "isolation": isolation, **more}
    (server.home / "clusters.d/local.yaml").write_text(json.dumps(settings))
    for _ in polls(30):
        _, page = server.call("GET", "/api/v1/clusters")
        _, listed = server.call("GET", "/api/v1/clusters/local/files/folders")
        folders = {folder["name"] for folder in listed["items"]}
        if page["items"][0]["isolation"]["mode"] == isolation and folders == {*more.get("folders", ())}:
            return
    raise AssertionError("the server does not follow the file of its cluster")


@contextmanager
def serving_containers(home: Path) -> Iterator[MusterServer]:
    """A server whose own machine has containers of an engine of root's. The test is skipped where there is none."""
    base = Path(tempfile.mkdtemp(prefix="muster-podman-"))
    try:
        podman = private_podman(base)
    except EngineMissing as missing:
        shutil.rmtree(base, ignore_errors=True)
        pytest.skip(str(missing))
    with running_server(home, podman.env) as server:
        yield server
    remove_podman(podman, base)
