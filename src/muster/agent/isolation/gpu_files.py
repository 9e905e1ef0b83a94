"""The device files of GPUs: which ones a task needs, and which ones belong to GPUs that it was not given."""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from typing import Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

_FOLDER = "/dev"
_NVIDIA = "nvidia"
_WITHOUT_NUMBERS = ("kfd", "dri", "infiniband")


class DeviceNumber(NamedTuple):
    """How the kernel identifies a character device, whatever its file is called."""

    major: int
    minor: int


def gpu_files(indexes: Sequence[int]) -> List[str]:
    """The device files of these GPUs and those that all GPUs need. Without a GPU there are none."""
    if not indexes:
        return []
    names = os.listdir(_FOLDER)
    own = _own_names(indexes)
    shared = [name for name in names if name.startswith(_NVIDIA) and not _is_numbered(name)]
    others = [name for name in _WITHOUT_NUMBERS if name in names]
    return [os.path.join(_FOLDER, name) for name in sorted([*(own & set(names)), *shared, *others])]


def other_gpus(indexes: Sequence[int]) -> List[DeviceNumber]:
    """The devices of all NVIDIA GPUs of this machine but these."""
    own = _own_names(indexes)
    return [number for name, number in _numbered() if name not in own]


def _own_names(indexes: Sequence[int]) -> Set[str]:
    minors = _minors()
    return {"{}{}".format(_NVIDIA, minors.get(index, index)) for index in indexes}


def _numbered() -> Iterator[Tuple[str, DeviceNumber]]:
    for name in sorted(os.listdir(_FOLDER)):
        if not _is_numbered(name):
            continue
        found = os.lstat(os.path.join(_FOLDER, name))
        if stat.S_ISCHR(found.st_mode):
            yield name, DeviceNumber(os.major(found.st_rdev), os.minor(found.st_rdev))


def _is_numbered(name: str) -> bool:
    return name.startswith(_NVIDIA) and name[len(_NVIDIA) :].isdigit()


@lru_cache(maxsize=1)  # it takes the driver a while to answer, and the answer does not change while the agent runs
def _minors() -> Dict[int, int]:
    """The number of the device file of each GPU, which are counted in the order of their bus addresses."""
    folder = "/proc/driver/nvidia/gpus"
    found: Dict[int, int] = {}
    try:
        for index, address in enumerate(sorted(os.listdir(folder))):
            with open(os.path.join(folder, address, "information"), encoding="utf-8") as file:
                lines = [line.split(":", 1) for line in file if line.startswith("Device Minor")]
            found[index] = int(lines[0][1])
    except (OSError, ValueError, IndexError):
        return {}
    return found
