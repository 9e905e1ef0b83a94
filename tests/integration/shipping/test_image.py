"""The image recipe: it is built without a registry on a base made here, and the image serves and runs a job."""

import json
import os
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.parts.engines import EngineMissing, EnginePart
from tests.parts.podman import private_podman, remove
from tests.parts.python_image import pack_python_image, system_python
from tests.parts.server import polls
from tests.parts.wheels import WheelsMissing, locked_wheels

pytestmark = [pytest.mark.shipping, pytest.mark.timeout(1500)]
ROOT = Path(__file__).parents[3]
BASE = "localhost/muster-base:1"
BUILT = "localhost/muster:1"
MOST_MB = 200
"""How much the image may add to its base."""


def call(podman: EnginePart, *arguments: str) -> str:
    done = subprocess.run(
        [podman.program, *arguments],
        env={**os.environ, **podman.env},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, f"podman {' '.join(arguments)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def podman() -> Iterator[EnginePart]:
    """With the image built. Skips with the reason where containers cannot run."""
    base = Path(tempfile.mkdtemp(prefix="muster-podman-"))
    try:
        wheels = locked_wheels(system_python())
        engine = private_podman(base)
        pack_python_image(base / "base.tar")
        call(engine, "import", "--quiet", str(base / "base.tar"), BASE)
        (base / "base.tar").unlink()
        build = ("build", "--quiet", "--format", "docker", "--isolation", "chroot", "--layers=false", "--pull=never")
        options = ("--volume", f"{wheels}:/wheels:ro", "--build-arg", f"BASE={BASE}")
        offline = ("--build-arg", "PIP_OPTIONS=--no-index --find-links=/wheels")
        call(
            engine, *build, *options, *offline, "--tag", BUILT, "--file", str(ROOT / "deploy/Containerfile"), str(ROOT)
        )
        yield engine
    except (EngineMissing, WheelsMissing) as missing:
        pytest.skip(str(missing))
    finally:
        remove(EnginePart("podman", "podman", _storage(base)), base)


def _storage(base: Path) -> dict[str, str]:
    return {"CONTAINERS_STORAGE_CONF": f"{base}/storage.conf", "CONTAINERS_CONF": f"{base}/containers.conf"}


def test_the_image_is_small_runs_without_root_and_keeps_its_data_in_a_volume(podman: EnginePart) -> None:
    built, base = (json.loads(call(podman, "image", "inspect", name))[0] for name in (BUILT, BASE))
    assert built["Config"]["User"] == "10001:10001"
    assert built["Config"]["Volumes"] == {"/var/lib/muster": {}}
    assert "/healthz" in str(built["Healthcheck"]["Test"])
    assert built["Size"] - base["Size"] < MOST_MB * 10**6


def test_the_image_has_the_operator_which_needs_nothing_to_write_to(podman: EnginePart) -> None:
    """As `deploy/v1/operator.yaml` runs it: with that command, without a file system that it could write to."""
    (manager,) = next(
        one["spec"]["template"]["spec"]["containers"]
        for one in yaml.safe_load_all((ROOT / "deploy/v1/operator.yaml").read_text())
        if one["kind"] == "Deployment"
    )
    program, *arguments = manager["command"]
    run = ("run", "--rm", "--network", "host", "--log-driver", "none", "--read-only", "--read-only-tmpfs=false")
    assert "--namespace" in call(podman, *run, "--entrypoint", program, BUILT, *arguments, "--help")


def test_the_image_serves_and_runs_a_job(podman: EnginePart) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = (
        "--network",
        "host",
        "--log-driver",
        "none",
        "--env",
        f"MUSTER_PORT={port}",
        "--env",
        "MUSTER_HOST=127.0.0.1",
    )
    call(podman, "run", "--detach", "--name", "server", "--no-healthcheck", *settings, BUILT)
    assert any(_is_healthy(port) for _ in polls(60)), call(podman, "ps", "--all")
    assert call(podman, "exec", "server", "id", "-u").strip() == "10001"
    ran = call(podman, "exec", "--workdir", "/tmp", "server", "muster", "run", "--", "echo", "in a container")
    assert "in a container" in ran
    check = json.loads(call(podman, "image", "inspect", BUILT))[0]["Healthcheck"]["Test"]
    call(podman, "exec", "server", *check[1:])
    call(podman, "rm", "--force", "--time", "10", "server")


def _is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
