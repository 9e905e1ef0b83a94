"""A job with an image: its container has the storage where programs of paddlecloud look for it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.paddlecloud.conftest import Cloud, running_cloud
from tests.conformance.paddlecloud.go_client import GoClient
from tests.integration.api.calling import ok
from tests.parts.engines import IMAGE, EngineMissing
from tests.parts.podman import private_podman, remove
from tests.parts.server import polls

SMALL = {"memory": "64Mi", "psmemory": "64Mi", "jobPackage": "./pkg"}
ENTRY = (
    'echo "in $PWD with $TRAINER_PACKAGE"; cat train.txt; cat "/pfs/local/home/$PADDLE_CLOUD_USERNAME/data.txt";'
    ' cat /pfs/local/public/set.txt; echo kept > "/pfs/local/home/$PADDLE_CLOUD_USERNAME/result.txt";'
    " if touch /pfs/local/public/bad; then echo changed; else echo refused; fi"
)


@pytest.fixture(scope="module")
def contained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    base = Path(tempfile.mkdtemp(prefix="muster-podman-"))
    try:
        podman = private_podman(base)
    except EngineMissing as missing:
        shutil.rmtree(base, ignore_errors=True)
        pytest.skip(str(missing))
    with running_cloud(tmp_path_factory.mktemp("contained"), podman.env) as cloud:
        yield cloud
    remove(podman, base)


def ended(me: GoClient, name: str) -> Any:
    """The status of a job that has come to its end."""
    for _ in polls(90):
        items = me.get("/api/v1/jobs/").json()["items"]
        status = next(item["status"] for item in items if item["metadata"]["name"] == f"{name}-trainer")
        if status["completion_time"] or status["failed"]:
            return status
    raise AssertionError(f"{name} has not ended")


def test_the_storage_is_mounted_where_programs_look_for_it(contained: Cloud) -> None:
    me = contained.person()
    (contained.public / "set.txt").write_text("a public set\n")
    me.put_file(b"of the package\n", me.home("jobs", "boxed", "train.txt"))
    me.put_file(b"my data\n", me.home("data.txt"))
    assert me.submit(name="boxed", image=IMAGE, entry=ENTRY, **SMALL) == {"code": 200, "msg": ""}
    status = ended(me, "boxed")
    package = me.home("jobs", "boxed")
    printed = me.logs("boxed", 100).splitlines()
    assert status["succeeded"] == 1, printed
    assert printed[1:5] == [f"in {package} with {package}", "of the package", "my data", "a public set"]
    assert printed[-1] == "refused"
    assert me.get_file(me.home("result.txt")).content == b"kept\n"


def test_the_registry_of_a_job_is_a_secret_that_its_owner_has(contained: Cloud) -> None:
    me = contained.person()
    me.put_file(b"", me.home("jobs", "private", "train.txt"))
    job = {"name": "private", "image": IMAGE, "registry": "mine", "entry": "echo pulled", **SMALL}
    assert "pcloud-registry-mine" in me.submit(**job)["msg"]
    registry = {"name": "pcloud-registry-mine", "username": "u", "password": "p4ssword", "server": "localhost"}
    assert me.post("/api/v1/registry/", registry).json()["msg"] == ""
    assert me.submit(**job) == {"code": 200, "msg": ""}
    spec = ok(contained.own(me).get("/jobs/private/spec"))["spec"]
    assert spec["runtime"]["pullSecret"] == "pcloud-registry-mine"
    assert "p4ssword" not in str(spec)
    assert me.kill("private")["code"] == 200
