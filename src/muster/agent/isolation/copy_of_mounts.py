"""A mount namespace of this process alone: a copy of the one that it had, in which nobody else sees what it mounts.

Copying takes a while, so that a process that waits for its work can do it ahead of time. What the system mounts and
unmounts later happens in the copy, too, if the system shares its mounts, as most do. Where it does not, a copy would be
out of date, and would keep in use what was unmounted, so it is given up as soon as anything changes.
"""

from __future__ import annotations

import os
import select

from muster.agent.isolation import system_calls
from muster.agent.isolation.system_calls import NEW_MOUNTS, RECURSIVE, SLAVE


def make() -> None:
    system_calls.unshare(NEW_MOUNTS)
    system_calls.mount("none", "/", None, RECURSIVE | SLAVE)


class EarlyCopy:
    def __init__(self) -> None:
        self.table = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        """It has a priority event (POLLPRI) when something was mounted or unmounted by others."""
        self._original = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        self._root = os.open("/", os.O_PATH | os.O_CLOEXEC)
        self._is_made = False

    def make(self) -> None:
        """Make the copy, unless there is one that is up to date."""
        if self._is_made and not self._has_changed():
            return
        self.give_up()
        self._has_changed()  # what has changed before is in the new copy
        make()
        self._is_made = True

    def give_up(self) -> None:
        """Return to the original."""
        if not self._is_made:
            return
        system_calls.enter_namespace(self._original, NEW_MOUNTS)
        os.fchdir(self._root)  # the kernel has set the root to that of the namespace, which may not be ours
        os.chroot(".")
        self._is_made = False

    def _has_changed(self) -> bool:
        """Whether the original has changed since this was asked last."""
        changes = select.poll()
        changes.register(self.table, select.POLLPRI)
        return bool(changes.poll(0))
