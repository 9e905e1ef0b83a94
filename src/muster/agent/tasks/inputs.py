"""Puts a task's inputs before it: each content is unpacked once on this node (`input_cache`), read-only, and linked
into the working folders of all tasks that read it. Nothing is written through a link, and no link is made outside the
working folder.
"""

from __future__ import annotations

import os
import stat
from typing import Callable

from muster.agent.tasks import symlinks
from muster.agent.tasks.launch_request import InputRef
from muster.agent.tasks.packages import PackageError

_ANY_X = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
_READABLE, _READABLE_X = 0o444, 0o555
_NOT_WRITABLE = ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)


def place(reference: InputRef, content: str, work: str) -> None:
    """`content` is the folder of the unpacked archive, `work` the task's working folder. Doing it twice is harmless."""
    os.utime(content)
    source = os.path.join(content, reference.member) if reference.member else content
    if reference.member and (os.path.islink(source) or not os.path.isfile(source)):
        raise PackageError("the input {} has no file {!r}".format(reference.digest, reference.member))
    try:
        symlinks.make_one(work, reference.target, source, "the input")
    except (FileExistsError, NotADirectoryError) as error:
        raise PackageError(str(error.strerror)) from None


def make_readable_by_all(folder: str) -> None:
    """Makes a folder readable for a task under another account, to whom only the name of the folder is known."""
    _each_below(folder, lambda path, mode: os.chmod(path, _READABLE_X if mode & _ANY_X else _READABLE))
    os.chmod(folder, _READABLE_X)


def make_read_only(folder: str) -> None:
    _each_below(folder, lambda path, mode: os.chmod(path, mode & _NOT_WRITABLE))


def _each_below(folder: str, change: Callable[[str, int], None]) -> None:
    """Folders after what is in them, so that they can still be entered; links are left alone."""
    for parent, names, files in os.walk(folder, topdown=False):
        for name in files + names:
            path = os.path.join(parent, name)
            mode = os.stat(path, follow_symlinks=False).st_mode
            if not stat.S_ISLNK(mode):
                change(path, stat.S_IMODE(mode))
