"""What a task finds at the root of its file system, as programs for paddlecloud expect it.

Such a program reads its number and the number of trainers from `/trainer_id` and `/trainer_count`, and writes the names
of its input files to `/train.list` and `/test.list`. A place in which the job mounts something is the job's own.
"""

from collections.abc import Iterable

from muster.domain.launch_requests import RootFiles
from muster.domain.specs import Framework, JobSpec
from muster.launch.mount_targets import plain_path

TRAINER_ID, TRAINER_COUNT = "trainer_id", "trainer_count"
_LISTS = ("train.list", "test.list")


def root_files(spec: JobSpec) -> RootFiles:
    """The lists are empty files where the root belongs to somebody else, and in a container they would hide those of
    the image. So only a job for PaddlePaddle has them there, whose contract they are."""
    taken = {plain_path(mount.target).split("/")[1] for mount in spec.mounts if mount.target.startswith("/")}
    return RootFiles(
        read=_free((TRAINER_ID, TRAINER_COUNT), taken),
        written=_free(_LISTS, taken),
        covers_image=spec.framework is Framework.PADDLE,
    )


def _free(names: Iterable[str], taken: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in taken)
