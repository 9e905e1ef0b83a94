"""The PATH and command of a task that runs in a virtual or conda environment on the node.

Images are handled by `containers`.
"""

from pathlib import PurePosixPath

from muster.domain.errors import Invalid
from muster.domain.specs import Runtime

# The node's own PATH is not known here, and a task must not depend on the account that started the server.
BASE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# The task itself checks this, not the agent: the environment may be on a file server that hangs.
_GUARD = r"""
[ -d "$0/bin" ] || { echo "muster: there is no environment $0 on this node" >&2; exit 127; }
[ -x "$0/bin/python" ] || [ ! -L "$0/bin/python" ] || {
  echo "muster: the Python of the environment $0 is gone: bin/python leads nowhere" >&2
  exit 127
}
exec "$@"
"""


def runtime_environment(runtime: Runtime, conda_root: str | None) -> dict[str, str]:
    if runtime.venv:
        return {"PATH": _path(runtime.venv), "VIRTUAL_ENV": runtime.venv}
    if runtime.conda:
        prefix = conda_prefix(runtime.conda, conda_root)
        return {"PATH": _path(prefix), "CONDA_PREFIX": prefix, "CONDA_DEFAULT_ENV": runtime.conda}
    return {}


def runtime_command(runtime: Runtime, conda_root: str | None, command: tuple[str, ...]) -> tuple[str, ...]:
    """The command, wrapped so that it fails if the environment is missing. Otherwise the node's own Python, which comes
    next on the PATH, would run it unnoticed."""
    if not runtime.venv and not runtime.conda:
        return command
    prefix = runtime.venv or conda_prefix(runtime.conda or "", conda_root)
    return ("/bin/sh", "-c", _GUARD, prefix, *command)


def conda_prefix(conda: str, conda_root: str | None) -> str:
    """The prefix of a conda environment. An absolute path stays as it is; a name is resolved as conda does it."""
    if PurePosixPath(conda).is_absolute():
        return conda
    if conda_root is None:
        raise Invalid(
            f"runtime.conda: the cluster has no conda installation in which to find {conda!r}",
            hint="write the absolute path of the environment, or ask an admin to set `conda` in the cluster file",
        )
    return conda_root if conda == "base" else str(PurePosixPath(conda_root) / "envs" / conda)


def _path(prefix: str) -> str:
    return f"{prefix}/bin:{BASE_PATH}"
