"""The files of devices other than GPUs, which the server names: whether they are there, and their numbers."""

from __future__ import annotations

import os
import stat
from typing import Dict, Iterable, Iterator, List, Sequence

from muster.agent.isolation.gpu_files import DeviceNumber


def problems(paths: Iterable[str]) -> Dict[str, str]:
    """What is wrong with each path that is not a device, or a folder of devices."""
    found = ((path, _problem(path)) for path in paths)
    return {path: words for path, words in found if words}


def others_numbers(own: Sequence[str], others: Sequence[str]) -> List[DeviceNumber]:
    """The numbers of the devices of others, without those that are the task's own under another name."""
    kept = {number for path in own for number in _numbers(path)}
    return sorted({number for path in others for number in _numbers(path)} - kept)


def _problem(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "does not exist"
    except OSError as error:
        return "cannot be used: {}".format(error.strerror)
    return "" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISDIR(mode) else "is not a device"


def _numbers(path: str) -> Iterator[DeviceNumber]:
    """A device file has one; a folder has those of the files in it."""
    try:
        files = [os.path.join(path, name) for name in os.listdir(path)] if os.path.isdir(path) else [path]
        for file in files:
            found = os.stat(file)
            if stat.S_ISCHR(found.st_mode):
                yield DeviceNumber(os.major(found.st_rdev), os.minor(found.st_rdev))
    except OSError:
        return  # it has gone since, and nobody can open it
