"""Compiles the agent's archive. The first coordinator on a cluster has it done, beside the first tasks, because only
the Python of the compute nodes can.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import sys
import zipfile

from muster.agent.batch.compiled import compiled_path

_HEADER = importlib.util.MAGIC_NUMBER + bytes(12)
"""Without a source beside it, neither its time nor its size is compared."""


def main() -> None:
    write_compiled(sys.argv[1])


def write_compiled(archive: str) -> None:
    """Nothing depends on it: where the folder cannot be written, everybody goes on compiling."""
    path = compiled_path(archive)
    partial = "{}.{}.{}.partial".format(path, os.uname().nodename, os.getpid())
    try:
        _write(archive, partial)
        os.rename(partial, path)
    except OSError:
        if os.path.exists(partial):
            os.unlink(partial)


def _write(archive: str, target: str) -> None:
    with zipfile.ZipFile(archive) as sources, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as compiled:
        for name in sources.namelist():
            if name.endswith(".py"):
                code = compile(sources.read(name), os.path.join(archive, name), "exec", dont_inherit=True)
                compiled.writestr(name + "c", _HEADER + marshal.dumps(code))
