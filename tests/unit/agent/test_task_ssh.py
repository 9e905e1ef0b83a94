"""The copies of system files that a task with an SSH server sees."""

import pwd
from pathlib import Path

import pytest

from muster.agent.isolation.accounts import Account, has_account
from muster.agent.tasks import task_ssh

pytestmark = pytest.mark.fast
HOSTS = [("10.0.0.1", "worker-0"), ("10.0.0.2", "worker-1")]


def account(uid: int, home: str | None = None) -> Account:
    return Account(uid, uid, (uid,), "somebody", home, "secret")


def shown(folder: Path, path: str) -> list[str]:
    copies = dict(task_ssh.replaced(str(folder), is_namespaced=True))
    return Path(copies[path]).read_text().splitlines() if path in copies else []


def test_a_number_without_an_account_gets_an_entry_before_those_of_the_system(tmp_path: Path) -> None:
    uid = next(number for number in range(70_000, 80_000) if not has_account(number))
    task_ssh.prepare(str(tmp_path), (), account(uid))
    assert shown(tmp_path, "/etc/passwd") == [
        f"muster-{uid}:x:{uid}:{uid}::{tmp_path}/work:/bin/sh",
        *Path("/etc/passwd").read_text().splitlines(),
    ]
    assert (tmp_path / "ssh").stat().st_mode & 0o777 == 0o700


def test_an_account_without_a_shell_gets_one(tmp_path: Path) -> None:
    found = [one for one in pwd.getpwall() if one.pw_shell.endswith(("nologin", "false"))]
    if not found:
        pytest.skip("all accounts of this machine have shells")
    task_ssh.prepare(str(tmp_path), (), account(found[0].pw_uid, "/home/somebody"))
    assert shown(tmp_path, "/etc/passwd")[0].startswith(f"{found[0].pw_name}:x:{found[0].pw_uid}:")
    assert shown(tmp_path, "/etc/passwd")[0].endswith(":/home/somebody:/bin/sh")


def test_other_accounts_see_the_file_of_the_system(tmp_path: Path) -> None:
    task_ssh.prepare(str(tmp_path), (), account(0, "/root"))
    assert task_ssh.replaced(str(tmp_path), is_namespaced=True) == []


def test_names_of_peers_are_seen_in_namespaces_only(tmp_path: Path) -> None:
    task_ssh.prepare(str(tmp_path), HOSTS, None)
    assert shown(tmp_path, "/etc/hosts")[:2] == ["10.0.0.1 worker-0", "10.0.0.2 worker-1"]
    assert task_ssh.replaced(str(tmp_path), is_namespaced=False) == []
