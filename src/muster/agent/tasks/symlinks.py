"""Links in a task's working folder: to folders of the node that are mounted without a container, and to inputs.

A link in the package must not lead one of ours elsewhere, and nothing of the package is replaced.
"""

from __future__ import annotations

import errno
import os
from typing import Mapping


def make(work: str, links: Mapping[str, str]) -> None:
    """`links` are names in the working folder, with `/` between folders, and where they lead. Where that is, is not
    looked at: a file server that is away must not hold us up."""
    for target, source in links.items():
        make_one(work, target, source, "the mount")


def make_one(work: str, target: str, source: str, what: str) -> None:
    """Making it twice is harmless. `what` is how an OSError names it."""
    path = _place_in(work, target, what)
    try:
        os.symlink(source, path)
    except FileExistsError:
        if not os.path.islink(path) or os.readlink(path) != source:
            problem = "the target {!r} of {} is in the package already; choose another".format(target, what)
            raise FileExistsError(errno.EEXIST, problem) from None


def _place_in(work: str, target: str, what: str) -> str:
    *parents, name = target.split("/")
    folder = os.path.realpath(work)
    for part in parents:
        folder = os.path.join(folder, part)
        try:
            os.mkdir(folder, 0o755)
        except FileExistsError:
            if os.path.islink(folder) or not os.path.isdir(folder):
                problem = "the target {!r} of {} lies below something that is no folder".format(target, what)
                raise NotADirectoryError(errno.ENOTDIR, problem) from None
    return os.path.join(folder, name)
