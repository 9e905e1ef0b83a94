"""Two plain users of a machine whose agent is root, and who share its folders: files of one are not the other's."""

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from muster.agent.files.folder_checks import MARKER, FolderChecks, FolderOrder
from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import new_user
from tests.parts.passable import let_all_pass, open_to_all
from tests.parts.server import polls, running_server

FILES = "/clusters/local/files"
SECRET = b"the weights of bob"
DENIED = {403, 404}


@dataclass(frozen=True)
class Site:
    admin: Caller
    alice: Caller
    bob: Caller
    data: Path

    @property
    def bobs_uid(self) -> int:
        return (self.data / "bob").stat().st_uid


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    """Not below the folder of pytest, which each of its processes closes to other accounts again."""
    with TemporaryDirectory(prefix="muster-shared-") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def site(base: Path) -> Iterator[Site]:
    if os.getuid() != 0:
        pytest.skip("only an agent that is root acts under other accounts")
    data, home = base / "data", base / "home"
    (data / "envs").mkdir(parents=True)
    (home / "clusters.d").mkdir(parents=True)
    home.chmod(0o755)
    let_all_pass(home)
    for folder in (data, data / "envs"):
        open_to_all(folder)
    document = {"name": "local", "backend": "local", "folders": {"data": str(data), "envs": str(data / "envs")}}
    (home / "clusters.d" / "local.yaml").write_text(json.dumps(document))
    with running_server(home) as server:
        admin = Caller(server, server.token, "admin")
        found = Site(admin, new_user(admin, "alice"), new_user(admin, "bob"), data)
        ok(found.bob.post(f"{FILES}/mkdir", {"path": "data/bob"}), 201)
        ok(put(found.bob, "data/bob/secret", SECRET))
        ok(put(found.bob, "data/closed", SECRET))
        (data / "bob").chmod(0o700)
        (data / "bob" / "secret").chmod(0o600)
        (data / "closed").chmod(0o600)
        yield found


def put(who: Caller, path: str, content: bytes, **more: Any) -> httpx.Response:
    query = {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest(), **more}
    return who.send("PUT", f"{FILES}/content", params=query, content=content)


def ask(call: str, path: str) -> Callable[[Caller], httpx.Response]:
    return lambda who: who.get(f"{FILES}{call}", params={"path": path})


def change(call: str, **body: Any) -> Callable[[Caller], httpx.Response]:
    return lambda who: who.post(f"{FILES}{call}", body)


def remove(path: str) -> Callable[[Caller], httpx.Response]:
    return lambda who: who.send("DELETE", FILES, params={"path": path, "recursive": True})


READING = {
    "list a closed folder": ask("", "data/bob"),
    "stat in a closed folder": ask("/stat", "data/bob/secret"),
    "read in a closed folder": ask("/content", "data/bob/secret"),
    "read a closed file": ask("/content", "data/closed"),
    "hash a closed file": ask("/digest", "data/closed"),
    "hash in a closed folder": ask("/digest", "data/bob/secret"),
    "copy a closed file": change("/copy", path="data/closed", to="data/stolen"),
    "copy a closed folder": change("/copy", path="data/bob", to="data/stolen-folder", recursive=True),
    "read through a link": ask("/content", "data/link"),
}
CHANGING = {
    "write in a closed folder": lambda who: put(who, "data/bob/new", b"x"),
    "overwrite in a closed folder": lambda who: put(who, "data/bob/secret", b"x", overwrite=True),
    "make a folder in a closed folder": change("/mkdir", path="data/bob/folder"),
    "move out of a closed folder": change("/move", path="data/bob/secret", to="data/taken"),
    "move into a closed folder": change("/move", path="data/alices", to="data/bob/alices"),
    "copy into a closed folder": change("/copy", path="data/alices", to="data/bob/alices"),
    "remove in a closed folder": remove("data/bob/secret"),
    "remove a closed folder": remove("data/bob"),
}


@pytest.mark.parametrize("attack", [*READING, *CHANGING])
def test_files_that_belong_to_another_user_are_out_of_reach(site: Site, attack: str) -> None:
    link, alices = site.data / "link", site.data / "alices"
    if not link.is_symlink():
        link.symlink_to(site.data / "bob" / "secret")
        ok(put(site.alice, "data/alices", b"hers"))
    answer = {**READING, **CHANGING}[attack](site.alice)
    assert answer.status_code in DENIED, answer.text
    assert SECRET not in answer.content
    assert alices.read_bytes() == b"hers"
    assert (site.data / "bob" / "secret").read_bytes() == SECRET == (site.data / "closed").read_bytes()
    assert sorted(path.name for path in (site.data / "bob").iterdir()) == ["secret"]


def test_a_closed_folder_is_skipped_when_its_parent_is_copied_or_counted(site: Site) -> None:
    ok(site.alice.post(f"{FILES}/mkdir", {"path": "data/tree"}), 201)
    (site.data / "tree").chmod(0o777)
    ok(site.bob.post(f"{FILES}/mkdir", {"path": "data/tree/closed"}), 201)
    ok(put(site.bob, "data/tree/closed/secret", SECRET))
    (site.data / "tree" / "closed").chmod(0o700)
    body = {"path": "data/tree", "to": "data/copy", "recursive": True}
    assert ok(site.alice.post(f"{FILES}/copy", body))["skipped"] == 1
    assert list((site.data / "copy").iterdir()) == []
    assert ok(site.alice.get(f"{FILES}/usage", params={"path": "data/tree"}))["bytes"] == 0


