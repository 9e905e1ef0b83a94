"""The file in which a task reports its metrics, and the module by which Python programs do it. The task may have
replaced the file by anything."""

from __future__ import annotations

import io
import os
import pkgutil
import stat
import zipfile
from typing import Any, Dict, Mapping

from muster.agent.errors import SYSTEM, AgentError
from muster.agent.files.pieces import read_piece
from muster.agent.tasks.task_folder import METRICS

MODULE = "muster.zip"
"""Python reads an archive as it reads a folder, but need not list it: a task under an account of its own may not list
its folder."""
_SOURCE = "muster.py"
_OLDEST = (1980, 1, 1, 0, 0, 0)
_PATH = "PYTHONPATH"
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def module_archive() -> bytes:
    """The archive in which `import muster` finds the module in a task if Muster is not installed there."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        info = zipfile.ZipInfo(_SOURCE, _OLDEST)
        archive.writestr(info, pkgutil.get_data("muster.agent.tasks", "metric_writer.py") or b"")
    return file.getvalue()


def with_module(env: Mapping[str, str], folder: str) -> Dict[str, str]:
    """The variables with the module at the end of what Python searches before all that is installed."""
    own, module = env.get(_PATH, ""), os.path.join(folder, MODULE)
    return {**env, _PATH: "{}:{}".format(own, module) if own else module}


def metrics_bytes(folder: str) -> int:
    try:
        info = os.stat(os.path.join(folder, METRICS), follow_symlinks=False)
    except OSError:
        return 0
    return info.st_size if stat.S_ISREG(info.st_mode) else 0


def read_metrics(folder: str, offset: int, limit: int, *, ended: bool) -> Dict[str, Any]:
    try:
        file = os.open(os.path.join(folder, METRICS), _FLAGS)
    except OSError:
        return {"data": b"", "offset": offset, "size": 0, "ended": ended}
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise AgentError(SYSTEM, "the metrics of the task are not a file any more")
        return {**read_piece(file, offset, limit), "ended": ended}
    finally:
        os.close(file)
