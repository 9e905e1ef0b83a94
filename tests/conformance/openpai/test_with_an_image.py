"""A job file whose image is in a private registry, run in a container by a real server."""

import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.engines import EngineMissing, EnginePart, pack_image
from tests.parts.podman import private_podman, remove
from tests.parts.registry import PASSWORD, USER, Registry, private_registry
from tests.parts.server import MusterServer, running_server

JOB = """\
protocolVersion: 2
name: pai-private-image
type: job
prerequisites:
  - name: img
    type: dockerimage
    uri: {image}
    auth: {{username: {user}, password: <% $secrets.registry %>, registryuri: "http://{address}"}}
secrets: {{registry: {password}, token: correct-horse}}
taskRoles:
  worker:
    dockerImage: img
    resourcePerInstance: {{cpu: 0.1, memoryMB: 128, gpu: 0}}
    commands:
      - echo "at $(pwd) $PAI_WORK_DIR"
      - cat train.txt
      - echo "<% $secrets.token %>" > /tmp/token
      - test "$(cat /tmp/token)" = "$(echo correct)-horse"
      - cd /
      - echo "port $PAI_PORT_LIST_worker_0_http"
"""


@pytest.fixture
def podman() -> Iterator[EnginePart]:
    base = Path(tempfile.mkdtemp(prefix="muster-podman-"))
    try:
        found = private_podman(base)
    except EngineMissing as missing:
        shutil.rmtree(base, ignore_errors=True)
        pytest.skip(str(missing))
    yield found
    remove(found, base)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    """Its image has bash, which OpenPAI needs, and a file where it starts."""
    archive = tmp_path / "image.tar"
    pack_image(archive)
    bash = shutil.which("bash") or "/bin/bash"
    linked = subprocess.run(["ldd", bash], capture_output=True, text=True, check=True).stdout
    (tmp_path / "train.txt").write_text("code of the image\n")
    with tarfile.open(archive, "a") as image:
        known = set(image.getnames())
        image.add(Path(bash).resolve(), "bin/bash")
        image.add(tmp_path / "train.txt", "etc/train.txt")
        for path in re.findall(r"(/\S+) \(0x", linked):
            if path.lstrip("/") not in known:
                image.add(Path(path).resolve(), path.lstrip("/"))
    with private_registry(archive) as found:
        yield found


@pytest.fixture
def server(tmp_path: Path, podman: EnginePart, registry: Registry) -> Iterator[MusterServer]:
    settings = tmp_path / "registries.conf"
    settings.write_text(f'[[registry]]\nlocation = "{registry.address}"\ninsecure = true\n')
    with running_server(tmp_path / "home", {**podman.env, "CONTAINERS_REGISTRIES_CONF": str(settings)}) as found:
        yield found


def test_job_starts_where_its_private_image_says_with_its_secrets(
    server: MusterServer, registry: Registry, tmp_path: Path
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB.format(image=registry.image, user=USER, password=PASSWORD, address=registry.address))

    ran = server.run("submit", str(file), "--wait", "-o", "json")

    assert ran.stdout, ran.stderr
    job = json.loads(ran.stdout)
    log = server.run("logs", job["id"]).stdout
    assert job["state"] == "Succeeded", f"{log}\n{server.run('explain', job['id']).stdout}"
    assert re.fullmatch(r"at /etc /etc\ncode of the image\nport \d+\n", log), log
    values = (PASSWORD, "correct-horse", registry.login.decode())
    files = [path.read_bytes() for path in server.home.rglob("*") if path.is_file()]
    assert not [value for value in values for content in files if value.encode() in content]