def test_new_files_belong_to_the_account_of_the_tasks_of_their_user(site: Site) -> None:
    ok(put(site.bob, "data/by-upload", b"x"))
    ok(site.bob.post(f"{FILES}/copy", {"path": "data/by-upload", "to": "data/by-copy"}))
    job = site.bob.submit({"name": "writes", "command": f"touch {site.data}/by-task"})
    assert site.admin.server.wait(job["id"])["state"] == "Succeeded"
    owners = {name: (site.data / name).stat().st_uid for name in ("by-upload", "by-copy", "by-task")}
    assert set(owners.values()) == {site.bobs_uid}
    assert site.bobs_uid != 0


def test_a_new_user_with_a_removed_users_name_gets_another_number_and_none_of_the_files(site: Site) -> None:
    former = new_user(site.admin, "carol")
    ok(put(former, "data/carols", SECRET))
    carols = site.data / "carols"
    carols.chmod(0o600)
    ok(site.admin.send("DELETE", f"/users/{former.name}"), 204)
    ok(site.admin.post("/users", {"name": former.name}), 201)
    token = ok(site.admin.post("/tokens", {"name": "tests", "user": former.name}), 201)
    later = Caller(site.admin.server, token["secret"], former.name)
    assert later.get(f"{FILES}/content", params={"path": "data/carols"}).status_code in DENIED
    job = later.submit({"name": "reads", "command": f"touch {site.data}/by-later; cat {carols}"})
    assert site.admin.server.wait(job["id"])["state"] == "Failed"
    assert (site.data / "by-later").stat().st_uid not in (0, carols.stat().st_uid)


def test_users_and_admins_still_reach_what_they_may(site: Site) -> None:
    assert site.bob.get(f"{FILES}/content", params={"path": "data/bob/secret"}).content == SECRET
    assert site.admin.get(f"{FILES}/content", params={"path": "data/bob/secret"}).content == SECRET


def test_the_test_of_an_environment_runs_no_program_of_a_user_as_root(site: Site) -> None:
    """Anybody can make something that looks like an environment."""
    trap, told = site.data / "envs" / "trap", site.data / "told"
    program = f"#!/bin/sh\\nid -u >> {told}\\nid -G >> {told}\\n"
    made = (
        f"mkdir -p {trap}/bin; touch {trap}/pyvenv.cfg {told}; chmod 666 {told}; printf '{program}' > {trap}/bin/python"
    )
    job = site.alice.submit({"name": "trap", "command": f"{made}; chmod 755 {trap}/bin/python"})
    assert site.admin.server.wait(job["id"])["state"] == "Succeeded"
    for who in (site.alice, site.bob):
        ok(who.post("/environments:test", {"name": "envs/trap", "cluster": "local"}))
    numbers = {number for line in told.read_text().splitlines() for number in line.split()}
    assert {str(trap.stat().st_uid), str(site.bobs_uid)} <= numbers
    assert "0" not in numbers


def test_environments_in_a_closed_folder_are_not_listed_to_others(site: Site) -> None:
    hidden = site.data / "closed-team" / "venvs" / "hidden"
    made = f"mkdir -p {hidden}/bin; touch {hidden}/pyvenv.cfg; ln -s /usr/bin/env {hidden}/bin/python"
    job = site.bob.submit({"name": "hides", "command": f"{made}; chmod 700 {site.data}/closed-team"})
    assert site.admin.server.wait(job["id"])["state"] == "Succeeded"
    nested = site.data / "envs" / "venvs"
    nested.symlink_to(hidden.parent)
    assert "hidden" not in site.alice.get("/environments", params={"cluster": "local"}).text
    assert "hidden" in site.bob.get("/environments", params={"cluster": "local"}).text


def test_everything_in_an_open_home_folder_is_closed(site: Site, base: Path) -> None:
    job = site.bob.submit({"name": "makes", "command": "echo bob > result", "outputs": ["result"]})
    assert site.admin.server.wait(job["id"])["state"] == "Succeeded"
    kept = [path for path in (base / "home" / "logs" / job["id"]).rglob("*") if path.is_file()]
    assert {(path.stat().st_uid, path.stat().st_nlink) for path in kept} == {(0, 1)}, "bob's processes cannot change it"
    outputs = f"/jobs/{job['id']}/outputs"
    assert any(ok(site.bob.get(outputs))["items"] for _ in polls(30))
    home = base / "home"
    assert home.stat().st_mode & 0o005
    made_by_test = {"stderr.log"}
    readable = {path.name for path in home.iterdir() if path.lstat().st_mode & 0o066} - made_by_test
    assert readable == set()
    script = f"find {home} -type f -readable ! -name stderr.log; cat {home}/outputs/*/*/*; true"
    stolen = site.alice.submit({"name": "steals", "command": script})
    site.admin.server.wait(stolen["id"])
    log = site.alice.get(f"/jobs/{stolen['id']}/logs/raw", params={"task": "worker-0"}).text
    assert str(home / "outputs") + "/" not in log.replace(f"{home}/outputs/*/*/*", "")
    warning = site.admin.server.run("doctor").stdout
    assert "others can look into" in warning


@pytest.mark.parametrize("trick", ["ln -s loop", "ln -s /etc/hostname", "mkdir", "mkfifo"])
def test_no_user_takes_a_shared_folder_away_by_its_marker(tmp_path: Path, trick: str) -> None:
    marker = tmp_path / MARKER
    subprocess.run([*trick.split(), str(marker)], check=True)
    order = FolderOrder("data", str(tmp_path), "muster 1.000 own", writable=True, program="")
    found = FolderChecks().check([order])["data"]
    assert (found.get("problem"), found["marker"]) == (None, "muster 1.000 own")
    assert FolderChecks().check([order])["data"]["marker"] == "muster 1.000 own"
