"""Homes that somebody else made first: nothing is written to them, read from them, or run from them."""

import os
from pathlib import Path

import pytest

from tests.conformance.paddlecloud.conftest import Cloud
from tests.conformance.paddlecloud.go_client import GoClient

REFUSED = "is not a folder of"


@pytest.fixture
def bob(cloud: Cloud) -> GoClient:
    return cloud.person()


def squat(cloud: Cloud, mallory: GoClient, bob: GoClient) -> Path:
    """As `muster fs mkdir local:home/BOB` does, with mallory's own account."""
    assert mallory.put_file(b"mine", mallory.home("mine.txt")) == {"msg": ""}
    owner = (cloud.home / mallory.user).stat()
    place = cloud.home / bob.user
    place.mkdir()
    (place / "jobs/trap").mkdir(parents=True)
    (place / "jobs/trap/train.py").write_text("print('mallory was here')\n")
    for path in (place, *place.rglob("*")):
        path.chmod(0o777)
        os.chown(path, owner.st_uid, owner.st_gid)
    return place


def refusals(bob: GoClient) -> list[str]:
    path = bob.home("jobs", "trap", "train.py")
    return [
        bob.put_file(b"print(1)\n", path)["msg"],
        bob.touch(path, 1)["err"],
        bob.post_chunk(path, 0, b"1")["err"],
        bob.chunk_meta(path, 0, 2 << 20)["err"],
        bob.ls(bob.home("jobs"))["err"],
        bob.get_file(path).content.decode(),
        bob.post("/api/v1/publish/", {"path": path}).content.decode(),
        bob.submit(name="trap", jobPackage=bob.home("jobs", "trap"), entry="python3 train.py", memory="64Mi")["msg"],
    ]


def test_a_home_that_another_account_made_is_refused(cloud: Cloud, me: GoClient, bob: GoClient) -> None:
    place = squat(cloud, me, bob)
    said = refusals(bob)
    assert [REFUSED in one for one in said] == [True] * len(said), said
    assert "an admin removes it" in said[0]
    assert (place / "jobs/trap/train.py").read_text() == "print('mallory was here')\n"


def test_a_home_that_is_a_link_or_open_to_others_is_refused(cloud: Cloud, me: GoClient, bob: GoClient) -> None:
    assert bob.put_file(b"1", bob.home("a.txt")) == {"msg": ""}
    home = cloud.home / bob.user
    home.chmod(0o770)
    assert REFUSED in bob.put_file(b"2", bob.home("a.txt"))["msg"]
    home.chmod(0o755)
    assert bob.put_file(b"3", bob.home("a.txt")) == {"msg": ""}
    home.rename(cloud.home / f"{bob.user}-moved")
    home.symlink_to(f"{bob.user}-moved")
    assert REFUSED in bob.put_file(b"4", bob.home("a.txt"))["msg"]
