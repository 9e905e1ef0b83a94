"""What a task with an SSH server has besides: a private folder, and files of /etc that know its account and its peers.

OpenSSH works for accounts that the system knows and that have a shell. But the number of a user without an account is
in no /etc/passwd, and some accounts have no shell. Such a task sees a copy of that file that begins with an entry for
its number. In a namespace it sees the names of its peers in a copy of /etc/hosts. The files of the node are never
changed.
"""

from __future__ import annotations

import os
import pwd
from typing import List, Optional, Sequence, Tuple

from muster.agent.isolation.accounts import Account, has_account
from muster.agent.system import disk
from muster.agent.tasks import task_folder

PASSWD, HOSTS = "/etc/passwd", "/etc/hosts"
_ENTRY = "{name}:x:{uid}:{gid}::{home}:/bin/sh\n"
_NO_SHELLS = ("nologin", "false")


def prepare(folder: str, hosts: Sequence[Tuple[str, str]], account: Optional[Account]) -> None:
    try:
        os.mkdir(os.path.join(folder, task_folder.SSH), 0o700)
    except FileExistsError:
        pass
    if account is not None and not _has_shell(account.uid):
        name = pwd.getpwuid(account.uid).pw_name if has_account(account.uid) else "muster-{}".format(account.uid)
        home = os.path.join(folder, task_folder.WORK) if account.home is None else account.home
        _write_copy(folder, PASSWD, _ENTRY.format(name=name, uid=account.uid, gid=account.gid, home=home))
    if hosts:
        _write_copy(folder, HOSTS, "".join("{} {}\n".format(address, name) for address, name in hosts))


def replaced(folder: str, *, is_namespaced: bool) -> List[Tuple[str, str]]:
    """The files of the system that the task sees replaced: path, and the copy that it sees instead. A task that is not
    namespaced resolves names as the node does."""
    found = [PASSWD, HOSTS] if is_namespaced else [PASSWD]
    return [(path, _copy(folder, path)) for path in found if os.path.exists(_copy(folder, path))]


def _has_shell(uid: int) -> bool:
    return has_account(uid) and os.path.basename(pwd.getpwuid(uid).pw_shell) not in _NO_SHELLS


def _write_copy(folder: str, path: str, first: str) -> None:
    """The first entry for a name or a number is the one that counts."""
    with open(path, "rb") as file:
        disk.write(_copy(folder, path), first.encode("utf-8") + file.read())
    os.chmod(_copy(folder, path), 0o644)


def _copy(folder: str, path: str) -> str:
    return os.path.join(folder, task_folder.SYSTEM_FILE.format(os.path.basename(path)))
