"""The Unix account that the tasks of a Muster user run under on this node.

It is the account that the cluster file names for the user; else the account of the same name, if it belongs to a
person; else a number from a range that no account uses. Numbers are kept in a file and never used again for somebody
else, because files of their first owner may still exist: a later user of the same name has another id, and gets another
number. A number needs no entry in /etc/passwd.
"""

from __future__ import annotations

import os
import pwd
import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from muster.agent.errors import START_FAILED, AgentError
from muster.agent.isolation import views
from muster.agent.isolation.orders import IsolationOrder
from muster.agent.system import disk

FIRST_OF_PEOPLE = 1000
_NOBODY = 65534
_WAYS = ("tasks", "inputs", "setups")
_REMEMBERED_S = 60.0


class Account(NamedTuple):
    uid: int
    gid: int
    groups: Tuple[int, ...]
    name: str
    home: Optional[str]
    """The home of the account; None for a number without an account, whose home is the task's working folder."""
    secret: str
    """A name that nobody else knows, for folders that only this account may find."""


class Accounts:
    def __init__(self, root: str) -> None:
        self._root = root
        self._is_open = False
        self._path = os.path.join(root, "accounts.json")
        self._kept: Dict[str, Dict[str, Any]] = disk.read_json(self._path) or {}
        self._found: Dict[Tuple[str, str, Optional[str]], Tuple[float, Account]] = {}

    def account_of(self, order: IsolationOrder) -> Account:
        """Raises AgentError if the cluster file names an account that does not exist here or must not be used."""
        self._open_way()
        key = (order.owner, order.owner_id, order.account)
        known = self._found.get(key)
        if known is not None and time.monotonic() - known[0] < _REMEMBERED_S:
            return known[1]
        account = self._look_up(order)
        self._found[key] = (time.monotonic(), account)
        return account

    def _open_way(self) -> None:
        """Let other accounts pass through our folders to what is theirs; nobody can list them. It is of no use where
        somebody further up lets nobody pass: then each task sees its own folder only, and ours stay closed."""
        if self._is_open or views.blocked_ancestor(self._root) is not None:
            return
        for folder in (self._root, *(os.path.join(self._root, name) for name in _WAYS)):
            os.chmod(folder, 0o711)
        self._is_open = True

    def _look_up(self, order: IsolationOrder) -> Account:
        entry = _entry(order.account or order.owner)
        if entry is not None and _is_usable(entry):
            groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
            home = entry.pw_dir if os.path.isdir(entry.pw_dir) else None
            secret = self._kept_for(order)["secret"]
            return Account(entry.pw_uid, entry.pw_gid, tuple(groups), entry.pw_name, home, secret)
        if order.account is not None:
            problem = "does not exist on this node" if entry is None else "belongs to the system"
            message = "the account {} of user {} {}".format(order.account, order.owner, problem)
            raise AgentError(START_FAILED, message)
        kept = self._kept_for(order)
        if kept.get("uid") is None:
            kept["uid"] = self._free_number(order)
            self._write()
        uid = int(kept["uid"])
        return Account(uid, uid, (uid,), order.owner, None, kept["secret"])

    def _kept_for(self, order: IsolationOrder) -> Dict[str, Any]:
        """What is kept for the owner. What an earlier version kept has no id, and belongs to the first who asks."""
        name, former = order.owner, "{}~{}".format(order.owner, order.owner_id)
        kept = self._kept.get(name) or {}
        if kept and order.owner_id in ("", kept.get("id")):
            return kept
        if former in self._kept:
            return self._kept[former]
        if kept.get("id"):
            self._kept["{}~{}".format(name, kept["id"])] = kept
            kept = {}
        kept = {"secret": os.urandom(16).hex(), "uid": None, **kept}
        if order.owner_id:
            kept["id"] = order.owner_id
        self._kept[name] = kept
        self._write()
        return kept

    def _free_number(self, order: IsolationOrder) -> int:
        """The number that the server prefers, which is the same on all nodes, or the next one that is free here."""
        taken = {kept.get("uid") for kept in self._kept.values()}
        candidates: List[int] = [*range(order.uid, order.last_uid + 1), *range(order.first_uid, order.uid)]
        for uid in candidates:
            if uid not in taken and not has_account(uid):
                return uid
        message = "all numbers from {} to {} are used by others".format(order.first_uid, order.last_uid)
        raise AgentError(START_FAILED, message)

    def _write(self) -> None:
        disk.write_json(self._path, self._kept)


def _entry(name: str) -> Optional[pwd.struct_passwd]:
    try:
        return pwd.getpwnam(name)
    except (KeyError, ValueError):
        return None


def _is_usable(entry: pwd.struct_passwd) -> bool:
    """Accounts of the system are not for tasks, and neither is our own."""
    return entry.pw_uid >= FIRST_OF_PEOPLE and entry.pw_uid not in (_NOBODY, os.getuid()) and entry.pw_gid != 0


def has_account(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
