"""The unpacked inputs that the tasks of this node share, and whether they are still as they were unpacked.

They are read-only to tasks. A task that runs under the account of the agent can take that away again, so a content is
compared with its record before another task gets it. No file is read for that: whatever changes a file also sets its
change time (ctime) to the present, and nobody can set that back. A content that differs is replaced.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from itertools import islice
from typing import Callable, List, NamedTuple, Optional, Tuple

from muster.agent.system import disk
from muster.agent.system.removal import remove_tree
from muster.agent.tasks.packages import unpack

_LOCKS = 64
_TICK_S = 0.02
"""More than the resolution of change times, which is the tick of the kernel's clock."""

Finish = Callable[[str], None]


class CachedInput(NamedTuple):
    digest: str
    archive: str
    content: str
    """The folder that the archive is unpacked to."""
    record: str
    """The file that says what the content was like, out of the reach of confined tasks."""


class InputCache:
    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def provide(self, cached: CachedInput, finish: Finish, *, is_used: bool) -> None:
        """Make the content what is in the archive, if it is not so already. `is_used` says whether running tasks read
        the content: then one that has to be replaced stays on the disk under another name, as they may have it open."""
        with self._locks[hash(cached.content) % _LOCKS]:
            if not os.path.isdir(cached.content):
                unpack(cached.archive, cached.digest, cached.content, finish=finish)
            elif not self._is_intact(cached):
                _replace(cached, finish, is_used)
            else:
                return
            _write_record(cached)

    def _is_intact(self, cached: CachedInput) -> bool:
        record = disk.read_json(cached.record)
        if record is None:
            return False  # the agent was killed before it could write it
        entries = record.get("entries")
        if isinstance(entries, int) and fingerprint(cached.content, entries) == (entries, record.get("fingerprint")):
            return True
        self._warn("the input {} was changed on this node and is unpacked again".format(cached.digest))
        return False


def fingerprint(folder: str, most: int) -> Optional[Tuple[int, str]]:
    """The number of entries below the folder, and a digest of their names, sizes, modes and times; None if there are
    more than `most` or some cannot be looked at. The times of the folder itself change whenever it is used."""
    found, entries, pending = hashlib.sha256(), 0, [folder]
    try:
        found.update(oct(os.stat(folder, follow_symlinks=False).st_mode).encode("ascii"))
        while pending:
            for entry in _listed(pending.pop(), most - entries + 1):
                entries += 1
                if entries > most:
                    return None
                info = entry.stat(follow_symlinks=False)
                facts = (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
                found.update(os.fsencode(entry.path[len(folder) :]) + "\0{}\0".format(facts).encode("ascii"))
                if stat.S_ISDIR(info.st_mode):
                    pending.append(entry.path)
    except OSError:
        return None
    return entries, found.hexdigest()


def _listed(folder: str, most: int) -> List[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(islice(entries, most), key=lambda entry: entry.name)


def _replace(cached: CachedInput, finish: Finish, is_used: bool) -> None:
    """There is a content at every moment but one, for the tasks that read it now."""
    fresh, old = cached.content + ".fresh", "{}.{}.old".format(cached.content, os.urandom(4).hex())
    remove_tree(fresh)
    unpack(cached.archive, cached.digest, fresh, finish=finish)
    os.rename(cached.content, old)
    os.rename(fresh, cached.content)
    if not is_used:
        remove_tree(old)


def _write_record(cached: CachedInput) -> None:
    found = fingerprint(cached.content, 1 << 62)
    if found is None:
        return
    disk.write_json(cached.record, {"entries": found[0], "fingerprint": found[1]})
    # A change in the same tick as the unpacking would have the same change time.
    time.sleep(_TICK_S)
