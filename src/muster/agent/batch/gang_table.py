"""All gangs of a login node, in memory: so that whoever asks again gets only what has changed since.

The files in the spool are what counts. This is a view of them, which is read anew for a gang whenever its files change.
"""

from __future__ import annotations

import secrets
import threading
from typing import Any, Dict, FrozenSet, Optional, Sequence

from muster.agent.batch.entry import without_entry
from muster.agent.batch.spool import BEGIN, END, Gang, Spool


class GangTable:
    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._name = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._version = 0
        self._gangs: Dict[str, Dict[str, Any]] = {}
        self._changed: Dict[str, int] = {}

    def load(self) -> None:
        for gang in self._spool.gangs():
            self.reread(gang.key)

    def reread(self, key: str, tasks: Optional[Sequence[str]] = None) -> None:
        """Read the files of a gang again that other machines write: those of these tasks, or of all."""
        gang = self._spool.gang(key)
        gang.look((gang.facts() or {}).get("tasks", ()) if tasks is None else tasks)
        self.refresh(key)

    def refresh(self, key: str) -> None:
        """Read the files of a gang again, which may be gone, after this machine has changed them."""
        with self._lock:
            found = _described(self._spool.gang(key))
            if found is None and key not in self._gangs:
                return
            if found is None:
                del self._gangs[key]
            else:
                self._gangs[key] = found
            self._version += 1
            self._changed[key] = self._version

    def since(self, table: str, version: int) -> Dict[str, Any]:
        """What has changed since that version, and all of it for somebody who knows another table."""
        with self._lock:
            is_all = table != self._name
            keys = self._gangs if is_all else [key for key, at in self._changed.items() if at > version]
            gangs = [self._gangs[key] for key in keys if key in self._gangs]
            gone = [] if is_all else [key for key in keys if key not in self._gangs]
            return {"table": self._name, "version": self._version, "is_all": is_all, "gangs": gangs, "gone": gone}

    def digests(self) -> FrozenSet[str]:
        """The archives that gangs need."""
        with self._lock:
            return frozenset(digest for gang in self._gangs.values() for digest in gang["digests"])


def _described(gang: Gang) -> Optional[Dict[str, Any]]:
    facts, job = gang.facts(), gang.job()
    if facts is None or job is None:
        return None
    orders = gang.orders()
    tasks = [
        {
            "task": uid,
            "begin": without_entry(gang.mark(uid, BEGIN)),
            "end": gang.mark(uid, END),
            "ordered": uid in orders,
        }
        for uid in facts["tasks"]
    ]
    named = {name: facts[name] for name in ("name", "user", "amounts", "digests")}
    return {"key": gang.key, "job": job, "tasks": tasks, "relay": facts.get("relay") or "", **named}
